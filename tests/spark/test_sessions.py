"""Many threads, several sessions, a session that stops, one that runs elsewhere: what stays and what does not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyspark
import pytest

from indextables.spark import read, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(1800)]

QUERIES = int(os.environ.get("INDEXTABLES_THREAD_QUERIES", "48"))
QUIET = '.config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")'


def jvm_threads(spark: SparkSession) -> Counter[str]:
    """Return how many threads of each pool the JVM has; py4j calls its own `Thread`."""
    dump = getattr(spark.sparkContext._jvm, "org.apache.spark.util.Utils").getThreadDump()
    return Counter(re.sub(r"[-#]?[0-9].*$", "", thread.threadName()) for thread in dump)


def run(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_threads_do_not_pile_up_however_many_ask(
    spark: SparkSession, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    path = str(tmp_path / "t")
    write(spark.range(0, 400, 1, 4), path)

    def ask(number: int) -> int:
        frame = read(spark, path)
        other = read(spark, path).withColumnRenamed("id", "x")
        return frame.crossJoin(other).where(f"id = {number % 400} AND x = 1").count()

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(ask, range(32))) == {1}
        python, java = threading.active_count(), jvm_threads(spark)
        assert set(pool.map(ask, range(QUERIES))) == {1}
        after = threading.active_count(), jvm_threads(spark)
    assert after[0] <= python + 2
    assert 0 < after[1]["indextables-listing"] <= 4
    assert after[1]["Thread"] <= java["Thread"] + 2
    record_property("queries from 16 threads that left no thread behind", QUERIES)


def test_workers_take_the_modules_that_are_kept_compiled(spark: SparkSession) -> None:
    # What is wrong here costs a second for each of hundreds of processes, and nobody notices but the clock.
    assert spark.sparkContext.parallelize([0], 1).map(lambda _: __import__("pyspark").__file__).collect() == [
        pyspark.__file__
    ]


def test_several_sessions_read_beside_each_other(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    write(other.range(5), path)
    assert read(spark, path).count() == read(other, path).count() == 5
    assert read(other, path).sparkSession is other


def test_a_stream_can_write_and_read_in_its_batches(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    counts = []

    def batch(frame: object, _: int) -> None:
        write(frame, path, mode="append")  # type: ignore[arg-type]
        counts.append(read(spark, path).count())

    spark.range(10).write.parquet(str(tmp_path / "input"))
    stream = spark.readStream.schema("id long").parquet(str(tmp_path / "input")).writeStream.foreachBatch(batch)
    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    assert counts == [10]


def test_a_session_can_stop_and_another_one_start(tmp_path: Path) -> None:
    code = f"""
    import sys
    from pyspark.sql import SparkSession
    from indextables.spark import read, write
    start = lambda: SparkSession.builder.master("local[1]"){QUIET}.getOrCreate()
    spark = start()
    write(spark.range(3), sys.argv[1])
    old = read(spark, sys.argv[1])
    spark.stop()
    spark = start()
    write(spark.range(3, 5), sys.argv[1], mode="append")
    print(read(spark, sys.argv[1]).count())
    spark.stop()
    """
    assert run(code, str(tmp_path / "t")).split() == ["5"]
