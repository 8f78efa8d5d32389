"""The POSIX model forgets what was not synced, and nothing else; so it notices a sync that is missing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from indextables.errors import AlreadyExistsError
from indextables.storage.temporary import is_temporary
from indextables.testing.disk import Disk
from indextables.testing.namespace import Stamp
from indextables.testing.posix import PosixModel

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = range(100)
STAMP = Stamp(0, "")


def after_crashes(model: PosixModel) -> list[dict[str, bytes]]:
    """Return what readers see after a power cut, for many power cuts."""
    trees = []
    for seed in SEEDS:
        twin = model.clone()
        twin.crash(seed)
        trees.append(twin.tree())
    return trees


def busy(model: PosixModel, seed: int) -> dict[str, bytes]:
    """Do many acknowledged writes and return what must be there afterwards."""
    chance = random.Random(seed)
    expected: dict[str, bytes] = {}
    for number in range(40):
        path = chance.choice(["a", "d/a", "d/b", "d/e/f/a", "g/a"])
        data = str(number).encode() * 10
        match chance.choice(["put", "create", "delete", "interrupt"]):
            case "put":
                model.put(path, data)
                expected[path] = data
            case "create" if path not in expected:
                model.put_if_absent(path, data)
                expected[path] = data
            case "delete":
                model.delete(path)
                expected.pop(path, None)
            case _:
                model.interrupt("put", f"{path}-never", data, steps=chance.randint(0, 9))
    return expected


class TestAcknowledgedWrites:
    @pytest.mark.parametrize("seed", range(25))
    def test_survive_every_power_cut(self, seed: int) -> None:
        model = PosixModel()
        expected = busy(model, seed)
        assert all(tree == expected for tree in after_crashes(model))

    def test_are_lost_by_a_store_that_does_not_sync_directories(self) -> None:
        model = PosixModel(sync_directory=False)
        model.put_if_absent("log/0", b"acknowledged")
        trees = after_crashes(model)
        assert {} in trees
        assert {"log/0": b"acknowledged"} in trees

    def test_come_back_after_a_delete_by_a_store_that_does_not_sync_directories(self) -> None:
        model = PosixModel(sync_directory=False)
        model.put("a", b"1")
        model.crash(next(seed for seed in SEEDS if _survives(model, seed)))
        model.delete("a")
        trees = after_crashes(model)
        assert {} in trees
        assert {"a": b"1"} in trees

    def test_are_torn_by_a_store_that_does_not_sync_files(self) -> None:
        model = PosixModel(sync_file=False)
        model.put_if_absent("a", b"0123456789")
        found = {tree["a"] for tree in after_crashes(model)}
        assert {b"", b"0123456789"} < found
        assert any(data == b"0123456789"[: len(data)] and 0 < len(data) < 10 for data in found)
        assert any(len(data) == 10 and data.endswith(b"\0") for data in found)

    @pytest.mark.parametrize("sync_parents", [True, False])
    def test_in_a_directory_that_a_dead_process_made_survive_only_if_its_parents_are_synced(
        self, sync_parents: bool
    ) -> None:
        model = PosixModel(sync_parents=sync_parents)
        model.interrupt("put", "d/a", b"", steps=1)
        model.put_if_absent("d/b", b"acknowledged")
        assert ({} in after_crashes(model)) is not sync_parents


class TestUnacknowledgedWrites:
    def test_that_failed_to_sync_are_visible_and_may_be_lost(self) -> None:
        model = PosixModel()
        model.put("a", b"old")
        model.leave_unsynced("put", "a", b"new")
        model.leave_unsynced("put_if_absent", "b", b"new")
        assert model.tree() == {"a": b"new", "b": b"new"}
        assert {tuple(sorted(tree.items())) for tree in after_crashes(model)} == {
            (("a", b"old"),),
            (("a", b"new"),),
            (("a", b"old"), ("b", b"new")),
            (("a", b"new"), ("b", b"new")),
        }

    def test_that_failed_to_sync_survive_once_a_creation_was_refused_because_of_them(self) -> None:
        model = PosixModel()
        model.leave_unsynced("put_if_absent", "a", b"ours")
        with pytest.raises(AlreadyExistsError):
            model.put_if_absent("a", b"ours")
        assert all(tree == {"a": b"ours"} for tree in after_crashes(model))

    def test_of_dead_processes_leave_torn_temporary_files_and_no_more(self) -> None:
        model = PosixModel()
        model.put("d/a", b"1")
        for steps in range(8):
            model.interrupt("put_if_absent", "d/b", b"0123456789", steps=steps)
        leftovers = set()
        for seed in SEEDS:
            twin = model.clone()
            twin.crash(seed)
            assert twin.tree() == {"d/a": b"1"}
            raw = twin.raw_tree()
            assert all(is_temporary(path.removeprefix("d/")) for path in raw if path != "d/a")
            leftovers |= {data for path, data in raw.items() if path != "d/a"}
        assert {b"", b"0123456789"} < leftovers
        assert any(data.endswith(b"\0") for data in leftovers)

    def test_lost_in_one_power_cut_do_not_come_back_in_the_next(self) -> None:
        model = PosixModel()
        model.leave_unsynced("put", "a", b"1")
        for seed in SEEDS:
            twin = model.clone()
            twin.crash(seed)
            settled = twin.raw_tree()
            for again in range(10):
                twin.crash(again)
            assert twin.raw_tree() == settled


class TestDisk:
    def test_fails_as_the_system_calls_do(self) -> None:
        disk = Disk()
        disk.create("a", STAMP)
        disk.make_directory("d")
        failures: list[tuple[type[OSError], Callable[[], None]]] = [
            (FileExistsError, lambda: disk.create("a", STAMP)),
            (FileExistsError, lambda: disk.link("a", "d")),
            (FileNotFoundError, lambda: disk.link("missing", "b")),
            (IsADirectoryError, lambda: disk.replace("a", "d")),
            (FileNotFoundError, lambda: disk.unlink("d")),
            (FileNotFoundError, lambda: disk.sync("missing")),
        ]
        for error, call in failures:
            with pytest.raises(error):
                call()

    def test_entries_of_one_directory_are_lost_independently(self) -> None:
        seen = set()
        for seed in SEEDS:
            disk = Disk()
            for name in ("a", "b", "c"):
                disk.create(name, STAMP)
            disk.lose_cache(random.Random(seed))
            seen.add(tuple(path for path, _ in disk.below("")))
        assert len(seen) == 8

    def test_a_lost_directory_takes_what_is_in_it(self) -> None:
        for seed in SEEDS:
            disk = Disk()
            disk.make_directory("d")
            disk.create("d/a", STAMP)
            disk.sync("d/a")
            disk.sync_directory("d")
            disk.lose_cache(random.Random(seed))
            assert (disk.file("d/a") is not None) == (disk.node("d") is not None)

    def test_two_names_of_one_file_are_torn_alike(self) -> None:
        torn = set()
        for seed in SEEDS:
            disk = Disk()
            disk.create("a", STAMP)
            disk.write("a", b"0123456789")
            disk.link("a", "b")
            disk.sync_directory("")
            disk.lose_cache(random.Random(seed))
            contents = {file.data for _, file in disk.below("")}
            assert len(contents) == 1
            torn |= contents
        assert len(torn) > 3


def _survives(model: PosixModel, seed: int) -> bool:
    twin = model.clone()
    twin.crash(seed)
    return twin.exists("a")
