"""Statements in SQL, carried out: each once as it should be and once with a mistake in it."""

from __future__ import annotations

import datetime as dt
import os
import uuid
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import ParseException

from indextables.errors import ConfigError, PredicateError, SchemaError, TableExistsError, TableNotFoundError
from indextables.log.layout import commit_path
from indextables.spark import opened, read
from indextables.spark.sql import sql
from indextables.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table of three commits in two partitions."""
    made = Table(str(tmp_path / "t"))
    for number in range(3):
        made.append(pa.table({"id": [2 * number, 2 * number + 1], "day": ["a", "b"]}), partition_by=["day"])
    return made


@pytest.fixture
def named(spark: SparkSession, table: Table) -> Iterator[str]:
    """The same table, as the catalog knows it."""
    spark.sql(f"CREATE TABLE named_events (id BIGINT, day STRING) USING parquet LOCATION '{table.path}'")
    yield "named_events"
    spark.sql("DROP TABLE named_events")


def test_anything_else_goes_to_spark(spark: SparkSession) -> None:
    assert sql(spark, "SELECT 1 AS one").collect()[0].one == 1
    with pytest.raises(ParseException):
        sql(spark, "SELEC 1")


def test_merge_splits(spark: SparkSession, table: Table) -> None:
    answer = sql(spark, f"MERGE SPLITS '{table.path}' WHERE day = 'a' TARGET SIZE 100M MAX GROUPS 5").collect()
    merged = [row for row in answer if row.status == "merged"]
    assert [(row.files, row.rows) for row in merged] == [(3, 3)]
    assert {row.reason for row in answer if row.path.startswith("day=b")} == {
        "it holds no row that the condition is true for"
    }
    assert table.count() == 6
    assert table.files().num_rows == 4


def test_merge_splits_by_name(spark: SparkSession, table: Table, named: str) -> None:
    assert sql(spark, f"MERGE SPLITS {named}").where("status = 'merged'").count() == 2
    assert sql(spark, f"MERGE SPLITS `default`.`{named}`").where("status = 'merged'").count() == 0
    assert table.files().num_rows == 2


def test_merge_splits_points_at_a_mistake_in_its_condition(spark: SparkSession, table: Table) -> None:
    statement = f"MERGE SPLITS '{table.path}' WHERE day = AND id = 1 TARGET SIZE 1G"
    with pytest.raises(PredicateError) as caught:
        sql(spark, statement)
    assert caught.value.text == statement
    assert caught.value.position is not None
    assert statement.index("day =") <= caught.value.position <= statement.index("TARGET")
    with pytest.raises(SchemaError, match="dya"):
        sql(spark, f"MERGE SPLITS '{table.path}' WHERE dya = 1")
    with pytest.raises(ConfigError, match="target_size"):
        sql(spark, f"MERGE SPLITS '{table.path}' TARGET SIZE 5parsecs")
    with pytest.raises(TableNotFoundError):
        sql(spark, "MERGE SPLITS no_such_table")


def test_purge(spark: SparkSession, table: Table, tmp_path: Path) -> None:
    left = tmp_path / "t" / f"{uuid.uuid4()}.split"
    left.write_bytes(b"left")
    os.utime(left, (0, 0))
    told = sql(spark, f"PURGE INDEXTABLE '{table.path}' OLDER THAN 7 DAYS DRY RUN").collect()
    assert [(row.status, row.path, row["size"]) for row in told] == [("would be deleted", left.name, 4)]
    assert left.exists()
    done = sql(spark, f"PURGE INDEXTABLE '{table.path}'").collect()
    assert [(row.status, row.path) for row in done] == [("deleted", left.name)]
    assert not left.exists()
    assert sql(spark, f"PURGE INDEXTABLE '{table.path}'").count() == 0


def test_purge_of_less_than_a_day_is_refused(spark: SparkSession, table: Table) -> None:
    with pytest.raises(ConfigError, match="24h or more"):
        sql(spark, f"PURGE INDEXTABLE '{table.path}' OLDER THAN 1 HOURS")


def test_drop_partitions(spark: SparkSession, table: Table) -> None:
    answer = sql(spark, f"DROP INDEXTABLES PARTITIONS FROM '{table.path}' WHERE day = 'a'").collect()[0]
    assert (answer.version, answer.committed, answer.partitions, answer.files, answer.rows) == (4, True, 1, 3, 3)
    assert {row.day for row in read(spark, table.path).collect()} == {"b"}


def test_drop_partitions_refuses_other_columns(spark: SparkSession, table: Table) -> None:
    with pytest.raises(PredicateError, match="not partitioned"):
        sql(spark, f"DROP INDEXTABLES PARTITIONS FROM '{table.path}' WHERE id = 1")
    assert table.version == 3


def test_checkpoint(spark: SparkSession, table: Table) -> None:
    answer = sql(spark, f"CHECKPOINT INDEXTABLES '{table.path}'").collect()[0]
    assert (answer.version, answer.files, answer.format) == (3, 6, "parquet")
    with pytest.raises(TableNotFoundError):
        sql(spark, f"CHECKPOINT INDEXTABLES '{table.path}/nowhere'")


def test_describe_transaction_log(spark: SparkSession, table: Table) -> None:
    statement = f"DESCRIBE INDEXTABLES TRANSACTION LOG '{table.path}'"
    answer = sql(spark, statement).collect()
    assert [(row.version, row.action) for row in answer] == [
        *((version, "add") for version in (3, 3, 2, 2, 1, 1)),
        (0, "protocol"),
        (0, "metaData"),
    ]
    assert {row.partition for row in answer if row.action == "add"} == {"day=a", "day=b"}
    assert answer[0].timestamp.year == dt.datetime.now(dt.UTC).year
    table.log.checkpoint()
    table.append(pa.table({"id": [9], "day": ["a"]}))
    assert [row.version for row in sql(spark, statement).collect()] == [4]
    assert sql(spark, f"{statement} INCLUDE ALL").count() == 9
    with pytest.raises(TableNotFoundError):
        sql(spark, "DESCRIBE INDEXTABLES TRANSACTION LOG '/no/such/table'")


def test_repair(spark: SparkSession, table: Table, tmp_path: Path) -> None:
    damaged = tmp_path / "t" / commit_path(2)
    damaged.write_bytes(b"\x01\x01 no gzip")
    target = tmp_path / "repaired"
    statement = (
        f"REPAIR INDEXFILES TRANSACTION LOG '{table.path}/_transaction_log' AT LOCATION '{target}/_transaction_log'"
    )
    answer = sql(spark, statement).collect()[0]
    assert answer.files == 4
    assert Table(str(target)).files().num_rows == 4
    assert damaged.read_bytes() == b"\x01\x01 no gzip", "the old log stays as it is"
    with pytest.raises(TableExistsError):
        sql(spark, statement)


def test_invalidate(spark: SparkSession, table: Table) -> None:
    read(spark, table.path)
    one = sql(spark, f"INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR '{table.path}'").collect()[0]
    assert (one.table, one.logs) == (table.path, 1)
    every = sql(spark, "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE").collect()[0]
    assert every.table is None
    assert every.logs == len(opened._OPENED) >= 1
    with pytest.raises(TableNotFoundError):
        sql(spark, "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR '/no/such/table'")
