"""Writes a table from Spark's Python workers: each task writes splits of its own, and one commit makes them the table's.

Attempts name their files at random, so twins do not meet, and only the files in the messages of successful attempts are committed.
What other attempts left behind belongs to no version; its names begin with the run's id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from indextables.log.actions import MetaData
from indextables.log.schema import parse_schema
from indextables.runtime import SYSTEM
from indextables.spark.committing import column_plan, commit_files, existing
from indextables.spark.replacing import Replacement, is_dynamic, replacement_for
from indextables.spark.runs import naming_attempts
from indextables.table.rows import as_rows
from indextables.table.write import Staged, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from indextables.spark.source_table import SourceTable
    from indextables.split import SplitFile


@dataclass
class FilesWritten(WriterCommitMessage):
    """The files of one successful attempt."""

    files: tuple[SplitFile, ...] = ()


class TableWriter(DataSourceArrowWriter):
    """Appends rows to a table, or replaces all of its rows."""

    def __init__(self, table: SourceTable, schema: str, *, overwrite: bool) -> None:
        self._table = table
        self._overwrite = overwrite
        self._run = table.option("run") or SYSTEM.new_id()
        snapshot = existing(table.log())
        self._version = None if snapshot is None else snapshot.version
        self._id = "" if snapshot is None else snapshot.metadata.id
        self._columns = column_plan(
            schema, snapshot, table.names("partitionBy"), merge_schema=table.flag("mergeSchema")
        )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task into files that belong to nobody yet."""
        first = next(iterator, None)
        if first is None:
            return FilesWritten()
        rows = as_rows(pa.RecordBatchReader.from_batches(first.schema, _chained(first, iterator)))
        metadata = MetaData(id=self._id, schema_string="", partition_columns=list(self._columns.partition_columns))
        staged = Staged(self._table.store())
        with staged.writing():
            files = write_rows(
                staged,
                (self._renamed(slab) for slab in rows.slabs),
                schema=parse_schema(self._columns.schema),
                metadata=metadata,
                settings=self._table.settings(),
                runtime=naming_attempts(SYSTEM, self._run),
            )
        return FilesWritten(tuple(files))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make the files of all tasks the table's, in one commit."""
        files = _files(messages)
        log = self._table.log()
        snapshot = None if self._version is None else log.snapshot(self._version)
        replacement = Replacement()
        if snapshot is not None and self._overwrite:
            replacement = replacement_for(snapshot, dynamic=is_dynamic(self._table.option("partitionOverwriteMode")))
        with Staged(self._table.store(), list(files)).committing():
            commit_files(
                log,
                snapshot,
                self._columns,
                files,
                replacement,
                mode="overwrite" if self._overwrite else "append",
                now_ms=SYSTEM.now_ms(),
            )

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Delete the files of the tasks that succeeded before another one failed."""
        Staged(self._table.store(), list(_files(messages))).discard()

    def _renamed(self, slab: pa.Table) -> pa.Table:
        """Return rows under the names that the table has for its columns."""
        names = {source: name for name, _, source in self._columns.sources if source is not None}
        return slab.rename_columns([names[name] for name in slab.column_names])


def _chained(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _files(messages: Sequence[WriterCommitMessage | None]) -> list[SplitFile]:
    return [file for message in messages if isinstance(message, FilesWritten) for file in message.files]
