"""Spark's own Parquet reader opens splits by their paths: equal rows, equal types, and filters that find NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from indextables.config import Settings
from indextables.log.schema import normal_schema, parse_schema
from indextables.split import describe_files
from indextables.storage.local import LocalStore
from indextables.storage.retry import RetryingStore
from indextables.table import Table
from indextables.table.adds import add_of
from tests.support.data import every_type

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def paths(table: Table, directory: Path) -> list[str]:
    return [str(directory / path) for path in table.files()["path"].to_pylist()]


def test_spark_reads_equal_rows_and_types(spark: SparkSession, tmp_path: Path) -> None:
    data = every_type()
    table = Table(str(tmp_path))
    table.append(data.slice(0, 2))
    table.append(data.slice(2))
    frame = spark.read.parquet(*paths(table, tmp_path))
    found, expected = (
        {name: field["type"] for name, field in normal_schema(schema).items()}
        for schema in (frame.schema.json(), table.schema)
    )
    assert found == expected
    rows = [frame.toArrow().cast(table.schema).to_pylist(), table.to_arrow().to_pylist()]
    assert sorted(map(repr, rows[0])) == sorted(map(repr, rows[1]))


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("f > 5", [1, 4]),
        ("f = double('NaN')", [1]),
        ("f = 0.0D", [2, 3]),
        ("NOT (f <= 5)", [1, 4]),
        ("f < 0.5", [2, 3]),
        ("s.g > 5", [1, 4]),
        ("name = 'é'", [2]),
        ("name > 'x'", [0, 2, 3]),
    ],
)
def test_sparks_own_skipping_finds_every_row(spark: SparkSession, tmp_path: Path, where: str, ids: list[int]) -> None:
    floats: list[Any] = [1.0, float("nan"), -0.0, 0.0, float("inf"), None]
    data = pa.table(
        {
            "id": range(6),
            "f": floats,
            "s": pa.array([{"g": value} for value in floats]),
            "name": ["x" * 5000, "a", "é", "😀", "", None],
        }
    )
    settings = Settings.resolve({"spark.indextables.indexing.fastfields": "name,f,id"})
    table = Table.at_store(LocalStore(tmp_path), settings=settings)
    table.append(data)
    for number in range(6):
        table.append(data.slice(number, 1))
    found = spark.read.parquet(*paths(table, tmp_path)).where(where).select("id").collect()
    assert sorted(row.id for row in found) == sorted(ids * 2)
    assert sorted(table.to_arrow(where=where)["id"].to_pylist()) == sorted(ids * 2)


def test_files_that_spark_wrote_are_described_from_their_footers_and_skipped_rightly(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.sql(
        "SELECT id, CAST(id AS DECIMAL(20, 3)) AS d, CONCAT('name ', REPEAT('x', 100), id) AS name, "
        "IF(id % 50 = 7, double('NaN'), CAST(id AS DOUBLE)) AS f, TIMESTAMP_MICROS(id * 1000001) AS ts, "
        "DATE_ADD(DATE '2024-01-01', CAST(id AS INT)) AS day, IF(id < 100, NULL, id) AS maybe FROM range(0, 200, 1, 4)"
    )
    frame.write.mode("overwrite").parquet(str(tmp_path))
    store = RetryingStore(LocalStore(tmp_path))
    names = sorted(path.name for path in tmp_path.glob("*.parquet"))
    schema = parse_schema(frame.schema.json())
    files = describe_files(store, names, settings=Settings(), schema=schema)
    table = Table.at_store(store)
    table.log.initialize(schema)
    table.log.add_files([add_of(file) for file in files])
    assert table.to_arrow().num_rows == table.count() == 200
    assert table.verify_stats().num_rows == 0
    for where, left in (
        ("id = 60", 1),
        ("d > 199.5", 0),
        ("d = 150", 1),
        ("day = DATE '2024-01-03'", 1),
        ("maybe IS NULL", 2),
        ("maybe < 0", 0),
        ("f > 1000", 4),
    ):
        assert table.files(where=where).num_rows == left, where
        expected = sorted(row.id for row in frame.where(where).select("id").collect())
        assert sorted(table.to_arrow(where=where)["id"].to_pylist()) == expected, where
    # By default Spark writes timestamps as INT96, of which footers say nothing that can be used.
    where = "ts > TIMESTAMP '1980-01-01 00:00:00Z'"
    assert table.files(where=where).num_rows in {0, 4}
    assert table.to_arrow(where=where).num_rows == 0
