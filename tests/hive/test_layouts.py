"""Odd partitions and directories: their rows, rights, statistics and hidden files are what they were."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from indextables.hive import Lake, Options, analyze, cleanup, compact, rollback
from indextables.hive.find import find_table
from tests.hive.tables import add_partition, create_table, events, fill, flat, read_table, write_parquet

if TYPE_CHECKING:
    from indextables.hive.model import HiveTable


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


def test_a_managed_table_is_compacted_and_its_backup_is_external(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.managed", f"{tmp_path}/database/managed", kind="MANAGED_TABLE")
    fill(lake, table.location, files=3, rows=2)
    result = compact(lake, table.full_name)
    assert find_table(lake, table.full_name).type == "MANAGED_TABLE"
    assert find_table(lake, str(result.backup)).type == "EXTERNAL_TABLE"
    rollback(lake, table.full_name)
