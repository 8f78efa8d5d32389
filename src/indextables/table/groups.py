"""Which row groups of a split can hold rows that a predicate is true for, by what its footer says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicate import FileStatistics
from indextables.predicate.expression import And, Comparison, In, Literal
from indextables.split.bloom import may_contain, plain_bytes
from indextables.split.footer_statistics import chunk_bounds, positions, same_family
from indextables.values import leaves, parse_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from indextables.predicate import Expression, Predicate
    from indextables.split.reader import Split
    from indextables.values import Leaf

_MOST_VALUES: Final = 100
# Literals that are values of the column as they stand; any other comparison converts one of the sides.
_KINDS: Final = {
    "integer": pa.types.is_signed_integer,
    "string": pa.types.is_string,
    "binary": pa.types.is_binary,
    "date": pa.types.is_date32,
    "timestamp": lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,
    "timestamp_ntz": lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
}


def matching_row_groups(
    split: Split, predicate: Predicate, constants: Mapping[str, pa.Scalar], schema: pa.Schema
) -> list[int]:
    """Return the row groups that may match.

    Args:
        split: The file.
        predicate: What is looked for.
        constants: The values of the partition columns.
        schema: The columns of the table.
    """
    groups = range(split.num_row_groups)
    rows = [split.rows_of([group]) for group in groups]
    known = leaves(schema)
    places = positions(split.schema)
    present = {name.casefold() for name in split.schema.names}
    least, greatest, nulls, nan = {}, {}, {}, {}
    for path in predicate.columns:
        if path in constants or path not in known:
            continue
        kind = known[path].field.type
        if path not in places:
            if known[path].names[0].casefold() not in present:
                nulls[path] = pa.array(rows, pa.int64())
            continue
        position, stored = places[path]
        bounds = chunk_bounds(split.footer, position, stored.field.type, groups)
        nulls[path] = pa.array(bounds.null_counts, pa.int64())
        if known[path].ordered and same_family(stored.field.type, kind):
            least[path], greatest[path] = (_typed(texts, kind) for texts in (bounds.least, bounds.greatest))
        if split.footer.own and pa.types.is_floating(kind):
            # Our writer states no bounds of a column that holds NaN.
            nan[path] = pc.is_null(least[path]) if path in least else pa.array([True] * len(rows))
    statistics = FileStatistics(
        num_files=len(rows),
        num_records=pa.array(rows, pa.int64()),
        min_values=least,
        max_values=greatest,
        null_counts=nulls,
        exact_values={path: pa.repeat(constants[path], len(rows)) for path in predicate.columns if path in constants},
        may_have_nan=nan,
    )
    left = [int(group) for group in pc.indices_nonzero(predicate.may_match(statistics)).to_pylist()]
    for path, literals in wanted_values(predicate.expression):
        if path in places and path in known and left:
            left = _with_values(split, left, *places[path], known[path], literals)
    return left


def wanted_values(expression: Expression) -> Iterator[tuple[str, tuple[Literal, ...]]]:
    """Yield the columns that must have one of some values for a predicate to be true."""
    match expression:
        case And():
            for child in expression.children:
                yield from wanted_values(child)
        case Comparison(operator="=", left=reference, right=Literal() as literal):
            yield ".".join(reference.parts), (literal,)
        case In():
            yield ".".join(expression.reference.parts), expression.values


def _with_values(
    split: Split, groups: list[int], position: int, stored: Leaf, leaf: Leaf, literals: tuple[Literal, ...]
) -> list[int]:
    """Return the row groups whose bloom filters do not rule out every value."""
    kind = stored.field.type
    if len(literals) > _MOST_VALUES or not kind.equals(leaf.field.type) or not leaf.ordered:
        return groups
    if any(_KINDS.get(literal.kind, _nothing)(kind) is False for literal in literals):
        return groups
    values = [plain_bytes(literal.value, kind) for literal in literals]
    if any(value is None for value in values):
        return groups
    some = [value for value in values if value is not None]
    filters = ((group, split.bloom_filter(group, position)) for group in groups)
    return [group for group, stored_filter in filters if stored_filter is None or may_contain(stored_filter, some)]


def _nothing(_: pa.DataType) -> bool:
    return False


def _typed(texts: list[str | None], kind: pa.DataType) -> pa.ChunkedArray:
    return parse_values(pa.chunked_array([pa.array(texts, pa.string())]), kind)
