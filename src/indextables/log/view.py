"""The log of one table as a reader sees it. Everything that changes the table is in `log.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.config import Settings
from indextables.errors import ConfigError
from indextables.log import skips as cooldown
from indextables.log.history import describe_commits
from indextables.log.loader import Loader
from indextables.log.schema import parse_schema
from indextables.log.times import as_milliseconds, version_at
from indextables.runtime import SYSTEM, Runtime

if TYPE_CHECKING:
    import datetime as dt

    import pyarrow as pa

    from indextables.log.actions import Action, MetaData, Protocol
    from indextables.log.cache import CacheStats
    from indextables.log.checkpoint.selection import Choice
    from indextables.log.snapshot import Snapshot
    from indextables.storage.base import Store


class LogView:
    """Reads the log of one table. Safe to use from several threads, and after a fork."""

    def __init__(self, store: Store, *, settings: Settings | None = None, runtime: Runtime = SYSTEM) -> None:
        self._store = store
        self._settings = settings or Settings()
        self._runtime = runtime
        self._loader = Loader(store, self._settings, runtime)

    @property
    def url(self) -> str:
        """Where the table is."""
        return self._store.url

    def snapshot(self, version: int | None = None, timestamp: str | int | dt.date | None = None) -> Snapshot:
        """Return the table as of a version or a time, the newest one by default.

        Raises:
            VersionNotFoundError: There is no such version, or the time lies before the first one.
            TableNotFoundError: There is no table.
            ProtocolError: The table needs a newer reader.
            LogCorruptionError: The log is damaged; it names the file or the missing versions.
        """
        if timestamp is None:
            return self._loader.snapshot(version)
        if version is not None:
            raise ConfigError("timestamp", timestamp, "a moment, or leave it out where a version is given")
        newest = self._loader.snapshot()
        return self._loader.snapshot(version_at(newest.state, as_milliseconds(timestamp), url=self.url))

    def part_of_snapshot(self, choose: Choice) -> Snapshot:
        """Return the newest version, which may lack files in parts of a checkpoint that `choose` does not want.

        Args:
            choose: Told the ranges of partition values of each part, tells which may hold what is looked for. A table that is
                in memory already, or has no checkpoint in parts, is returned whole.
        """
        return self._loader.part_of_snapshot(choose)

    def list_files(self, *, max_staleness_s: float | None = None) -> pa.Table:
        """Return the active files, a row each.

        Args:
            max_staleness_s: Accept an answer that was right this many seconds ago, without asking the store.
        """
        return self._loader.snapshot(max_staleness_s=max_staleness_s).files

    def read_version(self, version: int) -> list[Action]:
        """Return the actions of one commit."""
        return self._loader.actions(version)

    def versions(self) -> list[int]:
        """Return every version of the log, in order."""
        return self._loader.versions()

    def latest_version(self) -> int:
        """Return the newest version."""
        return self._loader.tip().version

    @property
    def metadata(self) -> MetaData:
        """The table's metadata, found without loading the list of files."""
        return self._loader.metadata()

    @property
    def protocol(self) -> Protocol:
        """The table's protocol, found without loading the list of files."""
        return self._loader.protocol()

    @property
    def schema(self) -> pa.Schema:
        """The table's columns."""
        return parse_schema(self.metadata.schema_string)

    @property
    def partition_columns(self) -> list[str]:
        """The columns that directories are named after."""
        return list(self.metadata.partition_columns)

    def history(self, *, limit: int | None = None) -> pa.Table:
        """Return what was committed, newest first: version, time, operation, and what it added and removed."""
        return describe_commits(self._loader.reader, self.latest_version(), limit=limit)

    def skipped_files(self) -> pa.Table:
        """Return the skipped files, a row each: reason, count, and when to try again."""
        return cooldown.readable(self.snapshot().skips)

    def is_in_cooldown(self, path: str) -> bool:
        """Tell whether a file is to be left alone for now."""
        return path in self.files_in_cooldown()

    def files_in_cooldown(self) -> dict[str, int]:
        """Return the files to leave alone, each with the time in milliseconds at which to try it again."""
        return cooldown.cooldowns(self.snapshot().skips, now_ms=self._runtime.now_ms())

    def filter_files_in_cooldown(self, files: pa.Table) -> pa.Table:
        """Return those rows of a list of files that an operation may try now."""
        return cooldown.without_cooldown(files, self.snapshot().skips, now_ms=self._runtime.now_ms())

    def cache_stats(self) -> CacheStats:
        """Return how often the caches had the answer."""
        return self._loader.stats()

    def invalidate_protocol(self) -> None:
        """Forget the protocol."""
        self._loader.forget_protocol()

    def invalidate_metadata(self) -> None:
        """Forget the metadata."""
        self._loader.forget_metadata()

    def invalidate_version_dependent(self) -> None:
        """Forget commits, files and the list of versions."""
        self._loader.forget_versions()

    def invalidate_all(self) -> None:
        """Forget everything that was read."""
        self._loader.forget()
