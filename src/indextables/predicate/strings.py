"""Text literals of Spark, read from the source text itself.

What a backslash does in a literal differs between dialects and releases, and a predicate that means something else than in Spark
loses rows. So the parser finds where a literal stands, and this module says what it holds.
"""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_NAMED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def unescape(body: str) -> str:
    """Return what Spark makes of the text between the quotes.

    Raises:
        ValueError: It names half of a surrogate pair, or no character at all.
    """
    text = _ESCAPE.sub(_character, body)
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def _character(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1:
        return chr(int(code[1:], 16) if code[0] in "uU" else int(code, 8))
    return _NAMED.get(code, code)


def join(literals: list[str]) -> str:
    """Return the text of literals that follow each other, as they stand in the source with their quotes.

    Two of them with nothing between are one literal that holds its own quote (`'it''s'`): the caller passes these as one string.

    Raises:
        ValueError: One of them is not a text.
    """
    return "".join(_value(literal) for literal in literals)


def _value(literal: str) -> str:
    if literal[:1] in "rR":
        return literal[2:-1]
    quote = literal[0]
    # A doubled quote ends one token and starts the next; a quote behind a backslash never got here as an end.
    return quote.join(unescape(body) for body in _bodies(literal, quote))


def _bodies(literal: str, quote: str) -> list[str]:
    bodies, start, position = [], 1, 1
    while position < len(literal):
        if literal[position] == "\\":
            position += 2
        elif literal[position] == quote:
            bodies.append(literal[start:position])
            position += 2
            start = position
        else:
            position += 1
    return bodies
