"""From the files of a run to one commit, whoever wrote them: Spark's writer, or Arrow in Python workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import TableExistsError, TableNotFoundError
from indextables.log.evolution import changed
from indextables.spark.columns import ColumnPlan, plan_existing, plan_new
from indextables.table.adds import add_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.log import TransactionLog
    from indextables.log.actions import Action
    from indextables.log.snapshot import Snapshot
    from indextables.spark.replacing import Replacement
    from indextables.split import SplitFile


def existing(log: TransactionLog) -> Snapshot | None:
    """Return the newest version of a table, or None if there is no table."""
    try:
        return log.snapshot()
    except TableNotFoundError:
        return None


def column_plan(
    schema: str, snapshot: Snapshot | None, partition_by: Sequence[str], *, merge_schema: bool
) -> ColumnPlan:
    """Return how columns of a schema (Spark's JSON form) become those of the table.

    Raises:
        SchemaError: They do not fit; every difference is in its text.
    """
    if snapshot is None:
        return plan_new(schema, partition_by)
    return plan_existing(
        schema,
        snapshot.metadata.schema_string,
        table_partitions=snapshot.partition_columns,
        partition_by=partition_by,
        merge_schema=merge_schema,
    )


def commit_files(
    log: TransactionLog,
    snapshot: Snapshot | None,
    columns: ColumnPlan,
    files: Sequence[SplitFile],
    replacement: Replacement,
    *,
    mode: str,
    now_ms: int,
) -> int:
    """Make files the table's, in one commit, and return the version that holds them.

    Args:
        log: Of the table.
        snapshot: The version that the write was planned for; None if there was no table.
        columns: The columns of the table after the write.
        files: The new files.
        replacement: What goes.
        mode: `error` refuses a table that another writer made in the meantime.
        now_ms: When.

    Raises:
        ConcurrentWriteError: Another commit rules it out.
        CommitUnknownError: It may or may not have happened.
    """
    adds = [add_of(file) for file in files]
    if snapshot is None:
        version = log.initialize(columns.schema, columns.partition_columns)
        if version and mode == "error":
            raise TableExistsError(log.url, detail="another writer made it in the meantime")
        return log.add_files(adds).version if adds else version
    actions: list[Action] = [*replacement.removes(files, now_ms=now_ms), *adds]
    if columns.widened:
        actions.insert(0, changed(snapshot.metadata, schema=columns.schema))
    if not actions:
        return snapshot.version
    operation = "overwrite" if mode == "overwrite" else "append"
    return log.commit(actions, operation=operation, read_version=snapshot.version, table=snapshot.metadata.id).version
