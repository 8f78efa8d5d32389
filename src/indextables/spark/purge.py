"""Purging a table: what no version needs any more, and what writers left that never committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.runtime import SYSTEM, Runtime
from indextables.spark.maintained import open_maintained
from indextables.table.purging import PurgeResult, parse_age, purge_files
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession


def purge(
    spark: SparkSession | None,
    path: str,
    *,
    older_than: str = "7d",
    dry_run: bool = True,
    force: bool = False,
    options: Mapping[str, object] | None = None,
    progress: Callable[[int, int], None] | None = None,
    runtime: Runtime = SYSTEM,
) -> PurgeResult:
    """Delete data files that no version of a table needs, if they are old enough; by default only tell which.

    Removed files can go when cleanup of the log has taken the last version away that shows them. Files that were adopted from
    elsewhere, and so have names of others, are never deleted.

    Args:
        spark: The session, or None to work without Spark.
        path: Where the table is.
        older_than: Leave alone what is younger, as `7d` or `36h`; at least 24 hours.
        dry_run: Only tell what would go.
        force: Allow less than 24 hours. A writer that is at work on the table would lose its files.
        options: Settings under their full names, and credentials.
        progress: Called with how many files are deleted, and of how many.
        runtime: Clock.

    Raises:
        ConfigError: `older_than` is no age, or too short.
        TableNotFoundError: There is no table.
        LogCorruptionError: The log is damaged, so nobody knows what is needed; nothing was deleted.
        StorageError: The listing lacks files of the table; nothing was deleted.
    """
    age = parse_age("older_than", older_than, force=force)
    opened = open_maintained(spark, path, options)
    with span("indextables.purge", table=opened.store.url, dry_run=dry_run) as noted:
        result = purge_files(
            opened.store,
            settings=opened.settings,
            runtime=runtime,
            older_than_ms=age,
            dry_run=dry_run,
            progress=progress,
        )
        noted.note(files=result.files.num_rows, bytes=result.bytes)
        return result
