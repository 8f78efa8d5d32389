"""A predicate that knows its table: the one object that the rest of the project holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import PredicateError
from indextables.predicate import expression as tree
from indextables.predicate.binding import Binder
from indextables.predicate.explain import Effect, effects
from indextables.predicate.masks import both, either, opposite, whole
from indextables.predicate.pruning import files_that_may_match
from indextables.predicate.render import to_sql
from indextables.predicate.rows import Rows
from indextables.predicate.sql import parse
from indextables.predicate.statistics import FileStatistics, View
from indextables.predicate.temporal import is_zone

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from indextables.predicate.nodes import Node


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on the rows of one table.

    Attributes:
        expression: The condition, with names as the table spells them.
        columns: The columns that it looks at; fields of structs as dotted paths.
    """

    expression: tree.Expression
    columns: tuple[str, ...]
    _node: Node = field(repr=False, compare=False)
    _binder: Binder = field(repr=False, compare=False)

    def may_match(self, statistics: FileStatistics) -> pa.BooleanArray:
        """Return which files have to be read: true where a row may satisfy the predicate, or nobody knows."""
        return files_that_may_match(self._node, statistics)

    def must_match(self, statistics: FileStatistics) -> pa.BooleanArray:
        """Return which files satisfy the predicate with every row; false where nobody knows."""
        view = View(statistics)
        fails = either(self._node.may_be(False, view), self._node.may_be(None, view))
        return whole(opposite(both(fails, view.may_have_rows())), statistics.num_files)

    def evaluate(self, batch: pa.RecordBatch | pa.Table) -> pa.BooleanArray | pa.ChunkedArray:
        """Return the answer for each row, as Spark gives it: true, false, or null for unknown.

        Raises:
            SchemaError: A column holds values that its type in the table cannot.
        """
        if isinstance(batch, pa.Table):
            return pa.chunked_array([self._node.rows(Rows(part)) for part in batch.to_batches()], pa.bool_())
        return self._node.rows(Rows(batch))

    def to_arrow_filter(self) -> pc.Expression | None:
        """Return a filter for `pyarrow.dataset` that keeps every matching row and maybe others; None if it would keep all."""
        return self._node.filter(True)

    def sql(self) -> str:
        """Return the predicate as Spark SQL; `parse` reads it back as the same."""
        return to_sql(self.expression)

    def split_by(self, partition_columns: Collection[str]) -> tuple[Predicate | None, Predicate | None]:
        """Return the part that looks at partition columns alone, and the rest; both must hold, None holds always."""
        wanted = set(partition_columns)
        inside: list[tree.Expression] = []
        outside: list[tree.Expression] = []
        for part in self._conjuncts():
            (inside if part.columns and wanted.issuperset(part.columns) else outside).append(part.expression)
        return self._all(inside), self._all(outside)

    def explain(self, statistics: FileStatistics) -> tuple[Effect, ...]:
        """Return what each of the conditions that must all hold does to the files, in the order in which they stand."""
        parts = self._conjuncts()
        return effects([(part.sql(), part.columns, part.may_match(statistics)) for part in parts], statistics)

    def _conjuncts(self) -> list[Predicate]:
        return [_build(part, self._binder) for part in _conjuncts(self.expression)]

    def _all(self, parts: list[tree.Expression]) -> Predicate | None:
        if not parts:
            return None
        return _build(parts[0] if len(parts) == 1 else tree.And(tuple(parts)), self._binder)


def bind(
    expression: tree.Expression | str, schema: pa.Schema, *, case_sensitive: bool = False, timezone: str = "UTC"
) -> Predicate:
    """Return a predicate for a table with this schema.

    Args:
        expression: What `parse`, `parse_v2` or `col` made, or SQL text.
        schema: The table's columns.
        case_sensitive: Whether `A` and `a` are different columns.
        timezone: The zone of timestamps that name none, as `spark.sql.session.timeZone`.

    Raises:
        SchemaError: It names a column that the table does not have.
        PredicateError: The text is no predicate, or compares what cannot be compared.
    """
    if not is_zone(timezone):
        raise PredicateError(f"{timezone!r} is not a time zone", way_out="Use a name such as Europe/Berlin, or +02:00")
    binder = Binder(schema, case_sensitive=case_sensitive, timezone=timezone)
    if isinstance(expression, str):
        expression = parse(expression, timezone=timezone)
    return _build(binder.resolve(tree.as_condition(expression)), binder)


def _build(expression: tree.Expression, binder: Binder) -> Predicate:
    columns = dict.fromkeys(".".join(reference.parts) for reference in _references(expression))
    return Predicate(expression, tuple(columns), binder.node(expression), binder)


def _references(expression: tree.Expression) -> Iterator[tree.Reference]:
    match expression:
        case tree.Comparison():
            yield expression.left
            if isinstance(expression.right, tree.Reference):
                yield expression.right
        case tree.And() | tree.Or():
            for child in expression.children:
                yield from _references(child)
        case tree.Not() | tree.Is():
            yield from _references(expression.child)
        case tree.Flag() | tree.In() | tree.IsNull() | tree.Like() | tree.StartsWith():
            yield expression.reference


def _conjuncts(expression: tree.Expression) -> Iterator[tree.Expression]:
    """Yield the conditions that must all hold."""
    match expression:
        case tree.And():
            for child in expression.children:
                yield from _conjuncts(child)
        case tree.Not(child=tree.Not(child=inner)):
            yield from _conjuncts(inner)
        case tree.Not(child=tree.Or(children=children)):
            for child in children:
                yield from _conjuncts(tree.Not(child))
        case _:
            yield expression
