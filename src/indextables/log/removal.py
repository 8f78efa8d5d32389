"""From rows of active files to the remove actions that end them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.log.actions import Remove

if TYPE_CHECKING:
    from collections.abc import Sequence


def rows_of(files: pa.Table, paths: Sequence[str]) -> pa.Table:
    """Return the rows of these files.

    Raises:
        SchemaError: One of them is not an active file; it names the first few.
    """
    wanted = pa.array(paths, pa.string())
    rows = files.filter(pc.is_in(files["path"], value_set=wanted))
    if rows.num_rows != len(paths):
        missing = wanted.filter(pc.invert(pc.is_in(wanted, value_set=files["path"].combine_chunks()))).to_pylist()
        raise SchemaError(
            f"{len(missing)} files are not active in the table, {', '.join(missing[:3])} among them",
            way_out="Read the list of files again",
        )
    return rows


def removes_of(rows: pa.Table, *, now_ms: int, data_change: bool) -> list[Remove]:
    """Return an action a row that takes the file out of the table."""
    columns = rows.select(["path", "partition_values", "size"]).to_pylist()
    return [
        Remove(
            path=row["path"],
            deletion_timestamp=now_ms,
            data_change=data_change,
            extended_file_metadata=True,
            partition_values=row["partition_values"] or {},
            size=row["size"],
        )
        for row in columns
    ]
