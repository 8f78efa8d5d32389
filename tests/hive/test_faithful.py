"""Files come out as they went in: every type, value, name and rule of reading, or the run stops with nothing moved."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from indextables.errors import TableRefusedError, VerificationError
from indextables.hive import Lake, Options, compact, rollback
from tests.hive.tables import ORC, create_table, events, flat, values


def moment(*parts: int) -> dt.datetime:
    """Return a time of day and date without a zone, as timestamps in files are."""
    return dt.datetime(*parts, tzinfo=None)  # type: ignore[arg-type, misc]  # noqa: DTZ001 - that is what is meant


NESTED = pa.struct([("tags", pa.list_(pa.field("element", pa.string()))), ("props", pa.map_(pa.string(), pa.int32()))])
FAITHFUL: dict[str, tuple[pa.DataType, list[Any], dict[str, Any]]] = {
    "int96": (
        pa.timestamp("ns"),
        [moment(2020, 3, 29, 1, 59, 59, 999999), None, moment(1900, 1, 1)],
        {"use_deprecated_int96_timestamps": True},
    ),
    "int96 from year 1 to 9999": (
        pa.timestamp("us"),
        [moment(1, 1, 1), moment(1582, 10, 10), moment(9999, 12, 31, 23, 59, 59, 999999)],
        {"use_deprecated_int96_timestamps": True},
    ),
    "decimal in legacy form": (pa.decimal128(9, 2), [Decimal("1.25"), None, Decimal("-9999999.99")], {}),
    "decimal as integer": (
        pa.decimal128(18, 4),
        [Decimal("1.2500"), None, Decimal("-99999999999999.9999")],
        {"store_decimal_as_integer": True},
    ),
    "wide decimal": (pa.decimal128(38, 10), [Decimal("1.2500000000"), None, Decimal(10) ** 27], {}),
    "nested": (NESTED, [{"tags": ["a", None, ""], "props": {"k": 1}}, None, {"tags": None, "props": {}}], {}),
    "list named as Hive does": (
        pa.list_(pa.field("array_element", pa.int64())),
        [[1, 2], [], None],
        {"use_compliant_nested_type": False},
    ),
    "float with NaN and signed zero": (pa.float64(), [float("nan"), -0.0, 0.0], {}),
    "binary": (pa.binary(), [b"\x00\xff", None, b""], {}),
    "date": (pa.date32(), [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)], {}),
    "time": (pa.time64("us"), [dt.time(1, 2, 3, 4), None, dt.time(0)], {}),
    "timestamp in milliseconds": (pa.timestamp("ms"), [moment(2020, 1, 1), None, moment(1, 1, 1)], {}),
    "timestamp in UTC": (
        pa.timestamp("us", "UTC"),
        [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None, dt.datetime(1, 1, 1, tzinfo=dt.UTC)],
        {},
    ),
    "unsigned": (pa.uint32(), [0, None, 2**32 - 1], {}),
    "small": (pa.int8(), [-128, None, 127], {}),
    "boolean": (pa.bool_(), [True, None, False], {}),
}


def footers(place: str) -> list[tuple[str, str]]:
    """Return the physical schema and the writer of each file, as pyarrow prints them."""
    found = []
    for path in sorted(Path(place).glob("*.parquet")):
        file = pq.ParquetFile(path)
        schema = "\n".join(str(file.schema).splitlines()[2:])
        found.append((schema, str(file.metadata.created_by)))
    return found


@pytest.mark.parametrize("case", FAITHFUL)
def test_a_type_comes_out_as_it_went_in(lake: Lake, database: str, tmp_path: Path, case: str) -> None:
    kind, held, options = FAITHFUL[case]
    tables = [pa.table({"v": pa.array(held[index:] + held[:index], kind)}) for index in range(3)]
    name, place = flat(lake, database, tmp_path, tables, **options)
    unit = {"coerce_int96_timestamp_unit": "us"} if "int96" in case else {}
    before, shape = values(place, **unit), footers(place)[0]
    compact(lake, name)
    assert values(place, **unit) == before
    (after,) = footers(place)
    assert after[0] == shape[0]
    if "int96" in case:
        assert after[1] == shape[1]


def test_int96_keeps_the_name_of_the_program_that_decides_how_it_is_read(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    """Hive shifts INT96 by the time zone in files of parquet-mr, and in no others."""
    table = pa.table({"ts": pa.array([moment(2020, 1, 1)] * 3, pa.timestamp("ns"))})
    name, place = flat(lake, database, tmp_path, [table, table], use_deprecated_int96_timestamps=True)
    ours = pq.read_metadata(f"{place}/f0.parquet").created_by.encode()
    theirs = b"parquet-mr version 1.10.0 (buil"
    assert len(ours) == 32 or len(ours) != len(theirs)
    theirs = theirs.ljust(len(ours), b")")
    for path in Path(place).iterdir():
        path.write_bytes(path.read_bytes().replace(ours, theirs))
    assert footers(place)[0][1] == theirs.decode()
    compact(lake, name)
    ((_, writer),) = footers(place)
    assert writer == theirs.decode()


def test_int96_with_nanoseconds_is_kept_to_the_last_digit(lake: Lake, database: str, tmp_path: Path) -> None:
    table = pa.table({"ts": pa.array([1, 999, 1_577_836_800_123_456_789], pa.timestamp("ns"))})
    name, place = flat(lake, database, tmp_path, [table, table], use_deprecated_int96_timestamps=True)
    compact(lake, name)
    held = pq.read_table(f"{place}/part-00000.parquet")["ts"].cast(pa.int64()).to_pylist()
    assert sorted(held) == sorted([1, 999, 1_577_836_800_123_456_789] * 2)


def test_int96_that_no_unit_holds_is_refused(lake: Lake, database: str, tmp_path: Path) -> None:
    far = pa.table({"ts": pa.array([moment(9999, 1, 1)], pa.timestamp("us"))})
    fine = pa.table({"ts": pa.array([1], pa.timestamp("ns"))})
    name, place = flat(lake, database, tmp_path, [far, fine], use_deprecated_int96_timestamps=True)
    with pytest.raises(TableRefusedError, match="1677 to 2262"):
        compact(lake, name)
    assert len(list(Path(place).iterdir())) == 2


def test_no_statistics_are_written_from_which_nan_is_missing(lake: Lake, database: str, tmp_path: Path) -> None:
    tables = [pa.table({"with": [1.0, float("nan")], "without": [1.0, 2.0], "n": [1, 2]})] * 2
    name, place = flat(lake, database, tmp_path, tables)
    compact(lake, name)
    group = pq.read_metadata(f"{place}/part-00000.parquet").row_group(0)
    assert [group.column(index).is_stats_set for index in range(3)] == [False, True, True]


def test_files_with_uneven_schemas_are_merged_with_their_likes_only(lake: Lake, database: str, tmp_path: Path) -> None:
    old, new = pa.table({"id": [1, 2]}), pa.table({"id": [3], "added": ["x"]})
    name, place = flat(lake, database, tmp_path, [old, new, old, new, old])
    before = values(place)
    result = compact(lake, name)
    assert result.files_after == 2
    assert values(place) == before
    assert {tuple(pq.read_schema(path).names) for path in Path(place).iterdir()} == {("id",), ("id", "added")}
    rollback(lake, name)
    assert values(place) == before


def test_names_of_columns_keep_their_case_and_order(lake: Lake, database: str, tmp_path: Path) -> None:
    table = pa.table({"Select": [1], "from": [2], "ümlaut": [3], "a b": [4], "ID": [5]})
    name, place = flat(lake, database, tmp_path, [table, table])
    compact(lake, name)
    assert pq.read_schema(f"{place}/part-00000.parquet").names == ["Select", "from", "ümlaut", "a b", "ID"]


@pytest.mark.parametrize("arrow", [True, False])
def test_metadata_of_the_files_is_kept(lake: Lake, database: str, tmp_path: Path, arrow: bool) -> None:
    name, place = flat(lake, database, tmp_path, [])
    table = pa.table({"id": [1]})
    held = {b"org.apache.spark.legacyDateTime": b"", b"owner": b"me"}
    for index in range(2):
        with pq.ParquetWriter(f"{place}/f{index}.parquet", table.schema, store_schema=arrow) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata(held)
    compact(lake, name)
    metadata = pq.read_metadata(f"{place}/part-00000.parquet").metadata
    assert metadata.items() >= held.items()
    assert (b"ARROW:schema" in metadata) == arrow


def test_files_that_cannot_be_merged_are_not_rewritten_again_and_again(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    old, new = pa.table({"id": [1, 2]}), pa.table({"id": [3], "added": ["x"]})
    name, _ = flat(lake, database, tmp_path, [old, new, old])
    assert compact(lake, name).files_after == 2
    assert compact(lake, name).partitions == ()


@pytest.mark.parametrize(("codec", "expected"), [(None, "GZIP"), ("zstd", "ZSTD")])
def test_the_codec_is_kept_unless_another_is_asked_for(
    lake: Lake, database: str, tmp_path: Path, codec: str | None, expected: str
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)], compression="gzip")
    compact(lake, name, options=Options(codec=codec))
    assert pq.read_metadata(f"{place}/part-00000.parquet").row_group(0).column(0).compression == expected


def test_rows_are_sorted_when_asked(lake: Lake, database: str, tmp_path: Path) -> None:
    name, place = flat(lake, database, tmp_path, [events(50, 10), events(0, 10)])
    compact(lake, name, options=Options(sort_by=("ID",)))
    ids = pq.read_table(f"{place}/part-00000.parquet")["id"].to_pylist()
    assert ids == sorted(ids)
    assert len(ids) == 20


def test_a_large_partition_becomes_as_many_files_as_the_target_size_asks_for(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name, place = flat(lake, database, tmp_path, [events(index * 50, 50) for index in range(12)])
    before = values(place)
    total = sum(path.stat().st_size for path in Path(place).iterdir())
    result = compact(lake, name, options=Options(target_size=total // 3))
    assert result.files_after == len(list(Path(place).iterdir())) == 4
    assert values(place) == before


def test_orc_comes_out_as_it_went_in(lake: Lake, database: str, tmp_path: Path) -> None:
    place = tmp_path / "orc"
    table = create_table(lake, f"{database}.orc", str(place), formats=ORC)
    for index in range(3):
        rows = events(index * 10, 10).append_column("day", pa.array([dt.date(2020, 1, 1)] * 10))
        rows = rows.append_column("list", pa.array([[index, None]] * 10)).rename_columns(
            ["_col0", "_col1", "_col2", "_col3", "_col4"]
        )
        orc.write_table(rows, str(place / f"f{index}.orc"), compression="zlib")
    before = sorted(repr(row) for path in place.iterdir() for row in orc.read_table(str(path)).to_pylist())
    compact(lake, table.full_name)
    assert [path.name for path in place.iterdir()] == ["part-00000.orc"]
    held = orc.ORCFile(str(place / "part-00000.orc"))
    assert sorted(repr(row) for row in held.read().to_pylist()) == before
    assert held.schema.names == ["_col0", "_col1", "_col2", "_col3", "_col4"]
    assert held.compression == "ZLIB"


def test_a_hash_that_differs_is_a_verification_error_and_nothing_moves(
    lake: Lake, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    honest = pq.ParquetWriter.write_table

    def dishonest(self: Any, table: pa.Table, **options: Any) -> None:
        amounts = np.asarray(table["amount"]).copy()
        amounts[3] += 1e-9
        honest(self, table.set_column(2, "amount", pa.array(amounts)), **options)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", dishonest)
    with pytest.raises(VerificationError, match="the values of column amount differ"):
        compact(lake, name)
    assert len(list(Path(place).iterdir())) == 2
