"""Merging splits as a Spark job: the same rows by hash, beside writers, with workers and drivers that die."""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark import RDD
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf

from indextables.errors import ConfigError, PredicateError, TableNotFoundError
from indextables.spark import merge as merging
from indextables.spark import read, write
from indextables.spark.maintained import open_maintained
from indextables.spark.merge import merge_splits
from indextables.spark.purge import purge
from indextables.spark.runs import RUN_LENGTH
from indextables.table import Table
from indextables.table.merge_group import MergeTask
from indextables.table.merging import MergePolicy, plan_merges
from tests.support.effort import times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from indextables.table.merge_run import MergeResult
    from indextables.table.merging import Group

pytestmark = pytest.mark.xdist_group("spark")

SECONDS = times(8)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have merges run as Spark jobs, however small they are."""
    monkeypatch.setattr(merging, "_LOCAL", -1)


def content(spark: SparkSession, path: Path) -> tuple[Any, ...]:
    """Return the number of rows, and what they add up to by hash, whatever their order."""
    rows = read(spark, str(path))
    hashed = rows.select(sf.xxhash64(*rows.columns).cast("decimal(38,0)").alias("h"))
    return tuple(hashed.agg(sf.count("*"), sf.sum("h"), sf.sum(sf.col("h") * sf.col("h") % 1_000_003)).first() or ())


def splits(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*.split")}


def many_files(path: Path) -> None:
    """Make a table of 24 files in three partitions."""
    table = Table(str(path))
    for first in range(0, 4_000, 500):
        numbers = range(first, first + 500)
        rows = pa.table(
            {
                "id": pa.array(numbers, pa.int64()),
                "part": pa.array([number % 3 for number in numbers], pa.int32()),
                "name": [f"name {number}" if number % 5 else None for number in numbers],
                "at": pa.array([number * 1_000 for number in numbers], pa.timestamp("us", "UTC")),
                "share": [math.nan if number % 7 == 0 else number / 3 for number in numbers],
                "inner": [{"a": number, "b": [str(number), None]} for number in numbers],
            }
        )
        table.append(rows, partition_by=["part"])


@pytest.mark.usefixtures("jobs")
def test_all_groups_are_one_job_and_the_rows_are_the_same_by_hash(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    many_files(path)
    more = read(spark, str(path)).withColumn("id", sf.col("id") + 10_000)
    write(more.where("part = 2").coalesce(2), str(path), mode="append")
    before = content(spark, path)
    spark.sparkContext.setJobGroup("merging", "x")
    result = merge_splits(spark, str(path))
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup("merging")
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None takes it away
    assert len(jobs) == 1
    assert (result.files_merged, result.files_added, result.failures) == (26, 3, ())
    assert content(spark, path) == before
    table = Table(str(path))
    assert table.files().num_rows == 3
    assert table.verify_stats().num_rows == 0
    assert len({name.rpartition("/")[2][:RUN_LENGTH] for name in result.groups["path"].to_pylist()}) == 1
    again = merge_splits(spark, str(path))
    assert again.groups.num_rows == 0
    assert again.version == result.version


def test_a_small_merge_needs_no_job_and_no_session(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    many_files(path)
    before = content(spark, path)
    spark.sparkContext.setJobGroup("small", "x")
    merge_splits(spark, str(path), where="part = 1")
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup("small")) == []
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    result = merge_splits(None, str(path))
    assert sorted(result.groups["partition"].to_pylist()) == ["part=0", "part=2"]
    assert content(spark, path) == before


def test_a_condition_is_read_in_the_session_s_time_zone(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    for hour in (0, 0, 5):
        write(
            spark.sql(f"SELECT 1 AS id, timestamp '2024-01-01 {hour:02}:00:00 UTC' AS at"),
            str(path),
            mode="append",
            partition_by=["at"] if hour == 0 else (),
        )
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        result = merge_splits(spark, str(path), where="at < timestamp '2024-01-01 10:00:00'")
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))
    assert result.groups["files"].to_pylist() == [2]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"target_size": "huge"}, ConfigError, "target_size"),
        ({"max_groups": 0}, ConfigError, "max_groups"),
        ({"where": "part ="}, PredicateError, "character"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    spark: SparkSession, tmp_path: Path, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    Table(str(tmp_path)).append(pa.table({"part": [1]}))
    with pytest.raises(error, match=text):
        merge_splits(spark, str(tmp_path), **options)


def test_without_a_table_there_is_nothing_to_merge(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        merge_splits(spark, str(tmp_path))


def test_what_travels_to_the_workers_is_small_and_shows_no_secret(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(str(tmp_path))
    for number in range(8):
        table.append(pa.table({"id": [number], "part": ["a"]}), partition_by=["part"])
    options = {"spark.indextables.aws.accessKey": "canary-key", "spark.indextables.aws.secretKey": "canary-secret"}
    opened = open_maintained(spark, str(tmp_path), options)
    groups = plan_merges(table.snapshot(), MergePolicy(target_size=10**9), now_ms=0).groups
    assert len(groups[0].sources) == 8
    assert len(pickle.dumps(groups[0])) < 4_096
    task = MergeTask(schema=table.schema, partition_columns=("part",), table_id="x", settings=opened.settings)
    work = merging._Work(opened.url, opened.settings, opened.properties, task, "run")
    assert opened.properties["spark.indextables.aws.secretKey"] == "canary-secret"
    assert "canary" not in repr(work) + repr(groups)


@pytest.mark.usefixtures("jobs")
def test_a_job_that_fails_changes_nothing_and_leaves_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    many_files(path)
    before, files = content(spark, path), splits(path)
    plain = RDD.map

    def failing(self: Any, work: Any) -> Any:
        def run(group: Group) -> Any:
            outcome = work(group)
            if group.partition_values["part"] == "1":
                raise RuntimeError("the task fails after it has written its file")
            return outcome

        return plain(self, run)

    with monkeypatch.context() as patch:
        patch.setattr(RDD, "map", failing)
        with pytest.raises(PySparkException, match="after it has written its file"):
            merge_splits(spark, str(path))
    assert Table(str(path)).version == 8
    assert content(spark, path) == before
    assert len(splits(path) - files) <= 2, "what a task finishes after the job has failed is left to a purge"
    merge_splits(spark, str(path))
    assert content(spark, path) == before
    assert Table(str(path)).files().num_rows == 3


@pytest.mark.usefixtures("jobs")
@pytest.mark.timeout(300)
def test_two_merges_and_four_appenders_fail_lose_and_double_nothing(
    spark: SparkSession, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    path = tmp_path / "t"
    Table(str(path)).append(pa.table({"id": [0], "part": ["a"]}), partition_by=["part"])
    stop = time.monotonic() + SECONDS
    written: list[list[int]] = [[], [], [], []]
    problems: list[BaseException] = []
    merges: list[MergeResult] = []

    def guarded(work: Any) -> None:
        try:
            while time.monotonic() < stop:
                work()
        except BaseException as error:  # noqa: BLE001 - a thread's error would be lost
            problems.append(error)

    def appender(number: int) -> Any:
        table = Table(str(path))

        def append() -> None:
            value = 1_000_000 * (number + 1) + len(written[number])
            table.append(pa.table({"id": [value], "part": ["ab"[value % 2]]}))
            written[number].append(value)

        return append

    def merger() -> None:
        merges.append(merge_splits(spark, str(path)))

    threads = [threading.Thread(target=guarded, args=(work,)) for work in [merger, merger, *map(appender, range(4))]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    expected = Counter([0, *(value for values in written for value in values)])
    assert Counter(Table(str(path)).to_arrow()["id"].to_pylist()) == expected
    assert sum(merge.files_merged for merge in merges) > 0
    assert [failure for merge in merges for failure in merge.failures] == []
    assert all(written)
    merge_splits(spark, str(path))
    assert Table(str(path)).files().num_rows == 2
    assert Counter(row.id for row in read(spark, str(path)).select("id").collect()) == expected
    record_property("appends beside two merges", sum(map(len, written)))
    record_property("merges beside four appenders", len(merges))


CHILD = textwrap.dedent(
    """
    import os, signal, sys
    from pathlib import Path
    from pyspark import RDD
    from pyspark.sql import SparkSession
    from indextables.spark import merge as merging
    from indextables.table.merge_run import MergeRun

    path, scratch = sys.argv[1:]
    spark = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    merging._LOCAL = -1

    plain = RDD.map

    def dying(rdd, work, scratch=scratch):
        def run(group):
            outcome = work(group)
            mark = Path(scratch) / f"died-{group.partition_values['part']}"
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)  # after the file is written, before anybody hears of it
            return outcome

        return plain(rdd, run)

    RDD.map = dying
    MergeRun._commit = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    merging.merge_splits(spark, path)
    """
)


@pytest.mark.timeout(1_000)
def test_workers_and_a_driver_that_die_lose_nothing_and_a_purge_reclaims_what_they_left(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, scratch = tmp_path / "t", tmp_path / "scratch"
    scratch.mkdir()
    many_files(path)
    before, files = content(spark, path), splits(path)
    died = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(scratch)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        timeout=900,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr[-3_000:]
    assert len(list(scratch.iterdir())) == 3, "every group's worker died once"
    left = splits(path) - files
    assert len(left) == 6, "a file of each dead worker, and one of each that succeeded it"
    assert Table(str(path)).version == 8
    assert content(spark, path) == before

    merge_splits(spark, str(path))
    assert content(spark, path) == before
    active = set(Table(str(path)).files()["path"].to_pylist())
    assert len(active) == 3
    assert purge(spark, str(path), dry_run=False).files.num_rows == 0, "they are too young"
    for name in left:
        os.utime(path / name, (0, 0))
    result = purge(spark, str(path), dry_run=False)
    assert {name for name in result.files["path"].to_pylist() if name.endswith(".split")} == left
    assert splits(path) == files | active
    assert content(spark, path) == before
