"""Predicates from the text that Spark prints for a filter it pushes down.

The text names no types: dates are days, timestamps are microseconds, a float is printed as short as a float can be. So numbers
stay text until the column's type explains them. Quotes inside texts are doubled, and a backslash is a backslash, except in LIKE, where
Spark escapes some characters and not others; what could mean two things is not understood.

The answer may keep more than the text does, never less: of `a AND b` with a `b` that is not understood, `a` is left.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from indextables.predicate.expression import (
    And,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Operator,
    Or,
    Reference,
    StartsWith,
)

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<punctuation>[(),])
      | (?P<operator><=>|<=|>=|<>|!=|=|<|>)
      | (?P<text>'(?:[^']|'')*')
      | (?P<bytes>0x(?:[0-9A-Fa-f]{2})*(?![0-9A-Za-z_.]))
      | (?P<number>-?(?:[0-9]+(?:\.[0-9]*)?(?:E[+-]?[0-9]+)?|Infinity)(?![0-9A-Za-z_`]))
      | (?P<name>(?:[A-Za-z0-9_]+|`(?:[^`]|``)+`)(?:\.(?:[A-Za-z0-9_]+|`(?:[^`]|``)+`))*)
    )""",
    re.VERBOSE | re.DOTALL,
)
_PART: Final = re.compile(r"`((?:[^`]|``)+)`|([A-Za-z0-9_]+)")
_LIKE: Final = re.compile(r"\s*'((?:[^'\\%_]|\\[%_])*)%'\s+ESCAPE\s+'\\'", re.DOTALL)
_OTHER_LIKE: Final = re.compile(r"\s*'(?:[^'\\]|\\[%_])*'\s+ESCAPE\s+'\\'", re.DOTALL)
_WORDS: Final = frozenset(("AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "ESCAPE", "true", "false", "NaN"))
_OPERATORS: Final[dict[str, Operator]] = {
    "=": "=",
    "<=>": "<=>",
    "<>": "!=",
    "!=": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}


class _NotUnderstoodError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Part:
    """What was understood of a part of the text: None for nothing, and whether it was all."""

    expression: Expression | None
    whole: bool = True


def parse_v2(text: str) -> Expression | None:
    """Return the predicate that Spark's V2 filter text says, or one that keeps more; None if nothing of it is understood."""
    try:
        parser = _Parser(text)
        part = parser.disjunction()
        return part.expression if parser.kind() == "end" else None
    except (_NotUnderstoodError, RecursionError):
        return None


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._kind = ""
        self._value = ""
        self._end = 0
        self._look()

    def _look(self) -> None:
        found = _TOKEN.match(self._text, self._position)
        if found and found.lastgroup:
            self._kind, self._value, self._end = found.lastgroup, found[found.lastgroup], found.end()
            if self._kind == "name" and self._value in _WORDS:
                self._kind = "word"
        elif self._text[self._position :].strip():
            raise _NotUnderstoodError
        else:
            self._kind, self._value = "end", ""

    def kind(self) -> str:
        return self._kind

    def _take(self) -> str:
        value = self._value
        self._position = self._end
        self._look()
        return value

    def _accept(self, *values: str) -> bool:
        """Take these tokens if they all follow, none of them otherwise."""
        start = self._position
        for value in values:
            if self._value != value or self._kind not in ("word", "punctuation"):
                self._position = start
                self._look()
                return False
            self._take()
        return True

    def _expect(self, *values: str) -> None:
        self._require(self._accept(*values))

    def _require(self, holds: bool) -> None:
        if not holds:
            raise _NotUnderstoodError

    def disjunction(self) -> _Part:
        parts = [self._conjunction()]
        while self._accept("OR"):
            parts.append(self._conjunction())
        if len(parts) == 1:
            return parts[0]
        said = [part.expression for part in parts if part.expression is not None]
        if len(said) < len(parts):
            return _Part(None, whole=False)
        return _Part(_joined(Or, said), all(part.whole for part in parts))

    def _conjunction(self) -> _Part:
        parts = [self._term()]
        while self._accept("AND"):
            parts.append(self._term())
        if len(parts) == 1:
            return parts[0]
        said = [part.expression for part in parts if part.expression is not None]
        return _Part(_joined(And, said) if said else None, all(part.whole for part in parts))

    def _term(self) -> _Part:
        if self._accept("NOT"):
            inner = self._term()
            # The opposite of a predicate that keeps more keeps less.
            return (
                _Part(Not(inner.expression))
                if inner.whole and inner.expression is not None
                else _Part(None, whole=False)
            )
        if self._accept("("):
            if (same := self._null_safe()) is not None:
                return _Part(same)
            part = self.disjunction()
            self._expect(")")
            return part
        return self._condition()

    def _null_safe(self) -> Expression | None:
        """Read what Spark writes for `column <=> value`, behind its first bracket."""
        start = self._position
        try:
            self._expect("(")
            column = self._reference()
            self._expect("IS", "NOT", "NULL", "AND")
            value = self._literal()
            self._expect("IS", "NOT", "NULL", "AND")
            self._require(self._reference() == column and self._take() == "=" and self._literal() == value)
            self._expect(")", "OR", "(")
            self._require(self._reference() == column)
            self._expect("IS", "NULL", "AND")
            self._require(self._literal() == value)
            self._expect("IS", "NULL", ")", ")")
        except _NotUnderstoodError:
            self._position = start
            self._look()
            return None
        return Comparison("<=>", column, value)

    def _condition(self) -> _Part:
        reference = self._reference()
        if self._kind == "operator":
            operator = _OPERATORS[self._take()]
            return _Part(Comparison(operator, reference, self._literal()))
        if self._accept("IS", "NOT", "NULL"):
            return _Part(Not(IsNull(reference)))
        if self._accept("IS", "NULL"):
            return _Part(IsNull(reference))
        if self._accept("IN", "("):
            values = [self._literal()]
            while self._accept(","):
                values.append(self._literal())
            self._expect(")")
            return _Part(In(reference, tuple(values)))
        if self._value == "LIKE":
            return self._like(reference)
        raise _NotUnderstoodError

    def _like(self, reference: Reference) -> _Part:
        prefix = _LIKE.match(self._text, self._end)
        found = prefix or _OTHER_LIKE.match(self._text, self._end)
        if not found:
            raise _NotUnderstoodError
        self._position = found.end()
        self._look()
        if not prefix:
            return _Part(None, whole=False)
        return _Part(StartsWith(reference, re.sub(r"\\([%_])", r"\1", prefix[1])))

    def _reference(self) -> Reference:
        if self._kind != "name":
            raise _NotUnderstoodError
        return Reference(tuple((quoted or plain).replace("``", "`") for quoted, plain in _PART.findall(self._take())))

    def _literal(self) -> Literal:
        kind, value = self._kind, self._value
        if kind == "number" or value == "NaN":
            self._take()
            return Literal("internal", value.replace("Infinity", "inf"))
        if kind == "text":
            self._take()
            return Literal("string", value[1:-1].replace("''", "'"))
        if kind == "bytes":
            self._take()
            return Literal("binary", bytes.fromhex(value[2:]))
        if kind == "word" and value in ("true", "false", "NULL"):
            self._take()
            return Literal("null", None) if value == "NULL" else Literal("boolean", value == "true")
        raise _NotUnderstoodError


def _joined(kind: type[And | Or], children: list[Expression]) -> Expression:
    flat: list[Expression] = []
    for child in children:
        flat.extend(child.children if isinstance(child, kind) else [child])
    return flat[0] if len(flat) == 1 else kind(tuple(flat))
