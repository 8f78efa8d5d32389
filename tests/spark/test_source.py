"""The data source under both names: found by itself, the same rows as the native way, filters pushed or not, and its writer."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import datasource as ds
from pyspark.sql import functions as sf

from indextables.predicate.expression import Comparison, In, IsNull, Literal, Not, Reference, StartsWith
from indextables.spark import read, register, write
from indextables.spark.filters import expression_of
from indextables.spark.source import LONG_NAME, PUSHDOWN, IndexTablesSource
from indextables.spark.source_read import FilesPartition, PushingReader, TableReader
from indextables.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

SECRET = "canary-secret-key"


@pytest.fixture
def pushdown(spark: SparkSession) -> Iterator[None]:
    register(spark)
    yield
    spark.conf.unset(PUSHDOWN)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("source") / "t")
    for start in range(0, 30, 10):
        numbers = list(range(start, start + 10))
        data = {"part": [f"p{start}"] * 10, "id": numbers, "name": [f"n{number}" for number in numbers]}
        Table(path).append(pa.table(data), partition_by=["part"])
    return path


def reader_of(path: str, *filters: ds.Filter, **options: str) -> TableReader:
    source = IndexTablesSource({"path": path, "pushFilters": "true", **options})
    reader = source.reader(source.schema())
    assert isinstance(reader, PushingReader)
    assert list(reader.pushFilters(list(filters))) == list(filters)
    return reader


def files_of(reader: TableReader) -> int:
    return sum(len(part.files) for part in reader.partitions() if isinstance(part, FilesPartition))


def test_the_source_is_found_by_its_name_without_registration(spark: SparkSession, table: str) -> None:
    fresh = spark.newSession()
    frame = fresh.read.format("indextables").load(table)
    assert frame.columns == ["part", "id", "name"]
    assert frame.where("id >= 25").count() == 5


@pytest.mark.usefixtures("pushdown")
@pytest.mark.parametrize("name", ["indextables", LONG_NAME])
def test_both_names_read_the_same_rows_as_the_native_way(spark: SparkSession, table: str, name: str) -> None:
    frame = spark.read.format(name).option("pushFilters", str(name == LONG_NAME)).load(table)
    assert sorted(frame.where("id > 5").collect()) == sorted(read(spark, table).where("id > 5").collect())


@pytest.mark.parametrize(
    ("pushed", "files"),
    [
        (ds.EqualTo(("id",), 25), 1),
        (ds.GreaterThanOrEqual(("id",), 10), 2),
        (ds.In(("id",), (1, 29)), 2),
        (ds.EqualTo(("part",), "p10"), 1),
        (ds.Not(ds.EqualTo(("part",), "p10")), 2),
        (ds.IsNull(("id",)), 0),
        (ds.StringStartsWith(("name",), "n2"), 2),
        (ds.StringContains(("name",), "2"), 3),
        (ds.EqualTo(("absent",), 1), 3),
    ],
)
def test_pushed_filters_choose_files(table: str, pushed: ds.Filter, files: int) -> None:
    assert files_of(reader_of(table, pushed)) == files


def test_filters_become_predicates_and_what_has_no_counterpart_is_left_out() -> None:
    column = Reference(("a",))
    assert expression_of([ds.EqualNullSafe(("a",), 1)]) == Comparison("<=>", column, Literal("integer", 1))
    assert expression_of([ds.In(("a",), ("x",))]) == In(column, (Literal("string", "x"),))
    assert expression_of([ds.IsNotNull(("a",))]) == Not(IsNull(column))
    assert expression_of([ds.StringStartsWith(("a",), "x")]) == StartsWith(column, "x")
    assert expression_of([ds.StringEndsWith(("a",), "x")]) is None
    assert expression_of([ds.EqualTo(("a",), object())]) is None
    assert expression_of([]) is None


def test_a_dataframe_that_a_query_uses_twice_is_not_filtered_twice_alike(spark: SparkSession, table: str) -> None:
    frame = spark.read.format("indextables").load(table)
    joined = frame.join(frame.where("id = 25").select("part"), "part")
    assert joined.count() == 10


def test_the_filter_option_reads_those_rows_alone_and_opens_only_their_files(spark: SparkSession, table: str) -> None:
    frame = spark.read.format("indextables").option("filter", "id = 25 OR name = 'n3'").load(table)
    assert sorted(row.id for row in frame.collect()) == [3, 25]
    assert files_of(reader_of(table, filter="id = 25 OR id = 26")) == 1
    with pytest.raises(AnalysisException, match="id ="):
        spark.read.format("indextables").option("filter", "id =").load(table).count()


def test_one_version_is_read_from_the_schema_to_the_last_row(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    Table(path).append(pa.table({"id": [1]}))
    source = IndexTablesSource({"path": path})
    schema = source.schema()
    carried = pickle.loads(pickle.dumps(source))
    Table(path).append(pa.table({"id": [2]}))
    reader = carried.reader(schema)
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert rows == [{"id": 1}]
    assert files_of(reader_of(path)) == 2
    assert files_of(reader_of(path, version="1")) == 1


def test_tasks_are_small_messages_without_secrets(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for number in range(40):
        Table(path).append(pa.table({"id": [number], "part": ["x" * 20]}), partition_by=["part"])
    source = IndexTablesSource(
        {"path": path, "spark.indextables.aws.accessKey": "a", "spark.indextables.aws.secretKey": SECRET}
    )
    parts = source.reader(source.schema()).partitions()
    messages = [pickle.dumps(part) for part in parts]
    assert len(messages) > 1
    assert max(map(len, messages)) < 4096
    assert not any(SECRET.encode() in message for message in messages)
    assert SECRET not in repr(source._pinned())


def test_the_columns_option_reads_those_columns_alone(spark: SparkSession, table: str) -> None:
    frame = spark.read.format("indextables").option("columns", "NAME, part").load(table)
    assert frame.columns == ["name", "part"]
    assert frame.count() == 30
    with pytest.raises(AnalysisException, match="The table has no columns absent"):
        spark.read.format("indextables").option("columns", "absent").load(table)


def test_sql_makes_a_view_of_the_format(spark: SparkSession, table: str) -> None:
    spark.sql(f"CREATE TEMPORARY VIEW by_name USING indextables OPTIONS (path '{table}')")
    assert spark.sql("SELECT max(id) FROM by_name WHERE part = 'p10'").first() == (19,)
    spark.sql("DROP VIEW by_name")


def test_a_table_of_the_catalog_is_read_with_its_path_in_the_query(spark: SparkSession, table: str) -> None:
    spark.sql(f"CREATE TABLE in_catalog USING indextables LOCATION '{table}'")
    try:
        assert spark.table("in_catalog").columns == ["part", "id", "name"]
        # Spark does not hand the options of a table in its catalog to a data source in Python.
        with pytest.raises(AnalysisException, match="WITH"):
            spark.sql("SELECT max(id) FROM in_catalog").collect()
        assert spark.sql(f"SELECT max(id) FROM in_catalog WITH (path = '{table}')").first() == (29,)
    finally:
        spark.sql("DROP TABLE in_catalog")


@pytest.mark.parametrize("name", ["indextables", LONG_NAME])
def test_the_writer_appends_and_overwrites(spark: SparkSession, tmp_path: Path, name: str) -> None:
    register(spark)
    path = str(tmp_path / "t")
    rows = spark.createDataFrame([(1, "a", ""), (2, "b", None)], "id long, name string, part string").repartition(2)
    rows.write.format(name).mode("append").option("partitionBy", "part").save(path)
    assert Table(path).partition_columns == ["part"]
    assert sorted(map(tuple, read(spark, path).collect())) == sorted(map(tuple, rows.collect()))
    rows.withColumnRenamed("id", "ID").write.format(name).mode("append").save(path)
    assert read(spark, path).count() == 4
    rows.limit(1).write.format(name).mode("overwrite").save(path)
    assert read(spark, path).count() == 1
    assert [commit["operation"] for commit in Table(path).history().to_pylist()][:2] == ["overwrite", "append"]
    assert Table(path).verify_stats().num_rows == 0
    spark.conf.unset(PUSHDOWN)


def test_the_writer_checks_the_columns_before_any_task(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write(spark.range(1), path)
    with pytest.raises(AnalysisException, match="column extra is not in the table"):
        spark.range(1).withColumn("extra", sf.lit(1)).write.format("indextables").mode("append").save(path)


def test_a_failed_job_of_the_writer_leaves_nothing_visible(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    failing = spark.range(0, 20, 1, 2).selectExpr("IF(id = 19, raise_error('no'), id) AS id")
    with pytest.raises(Exception, match="no"):
        failing.write.format("indextables").mode("append").save(str(path))
    assert not (path / "_transaction_log").exists()
    # Spark may end a task that had written its file before anybody heard of it; a purge finds that file by its run.
    assert len(list(path.rglob("*.split"))) <= 1


def test_session_settings_hold_for_writes_after_registration(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.conf.set("spark.indextables.stats.truncation.maxLength", "20")
    try:
        register(spark)
    finally:
        spark.conf.unset("spark.indextables.stats.truncation.maxLength")
    spark.createDataFrame([("x" * 30,)], "name string").write.format("indextables").mode("append").save(path)
    register(spark)
    spark.conf.unset(PUSHDOWN)
    (least,) = Table(path).log.snapshot().files["min_values"].to_pylist()
    assert not (least or {}).get("name")


def test_importing_the_package_for_discovery_starts_nothing() -> None:
    code = textwrap.dedent(
        """
        import sys, pyspark_indextables
        print(pyspark_indextables.DefaultSource.name(), "indextables.spark.bridge" in sys.modules)
        """
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["indextables", "False"]
