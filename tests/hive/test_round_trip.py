from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from indextables.hive import Lake, analyze, cleanup, compact, list_runs, recover, rollback
from tests.hive.tables import add_partition, create_table, fill, read_table


def test_a_flat_table_is_compacted_and_rolled_back_and_compacted_and_cleaned_up(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    place = str(tmp_path / "flat")
    name = f"{database}.flat"
    create_table(lake, name, place)
    fill(lake, place, files=20, rows=30)
    before = read_table(lake, name)
    original = sorted((one.name, one.stat().st_mtime_ns, one.stat().st_size) for one in Path(place).iterdir())

    report = analyze(lake, name)
    assert (report.files, report.target_files, report.needs_compaction) == (20, 1, True)

    result = compact(lake, name)
    assert (result.files_before, result.files_after, result.rows) == (20, 1, 600)
    assert [one.name for one in Path(place).iterdir()] == ["part-00000.parquet"]
    assert read_table(lake, name) == before
    assert not analyze(lake, name).needs_compaction
    assert recover(lake, table=name) == []

    rollback(lake, name)
    assert original == sorted((one.name, one.stat().st_mtime_ns, one.stat().st_size) for one in Path(place).iterdir())
    assert sorted(one.name for one in tmp_path.iterdir() if one.name.startswith("flat")) == ["flat"]

    second = compact(lake, name)
    assert [run.state for run in list_runs(lake, table=name)] == ["undone", "complete"]
    freed = cleanup(lake, name)
    assert freed.files == 20
    assert freed.directories == (f"file:{place}__old_{second.run}",)
    assert list_runs(lake, table=name) == []
    assert read_table(lake, name) == before


def test_a_partitioned_table_keeps_its_rows_through_every_command(lake: Lake, database: str, tmp_path: Path) -> None:
    place = f"file:{tmp_path}/events"
    name = f"{database}.events"
    table = create_table(lake, name, place, keys=[("date", "string")])
    for day in range(3):
        location = add_partition(lake, table, [f"2026-02-2{day}"])
        fill(lake, location, files=10, rows=10, start=day * 1000)
    before = read_table(lake, name)
    result = compact(lake, name)
    assert (result.files_before, result.files_after, result.rows) == (30, 3, 300)
    assert read_table(lake, name) == before
    rollback(lake, name)
    assert read_table(lake, name) == before
    assert analyze(lake, name).files == 30


def test_two_runs_within_one_second_are_cleaned_up_together(lake: Lake, database: str, tmp_path: Path) -> None:
    name = f"{database}.quick"
    create_table(lake, name, str(tmp_path / "quick"))
    fill(lake, str(tmp_path / "quick"), files=4, rows=3)
    now = lake.runtime.now_ms()
    still = replace(lake, runtime=replace(lake.runtime, now_ms=lambda: now))
    first = compact(still, name)
    rollback(still, name)
    second = compact(still, name)
    assert int(second.run or 0) == int(first.run or 0) + 1
    assert cleanup(still, name, older_than_ms=1000).runs == ()
    assert cleanup(still, name).runs == (first.run, second.run)
