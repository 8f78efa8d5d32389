"""Tables that Spark wrote, read by Spark before and after: the engine's own view must not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indextables.errors import TableRefusedError
from indextables.hive import Options, cleanup, compact, connect, rollback

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from indextables.hive import Lake

pytestmark = pytest.mark.xdist_group("lakekeeper-spark")

ROWS = """
SELECT id AS ID, CAST(id AS DECIMAL(9,2)) AS small, CAST(id AS DECIMAL(30,4)) AS wide,
  TIMESTAMP '1700-01-01 00:00:00' + make_interval(0, 0, 0, CAST(id * 9000 AS INT)) AS ts,
  DATE '1500-01-01' + CAST(id * 3000 AS INT) AS day, array(id, NULL) AS list,
  map('k', named_struct('a', id, 'b', array(cast(id as string)))) AS nested,
  IF(id % 3 = 0, double('NaN'), id / 7) AS ratio, encode(cast(id as string), 'UTF-8') AS raw,
  IF(id % 4 = 0, NULL, concat('日本', id)) AS `select`
FROM range(0, 40, 1, 8)
"""


@pytest.fixture(scope="module")
def lake(spark: SparkSession) -> Iterator[Lake]:
    lake = connect(spark=spark)
    yield lake
    lake.close()


def view(spark: SparkSession, name: str) -> list[str]:
    spark.sql(f"REFRESH TABLE {name}")
    rows = spark.sql(f"SELECT *, hash(ID, small, wide, ts, day, list, ratio, raw, `select`) FROM {name}")
    return sorted(map(str, rows.collect()))


@pytest.mark.parametrize("legacy", [True, False], ids=["legacy", "modern"])
def test_spark_sees_the_same_rows(spark: SparkSession, lake: Lake, tmp_path: Path, legacy: bool) -> None:
    name = f"default.spark_{legacy}".lower()
    settings = {
        "spark.sql.parquet.outputTimestampType": "INT96" if legacy else "TIMESTAMP_MICROS",
        "spark.sql.parquet.writeLegacyFormat": "false",
        "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY" if legacy else "CORRECTED",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY" if legacy else "CORRECTED",
        "spark.sql.session.timeZone": "Europe/Paris",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    spark.sql(f"CREATE EXTERNAL TABLE {name} STORED AS PARQUET LOCATION '{tmp_path}/t' AS {ROWS}")
    before = view(spark, name)
    nan_before = spark.sql(f"SELECT count(*) FROM {name} WHERE ratio > 5").collect()
    result = compact(lake, name)
    assert (result.files_before, result.files_after, result.rows) == (8, 1, 40)
    assert view(spark, name) == before
    assert spark.sql(f"SELECT count(*) FROM {name} WHERE ratio > 5").collect() == nan_before
    spark.sql(f"REFRESH TABLE {result.backup}")
    assert spark.table(str(result.backup)).count() == 40
    rollback(lake, name)
    assert view(spark, name) == before


@pytest.mark.parametrize("options", [Options(staging="hidden"), Options(swap="location")], ids=["hidden", "location"])
def test_msck_repair_sees_no_directory_of_a_run_that_is_staged_out_of_sight(
    spark: SparkSession, lake: Lake, tmp_path: Path, options: Options
) -> None:
    name = f"default.repaired_{options.swap}"
    spark.sql(
        f"CREATE EXTERNAL TABLE {name} (id BIGINT) PARTITIONED BY (k STRING) STORED AS PARQUET LOCATION '{tmp_path}/r'"
    )
    spark.sql("SET hive.exec.dynamic.partition.mode=nonstrict")
    spark.sql(f"INSERT INTO {name} SELECT id, IF(id % 2 = 0, 'a=b/c', 'O''Neil %') FROM range(0, 40, 1, 4)")
    partitions = spark.sql(f"SHOW PARTITIONS {name}").collect()
    compact(lake, name, options=options)
    spark.sql(f"MSCK REPAIR TABLE {name}")
    spark.sql(f"REFRESH TABLE {name}")
    assert spark.sql(f"SHOW PARTITIONS {name}").collect() == partitions
    assert spark.table(name).count() == 40
    cleanup(lake, name)
    spark.sql(f"REFRESH TABLE {name}")
    assert spark.table(name).count() == 40


def test_lists_of_two_levels_are_refused_because_they_would_become_lists_of_three(
    spark: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    spark.conf.set("spark.sql.parquet.writeLegacyFormat", "true")
    name = "default.two_levels"
    rows = "SELECT array(id) AS v FROM range(0, 4, 1, 2)"
    spark.sql(f"CREATE EXTERNAL TABLE {name} STORED AS PARQUET LOCATION '{tmp_path}/v' AS {rows}")
    spark.conf.set("spark.sql.parquet.writeLegacyFormat", "false")
    before = sorted(path.name for path in (tmp_path / "v").iterdir())
    with pytest.raises(TableRefusedError, match="form that would not be kept"):
        compact(lake, name)
    assert sorted(path.name for path in (tmp_path / "v").iterdir()) == before
    assert sorted(row.v for row in spark.table(name).collect()) == [[0], [1], [2], [3]]


def test_a_large_run_is_one_spark_job(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    name = "default.large"
    spark.sql(
        f"CREATE EXTERNAL TABLE {name} STORED AS PARQUET LOCATION '{tmp_path}/l' AS SELECT id FROM range(0,90,1,6)"
    )
    result = compact(lake, name, options=Options(spark_from=0, target_size=1500), spark=spark)
    assert result.files_after < result.files_before == 6
    spark.sql(f"REFRESH TABLE {name}")
    assert spark.table(name).count() == 90
