"""Partitions as numbers: a table of a million files has a few thousand of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt


def numbered(values: pa.Table, rows: int) -> tuple[npt.NDArray[np.int32], pa.Table]:
    """Return a number for each row, equal where all values are equal, and the distinct rows by number."""
    if not values.num_columns:
        return np.zeros(rows, np.int32), values
    number = np.zeros(rows, np.int64)
    for name in values.column_names:
        codes = values[name].combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy() + 1
        # Renumbered at each column, so that the product of many columns cannot overflow.
        _, number = np.unique(number * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    _, first = np.unique(number, return_index=True)
    return number.astype(np.int32), values.take(pa.array(first))
