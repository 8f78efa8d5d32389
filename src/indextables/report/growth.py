"""How a table became what it is: files, rows and bytes of each version, from one look at the commits.

Every file counts from the version that added it up to the one that removed it or added it anew, so one sum over all of these
intervals gives every version at once, and no version is loaded but the first.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from indextables.errors import CheckpointError, LogCorruptionError, NotFoundError, VersionNotFoundError
from indextables.log.commits import CommitReader
from indextables.report.figures import Growth

if TYPE_CHECKING:
    import numpy.typing as npt

    from indextables.config import Settings
    from indextables.log.log import TransactionLog
    from indextables.log.snapshot import Snapshot
    from indextables.storage.base import Store

MOST_VERSIONS: Final = 1_000
"""How many versions are looked at, the newest ones."""

_UNLOADABLE: Final = (CheckpointError, LogCorruptionError, NotFoundError, VersionNotFoundError)


def growth_of(log: TransactionLog, store: Store, newest: Snapshot, *, oldest: int, settings: Settings) -> Growth | None:
    """Return files, rows and bytes of the newest versions; None where the oldest of them cannot be loaded.

    Args:
        log: Of the table.
        store: Where the table is.
        newest: The newest version.
        oldest: The oldest version that there is.
        settings: How the log is read.
    """
    first = max(oldest, newest.state.first_version, newest.version - MOST_VERSIONS + 1)
    try:
        base = log.snapshot(first)
        columns = CommitReader(store, settings).columns(range(first + 1, newest.version + 1))
    except _UNLOADABLE:
        return None
    kept = base.files.select(["path", "size", "num_records"])
    added = columns.adds.select(["path", "size", "num_records"])
    removed = columns.removes["path"]
    paths = pa.chunked_array([*kept["path"].chunks, *added["path"].chunks, *removed.chunks], pa.string())
    codes: npt.NDArray[np.int64] = _codes(paths)
    adds = kept.num_rows + added.num_rows
    versions = np.concatenate([np.full(kept.num_rows, first), _versions(columns.adds), _versions(columns.removes)])
    lines = np.concatenate([np.zeros(kept.num_rows, np.int64), _lines(columns.adds), _lines(columns.removes)])
    order = np.lexsort((lines, versions, codes))
    # An add ends where the next action on the same path stands.
    ends = np.full(len(codes), newest.version + 1)
    same = np.flatnonzero(codes[order][1:] == codes[order][:-1])
    ends[order[same]] = versions[order[same + 1]]
    count = newest.version - first + 1

    def totals(weights: npt.NDArray[np.int64]) -> tuple[int, ...]:
        change = np.zeros(count + 1, np.int64)
        np.add.at(change, versions[:adds] - first, weights)
        np.subtract.at(change, ends[:adds] - first, weights)
        return tuple(np.cumsum(change)[:-1].tolist())

    records = _joined(kept["num_records"], added["num_records"])
    times = newest.state.timestamps[-count:]
    return Growth(
        versions=tuple(range(first, newest.version + 1)),
        times=tuple(dt.datetime.fromtimestamp(int(time) / 1000, dt.UTC) for time in times),
        files=totals(np.ones(adds, np.int64)),
        rows=None if records.null_count else totals(records.to_numpy()),
        bytes=totals(_joined(kept["size"], added["size"]).to_numpy()),
    )


def _codes(paths: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    encoded = paths.combine_chunks().dictionary_encode() if len(paths) else None
    return np.empty(0, np.int64) if encoded is None else encoded.indices.to_numpy().astype(np.int64)


def _versions(actions: pa.Table) -> npt.NDArray[np.int64]:
    return actions["version"].to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def _lines(actions: pa.Table) -> npt.NDArray[np.int64]:
    return actions["ordinal"].to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def _joined(before: pa.ChunkedArray, after: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([*before.cast(pa.int64()).chunks, *after.cast(pa.int64()).chunks], pa.int64())
