"""Somebody writes to the table while it is compacted: no row is lost, whenever it happens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from indextables.errors import (
    ConcurrentChangeError,
    RecoveryError,
    RollbackRefusedError,
    TableRefusedError,
    UnfinishedRunError,
)
from indextables.hive import Lake, compact, list_runs, recover, rollback
from tests.hive.tables import add_partition, create_table, events, fill, read_table, write_parquet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NEW = events(9000, 5)


@dataclass
class Scene:
    """A table with two partitions, and somebody who does something before a given step."""

    lake: Lake
    name: str
    first: Path
    second: Path

    def during(self, step: str, act: Callable[[], None]) -> Lake:
        done: list[str] = []

        def on_step(reached: str) -> None:
            if reached == step and not done:
                done.append(step)
                act()

        return replace(self.lake, threads=1, on_step=on_step)

    def append(self, name: str = "part-99999.parquet") -> None:
        write_parquet(self.lake, f"{self.first}/{name}", NEW)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.first.parent.iterdir())


@pytest.fixture
def scene(lake: Lake, database: str, tmp_path: Path) -> Scene:
    name = f"{database}.busy"
    table = create_table(lake, name, f"{tmp_path}/busy", keys=[("d", "string")])
    for index, value in enumerate(("1", "2")):
        fill(lake, add_partition(lake, table, [value]), files=4, rows=5, start=100 * index)
    return Scene(lake, name, tmp_path / "busy" / "d=1", tmp_path / "busy" / "d=2")


def rows_with_new(before: dict[str, list[tuple[object, ...]]]) -> dict[str, list[tuple[object, ...]]]:
    new = [tuple(row.values()) for row in NEW.to_pylist()]
    return {**before, "d=1": sorted([*before["d=1"], *new], key=repr)}


@pytest.mark.parametrize("step", ["write replacements", "restore rights"])
def test_a_file_appended_before_the_swap_stops_the_run_with_nothing_moved(scene: Scene, step: str) -> None:
    before = read_table(scene.lake, scene.name).rows
    with pytest.raises(ConcurrentChangeError, match="added, removed or rewritten"):
        compact(scene.during(step, scene.append), scene.name)
    assert read_table(scene.lake, scene.name).rows == rows_with_new(before)
    assert scene.names() == ["d=1", "d=2"]
    assert [run.state for run in list_runs(scene.lake, table=scene.name)] == ["undone"]


def test_a_file_removed_while_others_are_read_stops_the_run(scene: Scene) -> None:
    with pytest.raises(ConcurrentChangeError, match="disappeared"):
        compact(scene.during("write replacements", (scene.first / "part-00002.parquet").unlink), scene.name)
    assert read_table(scene.lake, scene.name).count == 35
    assert scene.names() == ["d=1", "d=2"]


def test_a_file_rewritten_with_the_same_length_stops_the_run(scene: Scene) -> None:
    target = scene.second / "part-00001.parquet"

    def rewrite() -> None:
        data = target.read_bytes()
        target.unlink()
        target.write_bytes(data)

    with pytest.raises(ConcurrentChangeError, match="d=2"):
        compact(scene.during("restore rights", rewrite), scene.name)
    assert scene.names() == ["d=1", "d=2"]


def test_a_file_appended_right_before_the_first_rename_is_found_in_what_was_renamed(scene: Scene) -> None:
    before = read_table(scene.lake, scene.name).rows
    with pytest.raises(ConcurrentChangeError, match="during the swap"):
        compact(scene.during("rename to old: d=1", scene.append), scene.name)
    assert read_table(scene.lake, scene.name).rows == rows_with_new(before)
    assert scene.names() == ["d=1", "d=2"]


@pytest.mark.parametrize("step", ["point backup at old: d=1", "rename to live: d=1"])
@pytest.mark.parametrize("name", ["part-99999.parquet", "part-00000.parquet"])
def test_a_writer_that_makes_the_directory_anew_between_the_renames_keeps_its_file(
    scene: Scene, step: str, name: str
) -> None:
    before = read_table(scene.lake, scene.name).rows
    with pytest.raises(ConcurrentChangeError, match="anew"):
        compact(scene.during(step, lambda: scene.append(name)), scene.name)
    assert read_table(scene.lake, scene.name).rows == rows_with_new(before)
    assert scene.names() == ["d=1", "d=2"]


def test_a_file_appended_after_its_partition_was_swapped_stays_when_the_run_succeeds(scene: Scene) -> None:
    before = read_table(scene.lake, scene.name).rows
    compact(scene.during("rename to old: d=2", scene.append), scene.name)
    assert read_table(scene.lake, scene.name).rows == rows_with_new(before)
    assert sorted(path.name for path in scene.first.iterdir()) == ["part-00000.parquet", "part-99999.parquet"]


def test_a_file_appended_after_its_partition_was_swapped_is_carried_over_when_the_run_is_undone(scene: Scene) -> None:
    before = read_table(scene.lake, scene.name).rows

    def append_and_fail() -> None:
        scene.append()
        raise OSError("the network is gone")

    with pytest.raises(OSError, match="network"):
        compact(scene.during("rename to live: d=2", append_and_fail), scene.name)
    assert read_table(scene.lake, scene.name).rows == rows_with_new(before)
    assert len(list(scene.first.glob("*.parquet"))) == 5
    assert scene.names() == ["d=1", "d=2"]


def test_rollback_refuses_to_lose_newer_files_and_carries_them_when_told(scene: Scene) -> None:
    before = read_table(scene.lake, scene.name).rows
    compact(scene.lake, scene.name)
    scene.append()
    with pytest.raises(RollbackRefusedError, match="part-99999"):
        rollback(scene.lake, scene.name)
    assert [run.state for run in list_runs(scene.lake, table=scene.name)] == ["complete"]
    result = rollback(scene.lake, scene.name, keep_newer=True)
    assert result.carried == ("d=1/part-99999.parquet",)
    assert read_table(scene.lake, scene.name).rows == rows_with_new(before)


def test_rollback_refuses_when_a_partition_was_overwritten_since(scene: Scene) -> None:
    compact(scene.lake, scene.name)
    (scene.first / "part-00000.parquet").unlink()
    scene.append()
    state = read_table(scene.lake, scene.name)
    with pytest.raises(RecoveryError, match="removed or rewritten"):
        rollback(scene.lake, scene.name, keep_newer=True)
    assert read_table(scene.lake, scene.name) == state


def test_a_file_that_is_still_being_written_is_named(scene: Scene) -> None:
    (scene.first / "part-00003.parquet").write_bytes(b"PAR1 and no footer yet")
    with pytest.raises(TableRefusedError, match=r"part-00003\.parquet is not a whole Parquet file"):
        compact(scene.lake, scene.name)
    assert scene.names() == ["d=1", "d=2"]


def test_the_second_partition_fails_after_the_first_was_swapped(scene: Scene) -> None:
    before = read_table(scene.lake, scene.name)

    def fail() -> None:
        assert sorted(path.name for path in scene.first.iterdir()) == ["part-00000.parquet"]
        assert not scene.second.exists()
        raise OSError("HDFS error")

    with pytest.raises(OSError, match="HDFS error"):
        compact(scene.during("rename to live: d=2", fail), scene.name)
    assert scene.names() == ["d=1", "d=2"]
    assert [len(list(place.iterdir())) for place in (scene.first, scene.second)] == [4, 4]
    assert read_table(scene.lake, scene.name) == before
    (run,) = list_runs(scene.lake, table=scene.name)
    assert run.state == "undone"
    assert read_table(scene.lake, run.backup) == before
    assert recover(scene.lake, table=scene.name) == []


def test_an_interrupt_puts_everything_back(scene: Scene) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    before = read_table(scene.lake, scene.name)
    with pytest.raises(KeyboardInterrupt):
        compact(scene.during("rename to live: d=2", interrupt), scene.name)
    assert read_table(scene.lake, scene.name) == before
    assert scene.names() == ["d=1", "d=2"]


def test_two_runs_of_one_table_do_not_overlap(scene: Scene) -> None:
    def compact_too() -> None:
        with pytest.raises(UnfinishedRunError, match="lakekeeper recover"):
            compact(scene.lake, scene.name)

    result = compact(scene.during("write replacements", compact_too), scene.name)
    assert result.files_after == 2


def test_runs_that_begin_at_the_same_time_leave_the_table_to_at_most_one(scene: Scene) -> None:
    outcomes: list[str] = []

    def compact_too() -> None:
        outcomes.append(str(compact(scene.lake, scene.name).run))

    before = read_table(scene.lake, scene.name)
    with pytest.raises((ConcurrentChangeError, UnfinishedRunError)):
        compact(scene.during("create backup table", compact_too), scene.name)
    assert len(outcomes) == 1
    assert read_table(scene.lake, scene.name) == before


def test_a_directory_that_nobody_can_explain_is_left_alone_and_reported(scene: Scene) -> None:
    compact(scene.lake, scene.name)
    (run,) = list_runs(scene.lake, table=scene.name)
    (scene.first.parent / f"d=1__compact_tmp_{run.run}").mkdir()
    before = scene.names()
    with pytest.raises(RecoveryError):
        rollback(scene.lake, scene.name)
    assert scene.names() == before
