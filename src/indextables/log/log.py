"""The transaction log of one table: everything that is asked of it, in one place, in terms of the modules that do it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from indextables.config import Settings
from indextables.errors import (
    AlreadyExistsError,
    CommitUnknownError,
    LogCorruptionError,
    OutcomeUnknownError,
    SchemaError,
    TableExistsError,
    TableNotFoundError,
)
from indextables.log import skips as cooldown
from indextables.log.actions import Add, Format, MetaData, Protocol, Remove, Skip
from indextables.log.commit import CommitResult, Committer, Intent, encode_commit, kinds_for, resolve
from indextables.log.commit_info import COMMIT_TAG, WRITER_TAG, CommitInfo, stamp
from indextables.log.conflicts import Kind, shape
from indextables.log.evolution import widened
from indextables.log.layout import LOG_DIRECTORY, commit_path
from indextables.log.loader import Loader
from indextables.log.protocol import DEFAULT, check_writable
from indextables.log.schema import format_schema, parse_schema, validate_schema
from indextables.log.times import as_milliseconds, version_at
from indextables.log.validate import check_adds
from indextables.log.versions import list_versions
from indextables.runtime import SYSTEM, Runtime
from indextables.storage.open import open_store
from indextables.storage.probe import probe_conditional_put
from indextables.version import VERSION

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa

    from indextables.log.actions import Action
    from indextables.log.cache import CacheStats
    from indextables.log.snapshot import Snapshot
    from indextables.log.tip import Tip
    from indextables.storage.base import Store

_LOG = logging.getLogger(__name__)


def open_log(
    path: str,
    options: Mapping[str, object] | None = None,
    *,
    settings: Settings | None = None,
    properties: Mapping[str, str] | None = None,
    runtime: Runtime = SYSTEM,
) -> TransactionLog:
    """Return the log of the table at a path; nothing is read before something is asked.

    Args:
        path: A local path or the address of a table.
        options: Settings under their full names, as Spark options are given.
        settings: Resolved settings, instead of `options`.
        properties: Credentials and endpoints; `options` may hold them too.
        runtime: Clock, ids and chance.
    """
    resolved = settings or Settings.resolve(options)
    given = {key: str(value) for key, value in (options or {}).items() if value is not None} | dict(properties or {})
    return TransactionLog(
        open_store(path, settings=resolved, properties=given, runtime=runtime), settings=resolved, runtime=runtime
    )


class TransactionLog:
    """Reads and writes the log of one table. Safe to use from several threads, and after a fork."""

    def __init__(self, store: Store, *, settings: Settings | None = None, runtime: Runtime = SYSTEM) -> None:
        self._store = store
        self._settings = settings or Settings()
        self._runtime = runtime
        self._loader = Loader(store, self._settings, runtime)
        self._committer = Committer(self._loader.reader, self._settings, runtime)
        self._after_commit: list[Callable[[int], None]] = []

    @property
    def url(self) -> str:
        """Where the table is."""
        return self._store.url

    # -- creating -------------------------------------------------------------------------------------------------------

    def initialize(
        self,
        schema: pa.Schema | str,
        partition_columns: Sequence[str] = (),
        *,
        name: str | None = None,
        description: str | None = None,
        configuration: Mapping[str, str] | None = None,
    ) -> int:
        """Create the table: protocol and metadata become version 0.

        Of several creators one wins; the others find its table, which is theirs too if it has the same schema.

        Args:
            schema: Columns, in Arrow's form or Spark's JSON.
            partition_columns: The columns that directories are named after, outermost first.
            name: For people.
            description: For people.
            configuration: Properties of the table.

        Returns:
            The version of the table: 0, or the newest one of an equal table that exists already.

        Raises:
            SchemaError: The schema cannot be a table's; all missing partition columns are named.
            TableExistsError: A table with another schema is there.
            UnsupportedStoreError: The store cannot tell racing writers apart.
        """
        arrow = parse_schema(schema) if isinstance(schema, str) else schema
        validate_schema(arrow, partition_columns)
        metadata = MetaData(
            id=self._runtime.new_id(),
            name=name,
            description=description,
            format=Format(provider="indextables", options={}),
            schema_string=schema if isinstance(schema, str) else format_schema(arrow),
            partition_columns=list(partition_columns),
            configuration=dict(configuration or {}),
            created_time=self._runtime.now_ms(),
        )
        if self._store.exists(commit_path(0)):
            return self._same_table(metadata)
        for meta in self._store.list_from(LOG_DIRECTORY):
            raise TableExistsError(
                self.url, detail=f"its log holds {meta.path} but not version 0, so a table was here; repair it first"
            )
        probe_conditional_put(self._store, directory=LOG_DIRECTORY, runtime=self._runtime)
        info = CommitInfo(
            id=self._runtime.new_id(), timestamp=self._runtime.now_ms(), operation="create", metadata=0, protocol=0
        )
        data = encode_commit(stamp([DEFAULT, metadata], info), self._settings, path=f"{self.url}/{commit_path(0)}")
        try:
            self._store.put_if_absent(commit_path(0), data)
        except AlreadyExistsError:
            return self._same_table(metadata)
        except OutcomeUnknownError as error:
            raise CommitUnknownError(self.url, version=0, commit_id=info.id, detail=error.detail) from error
        return 0

    def _same_table(self, wanted: MetaData) -> int:
        tip = self._loader.tip()
        if _columns(tip.metadata) != _columns(wanted):
            raise TableExistsError(self.url, detail="its schema or partition columns differ")
        return tip.version

    # -- writing --------------------------------------------------------------------------------------------------------

    def add_files(
        self, adds: Sequence[Add], *, app: str | None = None, batch: int | None = None, user_metadata: str | None = None
    ) -> CommitResult:
        """Append files. Never in conflict with other appends, merges, removes or overwrites."""
        return self.commit(adds, operation=Kind.APPEND, app=app, batch=batch, user_metadata=user_metadata)

    def overwrite_files(
        self, adds: Sequence[Add], *, app: str | None = None, batch: int | None = None, user_metadata: str | None = None
    ) -> CommitResult:
        """Replace every file of the table by these, in one commit.

        Raises:
            ConcurrentWriteError: Somebody changed the files since this call began.
        """
        snapshot = self.snapshot()
        actions: list[Action] = [*_removes(snapshot.files, now_ms=self._runtime.now_ms(), data_change=True), *adds]
        return self.commit(
            actions,
            operation=Kind.OVERWRITE,
            read_version=snapshot.version,
            app=app,
            batch=batch,
            user_metadata=user_metadata,
        )

    def remove_files(
        self, paths: Iterable[str], *, data_change: bool = True, user_metadata: str | None = None
    ) -> CommitResult:
        """Take files out of the table; they stay on disk until a purge.

        Raises:
            ConcurrentWriteError: Somebody removed one of them since this call began.
            SchemaError: A path is not an active file.
        """
        snapshot = self.snapshot()
        wanted = list(dict.fromkeys(paths))
        rows = _rows_of(snapshot.files, wanted)
        actions = _removes(rows, now_ms=self._runtime.now_ms(), data_change=data_change)
        return self.commit(actions, operation=Kind.REMOVE, read_version=snapshot.version, user_metadata=user_metadata)

    def merge_files(
        self,
        sources: Iterable[str],
        adds: Sequence[Add],
        *,
        skips: Sequence[Skip] = (),
        read_version: int | None = None,
    ) -> CommitResult:
        """Replace some files by others with the same rows. Never in conflict with appends.

        Raises:
            ConcurrentWriteError: One of the sources is gone.
        """
        snapshot = self.snapshot(read_version)
        rows = _rows_of(snapshot.files, list(dict.fromkeys(sources)))
        removes = _removes(rows, now_ms=self._runtime.now_ms(), data_change=False)
        unchanged = [msgspec.structs.replace(add, data_change=False) for add in adds]
        return self.commit(
            [*removes, *unchanged, *self._counted(snapshot, skips)], operation=Kind.MERGE, read_version=snapshot.version
        )

    def update_metadata(
        self,
        *,
        schema: pa.Schema | str | None = None,
        name: str | None = None,
        description: str | None = None,
        configuration: Mapping[str, str] | None = None,
    ) -> CommitResult:
        """Change what the table says of itself; a schema may gain columns that may be null, and nothing else.

        Raises:
            SchemaError: The new schema drops, retypes, reorders or tightens a column.
            ConcurrentWriteError: Somebody else changed the metadata.
        """
        tip = self._loader.tip()
        metadata = tip.metadata
        if schema is not None:
            metadata = msgspec.structs.replace(metadata, schema_string=widened(metadata.schema_string, schema))
        if name is not None:
            metadata = msgspec.structs.replace(metadata, name=name)
        if description is not None:
            metadata = msgspec.structs.replace(metadata, description=description)
        if configuration is not None:
            metadata = msgspec.structs.replace(
                metadata, configuration={**(metadata.configuration or {}), **configuration}
            )
        return self.commit([metadata], operation=Kind.METADATA, read_version=tip.version)

    def upgrade_protocol(self, protocol: Protocol) -> CommitResult:
        """Raise what a reader and a writer must understand; it never goes down.

        Raises:
            SchemaError: It would go down.
            ProtocolError: This version could not write the table afterwards.
        """
        tip = self._loader.tip()
        check_writable(protocol, table=self.url)
        now = tip.protocol
        if protocol.min_reader_version < now.min_reader_version or protocol.min_writer_version < now.min_writer_version:
            raise SchemaError(
                "A protocol never goes down",
                way_out=f"The table is at {now.min_reader_version}/{now.min_writer_version}",
            )
        return self.commit([protocol, tip.metadata], operation=Kind.PROTOCOL, read_version=tip.version)

    def commit(
        self,
        actions: Sequence[Action],
        *,
        operation: str,
        read_version: int | None = None,
        app: str | None = None,
        batch: int | None = None,
        user_metadata: str | None = None,
    ) -> CommitResult:
        """Write actions as the next version.

        Args:
            actions: What to commit; adds are checked against the table and marked as ours.
            operation: What it is for; the names of `Kind` say what may overtake it.
            read_version: The version that the actions were made against; the newest one if not given.
            app: With `batch`: the same batch of the same application is committed once, however often this is called.
            batch: See `app`.
            user_metadata: Free text that history shows.

        Raises:
            ConcurrentWriteError: Another commit rules it out; nothing was committed.
            CommitUnknownError: It may have landed; `resolve_commit` tells later.
            ProtocolError: The table needs a newer writer.
            SchemaError: The actions do not fit the table.
        """
        tip = self._loader.tip(fresh=False)
        check_writable(tip.protocol, table=self.url)
        if (
            app is not None
            and (done := self.snapshot().transactions.get(app)) is not None
            and batch is not None
            and batch <= done.number
        ):
            return CommitResult(version=done.version, commit_id="", timestamp=tip.timestamp, written=False)
        basis = (
            tip.metadata
            if read_version is None or read_version >= tip.metadata_version
            else self.snapshot(read_version).metadata
        )
        marked = [_marked(action) for action in actions]
        check_adds([action for action in marked if isinstance(action, Add)], basis)
        if not marked:
            return CommitResult(version=tip.version, commit_id="", timestamp=tip.timestamp, written=False)
        intent = Intent(
            actions=marked,
            operation=operation,
            kinds=kinds_for(marked, operation),
            id=self._runtime.new_id(),
            basis=shape(basis),
            app=app,
            batch=batch,
            user=user_metadata,
        )
        result, newest = self._committer.commit(
            intent, tip, read_version=tip.version if read_version is None else read_version
        )
        self._loader.know(newest)
        if result.written:
            self._run_after_commit(result.version)
        return result

    def resolve_commit(self, unknown: CommitUnknownError) -> int | None:
        """Return the version that a commit of unknown outcome became, or None if it did not land and never will.

        Raises:
            CommitUnknownError: It is still open.
        """
        return resolve(self._loader.reader, unknown)

    def after_commit(self, work: Callable[[int], None]) -> None:
        """Have work done after each commit of this log, with its version. It cannot fail the commit."""
        self._after_commit.append(work)

    def _run_after_commit(self, version: int) -> None:
        for work in self._after_commit:
            try:
                work(version)
            except Exception:  # noqa: BLE001 - the commit stands, whatever this was
                _LOG.warning("Work after version %d of %s failed; the commit stands", version, self.url, exc_info=True)

    # -- reading --------------------------------------------------------------------------------------------------------

    def snapshot(self, version: int | None = None, timestamp: str | int | datetime.date | None = None) -> Snapshot:
        """Return the table as of a version or a time, the newest one by default.

        Raises:
            VersionNotFoundError: There is no such version, or the time lies before the first one.
            TableNotFoundError: There is no table.
            ProtocolError: The table needs a newer reader.
            LogCorruptionError: The log is damaged; it names the file or the missing versions.
        """
        newest = self._loader.snapshot() if version is None else self._loader.snapshot(version)
        if timestamp is None:
            return newest
        return self._loader.snapshot(version_at(newest.state, as_milliseconds(timestamp), url=self.url))

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
        return describe_commits(self._loader.reader, self.versions(), limit=limit)

    # -- skips ----------------------------------------------------------------------------------------------------------

    def record_skipped_file(
        self,
        path: str,
        *,
        reason: str,
        operation: str,
        partition_values: Mapping[str, str | None] | None = None,
        size: int | None = None,
        cooldown_hours: float | None = None,
    ) -> CommitResult:
        """Note that an operation could not use a file. It stays readable, and is left alone until its cooldown is over."""
        values = None if partition_values is None else dict(partition_values)
        skip = Skip(path=path, skip_timestamp=0, reason=reason, operation=operation, partition_values=values, size=size)
        return self.record_skipped_files([skip], cooldown_hours=cooldown_hours)

    def record_skipped_files(self, skips: Sequence[Skip], *, cooldown_hours: float | None = None) -> CommitResult:
        """Note several such files in one commit; times and counts are filled in here."""
        snapshot = self.snapshot()
        counted = self._counted(snapshot, skips, cooldown_hours=cooldown_hours)
        result = self.commit(counted, operation=Kind.SKIP, read_version=snapshot.version)
        for skip in counted:
            _LOG.info("Recorded skipped file: %s (skip count: %s, retry after: %s)", skip.path, skip.skip_count, skip.retry_after)
        return result

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

    def _counted(self, snapshot: Snapshot, skips: Sequence[Skip], *, cooldown_hours: float | None = None) -> list[Skip]:
        settings = self._settings.skips
        counts = cooldown.counts(snapshot.skips, [skip.path for skip in skips])
        return [
            cooldown.next_skip(
                skip,
                count=counts.get(skip.path, 0) + 1,
                now_ms=self._runtime.now_ms(),
                cooldown_hours=settings.cooldown_hours if cooldown_hours is None else cooldown_hours,
                doubling=settings.doubling,
            )
            for skip in skips
        ]

    # -- caches ---------------------------------------------------------------------------------------------------------

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
