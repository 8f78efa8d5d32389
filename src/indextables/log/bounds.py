"""Which statistics of an add can be trusted to bound its rows, as typed columns.

Skipping a file on a wrong bound loses rows in silence, so doubt makes a bound null, which keeps the file. Our own writer's
bounds are exact or marked. Those of the original implementation are cut, rounded or hashed for some types, and only the types
that are known to be right are taken from it.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import TRUNCATION_SUFFIX
from indextables.values import parse_values

_FOREIGN_STRING_UNITS: Final = 32
_ASTRAL: Final = r"[\x{10000}-\x{10FFFF}]"


def trusted_bounds(texts: pa.ChunkedArray, schema: pa.Schema, *, ours: pa.ChunkedArray) -> pa.Table:
    """Return one typed column for each column of the table that has bounds; null where a file has none to trust.

    Args:
        texts: The struct column of texts, a child a column of the table.
        schema: The table's columns.
        ours: Which rows a writer of this format wrote.
    """
    known = {texts.type.field(index).name for index in range(texts.type.num_fields)}
    columns = {}
    for field in schema:
        if field.name in known and not pa.types.is_nested(field.type):
            child = pc.struct_field(texts, field.name)
            columns[field.name] = _finite(parse_values(_trusted(child, field.type, ours), field.type), ours)
    return pa.table(columns)


def _trusted(texts: pa.ChunkedArray, kind: pa.DataType, ours: pa.ChunkedArray) -> pa.ChunkedArray:
    keep = ours
    if pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind):
        keep = None
    elif pa.types.is_string(kind):
        units = pc.add(pc.utf8_length(texts), pc.count_substring_regex(texts, _ASTRAL))
        cut = pc.ends_with(texts, TRUNCATION_SUFFIX)
        keep = pc.and_(pc.or_(ours, pc.less(units, _FOREIGN_STRING_UNITS)), pc.invert(cut))
    return texts if keep is None else pc.if_else(keep, texts, pa.scalar(None, texts.type))


def _finite(values: pa.ChunkedArray, ours: pa.ChunkedArray) -> pa.ChunkedArray:
    """Drop NaN, which bounds nothing, and infinities of others, which may be what became of a number too large."""
    if not pa.types.is_floating(values.type):
        return values
    keep = pc.or_(pc.is_finite(values), pc.and_(ours, pc.is_inf(values)))
    return pc.if_else(keep, values, pa.scalar(None, values.type))
