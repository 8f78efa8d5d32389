"""The transaction log of one table: what changes it, in one place, in terms of the modules that do it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from indextables.errors import ConfigError, TableExistsError, TableNotFoundError
from indextables.log import skips as cooldown
from indextables.log.actions import Add, Protocol, Skip
from indextables.log.commit import CommitResult, Committer, Intent, kinds_for
from indextables.log.commit_info import WRITER_TAG
from indextables.log.conflicts import Kind, shape
from indextables.log.create import create, new_metadata, same_table
from indextables.log.evolution import changed
from indextables.log.floor import read_floor
from indextables.log.outcome import resolve
from indextables.log.protocol import check_upgrade, check_writable
from indextables.log.removal import removes_of, rows_of
from indextables.log.restore import restoring
from indextables.log.upkeep import Upkeep
from indextables.log.validate import check_actions
from indextables.log.view import LogView
from indextables.runtime import SYSTEM, Runtime
from indextables.tracing import span
from indextables.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa

    from indextables.config import Settings
    from indextables.errors import CommitUnknownError
    from indextables.log.actions import Action
    from indextables.log.checkpoint.writer import CheckpointResult
    from indextables.log.cleanup import CleanupResult
    from indextables.log.snapshot import Snapshot
    from indextables.log.state import Batch
    from indextables.log.tip import Tip
    from indextables.storage.base import Store

_LOG = logging.getLogger(__name__)


class TransactionLog(LogView):
    """Reads and writes the log of one table. Safe to use from several threads, and after a fork."""

    def __init__(self, store: Store, *, settings: Settings | None = None, runtime: Runtime = SYSTEM) -> None:
        super().__init__(store, settings=settings, runtime=runtime)
        self._committer = Committer(self._loader.reader, self._settings, runtime)
        self._upkeep = Upkeep(store, self._loader, self._settings, runtime)
        self._after_commit: list[Callable[[int], None]] = [self._upkeep.after_commit]

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
        metadata = new_metadata(
            schema,
            partition_columns,
            name=name,
            description=description,
            configuration=configuration,
            runtime=self._runtime,
        )
        with span("indextables.commit", table=self.url, operation="create") as noted:
            created = create(self._store, metadata, settings=self._settings, runtime=self._runtime)
            noted.note(version=0 if created else None)
        if created:
            return 0
        tip = self._loader.tip()
        if not same_table(tip.metadata, metadata):
            raise TableExistsError(self.url, detail="its schema or partition columns differ")
        return tip.version

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
        actions: list[Action] = [*removes_of(snapshot.files, now_ms=self._runtime.now_ms(), data_change=True), *adds]
        return self.commit(
            actions,
            operation=Kind.OVERWRITE,
            read_version=snapshot.version,
            table=snapshot.metadata.id,
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
        rows = rows_of(snapshot.files, list(dict.fromkeys(paths)))
        actions = removes_of(rows, now_ms=self._runtime.now_ms(), data_change=data_change)
        return self.commit(
            actions,
            operation=Kind.REMOVE,
            read_version=snapshot.version,
            table=snapshot.metadata.id,
            user_metadata=user_metadata,
        )

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
        rows = rows_of(snapshot.files, list(dict.fromkeys(sources)))
        removes = removes_of(rows, now_ms=self._runtime.now_ms(), data_change=False)
        unchanged = [msgspec.structs.replace(add, data_change=False) for add in adds]
        return self.commit(
            [*removes, *unchanged, *self._counted(snapshot, skips)],
            operation=Kind.MERGE,
            read_version=snapshot.version,
            table=snapshot.metadata.id,
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
        metadata = changed(tip.metadata, schema=schema, name=name, description=description, configuration=configuration)
        return self.commit([metadata], operation=Kind.METADATA, read_version=tip.version, table=tip.metadata.id)

    def upgrade_protocol(self, protocol: Protocol) -> CommitResult:
        """Raise what a reader and a writer must understand; it never goes down.

        Raises:
            SchemaError: It would go down.
            ProtocolError: This version could not write the table afterwards.
        """
        tip = self._loader.tip()
        check_writable(tip.protocol, table=self.url)
        check_upgrade(tip.protocol, protocol, table=self.url)
        return self.commit(
            [protocol, tip.metadata], operation=Kind.PROTOCOL, read_version=tip.version, table=tip.metadata.id
        )

    def commit(
        self,
        actions: Sequence[Action],
        *,
        operation: str,
        read_version: int | None = None,
        app: str | None = None,
        batch: int | None = None,
        user_metadata: str | None = None,
        table: str | None = None,
    ) -> CommitResult:
        """Write actions as the next version.

        Args:
            actions: What to commit; adds are checked against the table and marked as ours.
            operation: What it is for; the names of `Kind` say what may overtake it.
            read_version: The version that the actions were made against; the newest one if not given.
            app: With `batch`: the same batch of the same application is committed once, however often this is called.
            batch: See `app`.
            user_metadata: Free text that history shows.
            table: The id of the table that they were made for; another one that took its place is left alone.

        Raises:
            ConcurrentWriteError: Another commit rules it out; nothing was committed.
            CommitUnknownError: It may have landed; `resolve_commit` tells later.
            ProtocolError: The table needs a newer writer.
            SchemaError: The actions do not fit the table.
        """
        tip = self._loader.tip()
        if table is not None and tip.metadata.id != table:
            raise TableNotFoundError(self.url, detail="another one was made in its place since it was read")
        check_writable(tip.protocol, table=self.url)
        if (done := self._batch_done(app, batch)) is not None:
            self._loader.reader.keep(done.version)
            return CommitResult(version=done.version, commit_id=done.commit_id, timestamp=done.timestamp, written=False)
        if read_version is not None and not 0 <= read_version <= tip.version:
            raise self._loader.no_version(read_version)
        made_for_newest = read_version is None or read_version >= tip.metadata_version
        basis = tip.metadata if made_for_newest else self.snapshot(read_version).metadata
        if not actions:
            return CommitResult(version=tip.version, commit_id="", timestamp=tip.timestamp, written=False)
        marked = [_marked(action) for action in actions]
        if all(isinstance(action, Protocol) for action in marked):
            marked.append(basis)  # a protocol cannot carry the facts about its commit
        check_actions(marked, basis)
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
        return self._committed(intent, tip, read_version=tip.version if read_version is None else read_version)

    def _committed(self, intent: Intent, tip: Tip, *, read_version: int) -> CommitResult:
        """Commit, take note of it, and do what is due after it."""
        with span("indextables.commit", table=self.url, operation=intent.operation) as noted:
            result, newest = self._committer.commit(intent, tip, read_version=read_version)
            noted.note(version=result.version, attempts=result.attempts)
        self._loader.know(newest)
        if result.written:
            self._run_after_commit(result.version)
        return result

    def _batch_done(self, app: str | None, batch: int | None) -> Batch | None:
        """Return the last batch of an application if it is this one or a later one."""
        if (app is None) != (batch is None):
            raise ConfigError("batch", batch, "a number, and app to a name, or neither")
        done = self.snapshot().transactions.get(app) if app is not None else None
        return done if done is not None and batch is not None and batch <= done.number else None

    def restore(self, version: int, *, user_metadata: str | None = None) -> CommitResult:
        """Make the table what it was at an earlier version, as a new version: its files and its metadata.

        Raises:
            VersionNotFoundError: There is no such version, or cleanup took it away; it names those that there are.
            DataFilesMissingError: Data files of that version are gone; it names them.
            ConcurrentWriteError: Somebody changed the table since this call began.
        """
        if version < read_floor(self._store):
            raise self._loader.no_version(version)
        now, then = self.snapshot(), self.snapshot(version)
        tip = self._loader.tip()
        check_writable(tip.protocol, table=self.url)
        intent = restoring(self._store, now, then, settings=self._settings, runtime=self._runtime, user=user_metadata)
        if intent is None:
            return CommitResult(version=tip.version, commit_id="", timestamp=tip.timestamp, written=False)
        return self._committed(intent, tip, read_version=now.version)

    def resolve_commit(self, unknown: CommitUnknownError) -> int | None:
        """Return the version that a commit of unknown outcome became, or None if it did not land and never will.

        Raises:
            CommitUnknownError: It is still open.
        """
        return resolve(self._loader.reader, unknown)

    def checkpoint(self, version: int | None = None) -> CheckpointResult:
        """Write the checkpoint of a version, the newest one by default, read it back, and let readers know.

        Raises:
            CheckpointWriteError: It could not be written; the table is as before.
            CheckpointValidationError: It did not read back as it was written; the previous one stays in force.
        """
        return self._upkeep.checkpoint(version)

    def cleanup(self, *, dry_run: bool = False, progress: Callable[[int, int], None] | None = None) -> CleanupResult:
        """Delete commits and checkpoints that are older than they are kept.

        Args:
            dry_run: Only tell what would go.
            progress: Called with how many files are deleted, and of how many.
        """
        return self._upkeep.cleanup(dry_run=dry_run, progress=progress)

    def after_commit(self, work: Callable[[int], None]) -> None:
        """Have work done after each commit of this log, with its version. It cannot fail the commit."""
        self._after_commit.append(work)

    def _run_after_commit(self, version: int) -> None:
        for work in self._after_commit:
            try:
                work(version)
            except Exception:  # noqa: BLE001 - the commit stands, whatever this was
                _LOG.warning("Work after version %d of %s failed; the commit stands", version, self.url, exc_info=True)

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
        result = self.commit(counted, operation=Kind.SKIP, read_version=snapshot.version, table=snapshot.metadata.id)
        for skip in counted:
            shown = (skip.path, skip.skip_count, skip.retry_after)
            _LOG.info("Recorded skipped file: %s (skip count: %s, retry after: %s)", *shown)
        return result

    def _counted(self, snapshot: Snapshot, skips: Sequence[Skip], *, cooldown_hours: float | None = None) -> list[Skip]:
        settings = self._settings.skips
        return cooldown.counted(
            skips,
            snapshot.skips,
            now_ms=self._runtime.now_ms(),
            cooldown_hours=settings.cooldown_hours if cooldown_hours is None else cooldown_hours,
            doubling=settings.doubling,
        )


def _marked(action: Action) -> Action:
    """Mark an add as written by this format, which vouches for its size, path and statistics."""
    if not isinstance(action, Add):
        return action
    return msgspec.structs.replace(action, tags={**(action.tags or {}), WRITER_TAG: VERSION})
