"""Executors that are killed and tasks that hang while Spark writes and merges: nothing is lost, nothing doubled, the rest is purged.

The cluster is that of `local-cluster`, executors in JVMs of their own, but for its workers' addresses: Spark starts the twin of a task
on another host only, so each worker has its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from indextables.spark.purge import purge
from indextables.table import Table

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(1_800)]

CLUSTER = textwrap.dedent(
    """
    import os, signal, sys
    from pathlib import Path
    from pyspark import RDD, SparkContext, TaskContext
    from pyspark.sql import SparkSession
    from indextables.spark import merge as merging
    from indextables.spark import read, register, write

    path, scratch = sys.argv[1:]
    SparkContext._ensure_initialized()
    jvm, deploy = SparkContext._jvm, SparkContext._jvm.org.apache.spark.deploy
    conf = jvm.org.apache.spark.SparkConf().set("spark.ui.enabled", "false")
    master = deploy.master.Master.startRpcEnvAndEndpoint("127.0.0.1", 0, 0, conf)
    url = f"spark://127.0.0.1:{master._1().address().port()}"
    urls = SparkContext._gateway.new_array(jvm.java.lang.String, 1)
    urls[0] = url
    for number in (1, 2):
        deploy.worker.Worker.startRpcEnvAndEndpoint(
            f"127.0.0.{number}", 0, 0, 1, 1024, urls, f"{scratch}/work",
            jvm.scala.Option.apply(number), conf, jvm.scala.Option.empty(),
        )
    spark = (
        SparkSession.builder.master(url)
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.extraJavaOptions", os.environ["SPARK_SUBMIT_OPTS"])
        .config("spark.speculation", "true")
        .config("spark.speculation.interval", "100ms")
        .config("spark.speculation.minTaskRuntime", "100ms")
        .config("spark.speculation.multiplier", "1.1")
        .config("spark.speculation.quantile", "0.2")
        .getOrCreate()
    )

    def kill_executor():
        pid = os.getpid()
        while Path(f"/proc/{pid}/comm").read_text().strip() != "java":
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(pid, signal.SIGKILL)

    def strike(name, number):
        # The first to come is struck, whoever takes its place is not.
        mark = Path(scratch) / f"{name}-{number}"
        if number in (0, 2) and not mark.exists():
            mark.touch()
            kill_executor() if number == 0 else signal.pause()

    def troubled(name):
        def through(batches):
            yield from batches
            strike(name, TaskContext.get().partitionId())  # the writer has the rows, and its file is open

        return lambda frame: frame.mapInArrow(through, frame.schema)

    def numbers(first):
        return spark.range(first, first + 1_000, 1, 4).selectExpr("id", "id % 3 AS part")

    register(spark)
    write(numbers(0).transform(troubled("write")), path, partition_by=["part"])
    print("left by the write", len(list(Path(path).glob("_staging/*"))))
    source = numbers(1_000).transform(troubled("source"))
    source.write.format("indextables").mode("append").save(path)
    print("native", read(spark, path).where("part = 1").count())
    print("source", spark.read.format("indextables").load(path).where("part = 1").count())

    plain = RDD.map

    def struck(rdd, work):
        def run(group):
            outcome = work(group)
            strike("merge", int(group.partition_values["part"]))  # its file is written, and nobody has heard of it
            return outcome

        return plain(rdd, run)

    RDD.map = struck
    merging._LOCAL = -1
    result = merging.merge_splits(spark, path)
    print("merged", result.files_added, result.failures)
    spark.stop()
    """
)


@pytest.mark.slow
def test_executors_that_are_killed_and_tasks_that_hang_lose_and_double_nothing(tmp_path: Path) -> None:
    path, scratch = tmp_path / "t", tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER, str(path), str(scratch)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        timeout=1_500,
    )
    assert done.stdout.splitlines() == ["left by the write 0", "native 667", "source 667", "merged 3 ()"], done.stderr[
        -4_000:
    ]
    struck = {f"{name}-{number}" for name in ("write", "source", "merge") for number in (0, 2)}
    assert {mark.name for mark in scratch.iterdir()} - {"work"} == struck
    table = Table(str(path))
    assert Counter(table.to_arrow()["id"].to_pylist()) == Counter(range(2_000))
    assert table.files().num_rows == 3

    known = {
        name for version in range(table.version + 1) for name in table.log.snapshot(version).files["path"].to_pylist()
    }
    left = {str(file.relative_to(path)) for file in path.rglob("*.split")} - known
    assert len(left) >= 2, "the merges that were struck had written their files"
    for name in left:
        os.utime(path / name, (0, 0))
    purged = purge(None, str(path), dry_run=False)
    assert {name for name in purged.files["path"].to_pylist() if name.endswith(".split")} == left
    assert not any((path / name).exists() for name in left)
    assert Counter(table.to_arrow()["id"].to_pylist()) == Counter(range(2_000))
