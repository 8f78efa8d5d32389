"""Compaction of the three demo tables beside the published tool `lakekeeper` 0.0.6 and a plain Spark rewrite, in one run.

All three work on the same tables, made anew for each, with the same Metastore service, one after the other on each table. *Inside* is
what a contestant needs for analysis, backup, rewrite, verification and swap once it is up; *wall* is the whole process, as a person
waits for it. Every result must hold all rows, in one file a directory. The peer is installed into a temporary directory.

Run: python benchmarks/bench_lakekeeper.py [--hdfs] [--rounds 1]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.measured import Result, add_option, result, save  # noqa: E402 - the path comes first
from examples.lakekeeper_demo import TABLES, DemoTable, write_files  # noqa: E402 - the path comes first
from indextables.hive import Lake, connect  # noqa: E402
from indextables.hive.filesystem import data_files  # noqa: E402
from tests.hive.tables import add_partition, create_database, create_table  # noqa: E402
from tests.support.hdfs import mini_hdfs  # noqa: E402
from tests.support.metastore import metastore_service  # noqa: E402

PEER = "lakekeeper==0.0.6"
COLUMNS = (("id", "bigint"), ("user", "string"), ("amount", "double"))
LONGEST_SECONDS = 1800

PEER_SCRIPT = """
import json, sys, time
from lakekeeper.config import LakekeeperConfig
from lakekeeper.engine.hive_external import HiveExternalEngine
from lakekeeper.utils.spark import get_or_create_spark_session
spark = get_or_create_spark_session()
spark.sql("SHOW DATABASES").collect()
engine = HiveExternalEngine(spark, LakekeeperConfig())
database, table = sys.argv[1].split(".")
began = time.monotonic()
info = engine.analyze(database, table)
report = engine.compact(info, engine.create_backup(info))
inside = time.monotonic() - began
assert "complete" in str(report.status).lower(), report
print(json.dumps({"inside": inside}))
"""

SPARK_SCRIPT = """
import json, sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.enableHiveSupport().getOrCreate()
spark.sql("SHOW DATABASES").collect()
began = time.monotonic()
for place in sys.argv[2:]:
    spark.read.parquet(place).coalesce(1).write.parquet(place + "_rewritten")
    assert spark.read.parquet(place).count() == spark.read.parquet(place + "_rewritten").count()
print(json.dumps({"inside": time.monotonic() - began}))
"""

OUR_SCRIPT = """
import json, sys
from click.testing import CliRunner
from indextables.cli.lakekeeper import main
result = CliRunner().invoke(main, ["compact", "--table", sys.argv[1], "--json"])
assert result.exit_code == 0, result.output
print(json.dumps({"inside": json.loads(result.stdout)["seconds"]}))
"""


@dataclass(frozen=True)
class Measured:
    """Seconds that one contestant needed for one table."""

    inside: float
    wall: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hdfs", action="store_true", help="on a real HDFS instead of the local disk")
    parser.add_argument("--rounds", type=int, default=1)
    add_option(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-lakekeeper-") as name:
        work = Path(name)
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(work / "peer"), PEER],
            check=True,
        )
        with metastore_service() as metastore, mini_hdfs() if arguments.hdfs else nullcontext() as cluster:
            base = f"{cluster.url}/bench" if cluster else f"file:{work}/bench"
            print(
                f"Three tables on {'HDFS' if cluster else 'local disk'}; median of {arguments.rounds} rounds, seconds"
            )
            results = run(metastore.uri, base, work, rounds=arguments.rounds)
    save(arguments.json, "lakekeeper", __doc__, results, is_quick=False)


def run(uri: str, base: str, work: Path, *, rounds: int) -> list[Result]:
    """Measure and print every contestant on every table, and return the totals."""
    contestants = {"ours": OUR_SCRIPT, "lakekeeper 0.0.6": PEER_SCRIPT, "Spark coalesce": SPARK_SCRIPT}
    lake = connect(uri)
    environment = settings(uri, work)
    found: dict[tuple[str, str], list[Measured]] = {}
    for number, table, (who, script) in product(range(rounds), TABLES, contestants.items()):
        database = f"bench_{number}_{who.partition(' ')[0].lower()}"
        place = f"{base}/{database}"
        if table is TABLES[0]:
            create_database(uri, database, place)
        make(lake, database, table, place)
        directories = table.directories(place)
        one = measure([sys.executable, "-c", script, f"{database}.{table.name}", *directories], environment)
        check(lake, [f"{each}_rewritten" for each in directories] if script is SPARK_SCRIPT else directories, table)
        found.setdefault((who, table.name), []).append(one)
        print(f"  {who:18} {table.name:22} inside {one.inside:7.2f}   wall {one.wall:7.2f}", flush=True)
    lake.close()
    return report(found, list(contestants))


def make(lake: Lake, database: str, table: DemoTable, place: str) -> None:
    """Create one of the demo tables."""
    write_files(lake, table, place)
    keys = [(key, "string") for key in table.keys]
    held = create_table(lake, f"{database}.{table.name}", f"{place}/{table.name}", columns=COLUMNS, keys=keys)
    for values in table.partitions if keys else ():
        add_partition(lake, held, values)


def check(lake: Lake, directories: Sequence[str], table: DemoTable) -> None:
    """End the benchmark if a contestant has lost rows, or compacted nothing."""
    rows = 0
    for place in directories:
        system = lake.systems.at(place)
        (entry,) = data_files(system.entries(place))
        with system.open_input(f"{place}/{entry.path}", entry.length) as source:
            rows += pq.ParquetFile(source).metadata.num_rows
    if rows != table.total_rows:
        raise SystemExit(f"{table.name} has {rows} of {table.total_rows} rows")


def settings(uri: str, work: Path) -> dict[str, str]:
    """Return an environment in which Spark finds the Metastore and keeps to this machine."""
    conf = work / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(
        f"spark.master local[2]\nspark.ui.enabled false\nspark.driver.host 127.0.0.1\n"
        f"spark.driver.bindAddress 127.0.0.1\nspark.hadoop.hive.metastore.uris {uri}\n"
        f"spark.sql.warehouse.dir {work / 'warehouse'}\nspark.ui.showConsoleProgress false\n"
    )
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(work / "peer")]),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "LAKEKEEPER_METASTORE": uri,
        "PYSPARK_PYTHON": sys.executable,
    }


def measure(command: list[str], environment: dict[str, str]) -> Measured:
    began = time.monotonic()
    ended = subprocess.run(
        command, check=False, env=environment, capture_output=True, text=True, timeout=LONGEST_SECONDS
    )
    wall = time.monotonic() - began
    if ended.returncode:
        raise SystemExit(ended.stderr[-4000:])
    return Measured(json.loads(ended.stdout.strip().splitlines()[-1])["inside"], wall)


def report(found: dict[tuple[str, str], list[Measured]], contestants: list[str]) -> list[Result]:
    """Print the totals with their ratios, and return them."""
    totals: dict[str, Measured] = {}
    for who in contestants:
        inside = wall = 0.0
        for table in TABLES:
            held = found[who, table.name]
            inside += statistics.median(one.inside for one in held)
            wall += statistics.median(one.wall for one in held)
        totals[who] = Measured(inside, wall)
    ours = totals["ours"]
    for who, total in totals.items():
        print(
            f"  {who:18} {'all three':22} inside {total.inside:7.2f}   wall {total.wall:7.2f}"
            f"   {total.inside / ours.inside:5.1f}x inside, {total.wall / ours.wall:4.1f}x wall"
        )
    return [
        result(f"compact three tables, {what}", mine, theirs, beside=who)
        for who, total in totals.items()
        if total is not ours
        for what, mine, theirs in (("once it is up", ours.inside, total.inside), ("in all", ours.wall, total.wall))
    ]


if __name__ == "__main__":
    main()
