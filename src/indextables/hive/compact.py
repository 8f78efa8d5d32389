"""Compacting one table: back up, rewrite and verify everything, swap everything, or have changed nothing.

All partitions of a run are rewritten before the first is renamed. The renames are then a matter of milliseconds each, and whatever
fails, every directory is put back: a table is never half compacted.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from indextables.hive.find import find_table
from indextables.hive.journal import Journal
from indextables.hive.options import Options
from indextables.hive.refresh import announce
from indextables.hive.stage import stage
from indextables.hive.switch import swapper_of
from indextables.hive.undo import finish_run, undo_run
from indextables.hive.work import Plan, plan_work, refuse_table, staging_of
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from indextables.hive.connect import Lake
    from indextables.hive.directory import Directory
    from indextables.hive.journal import Run
    from indextables.hive.model import HiveTable
    from indextables.hive.plan import PartitionReport


@dataclass(frozen=True, kw_only=True)
class CompactionResult:
    """What a run did, or would do.

    Attributes:
        table: The table's full name.
        run: The run, by which `rollback` finds it; None where there was nothing to do, or in a dry run.
        backup: The full name of the backup table.
        partitions: The directories that were replaced, as they were before.
        files_before: How many files they had.
        files_after: How many they have.
        bytes_before: The size of the files before.
        bytes_after: The size of the files after.
        rows: How many rows were verified.
        longest_gap: For how many seconds at most a directory was missing between its two renames.
        seconds: How long it took.
        skipped: Partitions that need compaction and were refused, each with the reason.
    """

    table: str
    run: str | None = None
    backup: str | None = None
    partitions: tuple[PartitionReport, ...] = ()
    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    rows: int = 0
    longest_gap: float = 0.0
    seconds: float = 0.0
    skipped: tuple[tuple[str, str], ...] = field(default=())


def compact(
    lake: Lake,
    full_name: str,
    *,
    options: Options | None = None,
    partitions: Sequence[str] = (),
    where: str | None = None,
    dry_run: bool = False,
    spark: SparkSession | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> CompactionResult:
    """Compact a table's partitions that need it.

    Args:
        lake: Metastore and file systems.
        full_name: `database.table`.
        options: How to compact.
        partitions: Names of partitions, whole or in part; without any, all that need it.
        where: A condition on the partition keys.
        dry_run: Only say what would be done.
        spark: Where large runs are rewritten.
        on_progress: Called with groups of files rewritten and in total.

    Raises:
        TableRefusedError: The table is of a kind, or in a state, that is not compacted.
        UnfinishedRunError: An earlier run must be recovered first.
        ConcurrentChangeError: Somebody wrote to the table; it is as it was, with what was written.
        VerificationError: What was written is not what was read; the table is as it was.
    """
    options = options or Options()
    began = lake.runtime.monotonic()
    with span("lakekeeper.compact", table=full_name, dry_run=dry_run) as noted:
        table = find_table(lake, full_name)
        refuse_table(lake, table, options)
        plan = plan_work(lake, table, options, partitions=partitions, where=where)
        result = _planned(table, plan)
        noted.note(files=result.files_before, bytes=result.bytes_before)
        if dry_run or not plan.work:
            return result
        run = Journal(lake).begin(
            table,
            [one.directory for one in plan.work],
            [one.listing.partition for one in plan.work if one.listing.partition is not None],
            run=plan.run,
            staging=staging_of(options),
        )
        try:
            directories, size = stage(lake, table, plan.work, options, spark=spark, on_progress=on_progress)
            gap = _swap_all(lake, run, directories)
            finish_run(lake, run, directories)
        except BaseException as failure:
            _undo_after(lake, run, failure)
            raise
        announce(lake, table, directories)
        if spark is not None:
            spark.catalog.refreshTable(f"`{table.database}`.`{table.name}`")  # this session's own cache of file lists
        result = replace(
            result,
            run=run.id,
            backup=run.backup.full_name,
            files_after=sum(len(directory.new_names()) for directory in directories),
            bytes_after=size,
            rows=sum(directory.rows for directory in directories),
            longest_gap=gap,
            seconds=lake.runtime.monotonic() - began,
        )
        noted.note(run=run.id, files_added=result.files_after, rows=result.rows)
        return result


def _swap_all(lake: Lake, run: Run, directories: Sequence[Directory]) -> float:
    """Swap every directory; return the longest time for which one was missing."""
    journal = Journal(lake)
    swapper = swapper_of(lake, journal, run)
    with ThreadPoolExecutor(lake.threads, thread_name_prefix="lakekeeper-swap") as pool:
        # All are looked at before the first moves: what changed until now is told with nothing moved.
        list(pool.map(swapper.require_unchanged, directories))
        journal.seal(run, directories)
        futures = [pool.submit(swapper.swap, directory) for directory in directories]
        try:
            return max(future.result() for future in futures)
        finally:
            for future in futures:
                future.cancel()


def _planned(table: HiveTable, plan: Plan) -> CompactionResult:
    reports = tuple(one.report for one in plan.work)
    return CompactionResult(
        table=table.full_name,
        partitions=reports,
        files_before=sum(report.files for report in reports),
        files_after=sum(report.target_files for report in reports),
        bytes_before=sum(report.bytes for report in reports),
        skipped=tuple(plan.skipped),
    )


def _undo_after(lake: Lake, run: Run, failure: BaseException) -> None:
    try:
        undo_run(lake, run, Journal(lake).directories(run))
    except Exception as error:  # noqa: BLE001 - the first failure is the one to report; this one is added to it
        failure.add_note(
            f"Putting the table back failed as well ({error}). Run: lakekeeper recover --table {run.source}"
        )
