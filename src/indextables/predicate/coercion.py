"""What a literal means beside a column: where it cuts the column's values into those below, at and above it.

Spark casts one side or both before it compares. All of these casts keep the order, so each comparison can be said in the
column's own values, exactly and once, when the predicate is bound: `300` cuts a tinyint column above all of its values, `1.5` cuts an
integer column between 1 and 2, and a double cuts a decimal column where rounding to double changes sides. After that no value is
ever cast while files or rows are compared, and nothing can overflow.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from indextables.errors import PredicateError
from indextables.predicate.expression import Literal
from indextables.predicate.temporal import (
    DAY,
    parse_date,
    parse_time,
    parse_timestamp,
    to_instant,
    to_wall,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.predicate.kinds import ColumnType, Family

_MOST_DIGITS: Final = 38
_NUMBERS: Final = ("integer", "decimal", "float", "double")
_ACCEPTED: Final[dict[Family, tuple[str, ...]]] = {
    "boolean": ("boolean",),
    "integer": _NUMBERS,
    "decimal": _NUMBERS,
    "float": _NUMBERS,
    "string": ("string",),
    "binary": ("binary",),
    "date": ("date", "timestamp", "timestamp_ntz"),
    "timestamp": ("timestamp",),
    "timestamp_ntz": ("timestamp_ntz",),
    "time": ("time",),
    "duration": ("duration",),
    "other": (),
}


@dataclass(frozen=True, slots=True)
class Span:
    """The whole numbers from `first` up to but not including `end` are at the literal; infinite where a float is."""

    first: int | float
    end: int | float


def normalise(literal: Literal, column: ColumnType, *, name: str, timezone: str) -> Literal:
    """Return a literal in a form that no longer depends on the session: texts beside dates become dates, and so on.

    Raises:
        PredicateError: The column cannot be compared with it.
    """
    if literal.kind == "null":
        return literal
    if literal.kind == "internal":
        literal = _from_internal(literal, column, name)
    elif literal.kind == "string" and column.family in ("date", "timestamp", "timestamp_ntz", "time"):
        literal = _from_text(literal, column, name, timezone)
    if column.family == "timestamp" and literal.kind in ("date", "timestamp_ntz"):
        wall = _number(literal) * (DAY if literal.kind == "date" else 1)
        literal = Literal("timestamp", to_instant(wall, timezone), literal.place)
    elif column.family == "timestamp_ntz" and literal.kind == "date":
        literal = Literal("timestamp_ntz", _number(literal) * DAY, literal.place)
    elif column.family == "timestamp_ntz" and literal.kind == "timestamp":
        literal = Literal("timestamp_ntz", to_wall(_number(literal), timezone), literal.place)
    if literal.kind not in _ACCEPTED[column.family]:
        raise _mismatch(literal, column, name)
    return literal


def spans(literals: Sequence[Literal], column: ColumnType, *, timezone: str) -> list[Span]:
    """Return where each of some literals, which Spark brings to one type with the column, cuts a column of whole numbers."""
    if column.family in ("integer", "decimal"):
        return _number_spans(literals, column)
    if column.family == "date":
        return [_date_span(literal, timezone) for literal in literals]
    if column.family == "boolean":
        return [Span(int(bool(literal.value)), int(bool(literal.value)) + 1) for literal in literals]
    return [_exact(Fraction(_number(literal) * column.ticks, 1_000_000)) for literal in literals]


def as_double(literal: Literal) -> float:
    """Return the double that Spark compares a float or double column with."""
    value = literal.value
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.copysign(math.inf, value)  # type: ignore[arg-type]


def _number(literal: Literal) -> int:
    return literal.value if isinstance(literal.value, int) else 0


def _exact(value: Fraction) -> Span:
    return Span(math.ceil(value), math.floor(value) + 1)


def _number_spans(literals: Sequence[Literal], column: ColumnType) -> list[Span]:
    if any(isinstance(literal.value, float) for literal in literals):
        return [_double_span(as_double(literal), column.scale) for literal in literals]
    values = [decimal.Decimal(literal.value) for literal in literals]  # type: ignore[arg-type]
    if column.family == "integer" and all(literal.kind == "integer" for literal in literals):
        return [_exact(Fraction(value)) for value in values]
    scale = _common_scale([column.digits, *(_digits(value) for value in values)])
    return [_decimal_span(value, column.scale, scale) for value in values]


def _digits(value: decimal.Decimal) -> tuple[int, int]:
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    return max(len(digits) + max(0, int(exponent)), scale, 1), scale


def _common_scale(types: list[tuple[int, int]]) -> int:
    """Return the digits behind the point that are left when Spark widens decimals, which drops some beyond 38 digits."""
    precision, scale = types[0]
    for other_precision, other_scale in types[1:]:
        whole = max(precision - scale, other_precision - other_scale)
        scale = max(scale, other_scale)
        if whole + scale > _MOST_DIGITS:
            scale = max(_MOST_DIGITS - whole, 0)
        precision = min(whole + scale, _MOST_DIGITS)
    return scale


def _decimal_span(value: decimal.Decimal, own: int, common: int) -> Span:
    literal = _half_up(Fraction(value) * 10**common)
    if common >= own:
        return _exact(Fraction(literal, 10 ** (common - own)))
    width = 10 ** (own - common)
    return Span(_first_rounding_to(literal, width), _first_rounding_to(literal + 1, width))


def _half_up(value: Fraction) -> int:
    """Round half away from zero, as Spark casts decimals."""
    rounded = math.floor(abs(value) + Fraction(1, 2))
    return -rounded if value < 0 else rounded


def _first_rounding_to(value: int, width: int) -> int:
    """Return the smallest number that, divided by width and rounded half away from zero, is at least this value."""
    return value * width - width // 2 + (1 if value <= 0 else 0)


def _double_span(value: float, scale: int) -> Span:
    if math.isnan(value) or value == math.inf:
        return Span(math.inf, math.inf)
    if value == -math.inf:
        return Span(-math.inf, -math.inf)
    return Span(_first_not_below(value, scale), _first_not_below(math.nextafter(value, math.inf), scale))


def _first_not_below(value: float, scale: int) -> int | float:
    """Return the smallest whole number that, with the point put in and rounded to double, is at least this value."""
    if value == math.inf:
        return math.inf
    below = math.nextafter(value, -math.inf)
    if below == -math.inf:
        return -math.inf
    middle = (Fraction(below) + Fraction(value)) / 2
    edge = middle * 10**scale
    first: int = math.ceil(edge)
    return first + 1 if edge.denominator == 1 and float(middle) < value else first


def _date_span(literal: Literal, timezone: str) -> Span:
    if literal.kind == "date":
        return _exact(Fraction(_number(literal)))
    if literal.kind == "timestamp_ntz":
        return _exact(Fraction(_number(literal), DAY))
    # A date is the instant at which its day begins, and in some zones not every day begins at midnight.
    instant = _number(literal)
    near = to_wall(instant, timezone) // DAY
    starts = [(day, to_instant(day * DAY, timezone)) for day in range(near - 1, near + 3)]
    first = next(day for day, start in starts if start >= instant)
    return Span(first, next(day for day, start in starts if start > instant))


def _from_internal(literal: Literal, column: ColumnType, name: str) -> Literal:
    """Read a value that is written as Spark holds it: days, microseconds, and floats as short as their type allows."""
    text, family, place = str(literal.value), column.family, literal.place
    try:
        if family in ("integer", "date", "timestamp", "timestamp_ntz"):
            return Literal("integer" if family == "integer" else family, int(text), place)
        if family == "decimal":
            return Literal("decimal", decimal.Decimal(text), place)
        if family == "float":
            single = column.words == "float"
            return Literal("float" if single else "double", float(np.float32(text)) if single else float(text), place)
    except (ValueError, decimal.InvalidOperation) as error:
        raise _mismatch(literal, column, name) from error
    raise _mismatch(literal, column, name)


def _from_text(literal: Literal, column: ColumnType, name: str, timezone: str) -> Literal:
    text, family = str(literal.value), column.family
    value: int | None = None
    if family == "date":
        value = parse_date(text)
    elif family == "time":
        value = parse_time(text)
    elif (parsed := parse_timestamp(text)) is not None:
        wall, zone = parsed
        value = to_instant(wall, zone or timezone) if family == "timestamp" else wall
    if value is None:
        raise _mismatch(literal, column, name)
    return Literal(family, value, literal.place)  # type: ignore[arg-type]


def _mismatch(literal: Literal, column: ColumnType, name: str) -> PredicateError:
    accepted = _ACCEPTED[column.family]
    shown = (
        f"{literal.kind} {str(literal.value)[:60]!r}" if literal.kind != "internal" else repr(str(literal.value)[:60])
    )
    way_out = (
        f"Compare it with a value of type {' or '.join(accepted)}"
        if accepted
        else "Only IS NULL and IS NOT NULL can be asked of it"
    )
    return mismatch(
        f"Column {name} is of type {column.words} and cannot be compared with the {shown}", literal, way_out
    )


def mismatch(problem: str, literal: Literal, way_out: str) -> PredicateError:
    """Return the error for a literal that stands in the wrong place."""
    place = literal.place
    return PredicateError(
        problem,
        text=place.text if place else None,
        position=place.start if place else None,
        way_out=way_out,
    )
