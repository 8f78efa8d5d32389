"""INT96, the 12-byte timestamps of old: read in the unit that loses none of them.

pyarrow reads them as nanoseconds, which wrap around before 1677 and after 2262. The same column in microseconds reaches from year 1
to 9999, and the difference of the two shows what microseconds would lose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from indextables.errors import TableRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FARTHEST_US = (1 << 63) // 1000  # microseconds that still fit into 64 bits as nanoseconds


def exact(fine: Any, coarse: Any, name: str) -> Any:
    """Return the rows in nanoseconds (`fine`) or microseconds (`coarse`), whichever holds all of them.

    Raises:
        TableRefusedError: Neither does.
    """
    far = lost = False
    for fine_leaf, coarse_leaf in zip(_timestamps(fine), _timestamps(coarse), strict=True):
        if fine_leaf.type == coarse_leaf.type:
            continue
        micros = np.asarray(coarse_leaf.cast(pa.int64()).fill_null(0))
        nanos = np.asarray(fine_leaf.cast(pa.int64()).fill_null(0))
        far = far or bool((np.abs(micros) >= _FARTHEST_US).any())
        lost = lost or bool((nanos - micros * 1000).any())
    if far and lost:
        raise TableRefusedError(
            name, "it has INT96 timestamps both beyond the years 1677 to 2262 and finer than a microsecond"
        )
    return coarse if far else fine


def _timestamps(table: Any) -> Iterator[Any]:
    for column in table.columns:
        for chunk in column.chunks:
            yield from _timestamp_leaves(chunk)


def _timestamp_leaves(array: Any) -> Iterator[Any]:
    kind = array.type
    if pa.types.is_timestamp(kind):
        yield array
    elif pa.types.is_struct(kind):
        for child in array.flatten():
            yield from _timestamp_leaves(child)
    elif pa.types.is_map(kind):
        yield from _timestamp_leaves(array.keys)
        yield from _timestamp_leaves(array.items)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _timestamp_leaves(array.values)


def in_one_unit(tables: list[Any], name: str) -> list[Any]:
    """Return tables of one shape with INT96 timestamps in one unit: microseconds as soon as one of them needs these."""
    schemas = {str(table.schema): table.schema for table in tables}
    if len(schemas) == 1:
        return tables
    coarse = max(schemas.values(), key=lambda schema: str(schema).count("timestamp[us"))
    try:
        return [table.cast(coarse) for table in tables]
    except pa.ArrowInvalid as error:
        raise TableRefusedError(
            name, "it has INT96 timestamps both beyond the years 1677 to 2262 and finer than a microsecond"
        ) from error
