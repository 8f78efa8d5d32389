"""Which files of a snapshot can hold rows that a predicate is true for.

One pass over the columns of the snapshot answers for all files at once, whoever asks: a read, a delete, or Spark's planner. What is
not known keeps a file.
"""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicate import FileStatistics
from indextables.values import leaves

if TYPE_CHECKING:
    from indextables.log.snapshot import Snapshot
    from indextables.predicate import Predicate

_LOG = logging.getLogger(__name__)


class Selection:
    """The files that are left.

    Attributes:
        total: How many files there were.
        rows: The numbers of those that are left, in the order of the snapshot.
    """

    def __init__(self, snapshot: Snapshot, predicate: Predicate | None, rows: pa.Array) -> None:
        self._snapshot = snapshot
        self._predicate = predicate
        self.total = snapshot.num_files
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def paths(self) -> pa.ChunkedArray:
        """The paths of the files that are left."""
        return self._snapshot.files["path"].take(self.rows)

    @cached_property
    def whole(self) -> pa.Array:
        """For each file that is left, whether the predicate is known to be true for every row of it."""
        if self._predicate is None:
            return _all(len(self.rows), value=True)
        sure = self._predicate.must_match(statistics_of(self._snapshot, self._predicate))
        doubtful = _doubtful_partitions(self._snapshot, self._predicate)
        if doubtful is not None:
            sure = pc.and_(sure, pc.invert(doubtful))
        return _array(sure).take(self.rows)

    def filtered(self, mask: pa.Array | pa.ChunkedArray) -> Selection:
        """Return some of the files that are left."""
        fewer = Selection(self._snapshot, self._predicate, self.rows.filter(_array(mask)))
        fewer.__dict__["whole"] = self.whole.filter(_array(mask))
        return fewer


def prune(snapshot: Snapshot, predicate: Predicate | None) -> Selection:
    """Return the files that may hold rows for which a predicate is true; all files if none is given."""
    if predicate is None:
        return Selection(snapshot, None, pa.array(range(snapshot.num_files), pa.int64()))
    statistics = statistics_of(snapshot, predicate)
    mask = _array(predicate.may_match(statistics))
    doubtful = _doubtful_partitions(snapshot, predicate)
    if doubtful is not None:
        mask = pc.or_(mask, doubtful)
    if _LOG.isEnabledFor(logging.DEBUG):
        _report_missing(snapshot, predicate, statistics)
    return Selection(snapshot, predicate, pc.indices_nonzero(mask).cast(pa.int64()))


def statistics_of(snapshot: Snapshot, predicate: Predicate) -> FileStatistics:
    """Return what the snapshot knows about the columns of a predicate, in the predicate's own terms."""
    partitions = set(snapshot.partition_columns)
    known = leaves(snapshot.schema)
    paths = [path for path in predicate.columns if path not in partitions and path in known]
    least = {path: snapshot.bounds(path)[0] for path in paths}
    greatest = {path: snapshot.bounds(path)[1] for path in paths}
    counts = snapshot.counts(paths) if paths else {}
    floats = [path for path in paths if pa.types.is_floating(known[path].field.type)]
    return FileStatistics(
        num_files=snapshot.num_files,
        num_records=snapshot.trusted_records,
        min_values={path: values for path, values in least.items() if values is not None},
        max_values={path: values for path, values in greatest.items() if values is not None},
        null_counts={path: counts[path].nulls for path in paths},
        exact_values={path: snapshot.partition_values[path] for path in predicate.columns if path in partitions},
        may_have_nan={path: pc.not_equal(counts[path].nans, 0) for path in floats},
    )


def _doubtful_partitions(snapshot: Snapshot, predicate: Predicate) -> pa.Array | None:
    """Return the files with a partition value that is no value of its column, which must not be taken for null."""
    doubtful = None
    for name in snapshot.partition_columns:
        if name in predicate.columns:
            unknown = snapshot.doubtful_partition(name)
            if unknown is not None:
                doubtful = unknown if doubtful is None else pc.or_(doubtful, unknown)
    return doubtful


def _report_missing(snapshot: Snapshot, predicate: Predicate, statistics: FileStatistics) -> None:
    for path, mask in without_bounds(snapshot, predicate, statistics).items():
        if count := pc.sum(mask).as_py():
            _LOG.debug("Statistics missing for column '%s', cannot skip file (%d files)", path, count)


def without_bounds(
    snapshot: Snapshot, predicate: Predicate, statistics: FileStatistics
) -> dict[str, pa.ChunkedArray | pa.Array]:
    """Return for each column of a predicate, but partition columns, which files have no bounds of it and would need them."""
    found = {}
    for path in predicate.columns:
        if path in statistics.exact_values:
            continue
        bounds = statistics.max_values.get(path)
        missing = _all(snapshot.num_files, value=True) if bounds is None else pc.is_null(bounds)
        if path in statistics.null_counts:
            # A column that is null throughout has no bounds and needs none.
            nothing = pc.equal(statistics.null_counts[path], snapshot.trusted_records)
            missing = pc.and_(missing, pc.invert(pc.fill_null(nothing, fill_value=False)))
        found[path] = missing
    return found


def _array(mask: pa.Array | pa.ChunkedArray) -> pa.Array:
    return mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask


def _all(length: int, *, value: bool) -> pa.Array:
    return pa.repeat(pa.scalar(value), length)
