"""A predicate meets a table: names become columns, literals become cuts, and whatever does not fit is an error now, not later."""

from __future__ import annotations

import difflib
from dataclasses import replace
from functools import singledispatchmethod

import pyarrow as pa

from indextables.errors import PredicateError, SchemaError
from indextables.predicate import expression as tree
from indextables.predicate.coercion import as_double, mismatch, normalise, spans
from indextables.predicate.cuts import ABOVE, AT, BELOW, SIDES, Beyond, Cut, OrderedCut, float_cut, prefix_cut
from indextables.predicate.kinds import ColumnType, column_type
from indextables.predicate.members import Members, members_of
from indextables.predicate.nodes import BoundColumn, Junction, Node, Null, Opposite, Outcomes, Pattern, Same, Test
from indextables.predicate.pairs import bind_pair
from indextables.predicate.patterns import read_pattern

_TEXTS_ONLY = "Only a text has a form or a beginning"


class Binder:
    """Binds expressions to one schema. `resolve` settles names and literals, `node` builds what is evaluated."""

    def __init__(self, schema: pa.Schema, *, case_sensitive: bool, timezone: str) -> None:
        self._schema = schema
        self._case_sensitive = case_sensitive
        self._timezone = timezone

    def column(self, reference: tree.Reference) -> BoundColumn:
        """Return the column that a reference names.

        Raises:
            SchemaError: There is none, or more than one.
        """
        field, path = self._find(self._schema, reference, 0), []
        if field is None and len(reference.parts) > 1:
            # A column may have a dot in its own name, and then it need not be quoted to be found.
            whole = replace(reference, parts=(".".join(reference.parts),))
            if (field := self._find(self._schema, whole, 0)) is not None:
                return self._bound((field.name,), field)
        if field is None:
            raise self._unknown(reference, 0, self._schema.names)
        path.append(field.name)
        for depth in range(1, len(reference.parts)):
            inside = list(field.type) if pa.types.is_struct(field.type) else []
            found = self._find(inside, reference, depth)
            if found is None:
                raise self._unknown(reference, depth, [child.name for child in inside])
            field = found
            path.append(field.name)
        return self._bound(tuple(path), field)

    def _bound(self, path: tuple[str, ...], field: pa.Field) -> BoundColumn:
        name = ".".join(path)
        outside = self._schema.get_field_index(name) >= 0
        # Statistics know a name only, so where it may mean a column or a field inside another, they are of neither.
        two = "." in name and outside and (len(path) > 1 or self._leads_inside(name.split(".")))
        return BoundColumn(path, None if two else name, column_type(field))

    def _leads_inside(self, parts: list[str]) -> bool:
        fields: pa.Schema | list[pa.Field] = self._schema
        for part in parts:
            found = next((field for field in fields if field.name == part), None)
            if found is None:
                return False
            fields = list(found.type) if pa.types.is_struct(found.type) else []
        return True

    def _find(self, fields: list[pa.Field] | pa.Schema, reference: tree.Reference, depth: int) -> pa.Field | None:
        wanted = reference.parts[depth]
        exact = [field for field in fields if field.name == wanted]
        if len(exact) == 1 or self._case_sensitive:
            return exact[0] if exact else None
        found = [field for field in fields if field.name.casefold() == wanted.casefold()]
        if len(found) > 1:
            names = [field.name for field in found]
            raise SchemaError(
                f"{wanted} may mean any of the columns {', '.join(names)}",
                columns=names,
                way_out="Spell it as one of them",
            )
        return found[0] if found else None

    def _unknown(self, reference: tree.Reference, depth: int, names: list[str]) -> SchemaError:
        wanted = ".".join(reference.parts[: depth + 1])
        by_case = {name.casefold(): name for name in names}
        close = difflib.get_close_matches(reference.parts[depth].casefold(), by_case, n=3)
        place = f", at character {reference.place.start + 1} of the predicate" if reference.place else ""
        shown = [by_case[name] for name in close] or names[:10]
        within = f" in {'.'.join(reference.parts[:depth])}" if depth else ""
        return SchemaError(
            f"There is no column {wanted}{place}",
            columns=[wanted],
            way_out=(f"Perhaps you mean {' or '.join(shown)}" if close else f"There are {', '.join(shown)}{within}")
            if shown
            else "It is a column without fields inside",
        )

    def resolve(self, expression: tree.Expression) -> tree.Expression:
        """Return an expression with the table's spelling of names, and literals that depend on nothing else."""
        return self._resolve(expression.condition())

    @singledispatchmethod
    def _resolve(self, expression: tree.Expression) -> tree.Expression:
        return expression

    def _spelled(self, reference: tree.Reference) -> tuple[tree.Reference, BoundColumn]:
        column = self.column(reference)
        return replace(reference, parts=column.path), column

    @_resolve.register
    def _(self, expression: tree.Comparison) -> tree.Expression:
        left, column = self._spelled(expression.left)
        if isinstance(expression.right, tree.Reference):
            return replace(expression, left=left, right=self._spelled(expression.right)[0])
        return replace(expression, left=left, right=self._normal(expression.right, column))

    @_resolve.register
    def _(self, expression: tree.In) -> tree.Expression:
        reference, column = self._spelled(expression.reference)
        if not expression.values:
            return tree.Constant(False)
        return tree.In(reference, tuple(self._normal(value, column) for value in expression.values))

    @_resolve.register(tree.Flag)
    @_resolve.register(tree.IsNull)
    @_resolve.register(tree.Like)
    @_resolve.register(tree.StartsWith)
    def _(self, expression: tree.Flag | tree.IsNull | tree.Like | tree.StartsWith) -> tree.Expression:
        return replace(expression, reference=self._spelled(expression.reference)[0])

    @_resolve.register
    def _(self, expression: tree.Is) -> tree.Expression:
        child = self._resolve(expression.child)
        return (
            tree.IsNull(child.reference)
            if isinstance(child, tree.Flag) and expression.outcome is None
            else tree.Is(child, expression.outcome)
        )

    @_resolve.register
    def _(self, expression: tree.Not) -> tree.Expression:
        return tree.Not(self._resolve(expression.child))

    @_resolve.register(tree.And)
    @_resolve.register(tree.Or)
    def _(self, expression: tree.And | tree.Or) -> tree.Expression:
        flat: list[tree.Expression] = []
        for child in expression.children:
            resolved = self._resolve(child)
            flat.extend(resolved.children if isinstance(resolved, type(expression)) else [resolved])
        return flat[0] if len(flat) == 1 else type(expression)(tuple(flat))

    def _normal(self, literal: tree.Literal, column: BoundColumn) -> tree.Literal:
        return normalise(literal, column.type, name=".".join(column.path), timezone=self._timezone)

    def node(self, expression: tree.Expression) -> Node:
        """Return what evaluates a resolved expression."""
        return self._compile(expression)

    @singledispatchmethod
    def _compile(self, expression: tree.Expression) -> Node:
        raise TypeError(type(expression).__name__)

    @_compile.register
    def _(self, expression: tree.Constant) -> Node:
        return Same(expression.value)

    @_compile.register
    def _(self, expression: tree.Flag) -> Node:
        column = self.column(expression.reference)
        if column.type.family != "boolean":
            raise _not_a(expression.reference, column, "is not a condition", "Compare it with a value")
        return Test(column, self._cuts([tree.Literal("boolean", True)], column.type)[0], AT)

    @_compile.register
    def _(self, expression: tree.Comparison) -> Node:
        column, right = self.column(expression.left), expression.right
        if isinstance(right, tree.Reference):
            return bind_pair(expression.operator, column, self.column(right), right)
        if right.kind == "null":
            return Null(column) if expression.operator == "<=>" else Same(None)
        cut = self._cuts([right], column.type)[0]
        if expression.operator == "<=>":
            return Outcomes(Test(column, cut, AT), True)
        return Test(column, cut, SIDES[expression.operator])

    @_compile.register
    def _(self, expression: tree.In) -> Node:
        column = self.column(expression.reference)
        literals = [value for value in expression.values if value.kind != "null"]
        has_null = len(literals) < len(expression.values)
        if not literals:
            return Same(None)
        points, nodes, has_nan = [], [], False
        for cut in self._cuts(literals, column.type):
            inner = getattr(cut, "numbers", cut)
            if inner is None:
                has_nan = True
            elif isinstance(inner, OrderedCut) and inner.is_point:
                points.append(inner.low)
            elif isinstance(inner, OrderedCut) and not inner.is_gap:
                nodes.append(Test(column, cut, AT))
        members = Members(column, members_of(points, column.type.arrow), has_nan, has_null)
        return Junction((members, *nodes), decisive=True) if nodes else members

    @_compile.register
    def _(self, expression: tree.IsNull) -> Node:
        return Null(self.column(expression.reference))

    @_compile.register
    def _(self, expression: tree.Is) -> Node:
        return Outcomes(self._compile(expression.child), expression.outcome)

    @_compile.register
    def _(self, expression: tree.StartsWith) -> Node:
        column = self._text(expression.reference)
        return Test(column, prefix_cut(expression.prefix, column.type.arrow), AT)

    @_compile.register
    def _(self, expression: tree.Like) -> Node:
        column = self._text(expression.reference)
        try:
            pattern = read_pattern(expression.pattern, expression.escape)
        except ValueError as error:
            literal = tree.Literal("string", expression.pattern, expression.place)
            raise mismatch(str(error), literal, "Escape only % and _ and the escape character itself") from error
        if pattern.rest == "":
            return Test(column, self._cuts([tree.Literal("string", pattern.prefix)], column.type)[0], AT)
        prefix = prefix_cut(pattern.prefix, column.type.arrow)
        return Test(column, prefix, AT) if pattern.rest == "%" else Pattern(column, pattern.expression, prefix)

    @_compile.register
    def _(self, expression: tree.Not) -> Node:
        return Opposite(self._compile(expression.child))

    @_compile.register(tree.And)
    @_compile.register(tree.Or)
    def _(self, expression: tree.And | tree.Or) -> Node:
        return Junction(
            tuple(self._compile(child) for child in expression.children), decisive=isinstance(expression, tree.Or)
        )

    def _text(self, reference: tree.Reference) -> BoundColumn:
        column = self.column(reference)
        if column.type.family != "string":
            raise _not_a(reference, column, "is not a text", _TEXTS_ONLY)
        return column

    def _cuts(self, literals: list[tree.Literal], column: ColumnType) -> list[Cut]:
        if column.family == "float":
            return [float_cut(as_double(literal), column.arrow) for literal in literals]
        if column.family in ("string", "binary"):
            scalars = [pa.scalar(literal.value, column.arrow) for literal in literals]
            return [OrderedCut(scalar, scalar, closed=False) for scalar in scalars]
        return [_whole_cut(span.first, span.end, column) for span in spans(literals, column, timezone=self._timezone)]


def _whole_cut(first: float, end: float, column: ColumnType) -> Cut:
    """Return the cut with the whole numbers from first up to end at it, in a column that holds only so many."""
    if first > column.high:
        return Beyond(BELOW)
    if end <= column.low:
        return Beyond(ABOVE)
    if end == first + 1:
        scalar = column.scalar(int(first))
        return OrderedCut(scalar, scalar, closed=False)
    low = column.scalar(int(first)) if first > column.low else None
    return OrderedCut(low, column.scalar(int(end)) if end <= column.high else None, closed=True)


def _not_a(reference: tree.Reference, column: BoundColumn, what: str, way_out: str) -> PredicateError:
    place = reference.place
    return PredicateError(
        f"Column {'.'.join(column.path)} is of type {column.type.words} and {what}",
        text=place.text if place else None,
        position=place.start if place else None,
        way_out=way_out,
    )
