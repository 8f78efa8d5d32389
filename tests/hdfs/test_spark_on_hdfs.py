"""Spark reads and writes tables on a real HDFS, natively and through the data source, which needs no JVM in its workers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from indextables.spark import read, register, write
from indextables.table import Table

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

    from tests.support.hdfs import MiniHdfs


def test_a_table_on_hdfs_is_written_read_and_overwritten(
    cluster: MiniHdfs, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", sys.executable)  # the Python that workers run
    path = cluster.table("spark")
    rows = spark.range(0, 40, 1, 2).selectExpr("id", "IF(id % 2 = 0, '', 'a/b') AS part")
    assert write(rows, path, partition_by=["part"]).rows == 40
    files = Table(path).files()["path"].to_pylist()
    assert all(name.endswith(".split") and not name.startswith("_staging") for name in files)
    frame = read(spark, path)
    assert frame.where("part = 'a/b' AND id > 20").count() == 10
    register(spark)
    rows.limit(3).coalesce(1).write.format("indextables").mode("append").save(path)
    assert spark.read.format("indextables").load(path).count() == read(spark, path).count() == 43
    write(rows.limit(1), path, mode="overwrite")
    assert frame.count() == 40
    assert read(spark, path).count() == 1
