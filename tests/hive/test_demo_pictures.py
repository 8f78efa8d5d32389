"""The three demo tables on local disk, with the Metastore that is embedded in Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from examples.lakekeeper_demo import TABLES, DemoTable, create_tables
from indextables.hive import Lake, connect
from tests.hive.pictures import Album

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("lakekeeper-spark")


@pytest.fixture(scope="module")
def demo(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lake, str]]:
    base = f"file:{tmp_path_factory.mktemp('demo')}"
    lake = connect(spark=spark)
    create_tables(spark, lake, base)
    yield lake, base
    lake.close()


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_picture_is_true(spark: SparkSession, demo: tuple[Lake, str], table: DemoTable) -> None:
    lake, base = demo

    def count(name: str) -> int:
        spark.sql(f"REFRESH TABLE {name}")
        return spark.table(name).count()

    Album(lake, table, base, count).show()
