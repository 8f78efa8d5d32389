"""What a person holds: a table, opened by its path, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.errors import ConfigError, SchemaError, TableNotFoundError
from indextables.table.change import append_rows, delete_rows, overwrite_rows
from indextables.table.conform import table_schema
from indextables.table.rows import as_rows
from indextables.table.view import TableView
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from indextables.log.checkpoint.writer import CheckpointResult
    from indextables.log.cleanup import CleanupResult
    from indextables.log.commit import CommitResult
    from indextables.predicate import Expression
    from indextables.table.results import WriteResult
    from indextables.tracing import Span


class Table(TableView):
    """A table at a path. Making one reads nothing; every question sees all that was committed before it was asked.

    Args:
        path: A local path, or an address such as `s3://bucket/table`.
        version: Look at this version, for ever; it cannot be written then.
        timestamp: Look at the newest version of that moment instead.
        options: Settings under their full names, and credentials, as Spark options are given.

    Examples:
        >>> import tempfile, pyarrow as pa
        >>> table = Table(tempfile.mkdtemp())
        >>> table.append(pa.table({"id": [1, 2, 3]})).version
        1
        >>> table.to_arrow(where="id > 1")["id"].to_pylist()
        [2, 3]
    """

    def append(
        self,
        data: Any,
        *,
        partition_by: Sequence[str] = (),
        app: str | None = None,
        batch: int | None = None,
        commit_empty: bool = False,
    ) -> WriteResult:
        """Add rows in one commit; where there is no table, one is made for them.

        Args:
            data: An Arrow table, batch or reader, a pandas or Polars frame, or anything with an Arrow stream.
            partition_by: The partition columns of a table to be made; of one that exists, the same or none.
            app: With `batch`: the same batch of the same application is written once, however often this is called.
            batch: See `app`.
            commit_empty: Write a version also when there are no rows.

        Raises:
            SchemaError: The rows do not fit the table.
            ConcurrentWriteError: The schema changed meanwhile; nothing was written.
            CommitUnknownError: It may have landed; the files stay.
        """
        with span("indextables.append", table=self.path) as noted:
            self._refuse_past()
            rows = as_rows(data)
            self._ensure(rows.schema, partition_by)
            work = (self._log, self._store, rows, self._settings, self._runtime)
            return _noted(noted, append_rows(*work, app=app, batch=batch, commit_empty=commit_empty))

    def overwrite(self, data: Any, *, where: str | Expression | None = None) -> WriteResult:
        """Replace all rows, or those for which a predicate is true, in one commit.

        Args:
            data: The new rows; with `where`, it must be true for each of them.
            where: Which rows to replace.

        Raises:
            SchemaError: The rows do not fit the table, or `where` is not true for one of them.
            ConcurrentWriteError: Somebody changed the table meanwhile; nothing was written.
        """
        with span("indextables.overwrite", table=self.path) as noted:
            self._refuse_past()
            rows = as_rows(data)
            if where is None:
                self._ensure(rows.schema, ())
            done = overwrite_rows(self._log, self._store, rows, where, self._settings, self._runtime)
            return _noted(noted, done)

    def delete(self, where: str | Expression) -> WriteResult:
        """Delete the rows for which a predicate is true; files that it covers whole are not even read.

        Raises:
            PredicateError: The predicate cannot be understood.
            ConcurrentWriteError: Somebody changed the same files meanwhile; nothing was deleted.
        """
        with span("indextables.delete", table=self.path) as noted:
            self._refuse_past()
            return _noted(noted, delete_rows(self._log, self._store, where, self._settings, self._runtime))

    def checkpoint(self) -> CheckpointResult:
        """Sum up the log in a checkpoint now, so that opening the table reads little."""
        return self._log.checkpoint()

    def cleanup(self, *, dry_run: bool = False) -> CleanupResult:
        """Delete files of the log that are older than they are kept; with `dry_run` only tell which."""
        return self._log.cleanup(dry_run=dry_run)

    def restore(self, version: int) -> CommitResult:
        """Make the table what it was at an earlier version, as a new version.

        Raises:
            VersionNotFoundError: There is no such version any more.
            DataFilesMissingError: Files of that version are gone.
        """
        self._refuse_past()
        return self._log.restore(version)

    def _refuse_past(self) -> None:
        version, timestamp = self._at
        if version is not None or timestamp is not None:
            name, value = ("version", version) if version is not None else ("timestamp", timestamp)
            raise ConfigError(name, value, "nothing: only a table that is opened at no fixed version can be written")

    def _ensure(self, schema: pa.Schema, partition_by: Sequence[str]) -> None:
        try:
            known = self._log.partition_columns
        except TableNotFoundError:
            self._log.initialize(table_schema(schema), list(partition_by))
            return
        if partition_by and list(partition_by) != known:
            raise SchemaError(
                f"The table is partitioned by {', '.join(known) or 'nothing'}, not by {', '.join(partition_by)}",
                columns=list(partition_by),
                way_out="Leave partition_by out",
            )


def _noted(noted: Span, done: WriteResult) -> WriteResult:
    noted.note(version=done.version, files=done.files_added, rows=done.rows_added, bytes=done.bytes_added)
    return done
