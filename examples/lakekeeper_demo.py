"""Three Hive tables of many small files, compacted, rolled back and cleaned up.

    python examples/lakekeeper_demo.py                       # local disk, the Metastore embedded in Spark
    python examples/lakekeeper_demo.py --base hdfs://host:8020/demo --metastore thrift://host:9083

The tables are `demo.lakekeeper_flat` (500 files, 300,000 rows), `demo.lakekeeper_events` (3 partitions of 200 files, 300,000 rows)
and `demo.lakekeeper_events_2p` (9 partitions of 100 files, 450,000 rows).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from indextables.hive import Lake, analyze, cleanup, compact, connect, recover, rollback

if TYPE_CHECKING:
    from collections.abc import Iterator

DATES = ("2026-02-23", "2026-02-24", "2026-02-25")
REFS = ("A", "B", "C")
COLUMNS = "id BIGINT, user STRING, amount DOUBLE"


@dataclass(frozen=True)
class DemoTable:
    """One of the three tables.

    Attributes:
        name: Its name in the database `demo`.
        keys: Its partition keys.
        partitions: The values of these, partition by partition.
        files: Files a partition, or of the whole table where it has none.
        rows: Rows a file.
    """

    name: str
    keys: tuple[str, ...]
    partitions: tuple[tuple[str, ...], ...]
    files: int
    rows: int

    @property
    def total_rows(self) -> int:
        """How many rows the table has."""
        return len(self.partitions) * self.files * self.rows

    @property
    def total_files(self) -> int:
        """How many files it has before compaction."""
        return len(self.partitions) * self.files

    def directories(self, base: str) -> list[str]:
        """Return where the partitions are, in order."""
        return [
            "/".join([f"{base}/{self.name}", *(f"{k}={v}" for k, v in zip(self.keys, values, strict=True))])
            for values in self.partitions
        ]


TABLES = (
    DemoTable("lakekeeper_flat", (), ((),), 500, 600),
    DemoTable("lakekeeper_events", ("date",), tuple((date,) for date in DATES), 200, 500),
    DemoTable("lakekeeper_events_2p", ("date", "ref"), tuple(product(DATES, REFS)), 100, 500),
)


def create_tables(spark: SparkSession, lake: Lake, base: str) -> None:
    """Write the files with pyarrow and register them with Spark's SQL, as any job would."""
    spark.sql(f"CREATE DATABASE IF NOT EXISTS demo LOCATION '{base}'")
    for table in TABLES:
        write_files(lake, table, base)
        keys = ", ".join(f"`{key}` STRING" for key in table.keys)
        spark.sql(
            f"CREATE EXTERNAL TABLE demo.{table.name} ({COLUMNS}) "
            + (f"PARTITIONED BY ({keys}) " if keys else "")
            + f"STORED AS PARQUET LOCATION '{base}/{table.name}'"
        )
        if table.keys:
            clauses = []
            for values, place in zip(table.partitions, table.directories(base), strict=True):
                spec = ", ".join(f"`{key}` = '{value}'" for key, value in zip(table.keys, values, strict=True))
                clauses.append(f"PARTITION ({spec}) LOCATION '{place}'")
            spark.sql(f"ALTER TABLE demo.{table.name} ADD {' '.join(clauses)}")


def write_files(lake: Lake, table: DemoTable, base: str) -> None:
    """Write a table's small files, named `part-00000.parquet` and so on in each directory."""
    system = lake.systems.at(base)

    def write(place: str, index: int, start: int) -> None:
        ids = range(start, start + table.rows)
        rows = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "user": pa.array([f"user-{one % 50}" for one in ids]),
                "amount": pa.array([one % 100 / 4 for one in ids], pa.float64()),
            }
        )
        buffer = pa.BufferOutputStream()
        pq.write_table(rows, buffer, compression="snappy", store_schema=False)
        system.write(f"{place}/part-{index:05d}.parquet", buffer.getvalue().to_pybytes())

    with ThreadPoolExecutor(8) as pool:
        work = []
        for number, place in enumerate(table.directories(base)):
            system.make_directory(place, parents=True)
            first = number * table.files * table.rows
            work += [pool.submit(write, place, index, first + index * table.rows) for index in range(table.files)]
        for one in work:
            one.result()


@contextmanager
def hive_session(work: Path, metastore: str | None) -> Iterator[SparkSession]:
    """Start Spark with Hive support, with its own files in one directory."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("lakekeeper-demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(work / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={work}")
        .enableHiveSupport()
    )
    if metastore:
        builder = builder.config("spark.hadoop.hive.metastore.uris", metastore)
    else:
        url = f"jdbc:derby:;databaseName={work / 'metastore'};create=true"
        builder = builder.config("spark.hadoop.javax.jdo.option.ConnectionURL", url)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


def show(spark: SparkSession, lake: Lake) -> None:
    """Compact, roll back, compact again and clean up, with the figures that matter."""
    for table in TABLES:
        name = f"demo.{table.name}"
        report = analyze(lake, name)
        print(
            f"\n{name}: {report.files} files, needs_compaction={report.needs_compaction}, target_files={report.target_files}"
        )
        began = time.monotonic()
        result = compact(lake, name)
        took = time.monotonic() - began
        print(
            f"  compact   {result.files_before} -> {result.files_after} files, {result.rows:,} rows verified, {took:.1f} s"
        )
        spark.sql(f"REFRESH TABLE {name}")
        print(
            f"  Spark     counts {spark.table(name).count():,} rows, the backup {spark.table(str(result.backup)).count():,}"
        )
        rollback(lake, name)
        print(f"  rollback  {analyze(lake, name).files} files again")
        compact(lake, name)
        assert recover(lake, table=name) == []
        freed = cleanup(lake, name)
        print(f"  cleanup   {freed.files} original files deleted, {freed.bytes // 1024} KB freed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="where the tables go; a temporary directory by default")
    parser.add_argument("--metastore", help="thrift://host:port; embedded by default")
    parser.add_argument("--only-create", action="store_true", help="make the tables and leave them")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakekeeper-demo-") as name:
        work = Path(name)
        base = arguments.base or f"file:{work}/demo"
        with hive_session(work, arguments.metastore) as spark:
            lake = connect(arguments.metastore, spark=spark)
            create_tables(spark, lake, base)
            if not arguments.only_create:
                show(spark, lake)
            lake.close()


if __name__ == "__main__":
    main()
