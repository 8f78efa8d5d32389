from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.config import Settings, Skips
from indextables.errors import IndexTablesError
from indextables.log.actions import Skip
from tests.support.logs import Place, add, new_table, paths

if TYPE_CHECKING:
    import pytest

HOUR_MS = 3_600_000
HOUR_S = 3600


def skip(path: str, **fields: Any) -> Skip:
    return Skip(**{"path": path, "skip_timestamp": 0, "reason": "broken footer", "operation": "merge", **fields})


def row(log: Any, path: str) -> dict[str, Any]:
    (found,) = [row for row in log.skipped_files().to_pylist() if row["path"] == path]
    return dict(found)


class TestRecording:
    def test_tells_why_when_and_until_when(self) -> None:
        place, log = new_table(files=1)
        now = place.runtime.now_ms()
        log.record_skipped_file("f0", reason="broken footer", operation="merge", partition_values={"d": "1"}, size=7)
        found = row(log, "f0")
        assert (found["reason"], found["operation"], found["size"]) == ("broken footer", "merge", 7)
        assert found["partition_values"] == {"d": "1"}
        assert now <= found["skip_timestamp"] <= now + 2
        assert found["retry_after"] - found["skip_timestamp"] == 24 * HOUR_MS
        assert found["skip_count"] == 1

    def test_counts_how_often(self) -> None:
        _, log = new_table(files=2)
        for count in (1, 2, 3):
            log.record_skipped_file("f0", reason="r", operation="merge")
            assert row(log, "f0")["skip_count"] == count
        log.record_skipped_file("f1", reason="r", operation="merge")
        assert row(log, "f1")["skip_count"] == 1

    def test_of_several_files_is_one_commit(self) -> None:
        place, log = new_table(files=3)
        commits = place.commits()
        result = log.record_skipped_files([skip("f0"), skip("f2")])
        assert (result.written, place.commits()) == (True, commits + 1)
        assert sorted(log.files_in_cooldown()) == ["f0", "f2"]

    def test_of_nothing_writes_nothing(self) -> None:
        place, log = new_table(files=1)
        commits = place.commits()
        assert not log.record_skipped_files([]).written
        assert place.commits() == commits

    def test_rides_in_a_merge_commit(self) -> None:
        place, log = new_table(files=3)
        commits = place.commits()
        log.merge_files(["f0", "f1"], [add("m")], skips=[skip("f2")])
        assert place.commits() == commits + 1
        assert log.is_in_cooldown("f2")
        assert paths(log) == ["f2", "m"]

    def test_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        _, log = new_table(files=1)
        with caplog.at_level(logging.INFO, logger="indextables.log.log"):
            log.record_skipped_file("f0", reason="r", operation="merge")
        assert any("Recorded skipped file: f0 (skip count: 1, retry after: " in message for message in caplog.messages)

    def test_does_not_show_the_commits_id_in_the_reason(self) -> None:
        _, log = new_table(files=1)
        for _ in range(3):
            log.record_skipped_file("f0", reason="odd [brackets]", operation="merge")
        assert row(log, "f0")["reason"] == "odd [brackets]"
        assert log.snapshot().num_files == 1

    def test_shows_in_the_history(self) -> None:
        _, log = new_table(files=1)
        result = log.record_skipped_file("f0", reason="r", operation="merge")
        (newest,) = log.history(limit=1).to_pylist()
        assert (newest["operation"], newest["files_skipped"], newest["commit_id"]) == ("skip", 1, result.commit_id)


class TestCooldown:
    def test_lasts_a_day_and_then_the_file_may_be_tried_again(self) -> None:
        place, log = new_table(files=1)
        log.record_skipped_file("f0", reason="r", operation="merge")
        assert log.is_in_cooldown("f0")
        place.runtime.sleep(23.9 * HOUR_S)
        assert log.is_in_cooldown("f0")
        place.runtime.sleep(0.2 * HOUR_S)
        assert not log.is_in_cooldown("f0")
        assert log.files_in_cooldown() == {}
        assert row(log, "f0")["skip_count"] == 1  # it is remembered all the same

    def test_lasts_as_long_as_the_settings_or_the_caller_say(self) -> None:
        place, _ = new_table(files=2)
        log = place.log(Settings(skips=Skips(cooldown_hours=2)))
        log.record_skipped_file("f0", reason="r", operation="merge")
        log.record_skipped_file("f1", reason="r", operation="merge", cooldown_hours=0.5)
        place.runtime.sleep(HOUR_S)
        assert list(log.files_in_cooldown()) == ["f0"]

    def test_of_no_time_is_over_at_once(self) -> None:
        place, log = new_table(files=1)
        log.record_skipped_file("f0", reason="r", operation="merge", cooldown_hours=0)
        place.runtime.sleep(
            0.01
        )  # the commit is dated after the one before it, which may be a moment ahead of the clock
        assert not log.is_in_cooldown("f0")

    def test_tells_when_to_try_again(self) -> None:
        _, log = new_table(files=1)
        log.record_skipped_file("f0", reason="r", operation="merge")
        assert log.files_in_cooldown() == {"f0": row(log, "f0")["retry_after"]}

    def test_stays_the_same_each_time_unless_configured(self) -> None:
        _, log = new_table(files=1)
        for _ in range(4):
            log.record_skipped_file("f0", reason="r", operation="merge", cooldown_hours=1)
        found = row(log, "f0")
        assert found["retry_after"] - found["skip_timestamp"] == HOUR_MS

    def test_doubles_with_each_skip_if_configured(self) -> None:
        place, _ = new_table(files=1)
        log = place.log(Settings(skips=Skips(cooldown_hours=1, doubling=True)))
        lengths = []
        for _ in range(5):
            log.record_skipped_file("f0", reason="r", operation="merge")
            found = row(log, "f0")
            lengths.append((found["retry_after"] - found["skip_timestamp"]) // HOUR_MS)
        assert lengths == [1, 2, 4, 8, 16]

    def test_that_doubles_for_years_still_ends(self) -> None:
        place, _ = new_table(files=1)
        log = place.log(Settings(skips=Skips(cooldown_hours=24, doubling=True)))
        for _ in range(40):
            log.record_skipped_file("f0", reason="r", operation="merge")
        found = row(place.log(), "f0")
        assert found["skip_count"] == 40
        assert found["retry_after"] - found["skip_timestamp"] <= 10 * 365 * 24 * HOUR_MS

    def test_of_an_absurd_length_does_not_break_the_table(self) -> None:
        place, log = new_table(files=1)
        with contextlib.suppress(IndexTablesError):
            log.record_skipped_file("f0", reason="r", operation="merge", cooldown_hours=1e15)
        assert paths(place.log()) == ["f0"]

    def test_with_the_later_end_counts_where_there_are_two(self) -> None:
        _, log = new_table(files=1)
        log.record_skipped_file("f0", reason="r", operation="merge", cooldown_hours=50)
        log.record_skipped_file("f0", reason="r", operation="merge", cooldown_hours=1)
        found = row(log, "f0")
        assert found["retry_after"] - found["skip_timestamp"] > 49 * HOUR_MS


class TestASkippedFile:
    def skipped(self) -> tuple[Place, Any]:
        place, log = new_table(files=3)
        log.record_skipped_files([skip("f0"), skip("f1")])
        return place, log

    def test_stays_in_the_table(self) -> None:
        _, log = self.skipped()
        assert paths(log) == ["f0", "f1", "f2"]

    def test_that_is_removed_or_written_anew_loses_its_skips(self) -> None:
        _, log = self.skipped()
        log.remove_files(["f0"])
        log.add_files([add("f1")])
        assert log.skipped_files().num_rows == 0
        assert log.files_in_cooldown() == {}

    def test_that_is_overwritten_or_merged_away_loses_its_skips(self) -> None:
        _, log = self.skipped()
        log.merge_files(["f0", "f2"], [add("m")])
        assert list(log.files_in_cooldown()) == ["f1"]
        log.overwrite_files([add("n")])
        assert log.files_in_cooldown() == {}

    def test_keeps_them_through_everything_else(self) -> None:
        place, log = self.skipped()
        log.add_files([add("g")])
        log.remove_files(["f2"])
        log.update_metadata(name="n")
        log.invalidate_all()
        assert sorted(log.files_in_cooldown()) == ["f0", "f1"]
        assert sorted(place.log().files_in_cooldown()) == ["f0", "f1"]

    def test_is_left_out_of_what_an_operation_may_try(self, caplog: pytest.LogCaptureFixture) -> None:
        place, log = self.skipped()
        with caplog.at_level(logging.DEBUG, logger="indextables.log.skips"):
            candidates = log.filter_files_in_cooldown(log.list_files())
        assert candidates["path"].to_pylist() == ["f2"]
        assert "Filtered out 2 files currently in cooldown period" in caplog.messages
        assert any(message.startswith("File in cooldown: f0 (retry after: ") for message in caplog.messages)
        place.runtime.sleep(25 * HOUR_S)
        assert log.filter_files_in_cooldown(log.list_files()).num_rows == 3

    def test_filters_nothing_where_nothing_is_skipped(self) -> None:
        _, log = new_table(files=2)
        files = log.list_files()
        assert log.filter_files_in_cooldown(files) is files
        assert log.skipped_files().num_rows == 0
        assert isinstance(log.skipped_files(), pa.Table)


def test_reading_the_cooldown_reads_no_file_beyond_the_snapshots() -> None:
    place, log = new_table(files=5)
    log.record_skipped_file("f0", reason="r", operation="merge")
    opened = place.open()
    opened.log.list_files()
    cost = opened.cost(
        lambda: (opened.log.files_in_cooldown(), opened.log.skipped_files(), opened.log.is_in_cooldown("f0"))
    )
    assert cost["get"] == cost["list_from"] == 0


def test_two_processes_that_skip_the_same_file_both_count() -> None:
    place, log = new_table(files=1)
    other = place.log()
    log.list_files(), other.list_files()
    for _ in range(3):
        log.record_skipped_file("f0", reason="r", operation="merge")
        other.record_skipped_file("f0", reason="r", operation="merge")
    assert row(log, "f0")["skip_count"] == 6
