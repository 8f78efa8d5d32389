"""Runs that point the Metastore at fresh directories instead of renaming: asked for by name, and as safe as the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indextables.errors import ConcurrentChangeError, ConfigError, RecoveryError, RollbackRefusedError
from indextables.hive import Lake, Options, cleanup, compact, doctor, list_runs, recover, rollback
from indextables.hive.find import find_table
from tests.hive.crashes import COMMANDS, Patient, kill_at_every_step
from tests.hive.tables import add_partition, create_table, events, fill, flat, read_table, values, write_parquet

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.metastore import MetastoreService

LOCATION = Options(swap="location")


def locations(lake: Lake, full_name: str) -> dict[str, str]:
    table = find_table(lake, full_name)
    held = lake.metastore.partitions(table, lake.metastore.partition_names(table))
    return {one.values[0]: one.location for one in held}


def partitioned(lake: Lake, database: str, tmp_path: Path) -> str:
    table = create_table(lake, f"{database}.p", f"{tmp_path}/p", keys=[("k", "string")])
    for index, value in enumerate(("a", "b")):
        place = f"{tmp_path}/far/b" if value == "b" else None
        fill(lake, add_partition(lake, table, [value], location=place), files=3, rows=4, start=100 * index)
    return table.full_name


def test_a_partitioned_table_is_switched_switched_again_and_cleaned_up(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name = partitioned(lake, database, tmp_path)
    before, old = read_table(lake, name), locations(lake, name)
    first = compact(lake, name, options=LOCATION)
    root = find_table(lake, name).location
    assert locations(lake, name) == {
        "a": f"{root}/_lakekeeper/{first.run}/k=a",
        "b": f"{old['b']}__compacted_{first.run}",
    }
    assert locations(lake, str(first.backup)) == old
    assert (first.files_before, first.files_after, first.longest_gap) == (6, 2, 0.0)
    assert read_table(lake, name) == read_table(lake, str(first.backup)) == before
    write_parquet(lake, f"{locations(lake, name)['a']}/more.parquet", events(500, 2))
    second = compact(lake, name, options=LOCATION)
    assert locations(lake, name)["a"] == f"{root}/_lakekeeper/{second.run}/k=a"
    assert read_table(lake, name).count == before.count + 2
    assert doctor(lake, table=name) == []
    assert cleanup(lake, name).files == 3 + 3 + 2
    left = {str(path.relative_to(tmp_path / "p")) for path in (tmp_path / "p").rglob("*.parquet")}
    assert left == {f"_lakekeeper/{second.run}/k=a/part-00000.parquet"}
    assert [path.name for path in (tmp_path / "p" / "_lakekeeper").iterdir()] == [second.run]
    assert sorted(path.name for path in (tmp_path / "far").iterdir()) == [f"b__compacted_{first.run}"]
    assert read_table(lake, name).count == before.count + 2


def test_a_cleanup_that_was_cut_off_between_two_directories_goes_on_with_the_other(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name = partitioned(lake, database, tmp_path)
    before, old = read_table(lake, name), locations(lake, name)
    run = compact(lake, name, options=LOCATION).run
    lake.systems.at(old["a"]).remove_tree(old["a"])
    assert cleanup(lake, name).runs == (run,)
    assert not any(lake.systems.at(place).is_directory(place) for place in old.values())
    assert read_table(lake, name) == before


def test_a_run_in_the_same_second_as_one_that_was_cleaned_up_takes_another_directory(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name = partitioned(lake, database, tmp_path)
    now = lake.runtime.now_ms()
    still = replace(lake, runtime=replace(lake.runtime, now_ms=lambda: now))
    first = compact(still, name, options=LOCATION)
    assert cleanup(still, name).runs == (first.run,)
    held = locations(still, name)
    for place in held.values():
        write_parquet(still, f"{place}/more.parquet", events(900, 2))
    before = read_table(still, name)
    second = compact(still, name, options=LOCATION)
    assert int(second.run or 0) == int(first.run or 0) + 1
    assert set(locations(still, name).values()).isdisjoint(held.values())
    assert read_table(still, name) == before


def test_a_flat_table_is_switched_and_switched_back(lake: Lake, database: str, tmp_path: Path) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    before, root = values(place), find_table(lake, name).location
    result = compact(lake, name, options=LOCATION)
    assert find_table(lake, name).location == f"{root}__compacted_{result.run}"
    assert values(f"{place}__compacted_{result.run}") == values(place) == before
    rollback(lake, name)
    assert find_table(lake, name).location == root
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("t")] == ["t"]
    assert cleanup(lake, name).directories == ()
    assert values(place) == before


@pytest.mark.parametrize("step", ["write replacements", "record replacements", "point table at "])
def test_a_file_that_a_writer_adds_is_never_lost(lake: Lake, database: str, tmp_path: Path, step: str) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    done: list[str] = []

    def on_step(reached: str) -> None:
        if reached.startswith(step) and not done:
            done.append(reached)
            write_parquet(lake, f"{place}/late.parquet", events(10, 3))

    with pytest.raises(ConcurrentChangeError, match="added, removed or rewritten"):
        compact(replace(lake, on_step=on_step), name, options=LOCATION)
    assert read_table(lake, name).count == 13
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("t")] == ["t"]


def test_files_newer_than_the_run_are_carried_back_only_when_told(lake: Lake, database: str, tmp_path: Path) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    result = compact(lake, name, options=LOCATION)
    write_parquet(lake, f"{place}__compacted_{result.run}/late.parquet", events(10, 3))
    with pytest.raises(RollbackRefusedError, match="newer than run"):
        rollback(lake, name)
    assert rollback(lake, name, keep_newer=True).carried == ("late.parquet",)
    assert read_table(lake, name).count == 13


def test_a_switch_of_a_dead_process_that_arrives_late_is_taken_back(lake: Lake, database: str, tmp_path: Path) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    result = compact(lake, name, options=LOCATION)
    switched = find_table(lake, name)
    rollback(lake, name)
    lake.metastore.alter(switched)
    assert [one.run for one in recover(lake, table=name)] == [result.run]
    assert Path(find_table(lake, name).location.removeprefix("file:")) == Path(place)
    assert recover(lake, table=name) == []


def test_a_table_that_somebody_points_elsewhere_is_left_alone(lake: Lake, database: str, tmp_path: Path) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    compact(lake, name, options=LOCATION)
    lake.metastore.alter(find_table(lake, name).changed(location=f"{tmp_path}/elsewhere"))
    with pytest.raises(RecoveryError, match=r"points at .*elsewhere"):
        rollback(lake, name)
    lake.metastore.alter(find_table(lake, name).changed(location=f"{place}/inner"))
    with pytest.raises(RecoveryError, match="or into it"):
        cleanup(lake, name)
    assert len(values(place)) == 10
    assert [run.state for run in list_runs(lake, table=name)] == ["complete"]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_every_step_of_a_switch(
    lake: Lake,
    metastore: MetastoreService,
    database: str,
    tmp_path: Path,
    command: str,
    record_property: Callable[[str, object], None],
) -> None:
    patient = Patient.make(lake, metastore, f"{database}.patient", f"file:{tmp_path}/place", swap="location")
    kills = kill_at_every_step(patient, command)
    record_property("lakekeeper: SIGKILLs at a step of a switch", kills)


def test_a_way_to_swap_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="rename or location"):
        Options(swap="copy")
