"""Purging: what goes, what stays and why, and that no version that can be loaded ever loses a file."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import uuid
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pytest

from indextables.config import Settings
from indextables.errors import (
    ConfigError,
    IndexTablesError,
    LogCorruptionError,
    StorageError,
    StorageUnavailableError,
    TableNotFoundError,
)
from indextables.log.actions import Add
from indextables.log.layout import commit_path
from indextables.spark.purge import purge
from indextables.storage.retry import RetryingStore, RetryPolicy
from indextables.table import Table
from indextables.table.purging import PurgeResult, parse_age, purge_files
from indextables.table.store_files import list_data_files
from indextables.testing.faulty import ALL, Crash, FaultKind, FaultStore, sweep
from indextables.testing.models import S3Model
from indextables.testing.virtual import EPOCH_MS, virtual_runtime
from tests.support.effort import EFFORT
from tests.support.logs import WatchedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from indextables.runtime import Runtime
    from indextables.storage.base import ObjectMeta, Store
    from indextables.testing.faults import Mode

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
SHORT_LOG = {
    "spark.indextables.logRetention.duration": "1d",
    "spark.indextables.checkpoint.retention": 0,
    "spark.indextables.checkpoint.interval": 1_000_000,
}


class World:
    """A table in memory, and one clock for everybody."""

    def __init__(self, **options: Any) -> None:
        self.now = EPOCH_MS
        self.model = S3Model(now_ms=lambda: self.now)
        self.runtime = dataclasses.replace(virtual_runtime(3), now_ms=lambda: self.now)
        self.settings = Settings.resolve(options)
        self.table = self.open()

    def retrying(self, store: Store | None) -> Store:
        return RetryingStore(store or self.model, policy=RetryPolicy(attempts=3), runtime=self.runtime)

    def open(self, store: Store | None = None) -> Table:
        return Table.at_store(self.retrying(store), settings=self.settings, runtime=self.runtime)

    def commit(self, path: str) -> int:
        """Commit a file that is there already, as a writer does that took long."""
        known = next(action for action in self.table.log.read_version(1) if isinstance(action, Add))
        return self.table.log.add_files([msgspec.structs.replace(known, path=path)]).version

    def wait(self, days: float) -> None:
        self.now += int(days * DAY_MS)

    def leave(self, path: str) -> str:
        self.model.put(path, b"left behind")
        return path

    def purge(
        self, store: Store | None = None, *, dry_run: bool = False, runtime: Runtime | None = None
    ) -> PurgeResult:
        return purge_files(
            self.retrying(store),
            settings=self.settings,
            runtime=runtime or self.runtime,
            older_than_ms=WEEK_MS,
            dry_run=dry_run,
        )

    def append(self, *ids: int) -> None:
        self.table.append(pa.table({"id": list(ids)}))

    def splits(self) -> set[str]:
        return {path for path in self.model.tree() if path.endswith(".split")}


def split(directory: str = "") -> str:
    return f"{directory}{uuid.uuid4()}.split"


def paths(result: PurgeResult) -> list[str]:
    return sorted(result.files["path"].to_pylist())


def test_leftovers_of_dead_writers_go_when_they_are_old() -> None:
    world = World()
    world.append(1)
    run = uuid.uuid4()
    left = [
        world.leave(split()),
        world.leave(split("day=2024-01-01/hour=1/")),
        world.leave(f"_staging/{run}/day=1/part-00000.parquet"),
        world.leave(f"_staging/{run}/_temporary/0/x"),
        world.leave(f"day=a/part-00001-7-{uuid.uuid4()}.split"),
        world.leave(f".{uuid.uuid4()}.split.crc"),
    ]
    world.wait(6.9)
    assert paths(world.purge()) == []
    world.wait(0.2)
    result = world.purge()
    assert paths(result) == sorted(left)
    assert set(result.files["reason"].to_pylist()) == {"no version holds it"}
    assert result.bytes == 11 * 6
    assert not set(left) & set(world.model.tree())
    assert world.table.count() == 1


def test_a_dry_run_tells_the_same_and_touches_nothing() -> None:
    world = World()
    world.append(1)
    left = world.leave(split())
    world.wait(8)
    tree = world.model.tree()
    result = world.purge(dry_run=True)
    assert paths(result) == [left]
    assert result.files.to_pylist()[0]["size"] == 11
    assert result.dry_run
    assert world.model.tree() == tree


def test_names_that_are_not_ours_stay_however_old() -> None:
    world = World()
    world.append(1)
    theirs = [
        world.leave(name)
        for name in (
            "notes.txt",
            "mine.split",
            "part-00000.parquet",
            "_staging/notes.txt",
            "_staging/readme/notes.txt",
            f"_other/{uuid.uuid4()}.split",
            f"backup/{uuid.uuid4()}.split",
            f"{uuid.uuid4()}.split.bak",
            f"_transaction_log_backup/x/{uuid.uuid4()}.split",
            f"_transaction_log/{uuid.uuid4()}.split",
        )
    ]
    world.wait(400)
    assert paths(world.purge()) == []
    assert set(theirs) < set(world.model.tree())


def test_files_stay_as_long_as_a_version_that_can_be_loaded_needs_them() -> None:
    world = World()
    world.append(1)
    world.append(2)
    world.table.overwrite(pa.table({"id": [3]}))
    world.wait(400)
    result = world.purge()
    assert paths(result) == []
    assert (result.held_files, result.held_bytes > 0) == (2, True)
    assert world.open().log.snapshot(2).num_files == 2
    assert Table.at_store(world.model, version=2).count() == 2


def test_removed_files_go_when_cleanup_took_their_last_version() -> None:
    world = World(**SHORT_LOG)
    world.append(1)
    world.append(2)
    old = world.splits()
    world.table.overwrite(pa.table({"id": [3]}))
    world.wait(10)
    world.append(4)
    world.table.log.checkpoint()
    world.table.log.cleanup()
    oldest = world.table.log.versions()[0]
    assert oldest >= 3
    result = world.purge()
    assert paths(result) == sorted(old)
    for version in world.table.log.versions():
        assert Table.at_store(world.model, version=version).count() == len(
            Table.at_store(world.model, version=version).to_arrow()
        )


def test_a_file_that_was_removed_lately_stays_for_those_who_still_read_it() -> None:
    world = World(**SHORT_LOG)
    world.append(1)
    world.wait(100)
    world.table.overwrite(pa.table({"id": [2]}))
    world.wait(0.5)
    world.append(3)
    world.table.log.checkpoint()
    world.table.log.cleanup()
    assert world.table.log.versions()[0] >= 2
    assert paths(world.purge()) == []
    world.wait(8)
    assert world.purge().files["reason"].to_pylist() == ["no version needs it any more"]


def test_the_files_of_a_run_are_as_old_as_the_youngest_of_them() -> None:
    world = World()
    world.append(1)
    run = str(uuid.uuid4())
    first = world.leave(f"{run[:24]}{1:012x}.split")
    staged = world.leave(f"_staging/{run}/a.parquet")
    world.wait(8)
    last = world.leave(f"day=x/{run[:24]}{2:012x}.split")
    assert paths(world.purge()) == []
    world.wait(8)
    assert paths(world.purge()) == sorted([first, staged, last])


def test_a_writer_that_has_not_committed_yet_keeps_its_files() -> None:
    world = World()
    world.append(1)
    committing = []

    def purge_first(op: str, path: str) -> None:
        if op == "put_if_absent" and path == commit_path(2):
            committing.append(path)
            world.wait(0.9)
            world.purge()

    world.open(WatchedStore(world.model, None, purge_first)).append(pa.table({"id": [2]}))
    assert committing
    assert sorted(world.table.to_arrow()["id"].to_pylist()) == [1, 2]


class LateCommit(FaultStore):
    """Lets a commit land at the last moment before files are deleted."""

    def __init__(self, inner: Store, commit: Callable[[], object]) -> None:
        super().__init__(inner)
        self._commit = commit

    def list_staged(self, prefix: str) -> Iterator[ObjectMeta]:
        self._commit()
        return super().list_staged(prefix)


def test_a_commit_that_lands_during_the_listing_keeps_its_files() -> None:
    world = World()
    world.append(1)
    left = world.leave(split())
    world.wait(8)
    landed: list[int] = []
    first = threading.Lock()

    def commit_first(op: str, path: str) -> None:
        if op == "list_from" and path == "" and first.acquire(blocking=False):
            landed.append(world.commit(left))

    result = world.purge(WatchedStore(world.model, None, commit_first))
    assert landed == [2]
    assert paths(result) == []
    assert left in world.model.tree()


def test_a_commit_that_lands_after_the_log_was_read_is_seen_before_anything_is_deleted() -> None:
    world = World()
    world.append(1)
    kept, gone = world.leave(split()), world.leave(split())
    world.wait(8)
    world.purge(LateCommit(world.model, lambda: world.commit(kept)))
    assert kept in world.model.tree()
    assert gone not in world.model.tree()


def test_a_table_below_a_checkpoint_without_commits_keeps_what_it_needs() -> None:
    """Other software cleans up without a mark, and may leave a checkpoint whose commits are gone."""
    world = World()
    for number in range(3):
        world.append(number)
    world.table.log.checkpoint()
    world.table.overwrite(pa.table({"id": [9]}))
    for version in range(4):
        world.model.delete(commit_path(version))
    world.wait(100)
    assert paths(world.purge()) == []
    assert Table.at_store(world.model, version=3).count() == 3


@pytest.mark.parametrize("format_", ["parquet", "json"])
def test_many_checkpoints_that_outlived_their_commits_count_without_a_listing_for_each(format_: str) -> None:
    def world_of(checkpoints: int) -> World:
        world = World(**SHORT_LOG | {"spark.indextables.checkpoint.format": format_})
        for number in range(checkpoints):
            world.table.overwrite(pa.table({"id": [number]}))
            world.table.log.checkpoint()
            world.wait(0.001)
        world.wait(1.5)
        world.append(1000)
        world.table.log.checkpoint()
        return world

    listings = []
    for checkpoints in (3, 12):
        world = world_of(checkpoints)
        commits = world.table.log.versions()[:-1]
        for version in commits:
            world.model.delete(commit_path(version))
        world.wait(100)
        store = FaultStore(world.model)
        assert paths(world.purge(store)) == []
        listings.append(sum(op.startswith("list") for op, _ in store.calls))
        for version in commits[1:]:
            assert Table.at_store(world.model, version=version).count() == 1
    assert listings[0] == listings[1]


def test_a_log_with_a_gap_purges_nothing() -> None:
    world = World()
    for number in range(4):
        world.append(number)
    left = world.leave(split())
    world.model.delete(commit_path(2))
    world.wait(100)
    with pytest.raises(LogCorruptionError):
        world.purge()
    assert left in world.model.tree()


def test_a_listing_that_lacks_the_table_s_own_files_purges_nothing() -> None:
    world = World()
    for number in range(5):
        world.append(number)
    left = world.leave(split())
    for path in sorted(world.splits() - {left})[:2]:
        world.model.delete(path)
    world.wait(100)
    with pytest.raises(StorageError, match="2 of 5 files of the table are not in its listing; nothing was deleted"):
        world.purge()
    assert left in world.model.tree()


def test_a_clock_that_runs_ahead_deletes_nothing_early() -> None:
    world = World()
    world.append(1)
    left = world.leave(split())
    ahead = dataclasses.replace(world.runtime, now_ms=lambda: world.now + 300 * DAY_MS)
    world.wait(1)
    assert paths(world.purge(runtime=ahead)) == []
    behind = dataclasses.replace(world.runtime, now_ms=lambda: world.now - 300 * DAY_MS)
    world.wait(8)
    assert paths(world.purge(runtime=behind)) == []
    assert paths(world.purge()) == [left]
    assert not [path for path in world.model.tree() if path.startswith("_staging/")], (
        "the look at the clock leaves nothing"
    )


def test_what_cannot_be_deleted_is_told_and_a_later_purge_gets_it() -> None:
    world = World()
    world.append(1)
    left = [world.leave(split()) for _ in range(10)]
    world.wait(8)

    class Stubborn(FaultStore):
        def delete(self, path: str) -> None:
            if path in left[:5]:
                raise StorageUnavailableError(path, detail="503")
            super().delete(path)

    result = world.purge(Stubborn(world.model))
    assert len(result.failures) == 5
    assert all("503" in failure for failure in result.failures)
    assert world.splits() & set(left) == set(left[:5])
    assert world.purge().failures == ()
    assert not world.splits() & set(left)


def test_thousands_of_files_go_in_several_rounds_of_looking_again() -> None:
    world = World()
    world.append(1)
    for _ in range(2_300):
        world.leave(split())
    world.wait(8)
    told: list[tuple[int, int]] = []
    result = purge_files(
        world.retrying(world.model),
        settings=world.settings,
        runtime=world.runtime,
        older_than_ms=WEEK_MS,
        dry_run=False,
        progress=lambda done, total: told.append((done, total)),
    )
    assert result.files.num_rows == 2_300
    assert told == [(1_000, 2_300), (2_000, 2_300), (2_300, 2_300)]
    assert len(world.splits()) == 1


@pytest.mark.parametrize("parts", [1, 2, 8])
def test_listings_in_several_places_show_every_file_once(parts: int) -> None:
    model = S3Model()
    names = [f"{letter}={number}/{letter}é{number}.split" for letter in "aZ_z~" for number in range(30)]
    names += ["_transaction_log0/x", "_transaction_lof/x", "_transaction_log/00.json", "0", "zz"]
    for name in names:
        model.put(name, b"x")
    known = pa.array([name for name in names if "=" in name])
    listed = list_data_files(model, known, parts=parts)
    assert sorted(listed["path"].to_pylist()) == sorted(
        name for name in names if not name.startswith("_transaction_log/")
    )


def test_on_a_disk_links_are_not_followed_and_unfinished_files_are_found(tmp_path: Path) -> None:
    table, outside = tmp_path / "t", tmp_path / "outside"
    Table(str(table)).append(pa.table({"id": [1]}))
    outside.mkdir()
    victim = outside / split()
    victim.write_bytes(b"precious")
    (table / "link").symlink_to(outside, target_is_directory=True)
    (table / "day=1").symlink_to(outside, target_is_directory=True)
    linked = table / split()
    linked.symlink_to(victim)
    unfinished = table / ".it-tmp-0123456789abcdef0123456789abcdef"
    unfinished.write_bytes(b"half")
    for path in (victim, unfinished):
        os.utime(path, (0, 0))
    result = purge(None, str(table), dry_run=False)
    assert victim.read_bytes() == b"precious"
    assert unfinished.name in paths(result)
    assert not unfinished.exists()
    assert Table(str(table)).count() == 1


@pytest.mark.parametrize(
    ("text", "age"), [("7d", WEEK_MS), ("24h", DAY_MS), ("36h", 3 * DAY_MS // 2), (" 2d ", 2 * DAY_MS)]
)
def test_ages_are_written_as_people_write_them(text: str, age: int) -> None:
    assert parse_age("older_than", text, force=False) == age


@pytest.mark.parametrize("text", ["", "soon", "23h", "0", "-7d", "7"])
def test_other_ages_and_those_below_a_day_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="older_than"):
        parse_age("older_than", text, force=False)


def test_less_than_a_day_must_be_forced(tmp_path: Path) -> None:
    Table(str(tmp_path)).append(pa.table({"id": [1]}))
    left = tmp_path / split()
    left.write_bytes(b"x")
    with pytest.raises(ConfigError, match="24h or more"):
        purge(None, str(tmp_path), older_than="1h", dry_run=False)
    os.utime(left, (left.stat().st_mtime - 7_200,) * 2)
    assert purge(None, str(tmp_path), older_than="1h", dry_run=False, force=True).files.num_rows == 1


def test_where_there_is_no_table_nothing_is_purged(tmp_path: Path) -> None:
    left = tmp_path / split()
    left.write_bytes(b"x")
    os.utime(left, (0, 0))
    with pytest.raises(TableNotFoundError):
        purge(None, str(tmp_path), dry_run=False)
    assert left.exists()


MODES: tuple[Mode, ...] = ("once",) if EFFORT == 1 else ("once", "forever")
DISTURBING = tuple(kind for kind in ALL if kind is not FaultKind.MISSING)


@pytest.mark.slow
def test_no_fault_at_any_call_deletes_a_file_that_a_version_needs(record_property: Any) -> None:
    world = World(**SHORT_LOG)
    for number in range(3):
        world.append(number)
    world.table.overwrite(pa.table({"id": [100]}))
    world.wait(20)
    for number in range(200, 203):
        world.append(number)
    world.leave(split())
    world.wait(8)
    needed = {
        path
        for version in world.table.log.versions()
        for path in world.table.log.snapshot(version).files["path"].to_pylist()
    }
    cases = 0
    for case in sweep(world.purge, stores=[world.model.clone], kinds=DISTURBING, modes=MODES):
        disturbed = case.make()
        with contextlib.suppress(Crash, IndexTablesError):
            world.purge(FaultStore(disturbed, case.plan))
        disturbed.crash(seed=case.plan.seed)
        assert needed <= set(disturbed.tree()), str(case)
        cases += 1
    assert cases > 150
    record_property("purge faults", cases)
