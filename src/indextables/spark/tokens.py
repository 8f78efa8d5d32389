"""The words of a statement, each with its place: names, texts in quotes, and symbols; comments and blanks are passed over."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from indextables.errors import PredicateError

END: Final = "end"
_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<word>\w+)
    |(?P<symbol>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


class Token(NamedTuple):
    """A word of a statement.

    Attributes:
        kind: `word`, `string`, `quoted` (a name in back quotes), `symbol` or `end`.
        text: As it stands there.
        position: Of its first character, counted from 0.
    """

    kind: str
    text: str
    position: int

    @property
    def word(self) -> str:
        """A word in capitals, as keywords are compared; empty for anything else."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def value(self) -> str:
        """What a text in quotes stands for; anything else stands for itself."""
        if self.kind != "string":
            return self.text
        quote = self.text[0]
        return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), self.text[1:-1].replace(quote * 2, quote))


def leading_words(text: str, *, most: int) -> tuple[str, ...]:
    """Return the words that a statement begins with, in capitals, up to so many or to what is no word."""
    words: list[str] = []
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "blank":
            continue
        if found.lastgroup != "word" or len(words) == most:
            break
        words.append(found[0].upper())
    return tuple(words)


def tokenize(text: str) -> list[Token]:
    """Return the words of a statement, and one that marks its end.

    Raises:
        PredicateError: A quote or a comment does not end.
    """
    tokens = []
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup or ""
        if kind == "symbol" and (found[0] in "'\"`" or text.startswith("/*", found.start())):
            what = "comment" if found[0] == "/" else "quote"
            raise PredicateError(
                f"The {what} that begins here does not end",
                text=text,
                position=found.start(),
                way_out="Correct the statement and try again",
            )
        if kind != "blank":
            tokens.append(Token(kind, found[0], found.start()))
    return [*tokens, Token(END, "", len(text))]
