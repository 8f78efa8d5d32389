"""A literal as a cut through a column's values: each value is below it, at it, or above it.

Every comparison is a choice among the three sides (`<=` is below or at, `!=` is below or above), its opposite is the other choice,
and a prefix or a rounded number is a cut with many values at it. So four questions are answered here once for all
operators and types: which rows are on these sides, can a file with these bounds have such rows, which filter may
a Parquet reader apply, and what does NaN do, which is above all numbers in Spark, equal to itself, and in nobody's bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicate.masks import Mask, both, either, known

BELOW: Final = 1
AT: Final = 2
ABOVE: Final = 4
EVERYWHERE: Final = BELOW | AT | ABOVE

SIDES: Final = {"<": BELOW, "<=": BELOW | AT, "=": AT, "!=": BELOW | ABOVE, ">": ABOVE, ">=": AT | ABOVE}

Values: TypeAlias = pa.Array | pa.ChunkedArray
_LAST_BEFORE_SURROGATES: Final = 0xD7FF
_FIRST_AFTER_SURROGATES: Final = 0xE000
_LAST: Final = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of one column in all files: every value is between these, null where nothing is known."""

    minimum: Values | None
    maximum: Values | None
    may_have_nan: Mask = False


class Cut(Protocol):
    """A cut through a column's values."""

    def rows(self, values: Values, sides: int) -> Values:
        """Return which values are on these sides; null for null."""

    def possible(self, bounds: Bounds, sides: int) -> Mask:
        """Return which files may have a value on these sides, of files that have values at all."""

    def filter(self, field: pc.Expression, sides: int) -> pc.Expression | None:
        """Return a filter for Arrow's reader that keeps every row on these sides; None if none is safe."""


def always(values: Values) -> Values:
    """Return true for each value, null for null."""
    return _blank(values, answer=True)


def never(values: Values) -> Values:
    """Return false for each value, null for null."""
    return _blank(values, answer=False)


def _blank(values: Values, *, answer: bool) -> Values:
    return pc.if_else(pc.is_valid(values), answer, pa.scalar(None, pa.bool_()))


@dataclass(frozen=True, slots=True)
class Beyond:
    """A literal that no value of the column reaches: all of them are on one side."""

    side: int

    def rows(self, values: Values, sides: int) -> Values:
        """See `Cut`."""
        return always(values) if sides & self.side else never(values)

    def possible(self, bounds: Bounds, sides: int) -> Mask:  # noqa: ARG002 - all bounds are on the one side
        """See `Cut`."""
        return bool(sides & self.side)

    def filter(self, field: pc.Expression, sides: int) -> pc.Expression:
        """See `Cut`."""
        return field.is_valid() if sides & self.side else pc.scalar(False)


@dataclass(frozen=True, slots=True)
class OrderedCut:
    """A cut through values that Arrow orders as Spark does: all but floats.

    Attributes:
        low: Values below the cut are less than this; None where no value is below.
        high: Values above the cut are more than this, or at least this if `closed`; None where no value is above.
        closed: Whether `high` itself is above.
    """

    low: pa.Scalar | None
    high: pa.Scalar | None
    closed: bool

    @property
    def is_point(self) -> bool:
        """Whether exactly one value is at the cut."""
        return not self.closed and self.low is not None and self.high is not None

    @property
    def is_gap(self) -> bool:
        """Whether no value is at the cut."""
        return self.closed and self.low is not None and self.high is not None and bool(self.low.equals(self.high))

    def _below(self, values: Any) -> Any:
        return pc.less(values, self.low)

    def _not_below(self, values: Any) -> Any:
        return pc.greater_equal(values, self.low)

    def _above(self, values: Any) -> Any:
        return (pc.greater_equal if self.closed else pc.greater)(values, self.high)

    def _not_above(self, values: Any) -> Any:
        return (pc.less if self.closed else pc.less_equal)(values, self.high)

    def rows(self, values: Values, sides: int) -> Values:
        """See `Cut`."""
        chosen = self._reachable(sides)
        if chosen == self._reachable(EVERYWHERE):
            return always(values)
        return self._compare(values, chosen) if chosen else never(values)

    def filter(self, field: pc.Expression, sides: int) -> pc.Expression:
        """See `Cut`."""
        chosen = self._reachable(sides)
        if chosen == self._reachable(EVERYWHERE):
            return field.is_valid()
        return self._compare(field, chosen) if chosen else pc.scalar(False)

    def _compare(self, values: Any, sides: int) -> Any:
        """Compare an array, or build the same comparison of a field; not for all sides and not for none."""
        match sides:
            case 1:
                return self._below(values)
            case 3:
                return self._not_above(values)
            case 4:
                return self._above(values)
            case 6:
                return self._not_below(values)
            case 5:
                return pc.not_equal(values, self.low) if self.is_point else self._either_side(values)
            case _ if self.is_point:
                return pc.equal(values, self.low)
            case _ if self.low is None or self.high is None:
                return self._not_above(values) if self.low is None else self._not_below(values)
            case _:
                return pc.and_kleene(self._not_below(values), self._not_above(values))

    def _either_side(self, values: Any) -> Any:
        return pc.or_kleene(self._below(values), self._above(values))

    def _reachable(self, sides: int) -> int:
        empty = (BELOW if self.low is None else 0) | (AT if self.is_gap else 0) | (ABOVE if self.high is None else 0)
        return sides & ~empty

    def possible(self, bounds: Bounds, sides: int) -> Mask:
        """See `Cut`."""
        sides = self._reachable(sides)
        match sides:
            case 0:
                return False
            case 1:
                return self._can(self._below, bounds.minimum)
            case 3 if self.high is not None:
                return self._can(self._not_above, bounds.minimum)
            case 4:
                return self._can(self._above, bounds.maximum)
            case 6 if self.low is not None:
                return self._can(self._not_below, bounds.maximum)
            case 5:
                return either(self._can(self._below, bounds.minimum), self._can(self._above, bounds.maximum))
            case 2:
                down = self.high is None or self._can(self._not_above, bounds.minimum)
                return both(down, self.low is None or self._can(self._not_below, bounds.maximum))
            case _:
                return True

    def _can(self, compare: Any, bound: Values | None) -> Mask:
        return True if bound is None else known(compare(bound), unknown=True)


@dataclass(frozen=True, slots=True)
class FloatCut:
    """A cut through floats: NaN is above all numbers and equal to itself, and the two zeros are one.

    Attributes:
        numbers: The cut through what is not NaN; None if the literal is NaN itself.
    """

    numbers: OrderedCut | None

    def rows(self, values: Values, sides: int) -> Values:
        """See `Cut`."""
        nan = pc.is_nan(values)
        if self.numbers is None:
            match sides & (BELOW | AT):
                case 0:
                    return never(values)
                case 1:
                    return pc.invert(nan)
                case 2:
                    return nan
                case _:
                    return always(values)
        if sides == EVERYWHERE:
            return always(values)
        answer = self.numbers.rows(values, sides)
        return pc.or_(answer, nan) if sides & ABOVE else pc.and_not(answer, nan)

    def possible(self, bounds: Bounds, sides: int) -> Mask:
        """See `Cut`."""
        if self.numbers is None:
            return either(bool(sides & BELOW), both(bool(sides & AT), bounds.may_have_nan))
        numbers = self.numbers.possible(bounds, sides)
        return either(numbers, bounds.may_have_nan) if sides & ABOVE else numbers

    def filter(self, field: pc.Expression, sides: int) -> pc.Expression | None:
        """See `Cut`."""
        # Statistics of row groups leave NaN out, and Arrow concludes from equal bounds that no value is NaN. So a filter that NaN
        # passes cannot be said to Arrow at all.
        if self.numbers is None:
            return None if sides & AT else field.is_valid() if sides & BELOW else pc.scalar(False)
        return None if sides & ABOVE else self.numbers.filter(field, sides)


def float_cut(value: float, kind: pa.DataType) -> FloatCut:
    """Return the cut at a double through a column of doubles or floats."""
    if math.isnan(value):
        return FloatCut(None)
    if pa.types.is_float64(kind):
        scalar = pa.scalar(value, kind)
        return FloatCut(OrderedCut(scalar, scalar, closed=False))
    with np.errstate(over="ignore"):
        nearest = np.float32(value)
    between = float(nearest) != value
    if float(nearest) < value:
        nearest = np.nextafter(nearest, np.float32(np.inf))
    scalar = pa.scalar(float(nearest), kind)
    return FloatCut(OrderedCut(scalar, scalar, closed=between))


def prefix_cut(prefix: str, kind: pa.DataType) -> OrderedCut:
    """Return the cut that has the texts at it that start with a prefix."""
    after = _after(prefix)
    low = pa.scalar(prefix, kind) if prefix else None
    return OrderedCut(low, None if after is None else pa.scalar(after, kind), closed=True)


def _after(prefix: str) -> str | None:
    """Return the smallest text above all that start with a prefix, None where there is none."""
    stem = prefix.rstrip(chr(_LAST))
    if not stem:
        return None
    code = ord(stem[-1])
    return stem[:-1] + chr(_FIRST_AFTER_SURROGATES if code == _LAST_BEFORE_SURROGATES else code + 1)
