"""What every store promises, whatever it stands on. One suite, run on each: see `tests/support/stores.py`."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from indextables.errors import (
    AlreadyExistsError,
    IndexTablesError,
    NotFoundError,
    OutcomeUnknownError,
    UnsafePathError,
)
from indextables.runtime import SYSTEM
from indextables.storage.probe import probe_conditional_put
from indextables.storage.retry import RetryingStore, RetryPolicy

if TYPE_CHECKING:
    from indextables.storage.base import Store
    from tests.support.stores import StoreRoot

ODD_NAMES = [
    "plain.json",
    "00000000000000000010.checkpoint.json",
    "date=2024-01-01/hour=10/part.split",
    "date=a%2Fb/part.split",
    "value=100%25/x",
    "space in name/and here",
    "umlaut-äöü/日本語.split",
    "emoji-😀",
    "plus+and&amp;",
    "tilde~at@comma,semi;",
    "quote'single",
    "(round)[square]{curly}",
    "hash#sharp",
    "question?mark",
    "a=b=c",
    "..two-dots-first",
    "trailing-dots..",
    ".hidden/_underscored",
    "n" * 200,
]
UNSAFE_NAMES = [
    "",
    "/absolute",
    "../up",
    "a/../../up",
    "a/./b",
    "a//b",
    "a/",
    "..",
    "%2e%2e/up",
    "%252e%252e/up",
    "%2E%2E%2Fup",
    "a\\b",
    "nul\x00byte",
    "new\nline",
    "s3://other-bucket/key",
    "file:/etc/passwd",
    "‥/up",
    "．．/up",
    "half\ud800surrogate",
    "n/" * 3000 + "n",
]


@pytest.fixture
def store(store_root: StoreRoot) -> Store:
    return store_root.fresh()


def paths(store: Store, prefix: str = "", start_after: str | None = None) -> list[str]:
    return [meta.path for meta in store.list_from(prefix, start_after)]


class TestPutIfAbsent:
    def test_creates_what_is_not_there(self, store: Store) -> None:
        store.put_if_absent("a", b"one")
        assert store.get("a") == b"one"

    def test_refuses_what_is_there_and_names_it(self, store: Store) -> None:
        store.put_if_absent("a", b"one")
        with pytest.raises(AlreadyExistsError, match="a exists already") as caught:
            store.put_if_absent("a", b"two")
        assert caught.value.path == "a"

    def test_a_refused_creation_leaves_the_first_bytes(self, store: Store) -> None:
        store.put_if_absent("a", b"one")
        with pytest.raises(AlreadyExistsError):
            store.put_if_absent("a", b"two")
        assert store.get("a") == b"one"

    def test_refuses_what_a_plain_put_made(self, store: Store) -> None:
        store.put("a", b"one")
        with pytest.raises(AlreadyExistsError):
            store.put_if_absent("a", b"two")

    def test_refuses_the_same_bytes_too(self, store: Store) -> None:
        store.put_if_absent("a", b"one")
        with pytest.raises(AlreadyExistsError):
            store.put_if_absent("a", b"one")

    def test_creates_again_after_a_delete(self, store: Store) -> None:
        store.put_if_absent("a", b"one")
        store.delete("a")
        store.put_if_absent("a", b"two")
        assert store.get("a") == b"two"

    def test_creates_directories_on_the_way(self, store: Store) -> None:
        store.put_if_absent("x/y/z/a", b"deep")
        assert store.get("x/y/z/a") == b"deep"

    def test_stores_no_bytes_at_all(self, store: Store) -> None:
        store.put_if_absent("empty", b"")
        assert store.get("empty") == b""
        assert store.head("empty").size == 0

    def test_stores_every_byte_value(self, store: Store) -> None:
        data = bytes(range(256)) * 3
        store.put_if_absent("binary", data)
        assert store.get("binary") == data

    def test_stores_more_than_one_upload_part(self, store: Store) -> None:
        data = b"0123456789abcdef" * (12 << 16)
        store.put_if_absent("large", data)
        assert store.get("large") == data

    def test_leaves_nothing_else_behind(self, store: Store) -> None:
        store.put_if_absent("d/a", b"one")
        with pytest.raises(AlreadyExistsError):
            store.put_if_absent("d/a", b"two")
        assert paths(store) == ["d/a"]

    def test_of_racing_threads_exactly_one_wins(self, store_root: StoreRoot) -> None:
        store = store_root.fresh()
        rounds, racers = 25, 8
        wins: dict[int, list[int]] = {number: [] for number in range(rounds)}
        doubtful: dict[int, list[int]] = {number: [] for number in range(rounds)}
        barrier = threading.Barrier(racers)

        def racer(me: int) -> None:
            try:
                for number in range(rounds):
                    barrier.wait(timeout=60)
                    try:
                        store.put_if_absent(f"race/{number}", str(me).encode())
                    except AlreadyExistsError:
                        continue
                    except OutcomeUnknownError:
                        doubtful[number].append(me)
                    else:
                        wins[number].append(me)
            except BaseException:
                barrier.abort()  # or the others would wait for who comes no more, and tell of that instead of why
                raise

        with ThreadPoolExecutor(racers) as pool:
            errors = [future.exception(timeout=120) for future in [pool.submit(racer, me) for me in range(racers)]]
        assert [error for error in errors if error and not isinstance(error, threading.BrokenBarrierError)] == []
        assert errors == [None] * racers
        for number, winners in wins.items():
            written = int(store.get(f"race/{number}"))
            if store_root.referee:
                assert (winners, doubtful[number]) == ([written], [])
            else:  # it may even trip over itself, and answer 500 to a write that happened
                assert written in winners + doubtful[number]

    def test_passes_the_probe_for_conditional_writes(self, store: Store) -> None:
        probe_conditional_put(store, directory="_transaction_log", runtime=SYSTEM)
        assert paths(store) == []


class TestPut:
    def test_creates(self, store: Store) -> None:
        store.put("a", b"one")
        assert store.get("a") == b"one"

    def test_replaces(self, store: Store) -> None:
        store.put("a", b"one, and long")
        store.put("a", b"two")
        assert store.get("a") == b"two"
        assert store.head("a").size == 3

    def test_replaces_what_was_created_conditionally(self, store: Store) -> None:
        store.put_if_absent("a", b"one")
        store.put("a", b"two")
        assert store.get("a") == b"two"

    def test_leaves_nothing_else_behind(self, store: Store) -> None:
        store.put("d/a", b"one")
        store.put("d/a", b"two")
        assert paths(store) == ["d/a"]

    def test_readers_see_old_or_new_never_a_mixture(self, store: Store) -> None:
        versions = [bytes([65 + number]) * 100_000 for number in range(4)]
        # A test server under load may refuse to answer; what it answers must be whole.
        store = RetryingStore(store, policy=RetryPolicy(attempts=5), runtime=SYSTEM)
        store.put("a", versions[0])
        stop = threading.Event()
        seen: list[bytes] = []

        def reader() -> None:
            while not stop.is_set():
                seen.append(store.get("a"))

        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(reader)
            try:
                for data in itertools.islice(itertools.cycle(versions), 12):
                    store.put("a", data)
            finally:
                stop.set()
            reading.result(timeout=60)
        assert seen
        assert set(seen) <= set(versions)


class TestGet:
    def test_of_nothing_is_not_found_and_names_it(self, store: Store) -> None:
        with pytest.raises(NotFoundError, match="There is no missing") as caught:
            store.get("missing")
        assert caught.value.path == "missing"

    def test_of_a_directory_is_not_found(self, store: Store) -> None:
        store.put("d/a", b"one")
        with pytest.raises(NotFoundError):
            store.get("d")

    def test_below_a_file_is_not_found(self, store: Store) -> None:
        store.put("a", b"one")
        with pytest.raises(NotFoundError):
            store.get("a/b")

    def test_sees_its_own_write_at_once(self, store: Store) -> None:
        for number in range(20):
            store.put("a", str(number).encode())
            assert store.get("a") == str(number).encode()


class TestGetRange:
    @pytest.mark.parametrize(
        ("start", "length", "expected"),
        [
            (0, 4, b"0123"),
            (3, 4, b"3456"),
            (6, 4, b"6789"),
            (8, 100, b"89"),
            (0, 10, b"0123456789"),
            (10, 1, b""),
            (50, 5, b""),
            (2, 0, b""),
        ],
    )
    def test_is_cut_at_the_end(self, store: Store, start: int, length: int, expected: bytes) -> None:
        store.put("a", b"0123456789")
        assert store.get_range("a", start, length) == expected

    def test_of_an_empty_object_is_empty(self, store: Store) -> None:
        store.put("a", b"")
        assert store.get_range("a", 0, 5) == b""

    def test_of_nothing_is_not_found(self, store: Store) -> None:
        with pytest.raises(NotFoundError):
            store.get_range("missing", 0, 1)


class TestHead:
    def test_tells_size_and_path(self, store: Store) -> None:
        store.put("d/a", b"12345")
        meta = store.head("d/a")
        assert (meta.path, meta.size) == ("d/a", 5)

    def test_agrees_with_the_listing(self, store: Store) -> None:
        store.put("d/a", b"12345")
        listed = next(iter(store.list_from("d")))
        headed = store.head("d/a")
        assert (listed.path, listed.size) == (headed.path, headed.size)
        assert abs(listed.modified_ms - headed.modified_ms) < 1000  # S3's two answers differ in precision

    def test_modification_times_do_not_go_back(self, store: Store) -> None:
        store.put("a", b"1")
        first = store.head("a").modified_ms
        store.put("a", b"2")
        assert store.head("a").modified_ms >= first

    def test_of_nothing_is_not_found(self, store: Store) -> None:
        with pytest.raises(NotFoundError):
            store.head("missing")

    def test_of_a_directory_is_not_found(self, store: Store) -> None:
        store.put("d/a", b"one")
        with pytest.raises(NotFoundError):
            store.head("d")


class TestExists:
    def test_tells_what_is_there_from_what_is_not(self, store: Store) -> None:
        store.put("d/a", b"one")
        assert store.exists("d/a")
        assert not store.exists("d/b")
        assert not store.exists("d")
        assert not store.exists("elsewhere/a")

    def test_follows_a_delete(self, store: Store) -> None:
        store.put("a", b"one")
        store.delete("a")
        assert not store.exists("a")


class TestListFrom:
    def test_shows_what_dead_writers_left_apart_or_not_at_all(self, store: Store) -> None:
        staged, published = f"d/.it-tmp-{'0123456789abcdef' * 2}", "d/published"
        store.put(staged, b"half")
        store.put(published, b"whole")
        hidden = [meta.path for meta in store.list_staged("d")]
        assert [meta.path for meta in store.list_from("d")] == sorted({staged, published} - set(hidden))
        assert hidden in ([], [staged])
        store.delete(staged)
        assert list(store.list_staged("d")) == []
        assert [meta.path for meta in store.list_from("d")] == [published]

    def test_of_an_empty_store_is_empty(self, store: Store) -> None:
        assert paths(store) == []

    def test_of_a_missing_directory_is_empty(self, store: Store) -> None:
        store.put("a", b"")
        assert paths(store, "missing/deeper") == []

    def test_holds_everything_below_however_deep(self, store: Store) -> None:
        for path in ("a", "d/b", "d/e/c"):
            store.put(path, b"x")
        assert paths(store) == ["a", "d/b", "d/e/c"]

    def test_a_prefix_is_a_directory_not_a_beginning(self, store: Store) -> None:
        for path in ("sales/a", "sales-evil/b", "salesx"):
            store.put(path, b"x")
        assert paths(store, "sales") == ["sales/a"]

    def test_of_a_file_is_empty(self, store: Store) -> None:
        store.put("a", b"x")
        assert paths(store, "a") == []

    def test_is_in_the_order_of_the_bytes_of_whole_paths(self, store: Store) -> None:
        names = ["a.b", "a/b", "a0", "a-", "A", "aa", "a/a/z", "a/a.z", "_x", "z", "é", "日", "😀", "\uffee"]
        for name in names:
            store.put(name, b"x")
        assert paths(store) == sorted(names, key=str.encode)

    def test_starts_after_a_path_that_exists(self, store: Store) -> None:
        for path in ("l/1", "l/2", "l/3"):
            store.put(path, b"x")
        assert paths(store, "l", "l/1") == ["l/2", "l/3"]

    def test_starts_after_a_path_that_does_not_exist(self, store: Store) -> None:
        for path in ("l/1", "l/3"):
            store.put(path, b"x")
        assert paths(store, "l", "l/2") == ["l/3"]

    def test_starts_after_the_last_path(self, store: Store) -> None:
        store.put("l/1", b"x")
        assert paths(store, "l", "l/9") == []

    def test_starts_after_a_path_in_the_middle_of_directories(self, store: Store) -> None:
        names = ["l/a/1", "l/a/2", "l/b.x", "l/b/1", "l/c/1"]
        for name in names:
            store.put(name, b"x")
        for after in [*names, "l/a", "l/a/0", "l/b", "l/aa", "l/b0"]:
            assert paths(store, "l", after) == [name for name in names if name > after]

    def test_tells_sizes_and_times(self, store: Store) -> None:
        store.put("l/a", b"12345")
        meta = next(iter(store.list_from("l")))
        assert meta.size == 5
        assert meta.modified_ms > 0

    def test_goes_on_behind_the_first_page(self, store_root: StoreRoot) -> None:
        store = store_root.fresh()
        names = [f"l/{number:05d}" for number in range(store_root.page + 50)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: store.put(name, b""), names))
        assert paths(store, "l") == names
        assert paths(store, "l", names[store_root.page]) == names[store_root.page + 1 :]

    def test_may_be_left_early(self, store: Store) -> None:
        for number in range(10):
            store.put(f"l/{number}", b"")
        assert next(iter(store.list_from("l"))).path == "l/0"

    def test_sees_a_write_and_a_delete_at_once(self, store: Store) -> None:
        store.put("l/a", b"")
        assert paths(store, "l") == ["l/a"]
        store.delete("l/a")
        assert paths(store, "l") == []


class TestDelete:
    def test_removes(self, store: Store) -> None:
        store.put("a", b"one")
        store.delete("a")
        with pytest.raises(NotFoundError):
            store.get("a")

    def test_of_nothing_is_done(self, store: Store) -> None:
        store.delete("missing")
        store.delete("missing/deeper")

    def test_twice_is_done(self, store: Store) -> None:
        store.put("a", b"one")
        store.delete("a")
        store.delete("a")

    def test_removes_nothing_else(self, store: Store) -> None:
        for path in ("d/a", "d/ab", "d/a.b"):
            store.put(path, b"x")
        store.delete("d/a")
        assert paths(store) == ["d/a.b", "d/ab"]


class TestNames:
    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_an_odd_name_is_kept_exactly(self, store: Store, name: str) -> None:
        store.put_if_absent(name, b"odd")
        assert store.get(name) == b"odd"
        assert store.head(name).path == name
        assert paths(store) == [name]
        store.delete(name)
        assert paths(store) == []

    @pytest.mark.parametrize("name", UNSAFE_NAMES)
    def test_an_unsafe_name_is_refused_by_every_call(self, store: Store, name: str) -> None:
        store.put("before", b"x")
        for call in (
            lambda: store.put_if_absent(name, b""),
            lambda: store.put(name, b""),
            lambda: store.get(name),
            lambda: store.get_range(name, 0, 1),
            lambda: store.head(name),
            lambda: store.exists(name),
            lambda: store.delete(name),
        ):
            with pytest.raises(UnsafePathError):
                call()
        assert paths(store) == ["before"]

    @pytest.mark.parametrize("name", [name for name in UNSAFE_NAMES if name])
    def test_an_unsafe_directory_is_not_listed(self, store: Store, name: str) -> None:
        with pytest.raises(UnsafePathError):
            list(store.list_from(name))


class TestRoots:
    def test_two_stores_of_one_root_see_the_same_bytes(self, store_root: StoreRoot) -> None:
        store_root.open("shared-root").put("a", b"one")
        assert store_root.open("shared-root").get("a") == b"one"

    def test_sibling_roots_are_separate(self, store_root: StoreRoot) -> None:
        store_root.open("sibling").put("a", b"one")
        assert not store_root.open("sibling-evil").exists("a")
        assert paths(store_root.open("sibl")) == []

    def test_a_store_names_its_root_in_its_errors(self, store: Store) -> None:
        with pytest.raises(IndexTablesError) as caught:
            store.get("missing")
        assert store.url in str(caught.value)


class TestWithRetries:
    def test_a_won_creation_is_done(self, store: Store) -> None:
        RetryingStore(store).put_if_absent("a", b"one")
        assert store.get("a") == b"one"

    def test_a_lost_creation_is_settled_against_us(self, store: Store) -> None:
        store.put_if_absent("a", b"theirs")
        with pytest.raises(AlreadyExistsError):
            RetryingStore(store).put_if_absent("a", b"ours")

    def test_our_own_bytes_are_recognised(self, store: Store) -> None:
        store.put_if_absent("a", b"ours, with a random id")
        RetryingStore(store).put_if_absent("a", b"ours, with a random id")
        assert store.get("a") == b"ours, with a random id"
