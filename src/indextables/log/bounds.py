"""Which statistics of an add can be trusted to bound its rows, as typed columns.

Skipping a file on a wrong bound loses rows in silence, so doubt makes a bound null, which keeps the file. Our own writer's
bounds are exact or marked. Those of the original implementation are cut, rounded or hashed for some types, and only the types
that are known to be right are taken from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from indextables.config import TRUNCATION_SUFFIX
from indextables.values import leaves, parse_values

if TYPE_CHECKING:
    from collections.abc import Sequence

_FOREIGN_STRING_UNITS: Final = 32
_ASTRAL: Final = r"[\x{10000}-\x{10FFFF}]"
_BEHIND_SURROGATES: Final = r"[\x{E000}-\x{FFFF}]"
_AFTER_RECORDS: Final = ',"nullCount":'
_BEFORE_COUNTS: Final = '{"nullCount":'
_NOTHING: Final = '{"numRecords":0,"nullCount":{}}'
_LARGEST_BLOCK: Final = 16 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnCounts:
    """What `stats` says about one column, a row a file; null where it says nothing that can be trusted.

    Attributes:
        nulls: How many rows are null.
        nans: How many rows are NaN.
        inexact: Whether a bound may be no value of the column.
    """

    nulls: pa.ChunkedArray
    nans: pa.ChunkedArray
    inexact: pa.ChunkedArray


def trusted_bounds(
    texts: pa.ChunkedArray, schema: pa.Schema, *, ours: pa.ChunkedArray, lower: bool = False
) -> pa.Table:
    """Return one typed column for each column of the table that has bounds; null where a file has none to trust.

    Args:
        texts: The struct column of texts, a child a column of the table, or a path into its structs.
        schema: The table's columns.
        ours: Which rows a writer of this format wrote.
        lower: Whether they are minima.
    """
    columns = {path: trusted_bound(texts, path, schema, ours=ours, lower=lower) for path in leaves(schema)}
    return pa.table({path: values for path, values in columns.items() if values is not None})


def trusted_bound(
    texts: pa.ChunkedArray, path: str, schema: pa.Schema, *, ours: pa.ChunkedArray, lower: bool = False
) -> pa.ChunkedArray | None:
    """Return the typed bounds of one column; None where no file has any, or where they could not be compared."""
    leaf = leaves(schema).get(path)
    index = texts.type.get_field_index(path)
    if leaf is None or index < 0 or not leaf.ordered:
        return None
    kind = leaf.field.type
    return _finite(parse_values(_trusted(pc.struct_field(texts, index), kind, ours, lower=lower), kind), ours)


def trusted_counts(stats: pa.ChunkedArray, paths: Sequence[str], *, ours: pa.ChunkedArray) -> dict[str, ColumnCounts]:
    """Return what the `stats` of files say about columns, parsed in one go.

    Args:
        stats: The texts, each a JSON object.
        paths: The columns to look for.
        ours: Which rows a writer of this format wrote; what others count is not known.
    """
    counts = pa.struct([(path, pa.int64()) for path in paths])
    schema = pa.schema([("nullCount", counts), ("nanCount", counts), ("inexact", pa.list_(pa.string()))])
    distinct, places = _distinct(pc.fill_null(pc.if_else(ours, stats, pa.scalar(None, stats.type)), _NOTHING))
    parsed = _parse_lines(distinct, schema)
    marks = parsed["inexact"].combine_chunks()
    parents, names = pc.list_parent_indices(marks).cast(pa.int64()), pc.list_flatten(marks)
    numbers = pa.array(np.arange(len(distinct)))
    return {
        path: ColumnCounts(
            nulls=_placed(pc.struct_field(parsed["nullCount"], index), places),
            nans=_placed(pc.struct_field(parsed["nanCount"], index), places),
            inexact=_placed(pc.is_in(numbers, value_set=parents.filter(pc.equal(names, path))), places),
        )
        for index, path in enumerate(paths)
    }


def _distinct(texts: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Return different texts with the same counts of nulls, and which of them stands for each text.

    Most files hold no null at all, so that their texts differ in the number of rows alone, and a million shrink to a few.
    """
    parts = pc.split_pattern(texts, _AFTER_RECORDS, max_splits=1)
    if pc.all(pc.equal(pc.list_value_length(parts), 2)).as_py():
        encoded = pc.list_element(parts, 1).combine_chunks().dictionary_encode()
        return pc.binary_join_element_wise(_BEFORE_COUNTS, encoded.dictionary, ""), encoded.indices
    encoded = texts.combine_chunks().dictionary_encode()
    return encoded.dictionary, encoded.indices


def _placed(values: pa.Array | pa.ChunkedArray, places: pa.Array) -> pa.ChunkedArray:
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return pa.chunked_array([whole.take(places)])


def _parse_lines(texts: pa.Array, schema: pa.Schema) -> pa.Table:
    unknown = pa.Table.from_arrays([pa.nulls(len(texts), field.type) for field in schema], schema=schema)
    if not len(texts):
        return unknown
    nothing, newline = (pa.scalar(text, pa.large_string()) for text in ("", "\n"))
    lines = pc.binary_join_element_wise(texts.cast(pa.large_string()), nothing, newline)
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        data = pa.BufferReader(lines.buffers()[2]).read_buffer(pc.sum(pc.binary_length(lines)).as_py())
        # Without threads of its own, for the reason that `quick` gives.
        block = pa.json.ReadOptions(use_threads=False, block_size=min(max(data.size, 1), _LARGEST_BLOCK))
        parsed = pa.json.read_json(pa.BufferReader(data), parse_options=options, read_options=block)
    except pa.ArrowInvalid:
        return unknown
    return parsed if parsed.num_rows == len(texts) else unknown


def _trusted(texts: pa.ChunkedArray, kind: pa.DataType, ours: pa.ChunkedArray, *, lower: bool) -> pa.ChunkedArray:
    keep = ours
    if pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind):
        keep = None
    elif pa.types.is_string(kind):
        cut = pc.ends_with(texts, TRUNCATION_SUFFIX)
        trusted = ours if pc.all(ours).as_py() else pc.or_(ours, _bounds_of_others(texts, lower=lower))
        keep = pc.and_not(trusted, cut)
    return texts if keep is None else pc.if_else(keep, texts, pa.scalar(None, texts.type))


def _bounds_of_others(texts: pa.ChunkedArray, *, lower: bool) -> pa.ChunkedArray:
    """Return which texts of others are short enough not to be cut, and bound in our order as they do in theirs."""
    units = pc.add(pc.utf8_length(texts), pc.count_substring_regex(texts, _ASTRAL))
    # Java orders texts by UTF-16: there the characters behind the surrogates come after those that are made of them.
    misplaced = pc.match_substring_regex(texts, _ASTRAL if lower else _BEHIND_SURROGATES)
    return pc.and_not(pc.less(units, _FOREIGN_STRING_UNITS), misplaced)


def _finite(values: pa.ChunkedArray, ours: pa.ChunkedArray) -> pa.ChunkedArray:
    """Drop NaN, which bounds nothing, and infinities of others, which may be what became of a number too large."""
    if not pa.types.is_floating(values.type):
        return values
    keep = pc.or_(pc.is_finite(values), pc.and_(ours, pc.is_inf(values)))
    return pc.if_else(keep, values, pa.scalar(None, values.type))
