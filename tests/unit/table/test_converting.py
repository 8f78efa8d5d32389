"""Directories of Parquet files become tables where they stand, or are refused with all that is wrong with them."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.config import Settings
from indextables.errors import (
    ConcurrentWriteError,
    EnvironmentSetupError,
    SchemaError,
    SplitCorruptionError,
    TableExistsError,
)
from indextables.log.log import TransactionLog
from indextables.runtime import SYSTEM
from indextables.spark.convert import convert
from indextables.storage.local import LocalStore
from indextables.table import Table
from indextables.table.adopted import partition_texts, partition_types
from indextables.table.converting import Declared, convert_directory
from tests.support.data import every_type

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from indextables.storage.base import ObjectMeta


def put(path: Path, rows: pa.Table, **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, **options)
    return path


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def test_a_directory_becomes_a_table_and_no_byte_of_its_files_changes(tmp_path: Path) -> None:
    files = [put(tmp_path / f"part-{number}.parquet", ids(number, number + 10)) for number in range(3)]
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}
    result = convert(None, str(tmp_path))
    assert (result.files, result.rows, result.version, result.partition_columns) == (3, 6, 1, ())
    assert result.bytes == sum(len(data) for data, _ in before.values())
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in files} == before
    table = Table(str(tmp_path))
    assert sorted(table.to_arrow()["id"].to_pylist()) == [0, 1, 2, 10, 11, 12]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["_transaction_log", *(file.name for file in files)]


def test_statistics_come_from_the_footers_and_skip_files(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path / f"{number}.parquet", ids(number, number + 10))
    convert(None, str(tmp_path))
    table = Table(str(tmp_path))
    assert table.files(where="id = 0").num_rows == 1
    assert table.files(where="id > 100").num_rows == 0
    assert table.files()["num_records"].to_pylist() == [2, 2, 2]
    assert table.verify_stats().num_rows == 0
    assert [when.year for when in table.files()["modification_time"].to_pylist()] == [dt.datetime.now(dt.UTC).year] * 3


def test_values_of_every_type_stay_what_they_are(tmp_path: Path) -> None:
    rows = every_type()
    put(tmp_path / "a.parquet", rows)
    convert(None, str(tmp_path))
    found = Table(str(tmp_path)).to_arrow()
    assert repr(found.to_pylist()) == repr(rows.to_pylist())
    assert Table(str(tmp_path)).verify_stats().num_rows == 0


def test_the_old_form_of_moments_is_read_as_instants(tmp_path: Path) -> None:
    moments = pa.array([0, 1_700_000_000_000_000], pa.timestamp("us", "UTC"))
    put(tmp_path / "a.parquet", pa.table({"at": moments}), use_deprecated_int96_timestamps=True)
    convert(None, str(tmp_path))
    table = Table(str(tmp_path))
    assert table.schema.field("at").type == pa.timestamp("us", "UTC")
    assert table.to_arrow()["at"].to_pylist() == moments.to_pylist()


def test_directories_named_after_columns_become_partitions(tmp_path: Path) -> None:
    for day in ("2024-01-01", "2024-01-02"):
        for hour in ("01", "12"):
            put(tmp_path / f"day={day}/hour={hour}/x.parquet", ids(int(hour)))
    put(tmp_path / "day=2024-01-02/hour=__HIVE_DEFAULT_PARTITION__/x.parquet", ids(99))
    result = convert(None, str(tmp_path))
    assert result.partition_columns == ("day", "hour")
    table = Table(str(tmp_path))
    assert table.schema.field("day").type == pa.date32()
    assert table.schema.field("hour").type == pa.int32()
    assert table.to_arrow(where="hour IS NULL").to_pylist() == [{"id": 99, "day": dt.date(2024, 1, 2), "hour": None}]
    assert table.files(where="day = DATE '2024-01-01' AND hour = 1").num_rows == 1
    assert table.count(where="hour = 12") == 2


def test_a_column_that_is_in_the_files_too_is_read_from_the_directories(tmp_path: Path) -> None:
    put(tmp_path / "p=1/x.parquet", pa.table({"id": [5], "p": ["wrong"]}))
    convert(None, str(tmp_path))
    assert Table(str(tmp_path)).to_arrow().to_pylist() == [{"id": 5, "p": 1}]


def test_types_of_partitions_can_be_given(tmp_path: Path) -> None:
    for month in ("01", "02"):
        put(tmp_path / f"month={month}/x.parquet", ids(1))
    convert(None, str(tmp_path), partition_by={"month": "string"})
    assert Table(str(tmp_path)).to_arrow()["month"].to_pylist() == ["01", "02"]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "-2"], pa.int32()),
        (["1", str(2**40)], pa.int64()),
        (["1", str(2**70)], pa.string()),
        (["1.5", "2"], pa.float64()),
        (["2024-02-29"], pa.date32()),
        (["2024-02-29", "x"], pa.string()),
        (["__HIVE_DEFAULT_PARTITION__"], pa.string()),
        (["__HIVE_DEFAULT_PARTITION__", "7"], pa.int32()),
        (["a%2Fb", "é"], pa.string()),
    ],
)
def test_types_of_partitions_are_found_in_their_names(texts: list[str], kind: pa.DataType) -> None:
    found = [f"p={text}/x" for text in texts]
    types = partition_types(found, None)
    assert types == {"p": kind}
    values = partition_texts(found, types)
    assert len(values) == len(texts)


def test_names_in_directories_are_unescaped_once(tmp_path: Path) -> None:
    put(tmp_path / "name=a%2Fb%253D/x.parquet", ids(1))
    convert(None, str(tmp_path))
    assert Table(str(tmp_path)).to_arrow()["name"].to_pylist() == ["a/b%3D"]


@pytest.mark.parametrize(
    ("layout", "problem"),
    [
        (["p=1/x", "q=1/x"], "not named after the same columns"),
        (["p=1/x", "x"], "not named after the same columns"),
        (["p=1/q=1/x", "q=1/p=1/x"], "not named after the same columns"),
        (["p=1/x", "other/x"], "other is not named after a column"),
    ],
)
def test_directories_of_several_shapes_are_refused(tmp_path: Path, layout: list[str], problem: str) -> None:
    for name in layout:
        put(tmp_path / f"{name}.parquet", ids(1))
    with pytest.raises(SchemaError, match=problem):
        convert(None, str(tmp_path))
    assert not (tmp_path / "_transaction_log").exists()


def test_partition_columns_that_are_not_there_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "p=1/x.parquet", ids(1))
    with pytest.raises(SchemaError, match="named after p, not after day"):
        convert(None, str(tmp_path), partition_by=["day"])
    with pytest.raises(SchemaError, match="p=1: 1 is no date32"):
        convert(None, str(tmp_path), partition_by={"p": "date"})
    convert(None, str(tmp_path), partition_by=["P"])
    assert Table(str(tmp_path)).partition_columns == ["P"]


def test_columns_that_some_files_lack_are_null_there(tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", pa.table({"id": [1], "old": ["x"]}))
    put(tmp_path / "b.parquet", pa.table({"id": [2], "new": [1.5]}))
    convert(None, str(tmp_path))
    table = Table(str(tmp_path))
    assert table.schema.names == ["id", "old", "new"]
    assert table.to_arrow().sort_by("id").to_pylist() == [
        {"id": 1, "old": "x", "new": None},
        {"id": 2, "old": None, "new": 1.5},
    ]
    assert table.files(where="new IS NOT NULL").num_rows == 1


def test_all_differences_of_columns_are_told_at_once(tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", pa.table({"id": pa.array([1], pa.int64()), "name": ["x"], "Level": [1]}))
    put(tmp_path / "b.parquet", pa.table({"id": pa.array([1], pa.int32()), "name": [2], "level": [1]}))
    with pytest.raises(SchemaError) as caught:
        convert(None, str(tmp_path))
    text = str(caught.value)
    assert "column id is int64 in a.parquet and int32 in b.parquet" in text
    assert "column name is string in a.parquet and int64 in b.parquet" in text
    assert "a.parquet has a column Level, and b.parquet has level" in text
    assert not (tmp_path / "_transaction_log").exists()


@pytest.mark.parametrize(
    "kind", [pa.decimal256(60, 2), pa.float16(), pa.timestamp("ns"), pa.list_(pa.timestamp("ns", "UTC"))], ids=str
)
def test_columns_that_spark_does_not_read_are_told(tmp_path: Path, kind: pa.DataType) -> None:
    put(tmp_path / "a.parquet", pa.table({"n": pa.array([None], kind), "id": [1]}))
    with pytest.raises(SchemaError, match=r"a\.parquet.*Spark does not"):
        convert(None, str(tmp_path))


def test_files_that_are_no_parquet_are_all_named(tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", ids(1))
    (tmp_path / "b.csv").write_text("id\n1\n")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(SplitCorruptionError, match=r"b\.csv: .*; empty: "):
        convert(None, str(tmp_path))


def test_hidden_files_are_passed_over_as_spark_does(tmp_path: Path) -> None:
    put(tmp_path / "_x=1/a.parquet", ids(1))
    for name in ("_SUCCESS", ".part.crc", "_temporary/0/x", ".hidden/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert convert(None, str(tmp_path)).files == 1


def test_a_directory_without_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").write_bytes(b"")
    with pytest.raises(SchemaError, match="no data files"):
        convert(None, str(tmp_path))


def test_tables_are_not_converted_again(tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", ids(1))
    convert(None, str(tmp_path))
    with pytest.raises(TableExistsError, match="a log with versions"):
        convert(None, str(tmp_path))


@pytest.mark.parametrize(
    "mark", ["_delta_log/00000000000000000000.json", ".hoodie/hoodie.properties", "metadata/v1.metadata.json"]
)
def test_tables_of_other_formats_are_refused(tmp_path: Path, mark: str) -> None:
    put(tmp_path / "a.parquet", ids(1))
    (tmp_path / mark).parent.mkdir(parents=True)
    (tmp_path / mark).write_text("{}")
    with pytest.raises(TableExistsError, match=r"Delta|Hudi|Iceberg"):
        convert(None, str(tmp_path))


def test_a_conversion_that_died_before_its_files_were_committed_can_be_repeated(tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", ids(1))
    Table(str(tmp_path)).log.initialize(pa.schema([("id", pa.int64())]))
    assert convert(None, str(tmp_path)).version == 1
    assert Table(str(tmp_path)).count() == 1


def test_files_that_change_meanwhile_are_noticed(tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", ids(1))

    class Busy(LocalStore):
        listings = 0

        def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
            if prefix == "":
                self.listings += 1
                put(tmp_path / f"new{self.listings}.parquet", ids(self.listings))
            return super().list_from(prefix, start_after)

    store = Busy(tmp_path)
    with pytest.raises(ConcurrentWriteError, match="came, went or changed"):
        convert_directory(store, TransactionLog(store), settings=Settings(), runtime=SYSTEM)
    assert not (tmp_path / "_transaction_log").exists()


def test_what_a_catalog_says_must_fit_the_files(tmp_path: Path) -> None:
    put(tmp_path / "p=1/a.parquet", pa.table({"ID": [1], "extra": ["x"], "kind": [1.5]}))
    schema = pa.schema([("later", pa.string()), ("id", pa.int64()), ("kind", pa.string()), ("p", pa.string())])
    store = LocalStore(tmp_path)
    with pytest.raises(SchemaError) as caught:
        convert_directory(
            store,
            TransactionLog(store),
            settings=Settings(),
            runtime=SYSTEM,
            declared=Declared(schema=schema, partition_columns=("p",)),
        )
    assert "column kind is string in the catalog and double in p=1/a.parquet" in str(caught.value)
    assert "column extra is in p=1/a.parquet and not in the catalog" in str(caught.value)


def test_a_catalog_decides_order_types_and_which_directories_count(tmp_path: Path) -> None:
    put(tmp_path / "p=1/a.parquet", pa.table({"ID": [1]}))
    put(tmp_path / "p=2/a.parquet", pa.table({"ID": [2]}))
    schema = pa.schema([("later", pa.string()), ("id", pa.int64()), ("p", pa.string())])
    store = LocalStore(tmp_path)
    convert_directory(
        store,
        TransactionLog(store),
        settings=Settings(),
        runtime=SYSTEM,
        declared=Declared(schema=schema, partition_columns=("p",), directories={"p=1"}),
    )
    assert Table(str(tmp_path)).to_arrow().to_pylist() == [{"later": None, "ID": 1, "p": "1"}]


def test_a_name_needs_a_session() -> None:
    with pytest.raises(EnvironmentSetupError, match="found through Spark"):
        convert(None, "some_table")


def test_nan_in_adopted_files_is_never_skipped(tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", pa.table({"x": [1.0, math.nan]}))
    convert(None, str(tmp_path))
    assert Table(str(tmp_path)).count(where="x > 5") == 1
