"""A table is the same on every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.storage.retry import RetryingStore
from indextables.table import Table

if TYPE_CHECKING:
    from tests.support.stores import StoreRoot


def test_a_table_is_written_read_changed_and_checked_on_every_store(store_root: StoreRoot) -> None:
    store = RetryingStore(store_root.fresh())
    table = Table.at_store(store)
    table.append(pa.table({"id": range(100), "day": ["a", "b/c"] * 50}), partition_by=["day"])
    table.append(pa.table({"id": range(100, 200), "day": ["b/c", None] * 50}))
    assert table.count(where="day = 'b/c'") == 100
    table.delete("id >= 150 OR day IS NULL")
    table.overwrite(pa.table({"id": [7], "day": ["a"]}), where="day = 'a'")
    found = Table.at_store(store).to_arrow(where="id < 10")
    rows = sorted(zip(found["id"].to_pylist(), found["day"].to_pylist(), strict=True))
    assert rows == [(1, "b/c"), (3, "b/c"), (5, "b/c"), (7, "a"), (7, "b/c"), (9, "b/c")]
    assert table.verify_stats().num_rows == 0
