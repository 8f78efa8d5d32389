"""What a report of a database of Hive tables says, as data, and how it is found out: from listings and the Metastore alone."""

from __future__ import annotations

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.hive.filesystem import data_files
from indextables.hive.journal import UNFINISHED, Journal, State
from indextables.hive.plan import DEFAULT_SIZE, TableReport, analyze_database
from indextables.report.lake_advice import advise_lake

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.hive import Lake
    from indextables.hive.journal import Run
    from indextables.report.figures import Advice


@dataclass(frozen=True, kw_only=True, slots=True)
class HiveTableFigures:
    """A table of the database.

    Attributes:
        table: The full name.
        location: Its root.
        format: `parquet`, `orc`, or empty.
        partitions: How many partitions it has; 1 for a flat table.
        partitions_to_compact: How many of them need it.
        files: How many files hold rows.
        bytes: Their size.
        target_files: How many files there would be.
        files_saved: How many fewer that is.
        objects_saved: How many objects fewer the NameNode would keep.
        refused: Why it cannot be compacted; empty where it can.
        warnings: What else one should know.
    """

    table: str
    location: str
    format: str
    partitions: int
    partitions_to_compact: int
    files: int
    bytes: int
    target_files: int
    files_saved: int
    objects_saved: int
    refused: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFigures:
    """A run, and what its backup holds.

    Attributes:
        table: The table's full name.
        run: The run's name.
        began: When it began.
        state: How far it came.
        finished: Whether it needs nobody any more.
        backup: The full name of its backup table.
        directories: How many directories it replaced.
        rows: How many rows were verified in them; None where it did not come so far.
        files_held: How many original files are kept for a rollback.
        bytes_held: Their size.
    """

    table: str
    run: str
    began: dt.datetime
    state: str
    finished: bool
    backup: str
    directories: int
    rows: int | None
    files_held: int
    bytes_held: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LakeFigures:
    """Everything that the report of a database says; tables that save the most files come first."""

    database: str
    made: dt.datetime
    threshold: int
    target_size: int
    tables: tuple[HiveTableFigures, ...]
    runs: tuple[RunFigures, ...]
    advice: tuple[Advice, ...]


def lake_figures(
    lake: Lake,
    database: str,
    *,
    threshold: int = DEFAULT_SIZE,
    target_size: int = DEFAULT_SIZE,
    command: str = "lakekeeper",
    on_table: Callable[[int], None] | None = None,
) -> LakeFigures:
    """Return the figures of a database.

    Args:
        lake: Metastore and file systems.
        database: Its name.
        threshold: Average size below which files are worth compacting.
        target_size: How large the new files should become.
        command: How commands begin that are recommended.
        on_table: Called with how many tables are done.

    Raises:
        ConfigError: There is no such database.
        MetastoreError: The Metastore cannot be asked.
    """
    tables = []
    for report in analyze_database(lake, database, threshold=threshold, target_size=target_size):
        tables.append(_table(report))
        if on_table:
            on_table(len(tables))
    journal = Journal(lake)
    with ThreadPoolExecutor(lake.threads, thread_name_prefix="lakekeeper-report") as pool:
        runs = tuple(_run(lake, journal, run, pool) for run in journal.runs(database.lower()))
    tables.sort(key=lambda one: (-one.files_saved, one.table))
    made = dt.datetime.fromtimestamp(lake.runtime.now_ms() // 1000, dt.UTC)
    return LakeFigures(
        database=database,
        made=made,
        threshold=threshold,
        target_size=target_size,
        tables=tuple(tables),
        runs=runs,
        advice=advise_lake(tables, runs, now=made, command=command),
    )


def _table(report: TableReport) -> HiveTableFigures:
    refused = (*report.refused, *dict.fromkeys(one.refused for one in report.partitions if one.refused))
    return HiveTableFigures(
        table=report.table,
        location=report.location,
        format=report.format,
        partitions=len(report.partitions),
        partitions_to_compact=sum(one.needs_compaction for one in report.partitions),
        files=report.files,
        bytes=report.bytes,
        target_files=report.target_files,
        files_saved=0 if report.refused else report.files - report.target_files,
        objects_saved=0 if report.refused else report.objects_saved,
        refused=refused,
        warnings=report.warnings,
    )


def _run(lake: Lake, journal: Journal, run: Run, pool: ThreadPoolExecutor) -> RunFigures:
    directories = journal.directories(run)
    rows = [directory.rows for directory in directories]
    held = list(pool.map(lambda one: _held(lake, one.old), directories))
    return RunFigures(
        table=run.source,
        run=run.id,
        began=dt.datetime.fromtimestamp(int(run.id), dt.UTC),
        state=str(run.state),
        finished=State(run.state) not in UNFINISHED,
        backup=run.backup.full_name,
        directories=len(directories),
        rows=None if not rows or min(rows) < 0 else sum(rows),
        files_held=sum(files for files, _ in held),
        bytes_held=sum(size for _, size in held),
    )


def _held(lake: Lake, place: str) -> tuple[int, int]:
    """Return how many files a directory of originals holds, and how large they are."""
    if not lake.systems.supports(place):
        return 0, 0
    entries = data_files(lake.systems.at(place).files(place) or ())
    return len(entries), sum(entry.length for entry in entries)
