"""The tree of a predicate as somebody wrote it, before it meets a table.

Two things that look alike are kept apart. A `Column` is what Python code holds: its `==` builds a comparison. A `Reference` is
what the tree stores: its `==` compares, so trees can be compared, hashed and pickled like any other value.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass, field
from typing import Final, NoReturn
from typing import Literal as Choice

from indextables.errors import PredicateError

Operator = Choice["=", "<=>", "!=", "<", "<=", ">", ">="]
Kind = Choice[
    "null",
    "boolean",
    "integer",
    "decimal",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "time",
    "duration",
    "internal",
]
Value = bool | int | float | decimal.Decimal | str | bytes | None

MIRRORED: Final[dict[Operator, Operator]] = {
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
    "=": "=",
    "!=": "!=",
    "<=>": "<=>",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a text something stands."""

    text: str
    start: int


class Expression:
    """A condition on rows. Combine conditions with `&`, `|` and `~`."""

    __slots__ = ()

    def __and__(self, other: Expression) -> Expression:
        return And((*_flat(And, self), *_flat(And, other)))

    def __or__(self, other: Expression) -> Expression:
        return Or((*_flat(Or, self), *_flat(Or, other)))

    def __invert__(self) -> Expression:
        return Not(as_condition(self))

    def condition(self) -> Expression:
        """Return the node of the tree for this: itself, but for a bare column."""
        return self

    def __bool__(self) -> NoReturn:
        raise TypeError("A condition on rows is neither true nor false: use & for and, | for or, ~ for not")


def as_condition(expression: object) -> Expression:
    """Return what the tree stores for an expression.

    Raises:
        PredicateError: It is not a condition.
    """
    if not isinstance(expression, Expression):
        raise PredicateError(f"{expression!r} is not a condition", way_out="Use a comparison, such as col('a') == 1")
    return expression.condition()


def _flat(kind: type[And | Or], expression: Expression) -> tuple[Expression, ...]:
    condition = as_condition(expression)
    return condition.children if isinstance(condition, kind) else (condition,)


@dataclass(frozen=True, slots=True)
class Reference:
    """A column, or a field inside one, by the names that lead to it."""

    parts: tuple[str, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """A value in a predicate.

    Numbers carry their value, dates the days and times the microseconds since 1970 (`timestamp` as an instant, `timestamp_ntz`
    as a wall clock). `internal` is the text of a value that only the column's type can explain.
    """

    kind: Kind
    value: Value
    place: Place | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.value, float) and math.isnan(self.value):
            # One NaN for all, because what is the same object is equal in a comparison of trees.
            object.__setattr__(self, "value", math.nan)


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """The same for every row: true, false or unknown."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Flag(Expression):
    """A boolean column that is true."""

    reference: Reference


@dataclass(frozen=True, slots=True)
class Comparison(Expression):
    """A column beside a value, or beside another column."""

    operator: Operator
    left: Reference
    right: Literal | Reference


@dataclass(frozen=True, slots=True)
class In(Expression):
    """A column whose value is in a list."""

    reference: Reference
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class IsNull(Expression):
    """A column without a value."""

    reference: Reference


@dataclass(frozen=True, slots=True)
class Is(Expression):
    """A condition that is true, is false, or is unknown; itself never unknown."""

    child: Expression
    outcome: bool | None


@dataclass(frozen=True, slots=True)
class Like(Expression):
    """A text that has a form: `%` is any text, `_` is any character, `escape` takes that meaning away."""

    reference: Reference
    pattern: str
    escape: str = "\\"
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StartsWith(Expression):
    """A text that starts with another."""

    reference: Reference
    prefix: str


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """The opposite; the opposite of unknown is unknown."""

    child: Expression


@dataclass(frozen=True, slots=True)
class And(Expression):
    """All of these."""

    children: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(Expression):
    """Any of these."""

    children: tuple[Expression, ...]
