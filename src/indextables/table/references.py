"""Every data file that some version of a table still needs, taken from the log as it is in the store at this moment.

No cache and no pointer is asked: a file that is missing from this set may be deleted. Versions that can still be loaded are those
with a commit, and those with a checkpoint that outlived theirs; both count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import CheckpointError, LogCorruptionError, NotFoundError, VersionNotFoundError
from indextables.log.checkpoint.finder import Place
from indextables.log.commits import CommitReader
from indextables.log.floor import read_floor
from indextables.log.log import TransactionLog
from indextables.log.versions import checkpoint_versions, list_versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.config import Settings
    from indextables.runtime import Runtime
    from indextables.storage.base import Store

_UNLOADABLE = (CheckpointError, LogCorruptionError, NotFoundError, VersionNotFoundError)


class References:
    """What the versions of one table need.

    Args:
        store: Where the table is.
        settings: How the log is read.
        runtime: Clock.

    Attributes:
        newest: The newest version when this was made.
    """

    def __init__(self, store: Store, settings: Settings, runtime: Runtime) -> None:
        self._store = store
        self._reader = CommitReader(store, settings, runtime=runtime)
        log = TransactionLog(store, settings=settings, runtime=runtime)
        self.newest = log.snapshot()
        while True:
            versions = [version for version in list_versions(store) if version <= self.newest.version]
            bases = self._bases(log, versions)
            try:
                added = self._added(versions)
            except NotFoundError:
                if read_floor(store) <= versions[0]:
                    raise
                continue  # a cleanup took commits away since they were listed
            break
        self._paths = _distinct([self.newest.files["path"], *bases, added])
        self._upto = self.newest.version

    def needed(self, paths: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Return which of some files a version needs."""
        return pc.is_in(paths, value_set=self._paths)

    def look_again(self) -> None:
        """Take in what was committed since."""
        newer = list_versions(self._store, after=self._upto)
        if newer:
            self._paths = _distinct([pa.chunked_array([self._paths]), self._added(newer)])
            self._upto = newer[-1]

    def _added(self, versions: Sequence[int]) -> pa.ChunkedArray:
        return self._reader.columns(versions).adds["path"]

    def _bases(self, log: TransactionLog, versions: Sequence[int]) -> list[pa.ChunkedArray]:
        """Return the files of the oldest version, and of older ones of which there is only a checkpoint.

        Where commits are there that no checkpoint precedes, the first version that can be loaded stands for the oldest one.
        """
        marks = checkpoint_versions(self._store)
        found = [
            files for mark in sorted(marks) if mark < versions[0] and (files := self._summed_up(log, mark)) is not None
        ]
        for version in [versions[0], *sorted(mark for mark in marks if mark > versions[0])]:
            oldest = _load(log, version)
            if oldest is not None:
                return [*found, oldest]
        return found

    def _summed_up(self, log: TransactionLog, mark: int) -> pa.ChunkedArray | None:
        """Return the files of a version that has a checkpoint, without a listing for each one of many."""
        for parquet in (True, False):
            try:
                loaded = self._reader.checkpoints.load(Place(version=mark, parquet=parquet))
            except (CheckpointError, NotFoundError):
                continue
            metadata = loaded.state.metadata
            if loaded.ours and metadata is not None and metadata.id == self.newest.metadata.id:
                return loaded.state.files["path"]
        return _load(log, mark)


def _load(log: TransactionLog, version: int) -> pa.ChunkedArray | None:
    try:
        return log.snapshot(version).files["path"]
    except _UNLOADABLE:
        return None


def _distinct(parts: Sequence[pa.ChunkedArray]) -> pa.Array:
    chunks = [chunk.cast(pa.string()) for part in parts for chunk in part.chunks]
    return pc.unique(pa.chunked_array(chunks, pa.string()))
