"""Runs that cannot be brought to an end as things are: each is refused with the directory named, and no row is lost."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indextables.errors import (
    CompactionError,
    ConcurrentChangeError,
    ConfigError,
    RecoveryError,
    RollbackRefusedError,
    StorageError,
    UnfinishedRunError,
)
from indextables.hive import Lake, compact, list_runs, recover, rollback
from indextables.hive.filesystem import FileSystems
from indextables.hive.find import find_table
from indextables.hive.local import LocalFileSystem
from tests.hive.moments import DiedError, acting, dying, tree
from tests.hive.tables import add_partition, create_table, events, fill, flat, read_table, values, write_parquet

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Scene:
    """A flat table of ten rows in two files, and the other names of its directory."""

    lake: Lake
    name: str
    live: Path
    rows: list[str]

    @property
    def run(self) -> str:
        return list_runs(self.lake, table=self.name)[-1].run

    @property
    def old(self) -> Path:
        return self.live.with_name(f"{self.live.name}__old_{self.run}")

    @property
    def staging(self) -> Path:
        return self.live.with_name(f"{self.live.name}__compact_tmp_{self.run}")

    def die(self, step: str) -> None:
        with pytest.raises(DiedError, match=step):
            compact(dying(self.lake, step), self.name)

    def write(self, name: str, number: int) -> None:
        """Add a file with one row."""
        write_parquet(self.lake, f"{self.live}/{name}", events(number, 1))

    def state(self) -> str:
        return list_runs(self.lake, table=self.name)[-1].state

    def seen(self) -> tuple[object, ...]:
        """Everything that a refusal leaves alone."""
        return tree(self.live.parent), list_runs(self.lake, table=self.name)

    def check(self, state: str) -> None:
        """The run has come to this end, and the table has the rows that it had, and nothing beside it."""
        assert self.state() == state
        assert values(str(self.live)) == self.rows
        assert [path.name for path in self.live.parent.iterdir() if path.name.startswith("t")] == ["t"]


@pytest.fixture
def scene(lake: Lake, database: str, tmp_path: Path) -> Scene:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    return Scene(lake, name, Path(place), values(place))


def test_a_rollback_waits_until_an_unfinished_run_is_recovered(scene: Scene) -> None:
    scene.die("rename to live")
    before = scene.seen()
    with pytest.raises(
        UnfinishedRunError, match=rf"run {scene.run} is unfinished \(state swapping\).*lakekeeper recover"
    ):
        rollback(scene.lake, scene.name)
    assert scene.seen() == before
    recover(scene.lake, table=scene.name)
    scene.check("undone")


def test_a_rollback_is_refused_once_somebody_has_deleted_the_original_files(scene: Scene) -> None:
    compact(scene.lake, scene.name)
    old = scene.old
    shutil.rmtree(old)
    before = scene.seen()
    with pytest.raises(RollbackRefusedError, match=f"original files of file:{scene.live} are no longer at file:{old}"):
        rollback(scene.lake, scene.name)
    assert scene.seen() == before
    scene.check("complete")


def test_only_the_newest_complete_run_is_rolled_back(scene: Scene) -> None:
    with pytest.raises(RollbackRefusedError, match=r"it has no complete run.*there is none"):
        rollback(scene.lake, scene.name)
    compact(scene.lake, scene.name)
    before = scene.seen()
    with pytest.raises(RollbackRefusedError, match=f"run 1 is not the newest complete run.*newest is {scene.run}"):
        rollback(scene.lake, scene.name, run="1")
    assert scene.seen() == before
    rollback(scene.lake, scene.name, run=scene.run)
    scene.check("undone")


@pytest.mark.parametrize("command", [recover, list_runs])
def test_a_table_and_a_database_are_not_named_together(scene: Scene, command: Callable[..., object]) -> None:
    scene.die("rename to live")
    before = scene.seen()
    with pytest.raises(CompactionError, match=r"both a table and a database are named\. Name one of them"):
        command(scene.lake, table=scene.name, database=scene.name.partition(".")[0])
    assert scene.seen() == before


def test_a_database_that_there_is_not_is_refused(scene: Scene) -> None:
    scene.die("rename to live")
    before = scene.seen()
    with pytest.raises(ConfigError, match="no_such_database"):
        recover(scene.lake, database="no_such_database")
    assert scene.seen() == before


@pytest.mark.parametrize("everything", [False, True])
def test_every_unfinished_run_is_recovered_where_no_table_is_named(scene: Scene, *, everything: bool) -> None:
    database = scene.name.partition(".")[0]
    other = f"{database}.other"
    create_table(scene.lake, other, f"{scene.live}_other")
    fill(scene.lake, f"{scene.live}_other", files=2, rows=3)
    rows = read_table(scene.lake, other)
    scene.die("rename to live")
    with pytest.raises(DiedError):
        compact(dying(scene.lake, "update statistics"), other)
    done = recover(scene.lake) if everything else recover(scene.lake, database=database)
    assert {(one.table, one.state) for one in done} >= {(scene.name, "undone"), (other, "complete")}
    assert read_table(scene.lake, other) == rows
    assert values(str(scene.live)) == scene.rows
    assert recover(scene.lake, database=database) == []


@pytest.mark.parametrize(
    ("step", "state", "files"),
    [("rename to live", "undone", 2), ("update statistics", "complete", 1)],
)
def test_a_run_of_a_table_that_was_dropped_meanwhile_comes_to_its_end(
    scene: Scene, step: str, state: str, files: int
) -> None:
    scene.die(step)
    table = find_table(scene.lake, scene.name)
    scene.lake.metastore.drop(table)
    told: list[str] = []
    lake = replace(scene.lake, on_swapped=lambda name, _: told.append(name))
    (done,) = recover(lake, table=scene.name)
    assert (done.found, done.state, scene.state()) == ("swapping", state, state)
    assert told == []
    assert values(str(scene.live)) == scene.rows
    assert len(list(scene.live.iterdir())) == files
    assert scene.old.exists() == (state == "complete")
    assert scene.lake.metastore.create(table)
    assert read_table(scene.lake, scene.name).count == 10


def test_nothing_is_put_back_while_one_directory_is_gone_with_its_original_files(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    table = create_table(lake, f"{database}.p", f"{tmp_path}/p", keys=[("d", "string")])
    for index, value in enumerate(("1", "2")):
        fill(lake, add_partition(lake, table, [value]), files=2, rows=3, start=100 * index)
    rows = read_table(lake, table.full_name)
    with pytest.raises(DiedError):
        compact(dying(lake, "rename to live: d=2"), table.full_name)
    (run,) = list_runs(lake, table=table.full_name)
    old, aside = tmp_path / "p" / f"d=2__old_{run.run}", tmp_path / "aside"
    old.rename(aside)
    before = tree(tmp_path)
    with pytest.raises(RecoveryError, match=r"/p/d=2: neither the directory nor its original files are there"):
        recover(lake, table=table.full_name)
    assert tree(tmp_path) == before
    assert list_runs(lake, table=table.full_name) == [run]
    aside.rename(old)
    assert [one.state for one in recover(lake, table=table.full_name)] == ["undone"]
    assert read_table(lake, table.full_name) == rows
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == ["d=1", "d=2"]


@pytest.mark.parametrize("which", ["old", "staging"])
def test_a_directory_of_the_run_inside_the_live_one_is_left_to_people(scene: Scene, which: str) -> None:
    compact(scene.lake, scene.name)
    inner = scene.live / getattr(scene, which).name
    inner.mkdir()
    before = scene.seen()
    with pytest.raises(RecoveryError, match=rf"file:{scene.live}: {inner.name} lies inside it"):
        rollback(scene.lake, scene.name)
    assert scene.seen() == before
    inner.rmdir()
    rollback(scene.lake, scene.name)
    scene.check("undone")


def test_a_replacement_is_kept_when_the_directory_vanishes_while_the_run_is_undone(scene: Scene) -> None:
    compact(scene.lake, scene.name)
    aside = scene.live.with_name("aside")
    with pytest.raises(RecoveryError, match=f"file:{scene.live}: the directory is gone, so its replacement is kept"):
        rollback(acting(scene.lake, "point backup at live", lambda: scene.live.rename(aside)), scene.name)
    assert values(str(scene.staging)) == values(str(aside)) == scene.rows
    assert scene.state() == "undoing"
    before = scene.seen()
    with pytest.raises(RecoveryError, match="neither the directory nor its original files"):
        recover(scene.lake, table=scene.name)
    assert scene.seen() == before
    aside.rename(scene.live)
    recover(scene.lake, table=scene.name)
    scene.check("undone")


def test_a_directory_that_vanishes_before_the_swap_stops_the_run_and_its_replacement_is_kept(scene: Scene) -> None:
    aside = scene.live.with_name("aside")
    with pytest.raises(ConcurrentChangeError, match=f"file:{scene.live} disappeared before the swap") as caught:
        compact(acting(scene.lake, "record replacements", lambda: scene.live.rename(aside)), scene.name)
    (note,) = caught.value.__notes__
    assert "neither the directory nor its original files are there" in note
    assert f"lakekeeper recover --table {scene.name}" in note
    assert values(str(scene.staging)) == values(str(aside)) == scene.rows
    aside.rename(scene.live)
    recover(scene.lake, table=scene.name)
    scene.check("undone")


def test_a_writer_that_makes_the_directory_anew_again_and_again_is_reported_and_loses_nothing(scene: Scene) -> None:
    scene.die("rename to live")
    written: list[int] = []

    def write() -> None:
        written.append(100 + len(written))
        scene.write(f"late-{len(written)}.parquet", written[-1])

    with pytest.raises(RecoveryError, match=f"file:{scene.live}: a writer makes it anew again and again"):
        recover(acting(scene.lake, "rename old to live", write, always=True), table=scene.name)
    scene.rows = sorted(scene.rows + [repr(row) for number in written for row in events(number, 1).to_pylist()])
    assert sorted(values(str(scene.live)) + values(str(scene.old))) == scene.rows
    recover(scene.lake, table=scene.name)
    scene.check("undone")


def test_a_file_that_finds_no_free_name_is_left_where_it_is_and_named(scene: Scene) -> None:
    scene.die("rename to live")
    written: list[int] = []

    def write() -> None:
        written.append(100 + len(written))
        scene.write("f0.parquet", written[-1])

    write()
    with pytest.raises(StorageError, match=f"cannot be moved to file:{scene.old}") as caught:
        recover(acting(scene.lake, "rename old to live", write, always=True), table=scene.name)
    assert f"{scene.live}/f0.parquet" in str(caught.value)
    scene.rows = sorted(scene.rows + [repr(row) for number in written for row in events(number, 1).to_pylist()])
    assert sorted(values(str(scene.live)) + values(str(scene.old))) == scene.rows
    (scene.live / "f0.parquet").rename(scene.live / "by-hand.parquet")
    recover(scene.lake, table=scene.name)
    scene.check("undone")


def test_a_file_that_comes_into_a_directory_that_was_just_emptied_is_carried_over_as_well(scene: Scene) -> None:
    class BusyDisk(LocalFileSystem):
        def remove_empty(self, location: str) -> bool:
            if not (scene.old / "second.parquet").exists():
                scene.write("second.parquet", 101)
            return super().remove_empty(location)

    scene.die("rename to live")
    scene.write("first.parquet", 100)
    disk = BusyDisk()
    busy = replace(scene.lake, systems=FileSystems({"file": lambda _: disk, "": lambda _: disk}))
    (done,) = recover(busy, table=scene.name)
    assert done.carried == ("first.parquet", "second.parquet")
    scene.rows = sorted(scene.rows + [repr(row) for row in events(100, 2).to_pylist()])
    scene.check("undone")
