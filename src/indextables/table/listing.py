"""The list of files as people read it: typed partition values and bounds instead of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.log.bounds import trusted_bounds

if TYPE_CHECKING:
    from indextables.log.snapshot import Snapshot


def list_files(snapshot: Snapshot, rows: pa.Array) -> pa.Table:
    """Return some files, a row each: path, size, num_records, modification_time, and structs of typed values.

    Args:
        snapshot: The table.
        rows: The numbers of the files.
    """
    # Of a large table few files are left as a rule, and only their statistics are worth parsing.
    chosen = snapshot.files.take(rows)
    ours = snapshot.ours.take(rows)
    least, greatest = (
        trusted_bounds(chosen[name], snapshot.schema, ours=ours, lower=name == "min_values")
        for name in ("min_values", "max_values")
    )
    columns = {
        "path": chosen["path"],
        "size": chosen["size"],
        "num_records": chosen["num_records"],
        "modification_time": chosen["modification_time"].cast(pa.timestamp("ms", "UTC")),
        "partition_values": _struct(snapshot.partition_values, rows),
        "min_values": _struct(least, None),
        "max_values": _struct(greatest, None),
    }
    empty = pa.array([{}] * len(rows), pa.struct([]))
    return pa.table({name: empty if values is None else values for name, values in columns.items()})


def _struct(values: pa.Table, rows: pa.Array | None) -> pa.ChunkedArray | None:
    if not values.num_columns:
        return None
    return (values if rows is None else values.take(rows)).to_struct_array()
