from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from indextables.config import Cache, Settings
from indextables.log.cache import Level
from indextables.testing.virtual import virtual_runtime
from tests.support.logs import add, new_table, paths

if TYPE_CHECKING:
    from indextables.runtime import Runtime


@pytest.fixture
def runtime() -> Runtime:
    return virtual_runtime(0)


@pytest.fixture
def level(runtime: Runtime) -> Level[str]:
    return Level(expiration_s=10, max_bytes=100, runtime=runtime)


class TestLevel:
    def test_keeps_what_it_was_given(self, level: Level[str]) -> None:
        level.put("k", "v", size=1)
        assert level.get("k") == "v"
        assert level.get("other") is None

    def test_forgets_when_the_time_is_over(self, level: Level[str], runtime: Runtime) -> None:
        level.put("k", "v", size=40)
        runtime.sleep(10)
        assert level.get("k") == "v"
        runtime.sleep(0.1)
        assert level.get("k") is None
        assert level.size == (0, 0)

    def test_time_counts_from_the_writing_not_from_the_last_use(self, level: Level[str], runtime: Runtime) -> None:
        level.put("k", "v", size=1)
        for _ in range(3):
            runtime.sleep(4)
            level.get("k")
        assert level.get("k") is None

    def test_what_was_used_longest_ago_makes_room(self, level: Level[str]) -> None:
        for key in "abc":
            level.put(key, key, size=30)
        level.get("a")
        level.put("d", "d", size=40)
        assert [key for key in "abcd" if level.get(key)] == ["a", "c", "d"]
        assert level.size == (3, 100)

    def test_what_is_larger_than_everything_is_not_kept_and_drives_nothing_out(self, level: Level[str]) -> None:
        level.put("a", "a", size=60)
        level.put("b", "b", size=101)
        assert level.get("b") is None
        assert level.get("a") == "a"

    def test_a_replaced_entry_frees_its_bytes(self, level: Level[str]) -> None:
        level.put("a", "old", size=90)
        level.put("a", "new", size=20)
        assert (level.get("a"), level.size) == ("new", (1, 20))
        level.put("a", "too large", size=200)
        assert (level.get("a"), level.size) == (None, (0, 0))

    def test_a_cleared_level_is_empty_and_remembers_how_it_did(self, level: Level[str]) -> None:
        level.put("a", "a", size=1)
        level.get("a")
        level.clear()
        assert (level.get("a"), level.size, level.hit_rate) == (None, (0, 0), 0.5)

    def test_the_hit_rate_is_the_share_of_questions_with_an_answer(self, level: Level[str]) -> None:
        assert level.hit_rate == 0
        level.put("a", "a", size=1)
        for key in ("a", "a", "a", "b"):
            level.get(key)
        assert level.hit_rate == 0.75

    def test_many_threads_leave_its_books_in_order(self) -> None:
        level: Level[int] = Level(expiration_s=1e9, max_bytes=500, runtime=virtual_runtime(0))
        start = threading.Barrier(8)

        def work(number: int) -> None:
            start.wait()
            for step in range(500):
                level.put((number * step) % 97, step, size=step % 13 + 1)
                level.get(step % 97)
                if step % 100 == 99:
                    level.clear()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        entries, size = level.size
        assert size <= 500
        assert size == sum(held[1] for held in level._entries.values())
        assert entries == len(level._entries)


class TestCachesOfALog:
    def test_say_how_often_they_had_the_answer(self) -> None:
        _, log = new_table(files=3)
        for _ in range(4):
            log.list_files()
            _ = log.metadata, log.protocol
            log.versions()
            log.read_version(2)
        stats = log.cache_stats()
        assert stats.files_hit_rate == stats.metadata_hit_rate == stats.protocol_hit_rate == 0.75
        assert stats.versions_list_hit_rate == 0.75
        assert 0 < stats.version_hit_rate < 1
        assert stats.entries >= 4
        assert stats.bytes > 0

    def test_hold_no_more_bytes_than_allowed(self) -> None:
        place, _ = new_table(files=30)
        small = place.log(Settings(cache=Cache(max_bytes=2048)))
        for version in range(31):
            small.snapshot(version)
            small.read_version(version)
        assert small.cache_stats().bytes <= 5 * 2048
        assert len(paths(small)) == 30

    def test_that_are_switched_off_hold_nothing_and_read_everything(self) -> None:
        place, _ = new_table(files=3)
        opened = place.open(Settings(cache=Cache(enabled=False)))
        opened.log.list_files()
        cost = opened.cost(opened.log.list_files)
        assert cost["get"] >= 4
        assert opened.log.cache_stats().entries == 0

    @pytest.mark.parametrize("enabled", [True, False])
    def test_never_hide_a_commit(self, enabled: bool) -> None:
        place, writer = new_table()
        reader = place.log(Settings(cache=Cache(enabled=enabled)))
        for number in range(5):
            writer.add_files([add(f"f{number}")])
            assert len(paths(reader)) == number + 1

    def test_expire_without_changing_an_answer(self) -> None:
        place, log = new_table(files=2)
        before = paths(log)
        place.runtime.sleep(301)
        assert paths(log) == before
        assert log.cache_stats().entries > 0


class TestInvalidation:
    """What each way to forget costs the next reader, and that no answer changes."""

    def test_of_everything_makes_the_next_read_a_cold_one(self) -> None:
        place, _ = new_table(files=20)
        opened = place.open()
        cold = opened.cost(opened.log.list_files)
        opened.log.invalidate_all()
        assert opened.cost(opened.log.list_files) == cold
        assert len(paths(opened.log)) == 20

    def test_of_versions_makes_the_next_read_load_the_files_again(self) -> None:
        place, _ = new_table(files=20)
        opened = place.open()
        opened.log.list_files()
        opened.log.invalidate_version_dependent()
        assert opened.cost(opened.log.list_files)["get"] >= 20
        assert opened.cost(lambda: opened.log.metadata)["get"] == 0

    @pytest.mark.parametrize("forget", ["invalidate_protocol", "invalidate_metadata"])
    def test_of_protocol_or_metadata_makes_the_next_question_look_again(self, forget: str) -> None:
        place, _ = new_table(files=20)
        opened = place.open()
        opened.log.list_files()
        before = opened.log.metadata, opened.log.protocol
        getattr(opened.log, forget)()
        cost = opened.cost(lambda: (opened.log.metadata, opened.log.protocol))
        assert cost["list_from"] == 1
        assert (opened.log.metadata, opened.log.protocol) == before

    def test_leaves_the_counts(self) -> None:
        _, log = new_table(files=1)
        log.list_files()
        log.list_files()
        log.invalidate_all()
        assert log.cache_stats().files_hit_rate == 0.5
        assert log.cache_stats().entries == 0
