"""Our own SQL statements, from text to a value that says what is asked for; whatever else it is belongs to Spark.

A statement is ours if its first words are. From there on every mistake is an error that points at the place, and is never handed to
Spark, whose parser would complain about the wrong word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from indextables.errors import PredicateError
from indextables.spark.tokens import END, Token, leading_words, tokenize

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Place:
    """A table: by its path, or by its name in the catalog."""

    text: str
    is_path: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """The text behind WHERE, and where it stands in the statement."""

    text: str
    position: int


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeSplits:
    """`MERGE SPLITS <table> [WHERE …] [TARGET SIZE n] [MAX GROUPS n]`."""

    table: Place
    where: Condition | None = None
    target_size: str | None = None
    max_groups: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Purge:
    """`PURGE INDEXTABLE <table> [OLDER THAN n DAYS|HOURS] [DRY RUN]`."""

    table: Place
    older_than: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class DropPartitions:
    """`DROP INDEXTABLES PARTITIONS FROM <table> WHERE …`."""

    table: Place
    where: Condition


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteCheckpoint:
    """`CHECKPOINT INDEXTABLES <table>`."""

    table: Place


@dataclass(frozen=True, kw_only=True, slots=True)
class DescribeLog:
    """`DESCRIBE INDEXTABLES TRANSACTION LOG <table> [INCLUDE ALL]`."""

    table: Place
    include_all: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RepairLog:
    """`REPAIR INDEXFILES TRANSACTION LOG '<log>' AT LOCATION '<log>'`."""

    source: str
    target: str


@dataclass(frozen=True, kw_only=True, slots=True)
class InvalidateCache:
    """`INVALIDATE INDEXTABLES TRANSACTION LOG CACHE [FOR <table>]`."""

    table: Place | None = None


Statement: TypeAlias = (
    MergeSplits | Purge | DropPartitions | WriteCheckpoint | DescribeLog | RepairLog | InvalidateCache
)

_MOST_WORDS: Final = 4
_NUMBER: Final = re.compile("[0-9]{1,9}")
_UNITS: Final = {"DAYS": "d", "DAY": "d", "HOURS": "h", "HOUR": "h"}
_CLAUSES: Final = (("TARGET", "SIZE"), ("MAX", "GROUPS"), ("MAX", "DEST", "SPLITS"))


def parse_statement(text: str) -> Statement | None:
    """Return what a statement of ours asks for; None if it is not ours.

    Raises:
        PredicateError: It begins like one of ours and goes wrong; the error points at the place.
    """
    # Only these words are looked at before the statement is known to be ours: Spark has texts that our rules do not cover.
    leading = leading_words(text, most=_MOST_WORDS)
    for words, parse in _STATEMENTS.items():
        if leading[: len(words)] == words:
            parser = _Parser(text)
            for word in words:
                parser.expect(word)
            statement = parse(parser)
            parser.finish()
            return statement
    return None


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._at = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._at]

    def begins(self, words: tuple[str, ...]) -> bool:
        """Tell whether the next words are these."""
        following = self._tokens[self._at : self._at + len(words)]
        return [token.word for token in following] == list(words)

    def take(self, *words: str) -> bool:
        """Take the next words if they are these; a statement that has the first of them only is wrong."""
        if self.token.word != words[0]:
            return False
        for word in words:
            self.expect(word)
        return True

    def expect(self, word: str) -> None:
        if self.token.word != word:
            raise self.wrong(word)
        self._at += 1

    def wrong(self, wanted: str) -> PredicateError:
        found = "the statement ends" if self.token.kind == END else f"{self.token.text!r} stands"
        return PredicateError(
            f"{found[0].upper()}{found[1:]} where {wanted} is expected",
            text=self._text,
            position=self.token.position,
            way_out="Correct the statement and try again",
        )

    def finish(self) -> None:
        while self.token.kind == "symbol" and self.token.text == ";":
            self._at += 1
        if self.token.kind != END:
            raise self.wrong("the end of the statement")

    def table(self) -> Place:
        if self.token.kind == "string":
            return Place(self.string("the path of a table in quotes"), is_path=True)
        wanted = "the path of a table in quotes, or its name"
        parts = [self._name(wanted)]
        while self.token.kind == "symbol" and self.token.text == ".":
            self._at += 1
            parts.append(self._name("a name"))
        return Place(".".join(parts), is_path=False)

    def _name(self, wanted: str) -> str:
        token = self.token
        if token.kind not in {"word", "quoted"}:
            raise self.wrong(wanted)
        self._at += 1
        return token.text

    def string(self, wanted: str) -> str:
        if self.token.kind != "string":
            raise self.wrong(wanted)
        value = self.token.value
        if not value:
            raise self.wrong(wanted)
        self._at += 1
        return value

    def number(self, wanted: str) -> int:
        token = self.token
        if token.kind != "word" or not _NUMBER.fullmatch(token.text) or not int(token.text):
            raise self.wrong(wanted)
        self._at += 1
        return int(token.text)

    def size(self) -> str:
        token = self.token
        if token.kind not in {"word", "string"} or not token.value[:1].isdigit():
            raise self.wrong("a size such as 500M or 5G")
        self._at += 1
        following = self.token
        if token.value.isdigit() and following.kind == "word" and following.word in {"KB", "MB", "GB", "TB", "B"}:
            self._at += 1
            return token.value + following.word
        return token.value

    def condition(self, *ends: tuple[str, ...]) -> Condition:
        """Take everything up to a clause that may follow, or the end; clauses inside parentheses do not count."""
        start, depth = self.token.position, 0
        while self.token.kind != END:
            token = self.token
            if depth == 0 and ((token.kind == "symbol" and token.text == ";") or any(map(self.begins, ends))):
                break
            depth += (token.text == "(") - (token.text == ")") if token.kind == "symbol" else 0
            self._at += 1
        text = self._text[start : self.token.position].rstrip()
        if not text:
            raise self.wrong("a condition")
        return Condition(text, start)


def _merge(parser: _Parser) -> MergeSplits:
    table = parser.table()
    where = parser.condition(*_CLAUSES) if parser.take("WHERE") else None
    target: str | None = None
    groups: int | None = None
    while parser.token.word in {"TARGET", "MAX"}:
        if target is None and parser.take("TARGET", "SIZE"):
            target = parser.size()
        elif groups is None and parser.token.word == "MAX":
            parser.take(*(_CLAUSES[2] if parser.begins(_CLAUSES[2]) else _CLAUSES[1]))
            groups = parser.number("a number of groups")
        else:
            break
    return MergeSplits(table=table, where=where, target_size=target, max_groups=groups)


def _purge(parser: _Parser) -> Purge:
    table = parser.table()
    age: str | None = None
    if parser.take("OLDER", "THAN"):
        number = parser.number("a number of days or hours")
        unit = _UNITS.get(parser.token.word)
        if unit is None:
            raise parser.wrong("DAYS or HOURS")
        parser.expect(parser.token.word)
        age = f"{number}{unit}"
    return Purge(table=table, older_than=age, dry_run=parser.take("DRY", "RUN"))


def _drop(parser: _Parser) -> DropPartitions:
    parser.expect("PARTITIONS")
    parser.expect("FROM")
    table = parser.table()
    parser.expect("WHERE")
    return DropPartitions(table=table, where=parser.condition())


def _checkpoint(parser: _Parser) -> WriteCheckpoint:
    return WriteCheckpoint(table=parser.table())


def _describe(parser: _Parser) -> DescribeLog:
    return DescribeLog(table=parser.table(), include_all=parser.take("INCLUDE", "ALL"))


def _repair(parser: _Parser) -> RepairLog:
    parser.expect("TRANSACTION")
    parser.expect("LOG")
    source = parser.string("the path of a damaged log in quotes")
    parser.expect("AT")
    parser.expect("LOCATION")
    return RepairLog(source=source, target=parser.string("the path of the new log in quotes"))


def _invalidate(parser: _Parser) -> InvalidateCache:
    for word in ("TRANSACTION", "LOG", "CACHE"):
        parser.expect(word)
    return InvalidateCache(table=parser.table() if parser.take("FOR") else None)


# The words that make a statement ours. Spark has a statement for `DESCRIBE indextables`, if a table is called so.
_STATEMENTS: Final[dict[tuple[str, ...], Callable[[_Parser], Statement]]] = {
    ("MERGE", "SPLITS"): _merge,
    ("PURGE", "INDEXTABLE"): _purge,
    ("DROP", "INDEXTABLES"): _drop,
    ("CHECKPOINT", "INDEXTABLES"): _checkpoint,
    ("DESCRIBE", "INDEXTABLES", "TRANSACTION", "LOG"): _describe,
    ("REPAIR", "INDEXFILES"): _repair,
    ("INVALIDATE", "INDEXTABLES"): _invalidate,
}
