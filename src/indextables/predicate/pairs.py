"""Two columns beside each other: `start < end`.

Rows are compared directly. For files it is interval against interval: `a < b` is possible where the smallest `a` is less than the
largest `b`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import PredicateError
from indextables.predicate.cuts import ABOVE, AT, BELOW, EVERYWHERE, SIDES, Bounds, Values
from indextables.predicate.masks import Mask, both, either, known
from indextables.predicate.nodes import BoundColumn, Junction, Node, Null, Outcome, Outcomes

if TYPE_CHECKING:
    from indextables.predicate.expression import Operator, Reference
    from indextables.predicate.kinds import ColumnType
    from indextables.predicate.rows import Rows
    from indextables.predicate.statistics import View

_NUMBERS: Final = ("integer", "float")
_COMPARE: Final[dict[int, Any]] = {
    1: pc.less,
    2: pc.equal,
    3: pc.less_equal,
    4: pc.greater,
    5: pc.not_equal,
    6: pc.greater_equal,
}


@dataclass(frozen=True, slots=True)
class Pair:
    """One column on some sides of another, both compared in the type `common`."""

    left: BoundColumn
    right: BoundColumn
    common: pa.DataType
    sides: int

    def rows(self, rows: Rows) -> Values:
        """See `Node`."""
        left, right = (self._in_common(rows.values(column)) for column in (self.left, self.right))
        answer = _COMPARE[self.sides](left, right)
        if not pa.types.is_floating(self.common):
            return answer
        first, second = pc.is_nan(left), pc.is_nan(right)
        # NaN is above every number and equal to itself.
        special = {
            BELOW: pc.and_(pc.invert(first), second),
            AT: pc.and_(first, second),
            ABOVE: pc.and_(first, pc.invert(second)),
        }
        beside_nan = pa.scalar(False)
        for side, where in special.items():
            if self.sides & side:
                beside_nan = pc.or_(beside_nan, where)
        return pc.if_else(pc.or_(first, second), beside_nan, answer)

    def may_be(self, outcome: Outcome, view: View) -> Mask:
        """See `Node`."""
        left, right = self._known(self.left, view), self._known(self.right, view)
        if outcome is None:
            return either(left.may_be_null, right.may_be_null)
        sides = self.sides if outcome else EVERYWHERE ^ self.sides
        possible = either(self._possible(left.bounds, right.bounds, sides), left.bounds.may_have_nan)
        possible = either(possible, right.bounds.may_have_nan)
        return both(possible, both(left.may_have_value, right.may_have_value))

    def _possible(self, left: Bounds, right: Bounds, sides: int) -> Mask:
        if sides == BELOW | ABOVE:
            return either(self._possible(left, right, BELOW), self._possible(left, right, ABOVE))
        if sides == AT:
            return both(self._possible(left, right, BELOW | AT), self._possible(left, right, AT | ABOVE))
        if sides & BELOW:
            return self._can(sides, left.minimum, right.maximum)
        return self._can(sides, left.maximum, right.minimum)

    def _can(self, sides: int, first: Values | None, second: Values | None) -> Mask:
        if first is None or second is None:
            return True
        return known(_COMPARE[sides](first, second), unknown=True)

    def _known(self, column: BoundColumn, view: View) -> _Known:
        if column.name is None:
            return _Known(Bounds(None, None, may_have_nan=True), True, True)
        nulls, values = view.may_be_null(column.name), view.may_have_value(column.name)
        exact = view.exact(column.name, column.type)
        if exact is None:
            found = view.bounds(column.name, column.type)
            bounds = Bounds(self._in_common(found.minimum), self._in_common(found.maximum), found.may_have_nan)
        else:
            nan = known(pc.is_nan(exact), unknown=False) if pa.types.is_floating(exact.type) else False
            bounds = Bounds(self._in_common(exact), self._in_common(exact), nan)
        return _Known(bounds, nulls, values)

    def _in_common(self, values: Values | None) -> Values | None:
        # Large integers are rounded to double, which is what Spark does and keeps their order.
        return None if values is None else values.cast(self.common, safe=False)

    def filter(self, outcome: bool) -> pc.Expression | None:  # noqa: ARG002 - row groups know nothing of pairs
        """See `Node`."""
        return None


@dataclass(frozen=True, slots=True)
class _Known:
    bounds: Bounds
    may_be_null: Mask
    may_have_value: Mask


def bind_pair(operator: Operator, left: BoundColumn, right: BoundColumn, place: Reference) -> Node:
    """Return the node for a comparison of two columns.

    Raises:
        PredicateError: They are of types that are not compared.
    """
    common = _common(left.type, right.type)
    if common is None:
        at = place.place
        raise PredicateError(
            f"Column {'.'.join(left.path)} is of type {left.type.words} and cannot be compared with column "
            f"{'.'.join(right.path)} of type {right.type.words}",
            text=at.text if at else None,
            position=at.start if at else None,
            way_out="Compare columns of the same type",
        )
    if operator != "<=>":
        return Pair(left, right, common, SIDES[operator])
    neither = Junction((Null(left), Null(right)), decisive=False)
    return Junction((neither, Outcomes(Pair(left, right, common, AT), True)), decisive=True)


def _common(left: ColumnType, right: ColumnType) -> pa.DataType | None:
    if left.family == "other" or right.family == "other":
        return None
    if left.family in _NUMBERS and right.family in _NUMBERS:
        if "float" in (left.family, right.family):
            return pa.float64()
        unsigned = pa.uint64() in (left.arrow, right.arrow)
        return None if unsigned and left.arrow != right.arrow else left.arrow if unsigned else pa.int64()
    # Texts may be held in two forms; of anything else a cast between two types could lose digits.
    same = left.arrow == right.arrow or (left.family == right.family and left.family in ("string", "binary"))
    return left.arrow if same else None
