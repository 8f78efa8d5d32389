"""The snippets of the documents that users know, as they stand there, in PySpark.

Spark refuses the default save mode for data sources in Python, so where a snippet names none, it appends here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indextables.spark import read, register
from indextables.spark.source import PUSHDOWN
from indextables.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

PROVIDER = "io.indextables.spark.core.IndexTables4SparkTableProvider"
GZIP = b"\x01\x01"


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> Iterator[None]:
    register(spark)
    yield
    spark.conf.unset(PUSHDOWN)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "test_table")


def commits(path: str) -> list[bytes]:
    from pathlib import Path  # noqa: PLC0415 - at hand for this alone

    return [file.read_bytes()[:2] for file in sorted(Path(path, "_transaction_log").glob("[0-9]*.json"))]


def test_write_and_read_compressed_transaction_log(spark: SparkSession, path: str) -> None:
    df = spark.range(100).toDF("id")
    (
        df.write.format(PROVIDER)
        .option("spark.indextables.transaction.compression.enabled", "true")
        .option("spark.indextables.transaction.compression.codec", "gzip")
        .mode("append")
        .save(path)
    )
    loaded = spark.read.format(PROVIDER).load(path)
    assert loaded.count() == 100
    assert commits(path) == [GZIP, GZIP]


def test_read_mixed_compressed_and_uncompressed_transaction_logs(spark: SparkSession, path: str) -> None:
    df1, df2 = spark.range(7), spark.range(5)
    (
        df1.write.format(PROVIDER)
        .option("spark.indextables.transaction.compression.enabled", "false")
        .mode("append")
        .save(path)
    )
    (
        df2.write.format(PROVIDER)
        .option("spark.indextables.transaction.compression.enabled", "true")
        .mode("append")
        .save(path)
    )
    loaded = spark.read.format(PROVIDER).load(path)
    assert loaded.count() == df1.count() + df2.count()
    assert [start == GZIP for start in commits(path)] == [False, False, True]


OPTIONS: dict[str, dict[str, str]] = {
    "default behavior": {},
    "explicit compression": {
        "spark.indextables.transaction.compression.enabled": "true",
        "spark.indextables.transaction.compression.codec": "gzip",
        "spark.indextables.transaction.compression.gzip.level": "6",
    },
    "no compression": {"spark.indextables.transaction.compression.enabled": "false"},
    "conservative truncation": {
        "spark.indextables.stats.truncation.enabled": "true",
        "spark.indextables.stats.truncation.maxLength": "512",
        "spark.indextables.stats.truncation.strategy": "drop",
    },
    "debugging truncation": {
        "spark.indextables.stats.truncation.strategy": "truncate",
        "spark.indextables.stats.truncation.maxLength": "200",
    },
    "no truncation": {"spark.indextables.stats.truncation.enabled": "false"},
    "custom threshold": {"spark.indextables.stats.truncation.maxLength": "512"},
}
KEPT: dict[str, int | None] = {
    "default behavior": 600,
    "explicit compression": 600,
    "no compression": 600,
    "conservative truncation": None,
    "debugging truncation": 200,
    "no truncation": 600,
    "custom threshold": None,
}


@pytest.fixture(scope="module")
def long_texts(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("doc1", "x" * 600, 1)], "id string, text string, score int")


@pytest.mark.parametrize("example", OPTIONS)
def test_configuration_examples(spark: SparkSession, long_texts: DataFrame, path: str, example: str) -> None:
    writer = long_texts.write.format(PROVIDER).mode("append")
    for key, value in OPTIONS[example].items():
        writer = writer.option(key, value)
    writer.save(path)
    (least,) = Table(path).log.snapshot().files["min_values"].to_pylist()
    stored = least.get("text")
    assert (None if stored is None else len(stored)) == KEPT[example]
    assert read(spark, path).where("text LIKE 'x%'").count() == 1


def test_session_level_configuration(spark: SparkSession, long_texts: DataFrame, tmp_path: Path) -> None:
    keys = ("enabled", "maxLength", "strategy")
    spark.conf.set("spark.indextables.stats.truncation.enabled", "true")
    spark.conf.set("spark.indextables.stats.truncation.maxLength", "1024")
    spark.conf.set("spark.indextables.stats.truncation.strategy", "drop")
    try:
        long_texts.write.format(PROVIDER).mode("append").save(str(tmp_path / "data1"))
        long_texts.write.format(PROVIDER).mode("append").save(str(tmp_path / "data2"))
    finally:
        for key in keys:
            spark.conf.unset(f"spark.indextables.stats.truncation.{key}")
    assert read(spark, str(tmp_path / "data1")).count() == read(spark, str(tmp_path / "data2")).count() == 1


def test_write_and_read_table_with_truncated_statistics(spark: SparkSession, path: str, tmp_path: Path) -> None:
    data = spark.createDataFrame(
        [("doc1", "x" * 2000, 100), ("doc2", "y" * 2000, 200)], "id string, long_text string, score int"
    )
    data.write.format(PROVIDER).option("spark.indextables.indexing.fastfields", "score").mode("append").save(path)

    log = tmp_path / "test_table" / "_transaction_log"
    total = sum(file.stat().st_size for file in log.iterdir() if file.name.endswith(".json"))
    assert total < 100_000

    df = spark.read.format(PROVIDER).load(path)
    assert df.count() == 2
    results = df.orderBy("id").collect()
    assert [(row.id, len(row.long_text)) for row in results] == [("doc1", 2000), ("doc2", 2000)]


def test_data_skipping_works_for_columns_with_stats_and_falls_back_for_truncated_columns(
    spark: SparkSession, path: str
) -> None:
    rows = [("doc1", "x" * 2000, 100), ("doc2", "y" * 2000, 200), ("doc3", "z" * 2000, 300)]
    data = spark.createDataFrame(rows, "id string, long_text string, score int").repartition(3, "id")
    data.write.format(PROVIDER).option("spark.indextables.indexing.fastfields", "score").mode("append").save(path)

    df = spark.read.format(PROVIDER).load(path)
    filtered_by_score = df.filter(df.score == 100).collect()
    assert [row.id for row in filtered_by_score] == ["doc1"]
    filtered_by_text = df.filter(df.long_text.startswith("x")).collect()
    assert [row.id for row in filtered_by_text] == ["doc1"]
    assert Table(path).files(where="score = 100").num_rows == 1
    assert Table(path).files(where="long_text LIKE 'x%'").num_rows == Table(path).files().num_rows
