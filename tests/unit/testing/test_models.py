"""Every model is a store with exact answers, can be cloned and compared, and lets writes land late."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from indextables.errors import AlreadyExistsError, NotFoundError, StorageError, UnsafePathError
from indextables.storage.temporary import is_temporary
from indextables.testing.models import MODELS, HdfsModel, Model, PosixModel, S3Model

if TYPE_CHECKING:
    from collections.abc import Callable

DIRECTORY_MODELS = (PosixModel, HdfsModel)


@pytest.fixture(params=MODELS, ids=lambda model: model.__name__)
def model(request: pytest.FixtureRequest) -> Model:
    model: Model = request.param()
    return model


def paths(model: Model, prefix: str = "", start_after: str | None = None) -> list[str]:
    return [meta.path for meta in model.list_from(prefix, start_after)]


class TestStore:
    def test_a_created_object_is_read_back(self, model: Model) -> None:
        model.put_if_absent("d/a", b"0123456789")
        assert model.get("d/a") == b"0123456789"
        assert model.get_range("d/a", 8, 5) == b"89"
        assert model.get_range("d/a", 20, 5) == b""
        assert model.head("d/a").size == 10
        assert model.exists("d/a")

    def test_a_second_creation_is_refused_and_changes_nothing(self, model: Model) -> None:
        model.put_if_absent("a", b"1")
        with pytest.raises(AlreadyExistsError):
            model.put_if_absent("a", b"2")
        assert model.raw_tree() == {"a": b"1"}

    def test_a_put_replaces(self, model: Model) -> None:
        model.put("a", b"1")
        model.put("a", b"2")
        assert model.raw_tree() == {"a": b"2"}

    def test_a_delete_removes_and_a_second_one_is_done_too(self, model: Model) -> None:
        model.put("a", b"1")
        model.delete("a")
        model.delete("a")
        assert model.raw_tree() == {}
        model.put_if_absent("a", b"2")

    @pytest.mark.parametrize("path", ["missing", "d", "d/a/below"])
    def test_what_is_not_there_is_not_found(self, model: Model, path: str) -> None:
        model.put("d/a", b"1")
        calls: list[Callable[[], object]] = [
            lambda: model.get(path),
            lambda: model.head(path),
            lambda: model.get_range(path, 0, 1),
        ]
        for call in calls:
            with pytest.raises(NotFoundError):
                call()
        assert not model.exists(path)

    def test_unsafe_paths_are_refused(self, model: Model) -> None:
        calls: list[Callable[[], object]] = [
            lambda: model.put("../a", b""),
            lambda: model.put_if_absent("../a", b""),
            lambda: model.get("../a"),
            lambda: model.get_range("../a", 0, 1),
            lambda: model.head("../a"),
            lambda: model.exists("../a"),
            lambda: model.delete("../a"),
            lambda: model.list_from("../a"),
        ]
        for call in calls:
            with pytest.raises(UnsafePathError):
                call()

    def test_listings_are_in_the_order_of_utf8_bytes(self, model: Model) -> None:
        names = ["a.b", "a/b", "a0", "z", "é", "日", "\uffee", "😀", "a/a/z"]
        for name in names:
            model.put(name, b"")
        assert paths(model) == sorted(names, key=str.encode)

    def test_a_listing_holds_what_is_below_a_directory_and_after_a_path(self, model: Model) -> None:
        for name in ("l-x", "l/1", "l/2", "l/2d/3", "l0", "m/1"):
            model.put(name, b"")
        assert paths(model, "l") == ["l/1", "l/2", "l/2d/3"]
        assert paths(model, "l", "l/1") == ["l/2", "l/2d/3"]
        assert paths(model, "l", "a") == ["l/1", "l/2", "l/2d/3"]
        assert paths(model, "l", "l/9") == []
        assert paths(model, "nowhere") == []

    def test_a_listing_is_as_of_its_start(self, model: Model) -> None:
        for name in ("a", "b", "c"):
            model.put(name, b"")
        listing = model.list_from("")
        model.put("aa", b"")
        first = next(listing)
        model.delete("b")
        assert [first.path, *(meta.path for meta in listing)] == ["a", "aa", "b", "c"]

    def test_of_racing_creators_one_wins(self, model: Model) -> None:
        def create(me: int) -> int:
            try:
                model.put_if_absent("a", bytes([me]))
            except AlreadyExistsError:
                return 0
            return 1

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(create, range(200))) == 1

    @pytest.mark.parametrize("seed", range(20))
    def test_random_calls_answer_as_a_dictionary_would(self, model: Model, seed: int) -> None:
        chance = random.Random(seed)
        expected: dict[str, bytes] = {}
        for number in range(100):
            path = chance.choice(["a", "b", "d/a", "d/b", "d/e/a", "f/a"])
            data = str(number).encode()
            match chance.choice(["put", "create", "delete", "list"]):
                case "put":
                    model.put(path, data)
                    expected[path] = data
                case "create":
                    try:
                        model.put_if_absent(path, data)
                    except AlreadyExistsError:
                        assert path in expected
                    else:
                        assert expected.setdefault(path, data) is data
                case "delete":
                    model.delete(path)
                    expected.pop(path, None)
                case _:
                    assert paths(model, "d", path) == sorted(p for p in expected if p.startswith("d/") and p > path)
        assert model.tree() == model.raw_tree() == expected


class TestClock:
    def test_every_write_is_later_by_default(self, model: Model) -> None:
        model.put("a", b"")
        model.put("b", b"")
        assert model.head("a").modified_ms < model.head("b").modified_ms

    @pytest.mark.parametrize("kind", MODELS)
    def test_a_given_clock_decides(self, kind: type[Any]) -> None:
        times = iter([500, 100])
        model: Model = kind(now_ms=lambda: next(times))
        model.put("a", b"")
        model.put("b", b"")
        assert [(meta.path, meta.modified_ms) for meta in model.list_from("")] == [("a", 500), ("b", 100)]

    @pytest.mark.parametrize("kind", MODELS)
    def test_a_clock_that_stands_still_does_not_make_two_writes_look_alike(self, kind: type[Any]) -> None:
        model: Model = kind(now_ms=lambda: 7)
        seen = set()
        for _ in range(3):
            model.put("a", b"same")
            seen.add(model.head("a"))
            assert list(model.list_from("")) == [model.head("a")]
        assert len(seen) == 3


class TestFilesAndDirectories:
    def test_s3_has_none(self) -> None:
        model = S3Model()
        model.put("a", b"1")
        model.put_if_absent("a/b", b"2")
        assert model.tree() == {"a": b"1", "a/b": b"2"}

    @pytest.mark.parametrize("kind", DIRECTORY_MODELS)
    def test_elsewhere_a_name_is_one_or_the_other(self, kind: type[Model]) -> None:
        model = kind()
        model.put("a", b"1")
        model.put("d/a", b"2")
        attempts: list[Callable[[], None]] = [
            lambda: model.put("a/b", b""),
            lambda: model.put_if_absent("a/b/c", b""),
            lambda: model.put("d", b""),
            lambda: model.put_if_absent("d", b""),
        ]
        for attempt in attempts:
            with pytest.raises(StorageError):
                attempt()
        model.delete("d")
        assert model.raw_tree() == {"a": b"1", "d/a": b"2"}


class TestClone:
    def test_goes_its_own_way(self, model: Model) -> None:
        model.put("d/a", b"1")
        twin = model.clone()
        assert type(twin) is type(model)
        twin.put("d/b", b"2")
        twin.delete("d/a")
        model.put("c", b"3")
        assert model.tree() == {"c": b"3", "d/a": b"1"}
        assert twin.tree() == {"d/b": b"2"}

    def test_carries_late_writes(self, model: Model) -> None:
        model.postpone("put", "a", b"late", calls=1)
        twin = model.clone()
        assert twin.get("a") == b"late"
        assert model.tree() == {}
        assert model.get("a") == b"late"


class TestUnfinishedWrites:
    @pytest.mark.parametrize("op", ["put", "put_if_absent"])
    def test_are_hidden_from_readers_wherever_they_stop(self, model: Model, op: Any) -> None:
        model.put("d/a", b"before")
        for steps in range(12):
            model.interrupt(op, f"d/new/{steps}", b"0123456789", steps=steps)
        model.interrupt("delete", "d/a", b"", steps=12)
        assert model.tree() == {"d/a": b"before"}
        assert paths(model) == ["d/a"]
        assert all(is_temporary(path.rpartition("/")[2]) for path in model.raw_tree().keys() - {"d/a"})

    @pytest.mark.parametrize("kind", DIRECTORY_MODELS)
    def test_leave_empty_half_and_whole_temporary_files(self, kind: type[Model]) -> None:
        left = set()
        for steps in range(12):
            model = kind()
            model.interrupt("put", "a", b"0123456789", steps=steps)
            left |= set(model.raw_tree().values())
        assert left == {b"", b"01234", b"0123456789"}

    def test_leave_nothing_on_s3(self) -> None:
        model = S3Model()
        model.interrupt("put", "a", b"0123456789", steps=100)
        assert model.raw_tree() == {}

    def test_do_not_hinder_the_next_write(self, model: Model) -> None:
        model.interrupt("put_if_absent", "d/a", b"half", steps=4)
        model.put_if_absent("d/a", b"whole")
        assert model.tree() == {"d/a": b"whole"}


class TestLateWrites:
    def test_land_right_before_the_call_that_they_are_due_at(self, model: Model) -> None:
        model.postpone("put_if_absent", "a", b"late", calls=3)
        assert not model.exists("a")
        assert paths(model) == []
        assert model.get("a") == b"late"

    def test_are_silently_refused_when_somebody_else_came_first(self, model: Model) -> None:
        model.postpone("put_if_absent", "a", b"late", calls=2)
        model.put_if_absent("a", b"theirs")
        assert model.get("a") == b"theirs"
        assert model.tree() == {"a": b"theirs"}

    def test_overwrite_newer_bytes_when_they_are_puts(self, model: Model) -> None:
        model.postpone("put", "a", b"late", calls=2)
        model.put("a", b"newer")
        assert model.get("a") == b"late"

    def test_remove_newer_bytes_when_they_are_deletes(self, model: Model) -> None:
        model.postpone("delete", "a", b"", calls=2)
        model.put("a", b"newer")
        assert not model.exists("a")

    def test_without_a_number_of_calls_wait_for_the_store_to_settle(self, model: Model) -> None:
        model.postpone("put", "a", b"late", calls=None)
        for _ in range(50):
            assert not model.exists("a")
        fates = set()
        for seed in range(20):
            settled, crashed = model.clone(), model.clone()
            settled.settle(seed)
            crashed.crash(seed)
            fates |= {("settled", settled.exists("a")), ("crashed", crashed.exists("a"))}
            before = settled.tree()
            settled.settle(seed + 1)
            assert settled.tree() == before
        assert len(fates) == 4

    def test_land_in_any_order_when_the_store_settles(self, model: Model) -> None:
        model.postpone("put", "a", b"1", calls=None)
        model.postpone("put", "a", b"2", calls=None)
        seen = set()
        for seed in range(50):
            twin = model.clone()
            twin.settle(seed)
            seen.add(twin.tree().get("a"))
        assert seen == {None, b"1", b"2"}


def test_the_same_seed_gives_the_same_crash(model: Model) -> None:
    for number in range(5):
        model.leave_unsynced("put", f"d/{number}", b"0123456789")
        model.postpone("put", f"late/{number}", b"", calls=None)
    for seed in range(20):
        first, second = model.clone(), model.clone()
        first.crash(seed)
        second.crash(seed)
        assert first.raw_tree() == second.raw_tree()


@pytest.mark.parametrize("kind", [S3Model, HdfsModel])
def test_a_crash_takes_nothing_that_was_written_where_the_server_lives_on(kind: type[Model]) -> None:
    model = kind()
    model.leave_unsynced("put", "a", b"1")
    model.put_if_absent("b", b"2")
    for seed in range(50):
        model.crash(seed)
    assert model.tree() == {"a": b"1", "b": b"2"}
