"""Dropping partitions: by metadata alone, whole partitions only, beside writers and merges."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from indextables.config import Settings
from indextables.errors import ConcurrentWriteError, PredicateError, SchemaError, TableNotFoundError
from indextables.predicate import col
from indextables.table import Table
from indextables.table.partitions import drop, drop_partitions
from indextables.testing.models import S3Model
from tests.support.logs import WatchedStore

if TYPE_CHECKING:
    from pathlib import Path

DAYS = [dt.date(2024, 1, day) for day in (1, 2, 3)]


def days_table(path: Path) -> Table:
    table = Table(str(path))
    table.append(
        pa.table({"id": range(6), "day": pa.array([*DAYS, None, *DAYS[:2]], pa.date32())}), partition_by=["day"]
    )
    return table


def test_partitions_leave_in_one_commit_that_history_names(tmp_path: Path) -> None:
    table = days_table(tmp_path)
    size = sum(table.files(where="day < DATE '2024-01-03'")["size"].to_pylist())
    result = drop_partitions(str(tmp_path), "day < DATE '2024-01-03'")
    assert (result.version, result.committed, result.partitions, result.files, result.rows) == (2, True, 2, 2, 4)
    assert result.bytes == size
    assert sorted(table.to_arrow()["id"].to_pylist()) == [2, 3]
    assert table.history(limit=1)["operation"].to_pylist() == ["drop partitions"]
    assert Table(str(tmp_path), version=1).count() == 6


def test_the_null_partition_can_be_dropped(tmp_path: Path) -> None:
    table = days_table(tmp_path)
    assert drop_partitions(str(tmp_path), col("day").is_null()).files == 1
    assert 3 not in table.to_arrow()["id"].to_pylist()


def test_numbers_in_partitions_compare_as_numbers(tmp_path: Path) -> None:
    table = Table(str(tmp_path))
    table.append(pa.table({"id": range(12), "month": range(1, 13)}), partition_by=["month"])
    drop_partitions(str(tmp_path), "month < 10")
    assert table.to_arrow()["month"].to_pylist() == [10, 11, 12]


def test_data_files_are_neither_read_nor_deleted(tmp_path: Path) -> None:
    days_table(tmp_path)
    files = sorted(tmp_path.rglob("*.split"))
    for file in files:
        file.write_bytes(b"no Parquet")
    drop_partitions(str(tmp_path), "day IS NOT NULL")
    assert sorted(tmp_path.rglob("*.split")) == files


def test_dropping_nothing_commits_nothing(tmp_path: Path) -> None:
    table = days_table(tmp_path)
    result = drop_partitions(str(tmp_path), "day = DATE '1999-01-01'")
    assert (result.committed, result.version, result.files) == (False, 1, 0)
    assert table.version == 1


@pytest.mark.parametrize("where", ["id > 2", "day = DATE '2024-01-01' AND id > 2", "day = DATE '2024-01-01' OR id = 1"])
def test_a_condition_on_other_columns_is_refused_and_points_at_them(tmp_path: Path, where: str) -> None:
    table = days_table(tmp_path)
    with pytest.raises(PredicateError, match="by which the table is not partitioned") as caught:
        drop_partitions(str(tmp_path), where)
    assert caught.value.position == where.index("id")
    assert "day" in caught.value.way_out
    assert table.version == 1


@pytest.mark.parametrize("where", ["true", "1 = 1"])
def test_a_condition_on_no_column_never_drops_the_whole_table(tmp_path: Path, where: str) -> None:
    table = days_table(tmp_path)
    with pytest.raises(PredicateError):
        drop_partitions(str(tmp_path), where)
    assert table.count() == 6


def test_a_table_without_partitions_is_refused(tmp_path: Path) -> None:
    Table(str(tmp_path)).append(pa.table({"id": [1]}))
    with pytest.raises(PredicateError, match="use delete"):
        drop_partitions(str(tmp_path), "id = 1")


def test_an_unknown_column_and_a_missing_table_are_told(tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        drop_partitions(str(tmp_path / "none"), "day IS NULL")
    days_table(tmp_path)
    with pytest.raises(SchemaError, match="dya"):
        drop_partitions(str(tmp_path), "dya IS NULL")


def test_a_merge_that_was_faster_costs_a_second_look_and_nothing_else() -> None:
    model = S3Model()
    table = Table.at_store(model)
    table.append(pa.table({"id": range(2), "p": ["a", "b"]}), partition_by=["p"])
    path = table.files(where="p = 'a'")["path"][0].as_py()
    raced: list[str] = []

    def merge_first(op: str, _: str) -> None:
        if op == "put_if_absent" and not raced:
            raced.append(op)
            table.log.remove_files([path], data_change=False)

    log = Table.at_store(WatchedStore(model, None, merge_first)).log
    result = drop(log, "p IN ('a', 'b')", settings=Settings())
    assert raced
    assert (result.version, result.files) == (3, 1)
    assert table.count() == 0


def test_a_table_that_never_stands_still_is_told_in_the_end() -> None:
    model = S3Model()
    table = Table.at_store(model)
    table.append(pa.table({"id": range(20), "p": range(20)}), partition_by=["p"])

    def remove_one(op: str, _: str) -> None:
        if op == "put_if_absent":
            table.log.remove_files([table.files(where="p < 100")["path"][0].as_py()], data_change=False)

    log = Table.at_store(WatchedStore(model, None, remove_one)).log
    settings = Settings.resolve({"spark.indextables.transaction.retry.maxAttempts": 3})
    with pytest.raises(ConcurrentWriteError):
        drop(log, "p < 100", settings=settings)
    assert table.count() == 17
