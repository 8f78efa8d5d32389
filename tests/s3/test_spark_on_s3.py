"""Spark reads and writes tables on a real S3 server. Its Hadoop has no S3 here, so the data source does the work."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from indextables.spark import read, write
from indextables.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.s3 import S3Endpoint


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = (
            SparkSession.builder.master("local[1]")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .getOrCreate()
        )
        yield session
        session.stop()


def test_a_table_on_s3_is_written_read_and_overwritten(server: S3Endpoint, spark: SparkSession) -> None:
    path = f"s3://{server.bucket}/spark/table"
    options = server.options()
    rows = spark.range(0, 40, 1, 2).selectExpr("id", "IF(id % 2 = 0, '', 'a/b') AS part")
    result = write(rows, path, partition_by=["part"], options=options)
    assert (result.rows, result.version) == (40, 1)
    frame = read(spark, path, options=options)
    assert frame.where("part = 'a/b' AND id > 20").count() == 10
    assert write(rows.limit(3).coalesce(1), path, mode="append", options=options).files >= 1
    assert read(spark, path, options=options).count() == 43
    assert frame.count() == 40
    write(rows.limit(1), path, mode="overwrite", options=options)
    assert read(spark, path, options=options).count() == 1
    assert Table(path, options=options).version == 3
