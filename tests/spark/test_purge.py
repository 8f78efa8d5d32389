"""Purging what Spark's writers leave, through a session."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

import pytest

from indextables.errors import TableNotFoundError
from indextables.spark import read, write
from indextables.spark.purge import purge

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def test_leftovers_of_a_dead_spark_job_are_reclaimed_and_the_table_stays(spark: SparkSession, tmp_path: Path) -> None:
    write(spark.range(10), str(tmp_path))
    run = tmp_path / "_staging" / str(uuid.uuid4())
    spark.range(5).write.parquet(str(run))
    left = [file for file in run.rglob("*") if file.is_file()]
    for file in left:
        os.utime(file, (0, 0))
    told = purge(spark, str(tmp_path))
    assert told.dry_run
    assert sorted(told.files["path"].to_pylist()) == sorted(str(file.relative_to(tmp_path)) for file in left)
    done = purge(spark, str(tmp_path), dry_run=False)
    assert done.files.num_rows == len(left)
    assert done.bytes == told.bytes
    assert not [file for file in run.rglob("*") if file.is_file()]
    assert read(spark, str(tmp_path)).count() == 10


def test_without_a_table_nothing_is_purged(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        purge(spark, str(tmp_path), dry_run=False)
