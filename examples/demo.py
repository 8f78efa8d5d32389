"""The product in three minutes, on this machine.

A stream of events becomes a table that is searched, merged, travelled in, killed in mid-write and repaired. Then three Hive
tables of small files are compacted, one of them goes back to what it was, and a page shows how the first table is doing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table as Grid

import indextables as it
from examples.lakekeeper_demo import TABLES, create_tables, hive_session
from indextables.hive import analyze, compact, connect, rollback
from indextables.log.layout import commit_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

ROWS = 40_000
DAYS = 4
WRITER = """
import sys, pyarrow as pa, indextables as it
table = it.Table(sys.argv[1])
rows = table.to_arrow(limit=1000)
while True:
    table.append(rows)
    print("acknowledged", flush=True)
"""

console = Console(highlight=False, soft_wrap=True)


def step(title: str, code: str) -> None:
    """Say what comes, and show the code that does it."""
    console.print()
    panel = Panel(escape(code), title=title, title_align="left", border_style="cyan", expand=False)
    console.print(panel, soft_wrap=False)


def show(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a small table."""
    grid = Grid(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        grid.add_row(*(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row))
    console.print(grid)


def events(spark: SparkSession, day: int) -> DataFrame:
    """Return a day of events, in the order in which they happened."""
    level = F.element_at(
        F.array(*map(F.lit, ("DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR"))), (1 + F.col("id") % 6).cast("int")
    )
    moment = F.timestamp_seconds(F.lit(1_767_225_600 + day * 86_400) + F.col("id") * 86_400 / ROWS)
    return spark.range(ROWS).select(
        F.col("id"),
        moment.alias("ts"),
        level.alias("level"),
        F.concat(F.lit("event number "), F.col("id")).alias("message"),
        F.lit(f"2026-01-{day + 1:02d}").alias("date"),
    )


def write(spark: SparkSession, path: str) -> None:
    step(
        "1. A stream of events is written with Spark",
        'it.write(events, path, mode="append", partition_by=["date"], cluster_by=["ts"])',
    )
    rows = []
    # As a stream leaves them: many files that are small.
    spark.conf.set("spark.sql.shuffle.partitions", "6")
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    for day in range(DAYS):
        result = it.write(events(spark, day), path, mode="append", partition_by=["date"], cluster_by=["ts"])
        rows.append((result.version, result.files, result.rows, result.bytes, f"{result.seconds:.1f}"))
    show(("version", "files", "rows", "bytes", "seconds"), rows)


def query(spark: SparkSession, path: str) -> None:
    where = "date = '2026-01-02' AND ts < TIMESTAMP '2026-01-02 03:00:00'"
    step(
        "2. A query reads only the files that can matter",
        f'it.Table(path).explain("{where}")\nit.read(spark, path).where("{where}").count()',
    )
    console.print(escape(str(it.Table(path).explain(where))))
    began = time.perf_counter()
    count = it.read(spark, path).where(where).count()
    console.print(f"Spark counts {count:,} rows in {time.perf_counter() - began:.1f} s, through its own Parquet reader")


def merge(spark: SparkSession, path: str) -> None:
    step("3. Small files are merged; nothing else changes", "it.merge_splits(spark, path)")
    before = it.Table(path).files().num_rows
    result = it.merge_splits(spark, path)
    after = it.Table(path).files().num_rows
    show(
        ("files before", "files after", "rows", "seconds"),
        [(before, after, it.Table(path).count(), f"{result.seconds:.1f}")],
    )


def travel(spark: SparkSession, path: str) -> None:
    step(
        "4. Every version can still be read", "it.read(spark, path, version=2).count()\nit.Table(path).history(limit=4)"
    )
    show(("version", "rows"), [(version, it.read(spark, path, version=version).count()) for version in (1, 2, 4)])
    history = it.Table(path).history(limit=4).select(["version", "operation", "files_added", "files_removed"])
    show(history.column_names, (row.values() for row in history.to_pylist()))


def kill(path: str) -> None:
    step("5. A writer is killed in mid-write", "os.kill(writer, SIGKILL)")
    before = it.Table(path).count()
    writer = subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    acknowledged = 0
    while acknowledged < 3:
        acknowledged += writer.stdout.readline().startswith("acknowledged")
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged += writer.stdout.read().count("acknowledged")
    writer.wait()
    landed = (it.Table(path).count() - before) // 1_000
    if landed not in (acknowledged, acknowledged + 1):
        raise SystemExit(f"{acknowledged} appends were acknowledged, and {landed} are there")
    console.print(
        f"{acknowledged} appends were acknowledged, {landed} are there, none of them in part: the table opens as if nothing had happened"
    )


def repair(path: str) -> None:
    step(
        "6. The log is damaged and repaired",
        "it.Table(path).checkpoint()\nit.repair(path)                   # looks\nit.repair(path, dry_run=False)    # acts",
    )
    table = it.Table(path)
    rows = table.count()
    table.checkpoint()
    for version, size in ((3, 40), (4, 0)):
        damaged = Path(path) / commit_path(version)
        damaged.write_bytes(damaged.read_bytes()[:size])
    console.print(escape(str(it.repair(path)).replace(path, "<table>")))
    result = it.repair(path, dry_run=False)
    console.print(
        f"after the repair: version {result.version}, {it.Table(path).count():,} rows (before the damage {rows:,})"
    )


def lakekeeper(spark: SparkSession, base: str) -> None:
    step(
        "7. Lakekeeper compacts three Hive tables, and takes one back",
        'lake = connect(spark=spark)\ncompact(lake, "demo.lakekeeper_events")\nrollback(lake, "demo.lakekeeper_flat")',
    )
    lake = connect(spark=spark)
    try:
        create_tables(spark, lake, base)
        rows = []
        for table in TABLES:
            name = f"demo.{table.name}"
            began = time.perf_counter()
            result = compact(lake, name)
            seconds = time.perf_counter() - began
            spark.sql(f"REFRESH TABLE {name}")
            counted = spark.table(name).count()
            rows.append((name, result.files_before, result.files_after, counted, f"{seconds:.1f}"))
        show(("table", "files before", "files after", "rows", "seconds"), rows)
        flat = f"demo.{TABLES[0].name}"
        rollback(lake, flat)
        console.print(f"rolled back: {flat} has {analyze(lake, flat).files:,} files again")
    finally:
        lake.close()


def report(path: str) -> None:
    where = "date = '2026-01-02'"
    step(
        "8. The table on one page, with what to do next", f'indextables report events -o report.html --where "{where}"'
    )
    page = Path(tempfile.mkdtemp(prefix="indextables-report-")) / "report.html"
    command = [sys.executable, "-m", "indextables", "report", path, "-o", str(page), "--where", where]
    subprocess.run(command, check=True)


def main() -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="indextables-demo-") as name, hive_session(Path(name), None) as spark:
        path = f"{name}/events"
        write(spark, path)
        query(spark, path)
        merge(spark, path)
        travel(spark, path)
        kill(path)
        repair(path)
        lakekeeper(spark, f"file:{name}/demo")
        report(path)
    console.print()
    console.print(f"Done in {time.monotonic() - began:.0f} s.")
    console.print(
        "Next: README.md to use it, docs/ to understand it, make test for the proof, make bench for the speed."
    )


if __name__ == "__main__":
    main()
