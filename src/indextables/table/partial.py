"""A question about some partitions of a table that is not in memory: only the parts of its checkpoint that can matter are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicate import FileStatistics, bind

if TYPE_CHECKING:
    import numpy.typing as npt

    from indextables.log.checkpoint.selection import PartRanges
    from indextables.log.log import TransactionLog
    from indextables.log.snapshot import Snapshot
    from indextables.predicate import Expression, Predicate


def snapshot_for(log: TransactionLog, where: str | Expression) -> Snapshot:
    """Return the newest version, which may lack files that the partition columns rule out."""
    if not log.partition_columns:
        return log.snapshot()
    partition, _ = bind(where, log.schema).split_by(log.partition_columns)
    return log.snapshot() if partition is None else log.part_of_snapshot(lambda ranges: _kept(ranges, partition))


def _kept(ranges: PartRanges, partition: Predicate) -> npt.NDArray[np.bool_]:
    # A part is to its partition values what a file is to its columns: it has bounds, and nulls or none.
    nulls = {
        name: pa.array([None if some else 0 for some in has_nulls], pa.int64())
        for name, has_nulls in ranges.has_nulls.items()
    }
    statistics = FileStatistics(
        num_files=ranges.count,
        min_values=ranges.min_values,
        max_values=ranges.max_values,
        null_counts=nulls,
    )
    mask = partition.may_match(statistics)
    kept: npt.NDArray[np.bool_] = np.asarray(pc.fill_null(mask, fill_value=True).to_numpy(zero_copy_only=False), bool)
    return kept
