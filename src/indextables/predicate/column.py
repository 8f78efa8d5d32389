"""Predicates in Python: `col("level") == "ERROR"`, combined with `&`, `|` and `~`."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from indextables.errors import PredicateError
from indextables.predicate.expression import (
    Comparison,
    Expression,
    Flag,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Operator,
    Reference,
    StartsWith,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_PARTS: Final = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")


class Column(Expression):
    """A column in Python code: compare it with values or other columns to build conditions."""

    __slots__ = ("reference",)
    __hash__ = None  # type: ignore[assignment]  # a column in a set would be compared, and that builds conditions

    def __init__(self, reference: Reference) -> None:
        self.reference = reference

    def __repr__(self) -> str:
        return f"col({'.'.join(self.reference.parts)!r})"

    def condition(self) -> Expression:
        """Return the condition that the column, a boolean one, is true."""
        return Flag(self.reference)

    def _compare(self, operator: Operator, other: object) -> Expression:
        if isinstance(other, Column):
            return Comparison(operator, self.reference, other.reference)
        return Comparison(operator, self.reference, lit(other))

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: object) -> Expression:
        return self._compare("<", other)

    def __le__(self, other: object) -> Expression:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Expression:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Expression:
        return self._compare(">=", other)

    def eq_null_safe(self, other: object) -> Expression:
        """Return SQL's `<=>`: equality for which two nulls are equal."""
        return self._compare("<=>", other)

    def isin(self, values: Iterable[object]) -> Expression:
        """Return the condition that the value is one of these."""
        return In(self.reference, tuple(lit(value) for value in values))

    def between(self, low: object, high: object) -> Expression:
        """Return the condition that the value is from low to high, both included."""
        return (self >= low) & (self <= high)

    def is_null(self) -> Expression:
        """Return the condition that there is no value."""
        return IsNull(self.reference)

    def is_not_null(self) -> Expression:
        """Return the condition that there is a value."""
        return Not(IsNull(self.reference))

    def like(self, pattern: str, *, escape: str = "\\") -> Expression:
        """Return the condition that the text has a form."""
        return Like(self.reference, pattern, escape)

    def startswith(self, prefix: str) -> Expression:
        """Return the condition that the text starts with another."""
        return StartsWith(self.reference, prefix)


def col(name: str) -> Column:
    """Return a column by name; dots lead into structs, backticks hold a name that has a dot itself.

    Raises:
        PredicateError: The name is empty or has unbalanced backticks.
    """
    parts, position = [], 0
    while found := _PARTS.match(name, position):
        parts.append(found[1].replace("``", "`") if found[1] else found[2])
        position = found.end()
        if position == len(name):
            return Column(Reference(tuple(parts)))
        if name[position] != ".":
            break
        position += 1
    raise PredicateError(f"{name!r} is not the name of a column", text=name, position=min(position, len(name)))


def lit(value: object) -> Literal:  # noqa: C901 - one line for each type that Python has for a value of Spark's
    """Return a Python, NumPy or Arrow value as a literal.

    Raises:
        PredicateError: Spark has no type for it.
    """
    if isinstance(value, Literal):
        return value
    if isinstance(value, pa.Scalar):
        return Literal("float", value.as_py()) if pa.types.is_float32(value.type) else lit(value.as_py())
    if isinstance(value, np.float32):
        return Literal("float", float(value))
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return Literal("null", None)
    if isinstance(value, bool):
        return Literal("boolean", value)
    if isinstance(value, int):
        return Literal("integer", value)
    if isinstance(value, float):
        return Literal("double", value)
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return Literal("decimal", value)
    if isinstance(value, str):
        return Literal("string", value)
    if isinstance(value, bytes):
        return Literal("binary", value)
    if isinstance(value, dt.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return Literal("timestamp" if value.tzinfo else "timestamp_ntz", (aware - _EPOCH) // _MICROSECOND)
    if isinstance(value, dt.date):
        return Literal("date", (value - _EPOCH.date()).days)
    if isinstance(value, dt.time) and value.tzinfo is None:
        midnight = dt.timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
        return Literal("time", midnight // _MICROSECOND + value.microsecond)
    if isinstance(value, dt.timedelta):
        return Literal("duration", value // _MICROSECOND)
    raise PredicateError(f"{value!r} ({type(value).__name__}) is not a value of any column", way_out="Convert it first")
