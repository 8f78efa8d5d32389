"""Reading tables with Spark's own scan: which files it is given, what the plan says, and what happens when listing fails."""

from __future__ import annotations

import datetime as dt
import decimal
import gc
import re
import shutil
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

from indextables.errors import (
    IndexTablesError,
    SchemaError,
    SplitCorruptionError,
    TableNotFoundError,
    VersionNotFoundError,
)
from indextables.log.actions import Add
from indextables.spark import read, write
from indextables.spark.bridge import bridge_of
from indextables.spark.listing import LISTINGS
from indextables.table import Table
from tests.support.fixtures import fixture_tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

DAYS = [dt.date(2024, 1, 1), dt.date(2024, 1, 2), None]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Six files: three days with two files each, ids from 0 to 59 in order."""
    path = str(tmp_path_factory.mktemp("events") / "events")
    table = Table(path)
    for start in range(0, 60, 10):
        ids = list(range(start, start + 10))
        table.append(
            pa.table(
                {
                    "id": pa.array(ids, pa.int64()),
                    "day": pa.array([DAYS[start // 20]] * 10, pa.date32()),
                    "name": [f"name-{number:02d}" for number in ids],
                    "inner": [{"number": number, "text": str(number)} for number in ids],
                    "ratio": [float(number) for number in ids],
                    "file_name": ["x"] * 10,
                }
            ),
            partition_by=["day"],
        )
    return path


@pytest.fixture(scope="module")
def frame(spark: SparkSession, events: str) -> DataFrame:
    return read(spark, events)


def files_read(frame: DataFrame) -> int:
    """Return how many files the scans of an executed plan were given."""
    plan = frame._jdf.queryExecution().executedPlan()
    frame.collect()
    found = re.findall(r"number of files read: ([0-9,]+)", _metrics(plan))
    return sum(int(number.replace(",", "")) for number in found)


def _metrics(plan: Any) -> str:
    text = ""
    name = plan.getClass().getSimpleName()
    if name == "AdaptiveSparkPlanExec":
        return _metrics(plan.executedPlan())
    if name.endswith("QueryStageExec"):
        return _metrics(plan.plan())
    if name == "FileSourceScanExec":
        text += f"number of files read: {plan.metrics().apply('numFiles').value()}\n"
    children = plan.children()
    return text + "".join(_metrics(children.apply(index)) for index in range(children.size()))


@pytest.mark.parametrize(
    ("condition", "rows", "files"),
    [
        ("id = 25", 1, 1),
        ("id IN (1, 59)", 2, 2),
        ("id < 5 OR id > 55", 9, 2),
        ("id <=> 11", 1, 1),
        ("name LIKE 'name-3%'", 10, 1),
        ("name > 'name-49'", 10, 1),
        ("inner.number = 44", 1, 1),
        ("ratio > 58.5", 1, 1),
        ("NOT (id > 9)", 10, 1),
        ("day = DATE'2024-01-02'", 20, 2),
        ("DAY = DATE'2024-01-02' AND ID = 25", 1, 1),
        ("day IS NULL", 20, 2),
        ("day IS NOT NULL AND id >= 30", 10, 1),
        ("year(day) = 2024 AND day > DATE'2024-01-01'", 20, 2),
        ("id = 1000", 0, 0),
        ("id % 20 = 3", 3, 6),
        ("day = DATE'2024-01-01' OR id = 25", 21, 6),
    ],
)
def test_a_filter_is_answered_from_the_files_that_may_hold_its_rows(
    frame: DataFrame, condition: str, rows: int, files: int
) -> None:
    chosen = frame.where(condition).select("id")
    assert chosen.count() == rows
    assert files_read(chosen) == files


def test_a_filter_on_facts_about_files_is_not_taken_for_one_on_a_column_of_that_name(frame: DataFrame) -> None:
    assert frame.where("_metadata.file_name != 'x'").count() == 60
    assert frame.where("file_name = 'x'").count() == 60
    assert frame.select("_metadata.file_path").distinct().count() == 6


def test_dynamic_partition_pruning_reads_only_the_partitions_of_the_other_side(
    spark: SparkSession, frame: DataFrame
) -> None:
    days = spark.range(2).selectExpr("date_add(DATE'2024-01-02', 900 * CAST(id AS int)) AS day", "id AS label")
    joined = frame.join(days.where("label = 0"), "day").select("id")
    assert joined.count() == 20
    assert files_read(joined) == 2


def test_the_plan_names_the_table_its_version_and_its_files(frame: DataFrame, events: str) -> None:
    text = frame._jdf.queryExecution().explainString(
        frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")  # type: ignore[union-attr]
    )
    assert f"[version 6, 6 files, {events}]" in text


def test_a_table_small_enough_is_broadcast_because_the_optimiser_knows_its_size(
    spark: SparkSession, frame: DataFrame
) -> None:
    statistics = frame._jdf.queryExecution().optimizedPlan().stats()
    assert 1000 < int(statistics.sizeInBytes()) < 100_000
    joined = spark.range(100).join(frame, "id")
    assert "BroadcastHashJoin" in joined._jdf.queryExecution().executedPlan().toString()


def test_the_number_of_rows_reaches_an_optimiser_that_asks_for_it(
    spark: SparkSession, frame: DataFrame, events: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spark.conf.set("spark.sql.cbo.enabled", "true")
    try:
        read(spark, events).explain(mode="cost")
    finally:
        spark.conf.unset("spark.sql.cbo.enabled")
    rows = frame.count()
    assert f"rowCount={rows}" in capsys.readouterr().out
    assert frame._jdf.queryExecution().optimizedPlan().stats().rowCount().isEmpty()


def test_the_columns_stand_in_the_order_of_the_table(frame: DataFrame) -> None:
    assert frame.columns == ["id", "day", "name", "inner", "ratio", "file_name"]
    assert frame.orderBy("id").select("id", "DAY", "inner.text").first() == (0, dt.date(2024, 1, 1), "0")


def test_a_dataframe_stays_at_its_version_and_a_new_one_sees_the_newest(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write(spark.range(3), path)
    before = read(spark, path)
    write(spark.range(10, 12), path, mode="append")
    assert before.count() == 3
    assert before.join(before.withColumnRenamed("id", "other"), sf.lit(True)).count() == 9
    assert read(spark, path).count() == 5
    assert read(spark, path, version=1).count() == 3
    moment = Table(path).history()["timestamp"][1].as_py()
    assert read(spark, path, timestamp=moment.isoformat()).count() == 3
    with pytest.raises(VersionNotFoundError):
        read(spark, path, version=9)


def test_a_plan_of_the_same_version_is_the_same_plan(spark: SparkSession, events: str) -> None:
    one, other = read(spark, events), read(spark, events)
    assert one.sameSemantics(other)
    assert not one.sameSemantics(read(spark, events, version=3))
    other.cache()
    try:
        assert "InMemoryTableScan" in one.groupBy("day").count()._jdf.queryExecution().executedPlan().toString()
    finally:
        other.unpersist()


def test_files_written_before_a_column_existed_read_as_null_there(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write(spark.range(2), path)
    write(spark.range(2, 4).withColumn("extra", sf.lit("new")), path, mode="append", merge_schema=True)
    frame = read(spark, path)
    assert sorted(map(tuple, frame.collect())) == [(0, None), (1, None), (2, "new"), (3, "new")]
    assert frame.where("extra IS NULL").count() == 2
    assert frame.where("extra = 'new'").count() == 2
    assert read(spark, path, version=1).columns == ["id"]


def _wall(*parts: int) -> dt.datetime:
    return dt.datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001 - Spark takes and gives moments without a zone


PARTITION_VALUES: list[tuple[str, list[Any]]] = [
    ("string", ["", None, "a/b=c", "%41", "é ", "__HIVE_DEFAULT_PARTITION__", "\x01", "10", "9", "a\nb", "'\"`"]),
    ("int", [-1, 0, 10, 9, None]),
    ("double", [1.5, -0.25, 1e300, None, float("inf")]),
    ("decimal(20,10)", [decimal.Decimal("0.0000000001"), decimal.Decimal("-3.5"), None]),
    ("boolean", [True, False, None]),
    ("date", [dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(9999, 12, 31), None]),
    ("timestamp", [_wall(1850, 1, 1, 1, 2, 3, 4), _wall(2024, 3, 31, 2, 30), None]),
    ("timestamp_ntz", [_wall(1850, 1, 1, 1, 2, 3, 4), None]),
]


@pytest.mark.parametrize(("kind", "values"), PARTITION_VALUES, ids=[kind for kind, _ in PARTITION_VALUES])
def test_partition_values_come_back_as_they_were_written_and_filter_as_spark_filters(
    spark: SparkSession, tmp_path: Path, kind: str, values: list[Any]
) -> None:
    path = str(tmp_path / "t")
    rows = spark.createDataFrame([(value, number) for number, value in enumerate(values)], f"part {kind}, id int")
    write(rows, path, partition_by=["part"])
    frame = read(spark, path)
    assert frame.schema["part"].dataType == rows.schema["part"].dataType
    assert sorted(map(tuple, frame.collect()), key=_id) == sorted(map(tuple, rows.collect()), key=_id)
    conditions = [sf.col("part").eqNullSafe(_literal(value, kind)) for value in values]
    counted = frame.select(*[sf.count_if(condition) for condition in conditions]).first()
    assert counted is not None
    assert set(counted) == {1}
    assert frame.where(conditions[0]).count() == 1
    assert frame.where(conditions[-1]).count() == 1


def _literal(value: Any, kind: str) -> Column:
    # Years before 1000 do not pass as dates of Python's.
    return sf.lit(value.isoformat() if isinstance(value, dt.date) else value).cast(kind)


def _id(row: tuple[Any, ...]) -> int:
    return int(row[1])


def test_a_text_with_nan_and_infinities_in_floats_loses_no_row(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    values = [1.0, 2.0, float("nan"), None, float("-inf"), float("inf"), -0.0, 0.0]
    rows = spark.createDataFrame([(value, value) for value in values], "ratio double, single float").repartition(3)
    write(rows, path)
    frame = read(spark, path)
    for condition in (
        "ratio > 1.5",
        "single >= 2",
        "ratio = double('nan')",
        "ratio != 1",
        "NOT (ratio <= 1)",
        "ratio = 0",
    ):
        assert frame.where(condition).count() == rows.where(condition).count(), condition


def test_a_table_of_another_implementation_is_refused_in_a_sentence(spark: SparkSession) -> None:
    refused = 0
    for table in fixture_tables():
        try:
            files = Table(str(table)).files().num_rows
        except IndexTablesError:
            continue
        if files:
            with pytest.raises(SplitCorruptionError, match="another implementation wrote it"):
                read(spark, str(table))
            refused += 1
    assert refused


def test_a_missing_table_is_a_typed_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        read(spark, str(tmp_path / "nothing"))


@pytest.fixture
def doomed(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """A frame whose log is gone and whose files nobody remembers."""
    path = tmp_path / "t"
    write(spark.range(3), str(path))
    frame = read(spark, str(path))
    shutil.rmtree(path / "_transaction_log")
    LISTINGS.clear()
    return frame


ACTIONS: dict[str, Callable[[DataFrame], object]] = {
    "collect": lambda frame: frame.collect(),
    "count": lambda frame: frame.count(),
    "toArrow": lambda frame: frame.toArrow(),
    "broadcast join": lambda frame: frame.join(
        sf.broadcast(frame.withColumnRenamed("id", "x")), sf.col("id") == sf.col("x")
    ).count(),
    "write": lambda frame: frame.write.format("noop").mode("overwrite").save(),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_an_error_while_listing_reaches_the_user_as_what_it_is(doomed: DataFrame, action: str) -> None:
    with pytest.raises(TableNotFoundError, match="it holds no _transaction_log"):
        ACTIONS[action](doomed)


def test_an_unexpected_error_while_listing_says_what_happened(
    frame: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise ZeroDivisionError("by chance")

    monkeypatch.setattr("indextables.spark.listing.Listing.answer", broken)
    with pytest.raises(IndexTablesError, match="ZeroDivisionError: by chance"):
        frame.count()


def test_a_table_made_anew_in_the_same_place_is_not_mistaken_for_the_old_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    write(spark.range(3), str(path))
    old = read(spark, str(path))
    shutil.rmtree(path)
    write(spark.range(7), str(path))
    assert read(spark, str(path)).count() == 7
    LISTINGS.clear()
    with pytest.raises(TableNotFoundError, match="made in its place"):
        old.count()


def test_a_partition_value_that_its_type_does_not_know_is_an_error_and_not_null(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    table = Table(path)
    table.append(pa.table({"day": pa.array(DAYS[:1], pa.date32()), "id": [1]}), partition_by=["day"])
    add = next(action for action in table.log.read_version(1) if isinstance(action, Add))
    table.log.add_files([msgspec.structs.replace(add, path="other.split", partition_values={"day": "soon"})])
    with pytest.raises(SchemaError, match="Partition column day"):
        read(spark, path).count()


def test_sources_are_forgotten_when_their_dataframes_are_gone(spark: SparkSession, events: str) -> None:
    bridge = bridge_of(spark)
    for _ in range(20):
        read(spark, events)
    gc.collect()
    runtime = spark.sparkContext._jvm.java.lang.System  # type: ignore[union-attr]
    for _ in range(50):
        runtime.gc()
        read(spark, events)
        if len(bridge) < 15:
            break
    assert len(bridge) < 15


def test_views_subqueries_and_writes_from_a_table_work(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    frame.createOrReplaceTempView("events_view")
    top = spark.sql("SELECT count(*) FROM events_view WHERE id > (SELECT avg(id) FROM events_view)").first()
    assert top == (30,)
    frame.write.parquet(str(tmp_path / "copy"))
    assert spark.read.parquet(str(tmp_path / "copy")).count() == 60
    assert len(frame.inputFiles()) == 6
    assert frame.rdd.map(lambda row: row.id).sum() == sum(range(60))
