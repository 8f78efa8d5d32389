"""Reading and writing with Spark beside Spark's own Parquet, on the same rows, in one run.

Each pair is measured alternately after a warm-up, and the medians are compared. Plain Parquet is written with the same codec, so that
its files hold the same bytes. Planning is measured on tables whose files do not exist: a plan needs their list alone.

Run: PYTHONPATH=. python benchmarks/bench_spark.py [--quick] [--json PATH]
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import resource
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from benchmarks.measured import Median, Result, add_option, result, save
from indextables.log import open as open_log
from indextables.log.actions import Add
from indextables.spark import read, register, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

ROWS = (
    "id",
    "id % 1000 AS key",
    "CAST(hash(id) AS string) AS name",
    "rand(7) AS score",
    "timestamp_micros(id * 1000000) AS moment",
)

_PLAIN = "Spark on plain Parquet"


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    rows: int = 4_000_000
    days: int = 30
    clustered_files: int = 1_000
    planned: tuple[int, ...] = (1_000, 100_000)
    huge: int = 1_000_000
    rounds: int = 5


QUICK = Scale(rows=200_000, days=4, clustered_files=50, planned=(1_000,), huge=20_000, rounds=2)


@dataclass
class Report:
    """The lines of the table that is printed."""

    lines: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def pair(
        self, what: str, ours: Callable[[], object], plain: Callable[[], object], *, bound: str, rounds: int
    ) -> None:
        """Measure two things alternately."""
        ours(), plain()
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(rounds):
            for side in (0, 1) if number % 2 else (1, 0):
                began = time.perf_counter()
                (ours, plain)[side]()
                times[side].append(time.perf_counter() - began)
        mine, theirs = map(Median, times)
        least = re.search(r"at least ([\d.]+)x", bound)
        asked = float(least[1]) if least else None
        # Where less than 1 is asked for, plain Parquet is the best that can be had.
        self.results.append(
            result(what, mine, theirs, beside=_PLAIN, asked=asked, is_limit=asked is not None and asked < 1)
        )
        self.add(what, f"{mine:.3f} s", f"{theirs:.3f} s", f"{theirs / mine:.2f}x as fast", bound)

    def add(self, *line: str) -> None:
        """Take a line, and print it at once, since a run takes minutes."""
        what, ours, plain, ratio, bound = line
        self.lines.append((what, ours, plain, ratio, bound))
        print(f"{what}: {ours}, plain {plain}, {ratio} (wanted: {bound})", file=sys.stderr, flush=True)

    def show(self) -> None:
        """Print the table."""
        table = Table("what", "indextables", "plain Parquet", "ratio", "wanted", title="Spark")
        for line in self.lines:
            table.add_row(*line)
        Console(width=150).print(table)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small tables, two rounds")
    add_option(parser)
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else Scale()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="bench-spark-") as name:
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "4g")
            .config("spark.sql.parquet.compression.codec", "zstd")
            .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
        base = Path(name)
        first_read(spark, base, report)
        writes(spark, base, scale, report)
        scans(spark, base, scale, report)
        selective(spark, base, scale, report)
        for files in scale.planned:
            planning(spark, base, files, report, rounds=scale.rounds)
        huge(spark, base, scale, report)
        spark.stop()
    report.show()
    save(arguments.json, "spark", __doc__, report.results, is_quick=arguments.quick)


def first_read(spark: SparkSession, base: Path, report: Report) -> None:
    from indextables.table import Table as Local  # noqa: PLC0415 - another table than the one printed

    Local(str(base / "first")).append(pa.table({"id": [1, 2]}))
    spark.range(2).coalesce(1).write.parquet(str(base / "first-plain"))
    spark.read.parquet(str(base / "first-plain")).collect()
    began = time.perf_counter()
    spark.read.parquet(str(base / "first-plain")).collect()
    plain = time.perf_counter() - began
    began = time.perf_counter()
    read(spark, str(base / "first")).collect()
    ours = time.perf_counter() - began
    report.add("first read of a session", f"{ours:.3f} s", f"{plain:.3f} s", f"+{ours - plain:.3f} s", "at most +1 s")


def rows_of(spark: SparkSession, scale: Scale) -> DataFrame:
    return spark.range(0, scale.rows, 1, 4).selectExpr(*ROWS)


def writes(spark: SparkSession, base: Path, scale: Scale, report: Report) -> None:
    rows = rows_of(spark, scale)
    days = rows.selectExpr("*", f"date_add(DATE'2024-01-01', CAST(id % {scale.days} AS int)) AS day").repartition("day")
    numbers = iter(range(1000))
    for label, frame, columns in (("write", rows, []), (f"write, {scale.days} partitions", days, ["day"])):
        target = str(base / label.replace(" ", "-"))
        report.pair(
            label,
            lambda frame=frame, columns=columns, target=target: write(  # type: ignore[misc]
                frame,
                f"{target}-{next(numbers)}",
                partition_by=columns,
            ),
            lambda frame=frame, columns=columns, target=target: frame.write.partitionBy(*columns).parquet(  # type: ignore[misc]
                f"{target}-plain-{next(numbers)}"
            ),
            bound="at least 0.87x (1.15x the time)",
            rounds=max(2, scale.rounds - 2),
        )
        ours = size_of(min(base.glob(f"{Path(target).name}-[0-9]*")))
        plain = size_of(min(base.glob(f"{Path(target).name}-plain-*")))
        report.results.append(
            result(f"{label}, bytes", ours, plain, beside=_PLAIN, unit="bytes", asked=1 / 1.05, is_limit=True)
        )
        report.add(f"{label}, bytes", f"{ours:,}", f"{plain:,}", f"{ours / plain:.3f}x the bytes", "at most 1.05x")


def size_of(directory: Path) -> int:
    names = [file for file in directory.rglob("*") if file.suffix in {".split", ".parquet"}]
    return sum(file.stat().st_size for file in names)


def scans(spark: SparkSession, base: Path, scale: Scale, report: Report) -> None:
    table, plain = str(base / "scan"), str(base / "scan-plain")
    write(rows_of(spark, scale), table)
    rows_of(spark, scale).write.parquet(plain)
    register(spark)
    queries = {
        "full scan": ["count(id)", "sum(key)", "max(score)", "max(moment)", "max(length(name))"],
        "string max": ["max(name)"],
    }
    for what, columns in queries.items():
        report.pair(
            what,
            lambda columns=columns: read(spark, table).selectExpr(*columns).collect(),  # type: ignore[misc]
            lambda columns=columns: spark.read.parquet(plain).selectExpr(*columns).collect(),  # type: ignore[misc]
            bound="at least 0.95x",
            rounds=scale.rounds,
        )
    report.pair(
        "group by",
        lambda: read(spark, table).groupBy("key").count().collect(),
        lambda: spark.read.parquet(plain).groupBy("key").count().collect(),
        bound="at least 0.95x",
        rounds=scale.rounds,
    )
    report.pair(
        "filter",
        lambda: read(spark, table).where("score > 0.99 AND key < 500").selectExpr("count(name)").collect(),
        lambda: spark.read.parquet(plain).where("score > 0.99 AND key < 500").selectExpr("count(name)").collect(),
        bound="at least 0.95x",
        rounds=scale.rounds,
    )
    report.pair(
        "data source, group by two columns",
        lambda: (
            spark.read.format("indextables").option("columns", "key,id").load(table).groupBy("key").count().collect()
        ),
        lambda: spark.read.parquet(plain).groupBy("key").count().collect(),
        bound="for the record",
        rounds=2,
    )


def selective(spark: SparkSession, base: Path, scale: Scale, report: Report) -> None:
    table, plain = str(base / "clustered"), str(base / "clustered-plain")
    rows = spark.range(0, scale.rows, 1, scale.clustered_files).selectExpr(*ROWS)
    write(rows, table)
    rows.write.parquet(plain)
    wanted = scale.rows // 3
    report.pair(
        f"one row by a clustered column, {scale.clustered_files} files",
        lambda: read(spark, table).where(f"id = {wanted}").collect(),
        lambda: spark.read.parquet(plain).where(f"id = {wanted}").collect(),
        bound="at least 3x",
        rounds=scale.rounds,
    )


def log_of(path: Path, files: int) -> None:
    """Make a table whose log lists files that do not exist; each holds 1,000 ids of its own."""
    log = open_log(str(path))
    log.initialize(pa.schema([("id", pa.int64()), ("name", pa.string())]))
    for start in range(0, files, 50_000):
        log.add_files([_add(number) for number in range(start, min(files, start + 50_000))])


def _add(number: int) -> Add:
    return Add(
        path=f"{number:032x}.split",
        partition_values={},
        size=1_000_000,
        modification_time=1,
        data_change=True,
        num_records=1000,
        stats='{"nullCount":{"id":0,"name":0}}',
        min_values={"id": str(number * 1000), "name": f"n{number:09}"},
        max_values={"id": str(number * 1000 + 999), "name": f"n{number:09}z"},
    )


def planned(frame: DataFrame) -> None:
    """Plan a query as far as its list of files, without reading any."""
    frame._jdf.queryExecution().executedPlan().execute().getNumPartitions()  # noqa: SLF001 - there is no public way


def planning(spark: SparkSession, base: Path, files: int, report: Report, *, rounds: int) -> None:
    path = base / f"planned-{files}"
    log_of(path, files)
    times = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        planned(read(spark, str(path)))
        times.append(time.perf_counter() - began)
    empty = []
    spark.range(1).coalesce(1).write.mode("overwrite").parquet(str(base / "one"))
    for _ in range(rounds + 1):
        began = time.perf_counter()
        planned(spark.read.schema("id long").parquet(str(base / "one")))
        empty.append(time.perf_counter() - began)
    ours, plain = Median(times[1:]), Median(empty[1:])
    report.results.append(
        result(f"planning, {files:,} files survive", ours, beside="", asked=plain + (0.05 if files <= 1_000 else 1.5))
    )
    bound = "at most +0.050 s" if files <= 1_000 else "at most +1.5 s"
    report.add(
        f"planning, {files:,} files survive",
        f"{ours:.3f} s",
        f"{plain:.3f} s (one file)",
        f"+{ours - plain:.3f} s",
        bound,
    )


def huge(spark: SparkSession, base: Path, scale: Scale, report: Report) -> None:
    path = base / "huge"
    log_of(path, scale.huge)
    chance = np.random.default_rng(1)

    def ask() -> float:
        low = int(chance.integers(0, scale.huge - 10)) * 1000
        began = time.perf_counter()
        planned(read(spark, str(path)).where(f"id >= {low} AND id < {low + 10_000}"))
        return time.perf_counter() - began

    cold = ask()
    times = [ask() for _ in range(20)]
    before = memory()
    times += [ask() for _ in range(100)]
    grown = memory() - before
    report.add(f"first plan, {scale.huge:,} files", f"{cold:.2f} s", "", "", "for the record")
    warm = Median(times)
    report.results.append(result(f"plan, 10 of {scale.huge:,} files survive", warm, asked=0.3))
    report.add(f"plan, 10 of {scale.huge:,} files survive", f"{warm:.3f} s", "", "", "at most 0.3 s")
    report.add("memory of Python after 100 more", f"+{grown:.0f} MB", "", "", "no growth")
    report.add(
        "most memory of Python",
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB",
        "",
        "",
        "for the record",
    )


def memory() -> float:
    gc.collect()
    fields: list[Any] = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
