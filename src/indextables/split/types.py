"""How Arrow's types become columns of Parquet."""

from __future__ import annotations

import pyarrow as pa


def parquet_width(kind: pa.DataType) -> int:
    """Return how many Parquet columns a type becomes."""
    if pa.types.is_struct(kind):
        return sum(parquet_width(child.type) for child in kind)
    if pa.types.is_map(kind):
        return parquet_width(kind.key_type) + parquet_width(kind.item_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return parquet_width(kind.value_type)
    return 1
