"""Rows on their way into files: whatever holds them becomes slabs of bounded size, and a slab becomes one table a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.values import format_scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SLAB_BYTES: Final = 512 * 1024 * 1024
"""How much memory the rows of one file may take before they are encoded."""


class Rows(NamedTuple):
    """Rows to be written: their columns, and the rows themselves, slab by slab."""

    schema: pa.Schema
    slabs: Iterable[pa.Table]


def as_rows(data: Any) -> Rows:
    """Return the rows of an Arrow table, batch or reader, a pandas or Polars frame, or anything else with an Arrow stream.

    Raises:
        SchemaError: It holds no rows.
    """
    if type(data).__module__.partition(".")[0] == "pandas":
        data = pa.Table.from_pandas(data, preserve_index=False)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return Rows(data.schema, _slices(data))
    if not hasattr(data, "__arrow_c_stream__"):
        raise SchemaError(
            f"A {type(data).__name__} holds no rows",
            way_out="Give an Arrow table or reader, or a pandas or Polars frame",
        )
    reader = pa.RecordBatchReader.from_stream(data)
    return Rows(reader.schema, _gathered(reader))


def _slices(table: pa.Table) -> Iterator[pa.Table]:
    if not table.num_rows:
        return
    parts = -(-table.nbytes // SLAB_BYTES) or 1
    rows = -(-table.num_rows // parts)
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def _gathered(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    batches: list[pa.RecordBatch] = []
    held = 0
    for batch in reader:
        if batch.num_rows:
            batches.append(batch)
            held += batch.nbytes
        if held >= SLAB_BYTES:
            yield pa.Table.from_batches(batches)
            batches, held = [], 0
    if batches:
        yield pa.Table.from_batches(batches)


def partitions(table: pa.Table, columns: Sequence[str]) -> Iterator[tuple[dict[str, str | None], pa.Table]]:
    """Yield each partition of rows: its values as text, and its rows without those columns, in the order in which they came.

    Raises:
        SchemaError: A value has no text that a log could hold.
    """
    if not columns:
        yield {}, table
        return
    data = table.drop_columns(list(columns))
    codes = np.zeros(table.num_rows, np.int64)
    for name in columns:
        encoded = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        codes = codes * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False)
        codes = np.unique(codes, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    ends = [*starts[1:].tolist(), len(order)]
    sorted_data = data if len(starts) == 1 else data.take(pa.array(order))
    for start, end in zip(starts.tolist(), ends, strict=True):
        first = int(order[start])
        values = {name: _text(table[name][first], name) for name in columns}
        yield values, sorted_data.slice(start, end - start)


def _text(value: pa.Scalar, column: str) -> str | None:
    text = format_scalar(value)
    if text is None and value.is_valid and not pc.is_null(value).as_py():
        raise SchemaError(
            f"Partition column {column} holds a date outside the years 1 to 9999",
            columns=[column],
            way_out="Correct it",
        )
    return text
