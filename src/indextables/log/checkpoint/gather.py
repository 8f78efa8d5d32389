"""Rows from all over a large table, a batch at a time, in memory that the batch decides and not the table.

Arrow's own `take` puts all chunks of a column together before it takes a single row, which for a million files is more than a
checkpoint may cost. Here each chunk gives the rows that it has, and only those are brought into their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt


def batches(table: pa.Table, rows: npt.NDArray[np.int64], *, size: int) -> Iterator[pa.Table]:
    """Give the rows at these positions, in the order of the positions, so many at a time."""
    starts = np.cumsum([0, *(len(chunk) for chunk in table.column(0).chunks)])
    for first in range(0, len(rows), size):
        yield _gathered(table, rows[first : first + size], starts)


def _gathered(table: pa.Table, rows: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]) -> pa.Table:
    order = np.argsort(rows, kind="stable")
    ascending = rows[order]
    edges = np.searchsorted(ascending, starts)
    pieces = [
        table.slice(start, end - start).take(pa.array(ascending[low:high] - start))
        for start, end, low, high in zip(starts, starts[1:], edges, edges[1:], strict=False)
        if low < high
    ]
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return pa.concat_tables(pieces).combine_chunks().take(pa.array(places))
