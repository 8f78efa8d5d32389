from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from indextables.errors import (
    CheckpointError,
    PermissionDeniedError,
    StorageError,
    StorageUnavailableError,
    VersionNotFoundError,
)
from indextables.log import cleanup
from indextables.log.checkpoint.finder import CheckpointFinder
from indextables.log.floor import raise_floor, read_floor
from indextables.log.layout import (
    CHECKPOINT_DIRECTORY,
    commit_path,
    commit_version,
    floor_path,
    json_checkpoint_path,
    manifest_path,
    manifest_version,
    part_path,
    part_version,
)
from indextables.log.lines import format_lines
from indextables.testing.models import MODELS, PosixModel
from tests.faults.upkeep_clock import DAY_MS, HOUR_MS, OldTable, configured
from tests.support.logs import add, foreign_add

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.log.cleanup import CleanupResult
    from indextables.log.log import TransactionLog

FEW: dict[str, Any] = {"checkpoint__retention": 3}


def aged_table(*, old: int = 8, young: int = 4, days: float = 40, **made: Any) -> OldTable:
    """Return a table with versions 0 to `old` that are `days` old, and `young` more, without checkpoints."""
    table = OldTable(**made)
    table.create()
    table.append(old)
    table.clock.forward(days=days)
    table.append(young)
    return table


def shown(table: OldTable) -> dict[int, list[str]]:
    """Return the files of every version that a new process is shown."""
    log = table.open()
    return {version: sorted(log.snapshot(version).files["path"].to_pylist()) for version in log.versions()}


def model_of(version: int) -> list[str]:
    return sorted(f"f{number}" for number in range(1, version + 1))


def commits(table: OldTable) -> list[int]:
    found = (commit_version(path) for path in table.names())
    return sorted(version for version in found if version is not None)


def checkpoints(table: OldTable) -> list[int]:
    found = (manifest_version(path) for path in table.names())
    return sorted(version for version in found if version is not None)


def numbers(result: CleanupResult) -> tuple[int, ...]:
    return result.oldest_version, result.commits, result.checkpoints, result.leftovers, result.bytes_freed


class TestWhatIsOldEnough:
    def test_goes_and_every_version_that_is_shown_can_be_loaded(self) -> None:
        table = aged_table()
        table.open().checkpoint()
        result = table.open(**FEW).cleanup()
        assert (result.oldest_version, result.commits, result.dry_run) == (9, 9, False)
        assert commits(table) == [9, 10, 11, 12]
        assert shown(table) == {version: model_of(version) for version in (9, 10, 11, 12)}

    def test_goes_only_once(self) -> None:
        table = aged_table()
        table.open().checkpoint()
        table.open(**FEW).cleanup()
        before = table.names()
        again = table.open(**FEW).cleanup()
        assert (again.oldest_version, again.commits, again.checkpoints, again.leftovers) == (9, 0, 0, 0)
        assert table.names() == before

    def test_goes_below_a_checkpoint_that_was_read_back_only(self) -> None:
        table = aged_table()
        table.open().checkpoint(5)
        table.open().checkpoint(10)
        (part,) = (path for path in table.names() if part_version(path) == 10)
        table.model.put(part, b"damaged")
        result = table.open(**FEW).cleanup()
        assert (result.oldest_version, commits(table)[0]) == (5, 5)

    def test_stays_without_any_checkpoint(self) -> None:
        table = aged_table()
        result = table.open(**FEW).cleanup()
        assert (result.oldest_version, result.commits) == (0, 0)
        assert commits(table) == list(range(13))

    def test_versions_that_are_gone_are_said_to_be_gone_with_the_range_that_is_there(self) -> None:
        table = aged_table()
        table.open().checkpoint()
        table.open(**FEW).cleanup()
        for reader in (
            table.open(),
            table.open(checkpoint__enabled=False),
            table.open(transaction__useOptimized=False),
        ):
            with pytest.raises(VersionNotFoundError, match="9 to 12"):
                reader.snapshot(8)

    @pytest.mark.parametrize("tail", [2, 1000])
    def test_goes_although_the_young_ones_in_the_middle_are_not_listed(
        self, tail: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cleanup, "_TAIL", tail)
        table = aged_table(old=8, young=20)
        table.open().checkpoint()
        result = table.open(**FEW).cleanup()
        assert (result.oldest_version, result.commits) == (9, 9)
        assert shown(table) == {version: model_of(version) for version in range(9, 29)}

    def test_history_shows_what_is_left(self) -> None:
        table = aged_table()
        table.open().checkpoint()
        table.open(**FEW).cleanup()
        assert table.open().history()["version"].to_pylist() == [12, 11, 10, 9]

    def test_a_log_that_has_been_open_all_the_time_goes_on(self) -> None:
        table = aged_table()
        table.open().checkpoint()
        warm = table.open()
        warm.snapshot()
        warm.versions()
        table.open(**FEW).cleanup()
        assert warm.add_files([add("f13")]).version == 13
        assert sorted(warm.list_files()["path"].to_pylist()) == model_of(13)

    def test_is_not_shown_any_more_by_a_log_that_has_been_open_all_the_time(self) -> None:
        table = aged_table()
        table.open().checkpoint()
        warm = table.open()
        assert warm.versions() == list(range(13))
        table.open(**FEW).cleanup()
        assert warm.versions() == [9, 10, 11, 12]

    @pytest.mark.parametrize("make", MODELS)
    def test_goes_in_an_order_in_which_a_crash_leaves_every_version_loadable(self, make: type) -> None:
        table = aged_table(make=make)
        table.open().checkpoint(2)
        table.open().checkpoint()
        table.clock.forward(hours=3)
        table.append()
        order: list[tuple[str, str]] = []
        opened = table.place().open(
            configured(**FEW, checkpoint__parallelism=1),
            before=lambda op, path: order.append((op, path)),
        )
        opened.log.cleanup()
        writes = [path for op, path in order if op in {"put", "put_if_absent", "delete"}]
        boundary, mark = writes.index(manifest_path(9)), writes.index(floor_path(9))
        deleted = [path for op, path in order if op == "delete"]
        assert boundary < mark < writes.index(commit_path(0))
        assert deleted[:9] == [commit_path(version) for version in range(9)]
        assert deleted[9:] == [manifest_path(2), part_path(2)]


class TestClocksThatAreWrong:
    """Nobody's clock can make anything go before it is 30 days old."""

    @pytest.mark.parametrize("hours", [-24 * 40, -1, 1, 24 * 40])
    @pytest.mark.parametrize("whose", ["ours", "the store's"])
    def test_delete_nothing_early(self, whose: str, hours: float) -> None:
        ours, theirs = (hours, 0.0) if whose == "ours" else (0.0, hours)
        table = aged_table(days=29.9, store_skew_ms=int(theirs * HOUR_MS))
        table.open().checkpoint()
        result = table.open(skew_ms=int(ours * HOUR_MS), **FEW).cleanup()
        assert result.commits == 0
        assert commits(table) == list(range(13))

    @pytest.mark.parametrize("hours", [-1, 1])
    @pytest.mark.parametrize("whose", ["ours", "the store's"])
    def test_delay_what_is_due_by_no_more_than_they_are_wrong(self, whose: str, hours: float) -> None:
        ours, theirs = (hours, 0.0) if whose == "ours" else (0.0, hours)
        table = aged_table(days=30.1, store_skew_ms=int(theirs * HOUR_MS))
        table.open().checkpoint()
        assert table.open(skew_ms=int(ours * HOUR_MS), **FEW).cleanup().commits == 9

    def test_that_went_back_delete_nothing(self) -> None:
        table = aged_table()
        table.clock.forward(days=-400)
        table.append()
        table.open().checkpoint()
        assert table.open(**FEW).cleanup().commits == 0

    def test_the_store_has_the_last_word_where_nothing_new_was_written(self) -> None:
        table = OldTable()
        table.create()
        table.append(12)
        table.open().checkpoint()
        table.clock.forward(days=40)
        assert table.open(**FEW).cleanup().commits == 0, "by the store's files no time has passed"
        table.append()
        assert table.open(**FEW).cleanup().commits == 11


class TestADryRun:
    @pytest.mark.parametrize("form", ["parquet", "json"])
    @pytest.mark.parametrize("earlier", [(), (3,), (3, 6), (2, 4, 9)])
    def test_deletes_nothing_and_tells_the_same_numbers(self, earlier: tuple[int, ...], form: str) -> None:
        table = aged_table()
        for version in (*earlier, 12):
            table.open(checkpoint__format=form).checkpoint(version)
        table.model.put(part_path(1, part=1, of=2), b"left behind")
        table.clock.forward(hours=3)
        table.append()
        before = table.model.tree()
        told = table.open(**FEW).cleanup(dry_run=True)
        assert told.dry_run
        assert table.model.tree() == before
        done = table.open(**FEW).cleanup()
        assert numbers(told) == numbers(done)
        assert told.commits == 9
        assert told.checkpoints == sum(version < 9 for version in earlier)
        assert told.leftovers == 1 + (told.checkpoints if form == "parquet" else 0)

    def test_of_an_incomplete_checkpoint_says_that_nothing_goes(self) -> None:
        table = aged_table()
        told = table.open(**FEW).cleanup(dry_run=True)
        assert numbers(told) == (0, 0, 0, 0, 0)


class TestCheckpoints:
    def test_the_newest_two_and_the_one_that_the_oldest_version_needs_never_expire(self) -> None:
        table = aged_table()
        for version in (3, 9, 10, 11, 12):
            table.open().checkpoint(version)
        table.clock.forward(hours=24)
        table.append()
        table.clock.forward(days=10)  # everything is old, but not old enough for the log
        result = table.open(**FEW).cleanup()
        assert result.oldest_version == 9
        assert checkpoints(table) == [9, 11, 12]
        assert result.checkpoints == 2
        assert shown(table) == {version: model_of(version) for version in range(9, 14)}

    def test_a_damaged_one_does_not_count_among_the_newest_two(self) -> None:
        table = aged_table(old=2)
        for version in (1, 2, 3, 4):
            table.open().checkpoint(version)
        table.model.put(manifest_path(4), b"{}")
        table.clock.forward(hours=24)
        table.append()
        table.open().cleanup()
        assert checkpoints(table) == [2, 3]

    def test_younger_than_two_hours_stay(self) -> None:
        table = aged_table(old=2)
        for version in (1, 2, 3, 4):
            table.open().checkpoint(version)
        table.clock.forward(hours=2)
        table.append()
        table.open().cleanup()
        assert checkpoints(table) == [1, 2, 3, 4]

    def test_in_json_expire_by_the_same_rules(self) -> None:
        table = aged_table(old=2)
        for version in (1, 2, 3, 4):
            table.open(checkpoint__format="json").checkpoint(version)
        table.clock.forward(hours=24)
        table.append()
        result = table.open().cleanup()
        assert result.checkpoints == 2
        assert {json_checkpoint_path(3), json_checkpoint_path(4)} <= table.names()
        assert not {json_checkpoint_path(1), json_checkpoint_path(2)} & table.names()

    def test_one_that_the_mark_stands_on_stays_although_a_commit_below_it_was_left_behind(self) -> None:
        """A cleaner that died, or could not delete a file, leaves a commit below the mark; the next one is more patient."""
        table = aged_table()
        for version in (9, 11, 12):
            table.open().checkpoint(version)
        stray = table.model.get(commit_path(3))
        table.open(**FEW).cleanup()
        table.model.put(commit_path(3), stray)
        table.clock.forward(hours=24)
        table.append()
        table.open(**FEW, logRetention__duration=400 * DAY_MS).cleanup()
        assert shown(table) == {version: model_of(version) for version in range(9, 14)}

    def test_of_other_software_stay_where_commits_are_gone_and_they_are_all_there_is(self) -> None:
        table = OldTable()
        table.create()
        first = table.open().read_version(0)
        table.append(12)
        lines = [foreign_add(f"f{number}") for number in range(1, 9)]
        write_foreign_checkpoint(table, 8, first, lines)
        for version in range(6):
            table.model.delete(commit_path(version))
        before = sorted(table.open().list_files()["path"].to_pylist())
        table.clock.forward(days=40)
        table.append()
        table.open(**FEW).cleanup()
        assert before == model_of(12)
        assert sorted(table.open().list_files()["path"].to_pylist()) == model_of(13)


def write_foreign_checkpoint(table: OldTable, version: int, first: list[Any], adds: list[dict[str, Any]]) -> None:
    """Write a checkpoint as lines of actions, without a checksum of ours."""
    lines = format_lines(first) + b"".join(msgspec.json.encode(line) + b"\n" for line in adds)
    table.model.put(json_checkpoint_path(version), lines)


class TestLeftovers:
    def test_parts_without_a_checkpoint_go_after_an_hour(self) -> None:
        table = aged_table(old=2)
        left = f"{CHECKPOINT_DIRECTORY}/{1:020d}.checkpoint.{1:010d}.{2:010d}.parquet"
        table.model.put(left, b"left behind")
        table.clock.forward(hours=1)
        table.append()
        assert table.open().cleanup().leftovers == 0
        table.clock.forward(hours=0.1)
        table.append()
        result = table.open().cleanup()
        assert (result.leftovers, result.bytes_freed) == (1, len(b"left behind"))
        assert left not in table.names()

    def test_a_part_of_a_checkpoint_that_was_never_finished_is_not_used_for_the_one_that_everything_depends_on(
        self,
    ) -> None:
        """It has the right name and the right bytes, and looks like a leftover to whoever lists the log at this moment."""
        table = aged_table()
        table.open().checkpoint(9)
        table.model.delete(manifest_path(9))
        table.clock.forward(hours=3)
        table.append()
        table.open().checkpoint()
        result = table.open(**FEW).cleanup()
        assert (result.commits, result.leftovers) == (9, 1)
        assert part_path(9) not in table.names()
        assert shown(table) == {version: model_of(version) for version in range(9, 14)}

    def test_parts_that_a_later_checkpoint_uses_again_stay(self) -> None:
        table = OldTable()
        table.create()
        log = table.open(checkpoint__enabled=False)
        log.add_files([add(f"a{number:04d}", stats="x" * 50) for number in range(400)])
        parts: dict[str, Any] = {"checkpoint__maxFileSize": "1K"}
        table.open(**parts).checkpoint()
        for number in range(3):
            log.add_files([add(f"z{number}")])
            reused = table.open(**parts).checkpoint().parts_reused
        assert reused > 0
        table.clock.forward(hours=24)
        table.append()
        result = table.open().cleanup()
        assert result.checkpoints == 2
        assert result.leftovers > 0
        assert table.open().snapshot().num_files == 404
        for version in (3, 4):
            assert table.open().snapshot(version).num_files == 400 + version - 1

    def test_nothing_goes_where_what_a_checkpoint_consists_of_is_not_known(self) -> None:
        table = aged_table(old=2)
        table.open().checkpoint(2)
        table.model.put(manifest_path(2), b"damaged")
        table.model.put(part_path(1), b"left behind")
        table.clock.forward(hours=1.5)
        table.append()
        assert table.open().cleanup().leftovers == 0

    def test_marks_below_the_newest_one_go(self) -> None:
        table = aged_table()
        raise_floor(table.model, 1)
        table.open().checkpoint()
        table.open(**FEW).cleanup()
        assert read_floor(table.model) == 9
        assert floor_path(1) not in table.names()


class TestWhatCannotBeDeleted:
    def cleaner(self, table: OldTable, refuse: Callable[[str], bool], **options: Any) -> TransactionLog:
        def before(op: str, path: str) -> None:
            if op == "delete" and refuse(path):
                raise PermissionDeniedError(path, store="the store")

        return table.place().open(configured(**FEW, **options), before=before).log

    def test_is_told_and_the_rest_goes_on(self, caplog: pytest.LogCaptureFixture) -> None:
        table = aged_table()
        table.open().checkpoint()
        with caplog.at_level(logging.WARNING):
            result = self.cleaner(table, lambda path: path == commit_path(4)).cleanup()
        assert len(result.failures) == 1
        assert commit_path(4) in result.failures[0]
        assert commits(table) == [4, 9, 10, 11, 12]
        assert commit_path(4) in caplog.text
        assert shown(table) == {version: model_of(version) for version in range(9, 13)}

    def test_goes_the_next_time(self) -> None:
        table = aged_table()
        table.open().checkpoint()
        self.cleaner(table, lambda path: path == commit_path(4)).cleanup()
        result = table.open(**FEW).cleanup()
        assert (result.oldest_version, result.commits) == (9, 1)
        assert commits(table) == [9, 10, 11, 12]

    def test_is_an_error_if_the_settings_say_so(self) -> None:
        table = aged_table()
        table.open().checkpoint()
        log = self.cleaner(table, lambda path: path == commit_path(4), cleanup__failurePolicy="fail")
        with pytest.raises(StorageError):
            log.cleanup()
        assert shown(table) == {version: model_of(version) for version in range(9, 13)}

    def test_is_no_error_of_the_commit_in_either_case(self) -> None:
        for policy in ("continue", "fail"):
            table = aged_table()
            log = self.cleaner(
                table, lambda path: path == commit_path(4), cleanup__failurePolicy=policy, checkpoint__interval=1
            )
            assert log.add_files([add("f13")]).version == 13
            assert commits(table)[0] == 4
            assert shown(table) == {version: model_of(version) for version in range(9, 14)}


class TestBeforeAnythingIsDeleted:
    def test_the_oldest_version_that_stays_has_a_checkpoint_or_nothing_happens(self) -> None:
        table = aged_table()
        table.open().checkpoint()

        def before(op: str, path: str) -> None:
            if op != "get" and part_version(path) == 9:
                raise StorageUnavailableError(path, store="the store")

        log = table.place().open(configured(**FEW), before=before).log
        with pytest.raises(CheckpointError):
            log.cleanup()
        assert commits(table) == list(range(13))
        assert read_floor(table.model) == 0

    @pytest.mark.parametrize("wrote", [True, False])
    def test_that_checkpoint_is_looked_at_again_after_it_was_written(self, *, wrote: bool) -> None:
        table = aged_table()
        table.open().checkpoint()
        settings = configured(**FEW)
        cleaner = cleanup.Cleaner(table.model, CheckpointFinder(table.model, settings), settings, table.place().runtime)

        def checkpoint_at(version: int) -> None:
            if not wrote:
                raise VersionNotFoundError("the table", version=version, available="0 to 12")

        with pytest.raises(CheckpointError if wrote else VersionNotFoundError):
            cleaner.clean(12, checkpoint_at=checkpoint_at)
        assert commits(table) == list(range(13))

    def test_a_checkpoint_that_only_the_cache_of_a_dead_process_holds_is_made_to_last(self) -> None:
        """On a file system a name is there before it is synced. Commits must not go for the sake of such a name."""
        for seed in range(12):
            table = aged_table(make=PosixModel)
            table.open().checkpoint(9)
            manifest = table.model.get(manifest_path(9))
            table.model.delete(manifest_path(9))
            table.model.leave_unsynced("put", manifest_path(9), manifest)
            table.open().checkpoint(10)  # so that something may go at all
            table.model.delete(manifest_path(9))
            table.model.leave_unsynced("put", manifest_path(9), manifest)
            assert table.open(**FEW).cleanup().commits == 9
            table.model.crash(seed)
            assert shown(table) == {version: model_of(version) for version in range(9, 13)}


def test_progress_is_told_by_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indextables.log.cleanup._BATCH", 4)
    table = aged_table()
    table.open().checkpoint()
    told: list[tuple[int, int]] = []
    table.open(**FEW).cleanup(progress=lambda done, total: told.append((done, total)))
    assert told == [(4, 9), (8, 9), (9, 9)]


def test_one_line_says_what_was_cleaned_up(caplog: pytest.LogCaptureFixture) -> None:
    table = aged_table()
    table.open().checkpoint()
    with caplog.at_level(logging.INFO, logger="indextables.log.cleanup"):
        table.open(**FEW).cleanup(dry_run=True)
        result = table.open(**FEW).cleanup()
    lines = [record.getMessage() for record in caplog.records]
    assert [line.partition(" 9 transaction files before version 9")[0] for line in lines] == [
        "Would clean up",
        "Cleaned up",
    ]
    assert str(result.bytes_freed) in lines[1]
