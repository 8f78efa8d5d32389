"""Odd tables: each is accepted with equal content, or refused with its reason before anything moved."""

from __future__ import annotations

import datetime as dt
import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from indextables.errors import RollbackRefusedError, TableRefusedError, VerificationError
from indextables.hive import Lake, Options, analyze, cleanup, compact, recover, rollback
from indextables.hive.eligible import refusals
from indextables.hive.plan import find_table
from tests.hive.tables import (
    ORC,
    TEXT,
    add_partition,
    create_table,
    events,
    fill,
    read_table,
    write_parquet,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from indextables.hive.model import HiveTable


def moment(*parts: int) -> dt.datetime:
    """Return a time of day and date without a zone, as timestamps in files are."""
    return dt.datetime(*parts, tzinfo=None)  # type: ignore[arg-type, misc]  # noqa: DTZ001 - that is what is meant


NASTY = [
    "a=b",
    "a/b",
    "100%",
    "O'Neil",
    'say "hi"',
    "two words",
    "größe",
    "日本",
    "x%2Fy",
    "a:b",
    "..",
    "{[^]}",
    "tab\there",
]
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


def flat(lake: Lake, database: str, tmp_path: Path, tables: Sequence[pa.Table], **options: Any) -> tuple[str, str]:
    place = f"{tmp_path}/t"
    create_table(lake, f"{database}.t", place)
    for index, table in enumerate(tables):
        write_parquet(lake, f"{place}/f{index}.parquet", table, **options)
    return f"{database}.t", place


def values(place: str, **options: Any) -> list[str]:
    found = []
    for path in sorted(Path(place).glob("*.parquet")):
        found += [repr(row) for row in pq.ParquetFile(path, **options).read().to_pylist()]
    return sorted(found)


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


def test_nasty_partition_values(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.nasty", f"{tmp_path}/nasty", keys=[("k", "string"), ("n", "int")])
    for index, value in enumerate([*NASTY, "__HIVE_DEFAULT_PARTITION__"]):
        fill(lake, add_partition(lake, table, [value, str(index)]), files=2, rows=2, start=index * 10)
    before = read_table(lake, table.full_name)
    assert before.count == 4 * (len(NASTY) + 1)
    result = compact(lake, table.full_name)
    assert result.files_after == len(NASTY) + 1
    assert read_table(lake, table.full_name) == before
    rollback(lake, table.full_name)
    assert read_table(lake, table.full_name) == before


@pytest.mark.parametrize(
    ("kind", "held"),
    [("int", "7"), ("date", "2026-02-23"), ("timestamp", "2026-02-23 10:00:00"), ("decimal(5,2)", "1.50")],
)
def test_typed_partition_keys(lake: Lake, database: str, tmp_path: Path, kind: str, held: str) -> None:
    table = create_table(lake, f"{database}.typed", f"{tmp_path}/typed", keys=[("k", kind)])
    fill(lake, add_partition(lake, table, [held]), files=3, rows=2)
    before = read_table(lake, table.full_name)
    compact(lake, table.full_name)
    assert read_table(lake, table.full_name) == before


def test_a_partition_outside_the_root(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.far", f"{tmp_path}/far", keys=[("k", "string")])
    fill(lake, add_partition(lake, table, ["1"], location=f"{tmp_path}/elsewhere/one"), files=3, rows=2)
    before = read_table(lake, table.full_name)
    result = compact(lake, table.full_name)
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == ["one", f"one__old_{result.run}"]
    assert read_table(lake, table.full_name) == before
    assert cleanup(lake, table.full_name).files == 3


def test_empty_partitions_and_empty_files_are_no_trouble(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.empty", f"{tmp_path}/empty", keys=[("k", "string")])
    add_partition(lake, table, ["nothing"])
    place = add_partition(lake, table, ["something"])
    fill(lake, place, files=2, rows=2)
    write_parquet(lake, f"{place}/no_rows.parquet", events(0, 0))
    Path(place.removeprefix("file:")).joinpath("zero_bytes.parquet").touch()
    gone = add_partition(lake, table, ["gone"])
    Path(gone.removeprefix("file:")).rmdir()
    before = read_rows_of(lake, table, "k=something")
    result = compact(lake, table.full_name)
    assert (result.files_before, result.files_after, result.rows) == (3, 1, 4)
    assert read_rows_of(lake, table, "k=something") == before


def read_rows_of(lake: Lake, table: HiveTable, name: str) -> list[str]:
    (partition,) = lake.metastore.partitions(table, [name])
    paths = Path(partition.location.removeprefix("file:")).glob("*.parquet")
    return sorted(repr(row) for path in paths if path.stat().st_size for row in pq.read_table(path).to_pylist())


def test_hidden_files_are_not_data_and_are_kept(lake: Lake, database: str, tmp_path: Path) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    (Path(place) / "_SUCCESS").touch()
    (Path(place) / "_note.txt").write_text("keep me")
    (Path(place) / "_metadata").write_text("stale from now on")
    (Path(place) / ".hive-staging_1").mkdir()
    (Path(place) / ".hive-staging_1" / "part.parquet").write_text("not data")
    compact(lake, name)
    assert sorted(path.name for path in Path(place).iterdir()) == ["_SUCCESS", "_note.txt", "part-00000.parquet"]
    assert (Path(place) / "_note.txt").read_text() == "keep me"
    rollback(lake, name)
    assert len(list(Path(place).iterdir())) == 6


def test_rights_are_those_of_what_was_replaced(lake: Lake, database: str, tmp_path: Path) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    for path in Path(place).iterdir():
        path.chmod(0o640)
    Path(place).chmod(0o2750)
    os.setxattr(place, "user.classification", b"secret")
    if os.geteuid() == 0:
        os.chown(place, 12345, 54321)
    before = lake.systems.at(place).security(place)
    compact(lake, name)
    assert lake.systems.at(place).security(place) == before
    assert (Path(place) / "part-00000.parquet").stat().st_mode & 0o777 == 0o640


def test_statistics_are_right_after_the_swap_and_what_they_were_after_rollback(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    table = create_table(lake, f"{database}.stats", f"{tmp_path}/stats", keys=[("k", "string")])
    for value, rows in (("true", 10), ("stale", 10)):
        place = add_partition(lake, table, [value])
        fill(lake, place, files=2, rows=rows // 2)
        (held,) = lake.metastore.partitions(table, [f"k={value}"])
        figures = {"numFiles": "2", "totalSize": "123", "numRows": "10" if value == "true" else "11"}
        figures |= {"COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}', "rawDataSize": "30", "mine": "kept"}
        lake.metastore.alter_partitions(table, [held.changed(parameters=figures)])
    before = [held.parameters for held in lake.metastore.partitions(table, ["k=stale", "k=true"])]
    compact(lake, table.full_name)
    stale, true = (held.parameters for held in lake.metastore.partitions(table, ["k=stale", "k=true"]))
    size = (tmp_path / "stats" / "k=true" / "part-00000.parquet").stat().st_size
    assert true.items() >= {"numFiles": "1", "totalSize": str(size), "numRows": "10", "mine": "kept"}.items()
    assert "COLUMN_STATS_ACCURATE" in true
    assert stale["numFiles"] == "1"
    assert not {"numRows", "COLUMN_STATS_ACCURATE"} & stale.keys()
    rollback(lake, table.full_name)
    assert [held.parameters for held in lake.metastore.partitions(table, ["k=stale", "k=true"])] == before


def test_statistics_of_a_flat_table(lake: Lake, database: str, tmp_path: Path) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    held = find_table(lake, name)
    lake.metastore.alter(held.changed(parameters=held.parameters | {"numFiles": "2", "totalSize": "1"}))
    compact(lake, name)
    after = find_table(lake, name).parameters
    assert after["numFiles"] == "1"
    assert after["totalSize"] == str((Path(place) / "part-00000.parquet").stat().st_size)
    rollback(lake, name)
    assert find_table(lake, name).parameters["numFiles"] == "2"


def test_hidden_staging_puts_nothing_beside_partitions(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.tidy", f"{tmp_path}/tidy", keys=[("a", "string"), ("b", "string")])
    for value in ("1", "2"):
        fill(lake, add_partition(lake, table, ["x", value]), files=3, rows=2)
    before = read_table(lake, table.full_name)
    result = compact(lake, table.full_name, options=Options(staging="hidden"))
    root = tmp_path / "tidy"
    assert sorted(path.name for path in (root / "a=x").iterdir()) == ["b=1", "b=2"]
    assert (root / "_lakekeeper" / str(result.run) / "a=x" / f"b=1__old_{result.run}").is_dir()
    assert read_table(lake, table.full_name) == before
    rollback(lake, table.full_name)
    assert sorted(path.name for path in root.iterdir()) == ["a=x"]
    assert read_table(lake, table.full_name) == before
    compact(lake, table.full_name, options=Options(staging="hidden"))
    assert cleanup(lake, table.full_name).files == 6
    assert sorted(path.name for path in root.iterdir()) == ["a=x"]


def test_a_backup_of_a_table_with_a_longer_name_is_not_taken_for_ones_own(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    for name in ("events", "events_archive"):
        create_table(lake, f"{database}.{name}", f"{tmp_path}/{name}")
        fill(lake, f"{tmp_path}/{name}", files=3, rows=2)
        compact(lake, f"{database}.{name}")
    assert len(cleanup(lake, f"{database}.events").runs) == 1
    rollback(lake, f"{database}.events_archive")
    assert analyze(lake, f"{database}.events_archive").files == 3
    assert analyze(lake, f"{database}.events").files == 1


def test_a_backup_of_an_earlier_table_of_the_same_name_is_not_rolled_back_to(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    compact(lake, name)
    (run,) = list(lake.metastore.tables(database, lake.metastore.table_names(database, like="__bkp_*")))
    changed = run.changed(parameters=run.parameters | {"lakekeeper.source.created": "1"})
    lake.metastore.alter(changed)
    with pytest.raises(RollbackRefusedError, match="earlier table"):
        rollback(lake, name)
    assert len(list(Path(place).iterdir())) == 1


def test_cleanup_keeps_young_runs_and_deletes_nothing_in_a_dry_run(lake: Lake, database: str, tmp_path: Path) -> None:
    name, _place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    compact(lake, name)
    assert cleanup(lake, name, older_than_ms=3_600_000).runs == ()
    planned = cleanup(lake, name, dry_run=True)
    assert Path(planned.directories[0].removeprefix("file:")).is_dir()
    assert planned.files == 2


def test_cleanup_follows_no_link_and_touches_nothing_that_only_looks_like_a_backup(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    result = compact(lake, name)
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "gold").touch()
    (Path(f"{place}__old_{result.run}") / "link").symlink_to(treasure)
    twin = Path(f"{place}__old_1234567890")
    twin.mkdir()
    (twin / "not-ours").touch()
    cleanup(lake, name)
    assert (treasure / "gold").exists()
    assert (twin / "not-ours").exists()
    assert not Path(f"{place}__old_{result.run}").exists()


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


def orc_timestamps(lake: Lake, full_name: str, place: Path) -> None:
    create_table(lake, full_name, str(place), formats=ORC, columns=[("ts", "timestamp")])
    for index in range(2):
        orc.write_table(pa.table({"ts": pa.array([0], pa.timestamp("ns"))}), str(place / f"{index}.orc"))


def orc_varchar(lake: Lake, full_name: str, place: Path) -> None:
    create_table(lake, full_name, str(place), formats=ORC, columns=[("v", "varchar(3)")])


def with_parameters(**parameters: str) -> Callable[[Lake, str, Path], None]:
    def make(lake: Lake, full_name: str, place: Path) -> None:
        held = {key.replace("__", "."): value for key, value in parameters.items()}
        table = create_table(lake, full_name, str(place))
        fill(lake, str(place), files=3, rows=2)
        lake.metastore.alter(table.changed(parameters=table.parameters | held))

    return make


def made_with(**options: Any) -> Callable[[Lake, str, Path], None]:
    def make(lake: Lake, full_name: str, place: Path) -> None:
        create_table(lake, full_name, str(place), **options)
        fill(lake, str(place), files=3, rows=2)

    return make


def with_content(relative: str, *, link: bool = False) -> Callable[[Lake, str, Path], None]:
    def make(lake: Lake, full_name: str, place: Path) -> None:
        made_with()(lake, full_name, place)
        path = place / relative
        path.parent.mkdir(exist_ok=True)
        if link:
            path.symlink_to(place / "part-00000.parquet")
        else:
            path.write_bytes((place / "part-00000.parquet").read_bytes())

    return make


def shared(lake: Lake, full_name: str, place: Path) -> None:
    made_with()(lake, full_name, place)
    create_table(lake, f"{full_name}_twin", str(place))


def nested_in_another(lake: Lake, full_name: str, place: Path) -> None:
    made_with()(lake, full_name, place)
    create_table(lake, f"{full_name}_outer", str(place.parent))


def linked(lake: Lake, full_name: str, place: Path) -> None:
    real = place.parent / "real"
    real.mkdir(parents=True)
    place.symlink_to(real)
    made_with()(lake, full_name, place)


def two_level_list(lake: Lake, full_name: str, place: Path) -> None:
    """Lists as old Avro and Thrift writers made them, taken from a real footer: the repeated field is the element."""
    made_with()(lake, full_name, place)
    table = pa.table({"v": pa.array([[1]], pa.list_(pa.int32()))})
    for index in range(2):
        write_parquet(lake, f"{place}/l{index}.parquet", table, use_compliant_nested_type=False)


REFUSED: dict[str, tuple[Callable[[Lake, str, Path], None], str]] = {
    "text": (made_with(formats=TEXT), "neither Parquet nor ORC"),
    "bucketed": (made_with(buckets=4, bucket_columns=["id"]), "bucketed"),
    "bucketed by Spark": (with_parameters(spark__sql__sources__schema__numBuckets="4"), "bucketed"),
    "Iceberg": (with_parameters(table_type="ICEBERG"), "iceberg"),
    "Delta": (with_parameters(spark__sql__sources__provider="delta"), "delta"),
    "Hudi": (with_parameters(spark__sql__sources__provider="hudi"), "hudi"),
    "a storage handler": (with_parameters(storage_handler="org.hbase.Handler"), "storage handler"),
    "a Delta log without a property": (with_content("_delta_log/0.parquet"), "another table format"),
    "a shared location": (shared, "shares its files"),
    "a location inside another table": (nested_in_another, "shares its files"),
    "data in a subdirectory": (with_content("HIVE_UNION_SUBDIR_1/000000_0"), "subdirectory"),
    "partition directories in a flat table": (with_content("date=2020-01-01/f.parquet"), "subdirectory"),
    "a linked file": (with_content("link.parquet", link=True), "symbolic link"),
    "a linked directory": (linked, "symbolic link"),
    "partition discovery by Hive": (with_parameters(discover__partitions="true"), "discovers its partitions"),
    "ORC timestamps": (orc_timestamps, "time zone"),
    "ORC varchar": (orc_varchar, "varchar"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_reason_and_nothing_moved(lake: Lake, database: str, tmp_path: Path, case: str) -> None:
    make, reason = REFUSED[case]
    place = tmp_path / "home" / "t"
    make(lake, f"{database}.t", place)
    before = sorted(str(path) for path in (tmp_path / "home").rglob("*"))
    with pytest.raises(TableRefusedError, match=reason):
        compact(lake, f"{database}.t")
    assert sorted(str(path) for path in (tmp_path / "home").rglob("*")) == before
    assert recover(lake, table=f"{database}.t") == []


@pytest.mark.parametrize(
    ("parameters", "location", "reason"),
    [
        ({"transactional": "true"}, None, "transactional"),
        ({"transactional": "true", "transactional_properties": "insert_only"}, None, "transactional"),
        ({}, "s3a://bucket/table", "cannot be renamed in one step"),
        ({"lakekeeper.run": "1"}, None, "a backup"),
    ],
)
def test_refused_for_what_the_metastore_says(
    lake: Lake, database: str, tmp_path: Path, parameters: dict[str, str], location: str | None, reason: str
) -> None:
    table = create_table(lake, f"{database}.t", f"{tmp_path}/t")
    assert refusals(lake, table) == []
    changed = table.changed(parameters=table.parameters | parameters, location=location)
    assert any(reason in text for text in refusals(lake, changed))


def test_a_view_is_refused(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.v", f"{tmp_path}/v", kind="VIRTUAL_VIEW")
    with pytest.raises(TableRefusedError, match="view"):
        compact(lake, table.full_name)


def test_partitions_that_share_or_contain_one_another_are_refused(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.odd", f"{tmp_path}/odd", keys=[("k", "string")])
    place = add_partition(lake, table, ["1"])
    fill(lake, place, files=2, rows=1)
    add_partition(lake, table, ["2"], location=place)
    with pytest.raises(TableRefusedError, match="share the location"):
        compact(lake, table.full_name)


def test_int96_that_no_unit_holds_is_refused(lake: Lake, database: str, tmp_path: Path) -> None:
    far = pa.table({"ts": pa.array([moment(9999, 1, 1)], pa.timestamp("us"))})
    fine = pa.table({"ts": pa.array([1], pa.timestamp("ns"))})
    name, place = flat(lake, database, tmp_path, [far, fine], use_deprecated_int96_timestamps=True)
    with pytest.raises(TableRefusedError, match="1677 to 2262"):
        compact(lake, name)
    assert len(list(Path(place).iterdir())) == 2


def test_a_managed_table_is_compacted_and_its_backup_is_external(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.managed", f"{tmp_path}/database/managed", kind="MANAGED_TABLE")
    fill(lake, table.location, files=3, rows=2)
    result = compact(lake, table.full_name)
    assert find_table(lake, table.full_name).type == "MANAGED_TABLE"
    assert find_table(lake, str(result.backup)).type == "EXTERNAL_TABLE"
    rollback(lake, table.full_name)


def test_only_the_partitions_that_were_asked_for(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.some", f"{tmp_path}/some", keys=[("d", "string"), ("n", "int")])
    for day in ("2026-02-01", "2026-02-02"):
        for number in ("9", "10"):
            fill(lake, add_partition(lake, table, [day, number]), files=2, rows=1)
    assert len(compact(lake, table.full_name, partitions=["d=2026-02-01/n=9"]).partitions) == 1
    assert len(compact(lake, table.full_name, where="d = '2026-02-02' AND n > 9").partitions) == 1
    assert [one.name for one in analyze(lake, table.full_name).partitions if one.needs_compaction] == [
        "d=2026-02-01/n=10",
        "d=2026-02-02/n=9",
    ]


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
