"""Directories and catalog tables that Spark wrote, as tables without a copy: the same rows as before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indextables.errors import SchemaError, TableExistsError, TableNotFoundError
from indextables.spark import read
from indextables.spark.convert import convert

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

COLUMNS = (
    "id",
    "concat('día ', id) AS name",
    "timestamp_micros(id) AS at",
    "timestamp_ntz '2024-01-01 00:00:00' AS local",
    "cast(id AS decimal(10,2)) AS amount",
    "array(named_struct('a', id, 'b', cast(id AS float))) AS items",
    "date_add(date '2024-01-01', int(id)) AS day",
    "cast(id % 3 AS int) AS part",
)


@pytest.fixture
def catalog_table(spark: SparkSession) -> Iterator[str]:
    spark.sql("CREATE DATABASE IF NOT EXISTS converting")
    yield "converting.events"
    spark.sql("DROP DATABASE converting CASCADE")


def test_a_directory_that_spark_wrote_reads_the_same_as_before(spark: SparkSession, tmp_path: Path) -> None:
    source = str(tmp_path / "with space")
    spark.range(50).selectExpr(*COLUMNS).write.partitionBy("part").parquet(source)
    plain = spark.read.parquet(source)
    before = sorted(map(str, plain.collect()))
    result = convert(spark, source)
    assert (result.rows, result.partition_columns) == (50, ("part",))
    converted = read(spark, source)
    assert converted.schema == plain.schema
    assert sorted(map(str, converted.collect())) == before
    assert (
        converted.where("part = 1 AND day > date '2024-01-20'").count() == plain.where("part = 1 AND id > 19").count()
    )
    with pytest.raises(TableExistsError):
        convert(spark, source)


def test_a_table_of_the_catalog_becomes_ours_with_its_own_types(spark: SparkSession, catalog_table: str) -> None:
    frame = spark.range(20).selectExpr("id", "cast(id AS string) AS name", "lpad(id % 2, 2, '0') AS month")
    frame.write.partitionBy("month").saveAsTable(catalog_table)
    before = sorted(map(str, spark.table(catalog_table).collect()))
    result = convert(spark, catalog_table)
    converted = read(spark, result.path)
    assert sorted(map(str, converted.collect())) == before
    assert dict(converted.dtypes)["month"] == "string"


def test_partitions_elsewhere_and_other_forms_are_refused(
    spark: SparkSession, catalog_table: str, tmp_path: Path
) -> None:
    spark.range(4).selectExpr("id", "id % 2 AS part").write.partitionBy("part").saveAsTable(catalog_table)
    spark.sql(f"ALTER TABLE {catalog_table} ADD PARTITION (part = 9) LOCATION '{tmp_path / 'elsewhere'}'")
    with pytest.raises(SchemaError, match="lie outside"):
        convert(spark, catalog_table)
    spark.sql(f"CREATE TABLE {catalog_table}_csv (id INT) USING csv")
    with pytest.raises(SchemaError, match="not of Parquet"):
        convert(spark, f"{catalog_table}_csv")
    spark.sql(f"CREATE VIEW {catalog_table}_view AS SELECT 1 AS id")
    with pytest.raises((SchemaError, TableNotFoundError)):
        convert(spark, f"{catalog_table}_view")


@pytest.mark.parametrize("name", ["no_such_table", "no such table", "x; DROP TABLE y"])
def test_what_is_neither_a_path_nor_a_table_is_told(spark: SparkSession, name: str) -> None:
    with pytest.raises(TableNotFoundError):
        convert(spark, name)
