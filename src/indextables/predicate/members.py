"""IN with a list of values, short or long, against rows and against bounds.

A list is sorted once. A file may hold a member if the first member that is not below its minimum is not above its maximum, which
costs two searches a file and not a comparison for each member.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicate.cuts import AT, Bounds, OrderedCut, Values
from indextables.predicate.masks import Mask, both, either, known, opposite
from indextables.predicate.nodes import BoundColumn, Leaf

if TYPE_CHECKING:
    from indextables.predicate.nodes import Outcome
    from indextables.predicate.statistics import View

_SHORT: Final = 8


@dataclass(frozen=True, slots=True)
class Members(Leaf):
    """A column whose value is in a list of single values.

    Attributes:
        members: The values, sorted and distinct, without null and NaN.
        has_nan: Whether NaN is in the list.
        has_null: Whether null is: then what is not in the list is unknown, not false.
    """

    column: BoundColumn
    members: pa.Array
    has_nan: bool
    has_null: bool

    def answer(self, values: Values) -> Values:
        """See `Leaf`."""
        found = pc.is_in(values, value_set=self.members)
        if self.has_nan:
            found = pc.or_(found, pc.fill_null(pc.is_nan(values), False))
        if self.has_null:
            return pc.if_else(found, found, pa.scalar(None, pa.bool_()))
        return pc.if_else(pc.is_valid(values), found, pa.scalar(None, pa.bool_()))

    def may_be(self, outcome: Outcome, view: View) -> Mask:
        """See `Node`."""
        name = self.column.name
        if not self.has_null or outcome is True or name is None or view.exact(name, self.column.type) is not None:
            return Leaf.may_be(self, outcome, view)
        # With null in the list no row is false: what would be is unknown.
        return outcome is None and either(Leaf.may_be(self, None, view), Leaf.may_be(self, False, view))

    def possible(self, outcome: bool, view: View, name: str) -> Mask:
        """See `Leaf`."""
        bounds = view.bounds(name, self.column.type)
        if outcome:
            held = self._between(bounds)
            return either(held, bounds.may_have_nan) if self.has_nan else held
        if bounds.minimum is None or bounds.maximum is None:
            return True
        single = known(pc.equal(bounds.minimum, bounds.maximum), unknown=False)
        member = known(pc.is_in(bounds.minimum, value_set=self.members), unknown=False)
        all_members = both(single, member)
        return either(opposite(all_members), False if self.has_nan else bounds.may_have_nan)

    def _between(self, bounds: Bounds) -> Mask:
        """Return the files that have a member between their bounds."""
        if bounds.minimum is None or bounds.maximum is None or not len(self.members):
            low, high = (None, None) if not len(self.members) else (self.members[0], self.members[-1])
            return bool(len(self.members)) and OrderedCut(low, high, closed=False).possible(bounds, AT)
        if len(self.members) <= _SHORT:
            points = (OrderedCut(member, member, closed=False) for member in self.members)
            return reduce(either, (point.possible(bounds, AT) for point in points))
        unknown = pc.or_(pc.is_null(bounds.minimum), pc.is_null(bounds.maximum))
        first = _members_below(self.members, bounds.minimum, own=False)
        end = _members_below(self.members, bounds.maximum, own=True)
        return either(known(unknown, unknown=True), pa.array(first < end))

    def filter(self, outcome: bool) -> pc.Expression | None:
        """See `Node`."""
        field = self.column.field()
        if not outcome:
            return pc.scalar(False) if self.has_null else field.is_valid()
        if self.has_nan:
            return None
        if not len(self.members):
            return pc.scalar(False)
        return (field >= self.members[0]) & (field <= self.members[-1]) & field.isin(self.members)


def _members_below(members: pa.Array, bound: Values, *, own: bool) -> np.ndarray[Any, Any]:
    """Return how many members are less than each bound, or not more than it if `own`; anything where there is no bound."""
    values = bound.combine_chunks() if isinstance(bound, pa.ChunkedArray) else bound
    if pa.types.is_primitive(values.type) and not pa.types.is_boolean(values.type):
        return np.searchsorted(_numbers(members), _numbers(values), side="right" if own else "left")
    together = pa.concat_arrays([members, values] if own else [values, members])
    # Equal values keep their order, so members count as below a bound exactly if they were put before it.
    order = pc.sort_indices(together).to_numpy()
    start = 0 if own else len(values)
    is_member = (order >= start) & (order < start + len(members))
    below = np.empty(len(together), np.int64)
    below[order] = np.cumsum(is_member)
    return below[len(members) :] if own else below[: len(values)]


def _numbers(values: pa.Array) -> np.ndarray[Any, Any]:
    """Return the numbers underneath, with any number for null."""
    if not pa.types.is_floating(values.type):
        width = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[values.type.bit_width]
        values = values if pa.types.is_integer(values.type) else values.view(width)
    numbers: np.ndarray[Any, Any] = (values.fill_null(0) if values.null_count else values).to_numpy()
    return numbers


def members_of(values: list[pa.Scalar], kind: pa.DataType) -> pa.Array:
    """Return values as a sorted array in which each occurs once; either zero brings the other along."""
    array = pa.array(values, kind)
    if pa.types.is_floating(kind) and pc.any(pc.equal(array, 0)).as_py():
        array = pa.concat_arrays([array, pa.array([0.0, -0.0], kind)])
    array = array.unique()
    return array.take(pc.sort_indices(array))
