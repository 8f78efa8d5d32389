"""LIKE as Spark means it: what a pattern requires, and the regular expression for what is left."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LikePattern:
    """A pattern taken apart.

    Attributes:
        prefix: The text that every match starts with.
        rest: What follows: "" if nothing may, "%" if anything may, None if it is more than that.
        expression: The regular expression of the whole, for RE2.
    """

    prefix: str
    rest: str | None
    expression: str


def read_pattern(pattern: str, escape: str) -> LikePattern:
    """Take a pattern apart.

    Raises:
        ValueError: The escape is not one character, or stands before something that needs none. The text says what is wrong.
    """
    if len(escape) != 1:
        raise ValueError(f"The escape {escape!r} is not one character")
    prefix, parts, rest = "", [], ""
    literal = True
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following is None:
                raise ValueError(f"The pattern {pattern!r} ends with its escape character")
            if following not in ("_", "%", escape):
                raise ValueError(f"In the pattern {pattern!r} the escape character stands before {following!r}")
            parts.append(_quoted(following))
            prefix, rest = (prefix + following, rest) if literal else (prefix, rest + "x")
        elif character in "_%":
            literal = False
            rest += character
            parts.append("." if character == "_" else ".*")
        else:
            parts.append(_quoted(character))
            prefix, rest = (prefix + character, rest) if literal else (prefix, rest + "x")
    simple = "%" if rest and not rest.strip("%") else "" if not rest else None
    return LikePattern(prefix, simple, rf"(?s)\A{''.join(parts)}\z")


def _quoted(character: str) -> str:
    return r"\x00" if character == "\0" else re.escape(character) if character.isascii() else character
