"""A predicate that is bound to its table: what it is for rows, and what it may be for files.

Three answers are possible for a row, true, false and unknown, and for a file each of the three may occur or not. `may_be` asks for
one of them. Working with all three is what makes NOT, OR and null right without special cases: the opposite of "may be true" is not
"may be false".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicate.cuts import AT, EVERYWHERE, Cut, Values
from indextables.predicate.masks import Mask, both, either, known

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.predicate.kinds import ColumnType
    from indextables.predicate.rows import Rows
    from indextables.predicate.statistics import View

Outcome = bool | None


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """A column of the table, or a field inside one.

    Attributes:
        path: The names that lead to it, as the table spells them.
        name: Its name in statistics; None if another column has that name.
        type: How it compares.
    """

    path: tuple[str, ...]
    name: str | None
    type: ColumnType

    def field(self) -> pc.Expression:
        """Return the reference for an Arrow filter."""
        return pc.field(*self.path)


class Node(Protocol):
    """A part of a bound predicate."""

    def rows(self, rows: Rows) -> Values:
        """Return the answer for each row; null for unknown."""

    def may_be(self, outcome: Outcome, view: View) -> Mask:
        """Return the files that may have a row with this answer."""

    def filter(self, outcome: bool) -> pc.Expression | None:
        """Return an Arrow filter that keeps every row with this answer; None if all rows have to stay."""


class Leaf(ABC):
    """A condition on one column: null exactly where the column is, unless it says otherwise."""

    __slots__ = ()
    column: BoundColumn

    @abstractmethod
    def answer(self, values: Values) -> Values:
        """Return the answer for each value."""

    @abstractmethod
    def possible(self, outcome: bool, view: View, name: str) -> Mask:
        """Return the files in which a value may have this answer, by their bounds."""

    def rows(self, rows: Rows) -> Values:
        """See `Node`."""
        return self.answer(rows.values(self.column))

    def may_be(self, outcome: Outcome, view: View) -> Mask:
        """See `Node`."""
        name = self.column.name
        if name is None:
            return True
        exact = view.exact(name, self.column.type)
        if exact is not None:
            return _occurs(view.once((id(self), "answer"), lambda: self._exact_answer(exact)), outcome)
        if outcome is None:
            return view.may_be_null(name)
        return both(self.possible(outcome, view, name), view.may_have_value(name))

    def _exact_answer(self, exact: Values) -> pa.BooleanArray:
        answer = self.answer(exact)
        return answer.combine_chunks() if isinstance(answer, pa.ChunkedArray) else answer

    @abstractmethod
    def filter(self, outcome: bool) -> pc.Expression | None:
        """See `Node`."""


def _occurs(answer: pa.BooleanArray, outcome: Outcome) -> Mask:
    if outcome is None:
        return pc.is_null(answer)
    return known(answer if outcome else pc.invert(answer), unknown=False)


@dataclass(frozen=True, slots=True)
class Test(Leaf):
    """Values on some sides of a cut."""

    column: BoundColumn
    cut: Cut
    sides: int

    def _sides(self, outcome: bool) -> int:
        return self.sides if outcome else EVERYWHERE ^ self.sides

    def answer(self, values: Values) -> Values:
        """See `Leaf`."""
        return self.cut.rows(values, self.sides)

    def possible(self, outcome: bool, view: View, name: str) -> Mask:
        """See `Leaf`."""
        return self.cut.possible(view.bounds(name, self.column.type), self._sides(outcome))

    def filter(self, outcome: bool) -> pc.Expression | None:
        """See `Node`."""
        return self.cut.filter(self.column.field(), self._sides(outcome))


@dataclass(frozen=True, slots=True)
class Pattern(Leaf):
    """Texts of a form that is more than a prefix: bounds can only rule out the prefix."""

    column: BoundColumn
    expression: str
    prefix: Cut

    def answer(self, values: Values) -> Values:
        """See `Leaf`."""
        return pc.match_substring_regex(values, self.expression)

    def possible(self, outcome: bool, view: View, name: str) -> Mask:
        """See `Leaf`."""
        return self.prefix.possible(view.bounds(name, self.column.type), AT) if outcome else True

    def filter(self, outcome: bool) -> pc.Expression | None:
        """See `Node`."""
        return self.prefix.filter(self.column.field(), AT) if outcome else self.column.field().is_valid()


@dataclass(frozen=True, slots=True)
class Null:
    """A column without a value."""

    column: BoundColumn

    def rows(self, rows: Rows) -> Values:
        """See `Node`."""
        return pc.is_null(rows.values(self.column))

    def may_be(self, outcome: Outcome, view: View) -> Mask:
        """See `Node`."""
        name = self.column.name
        if outcome is None:
            return False
        if name is None:
            return True
        return view.may_be_null(name) if outcome else view.may_have_value(name)

    def filter(self, outcome: bool) -> pc.Expression | None:
        """See `Node`."""
        return self.column.field().is_null() if outcome else self.column.field().is_valid()


@dataclass(frozen=True, slots=True)
class Same:
    """The same answer for every row."""

    value: Outcome

    def rows(self, rows: Rows) -> Values:
        """See `Node`."""
        return pa.array([self.value], pa.bool_()).take(pa.repeat(0, rows.length))

    def may_be(self, outcome: Outcome, view: View) -> Mask:  # noqa: ARG002 - no statistics matter
        """See `Node`."""
        return self.value is outcome

    def filter(self, outcome: bool) -> pc.Expression | None:
        """See `Node`."""
        return None if self.value is outcome else pc.scalar(False)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Whether a condition has an answer; itself never unknown."""

    child: Node
    outcome: Outcome

    def rows(self, rows: Rows) -> Values:
        """See `Node`."""
        answer = self.child.rows(rows)
        if self.outcome is None:
            return pc.is_null(answer)
        return pc.fill_null(answer if self.outcome else pc.invert(answer), False)

    def may_be(self, outcome: Outcome, view: View) -> Mask:
        """See `Node`."""
        if outcome is None:
            return False
        if outcome:
            return self.child.may_be(self.outcome, view)
        others: list[Outcome] = [other for other in (True, False, None) if other is not self.outcome]
        return either(self.child.may_be(others[0], view), self.child.may_be(others[1], view))

    def filter(self, outcome: bool) -> pc.Expression | None:
        """See `Node`."""
        return self.child.filter(self.outcome) if outcome and self.outcome is not None else None


@dataclass(frozen=True, slots=True)
class Opposite:
    """NOT."""

    child: Node

    def rows(self, rows: Rows) -> Values:
        """See `Node`."""
        return pc.invert(self.child.rows(rows))

    def may_be(self, outcome: Outcome, view: View) -> Mask:
        """See `Node`."""
        return self.child.may_be(None if outcome is None else not outcome, view)

    def filter(self, outcome: bool) -> pc.Expression | None:
        """See `Node`."""
        return self.child.filter(not outcome)


@dataclass(frozen=True, slots=True)
class Junction:
    """AND or OR: `decisive` is the answer of one child that decides alone, false for AND and true for OR."""

    children: tuple[Node, ...]
    decisive: bool

    def rows(self, rows: Rows) -> Values:
        """See `Node`."""
        combine: Callable[[Any, Any], Any] = pc.or_kleene if self.decisive else pc.and_kleene
        return reduce(combine, (child.rows(rows) for child in self.children))

    def may_be(self, outcome: Outcome, view: View) -> Mask:
        """See `Node`."""
        if outcome is self.decisive:
            return self._fold(either, outcome, view, start=False)
        if outcome is not None:
            return self._fold(both, outcome, view, start=True)
        # Unknown needs a child that is unknown and no child that decides.
        some = self._fold(either, None, view, start=False)
        if some is False:
            return False
        for child in self.children:
            undecided = either(child.may_be(not self.decisive, view), child.may_be(None, view))
            some = both(some, undecided)
        return some

    def _fold(self, combine: Callable[[Mask, Mask], Mask], outcome: Outcome, view: View, *, start: bool) -> Mask:
        mask: Mask = start
        for child in self.children:
            mask = combine(mask, child.may_be(outcome, view))
            if mask is not start and isinstance(mask, bool):
                break
        return mask

    def filter(self, outcome: bool) -> pc.Expression | None:
        """See `Node`."""
        said = [part for child in self.children if (part := child.filter(outcome)) is not None]
        if outcome is self.decisive:
            return reduce(pc.or_kleene, said) if len(said) == len(self.children) else None
        return reduce(pc.and_kleene, said) if said else None
