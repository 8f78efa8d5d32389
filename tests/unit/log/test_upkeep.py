from __future__ import annotations

import logging
import os
import select
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from indextables.errors import StorageUnavailableError
from indextables.log import upkeep
from indextables.log.layout import (
    CHECKPOINT_DIRECTORY,
    POINTER,
    commit_path,
    commit_version,
    json_checkpoint_path,
    manifest_path,
    manifest_version,
    part_version,
)
from indextables.log.upkeep import finish_background_work
from indextables.testing.faulty import Crash
from indextables.testing.models import PosixModel
from tests.faults.upkeep_clock import OldTable, configured
from tests.support.logs import add

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from indextables.log.log import TransactionLog

PATIENCE_S = 30.0


def new_table(**made: Any) -> OldTable:
    table = OldTable(**made)
    table.create()
    return table


def checkpoints(table: OldTable) -> list[int]:
    found = (manifest_version(path) for path in table.names())
    return sorted(version for version in found if version is not None)


def append(log: TransactionLog, count: int = 1) -> int:
    for _ in range(count):
        version = log.add_files([add(f"f{log.latest_version() + 1}")]).version
    return version


class TestACheckpointIsDue:
    def test_after_as_many_commits_as_the_settings_say(self) -> None:
        table = new_table()
        append(table.open(checkpoint__interval=4), 13)
        assert checkpoints(table) == [4, 8, 12]

    def test_after_ten_by_default(self) -> None:
        table = new_table()
        append(table.open(), 10)
        assert checkpoints(table) == [10]

    def test_by_distance_whichever_process_commits(self) -> None:
        table = new_table()
        for _ in range(9):
            append(table.open(checkpoint__interval=4))
        assert checkpoints(table) == [4, 8]

    def test_at_once_where_one_was_missed(self) -> None:
        table = new_table()
        table.append(17)
        append(table.open(checkpoint__interval=10))
        assert checkpoints(table) == [18]

    def test_not_where_another_process_wrote_one(self) -> None:
        table = new_table()
        mine = table.open(checkpoint__interval=4)
        append(mine, 3)
        append(table.open(checkpoint__interval=1))
        append(mine, 3)
        assert checkpoints(table) == [4]
        append(mine)
        assert checkpoints(table) == [4, 8]

    def test_never_where_they_are_switched_off(self) -> None:
        table = new_table()
        append(table.open(checkpoint__interval=1, checkpoint__enabled=False), 3)
        assert checkpoints(table) == []

    def test_in_the_form_that_is_configured(self) -> None:
        table = new_table()
        append(table.open(checkpoint__interval=3, checkpoint__format="json"), 3)
        assert json_checkpoint_path(3) in table.names()
        assert not checkpoints(table)

    def test_whatever_nonsense_the_pointer_holds(self) -> None:
        table = new_table()
        table.append(9)
        for nonsense in (b"", b"\0", b'{"version":-1}', b'{"version":9999999}', b'{"version":8}'):
            table.model.put(POINTER, nonsense)
            version = append(table.open(checkpoint__interval=5))
            assert checkpoints(table)[-1] == version

    def test_not_after_a_batch_that_was_there_already(self) -> None:
        table = new_table()
        log = table.open(checkpoint__interval=2)
        log.add_files([add("a")], app="app", batch=1)
        assert not log.add_files([add("b")], app="app", batch=1).written
        assert checkpoints(table) == []


class TestADamagedCheckpoint:
    def damage(self, table: OldTable) -> None:
        for path in table.names():
            if part_version(path) is not None:
                table.model.put(path, b"damaged")

    def test_is_rebuilt_by_the_next_commit_of_a_process_that_saw_it(self, caplog: pytest.LogCaptureFixture) -> None:
        table = new_table()
        append(table.open(checkpoint__interval=4), 4)
        self.damage(table)
        log = table.open(checkpoint__interval=4)
        with caplog.at_level(logging.WARNING):
            assert log.snapshot().num_files == 4
        assert len(caplog.records) == 1
        append(log)
        assert checkpoints(table) == [4, 5]
        caplog.clear()
        assert table.open().snapshot().num_files == 5
        assert not caplog.records

    def test_is_rebuilt_also_by_the_process_that_wrote_it(self) -> None:
        table = new_table()
        log = table.open(checkpoint__interval=4)
        append(log, 4)
        self.damage(table)
        log.invalidate_all()
        assert log.snapshot().num_files == 4
        append(log)
        assert checkpoints(table) == [4, 5]

    def test_is_rebuilt_although_it_was_made_by_hand_before_the_first_was_due(self) -> None:
        table = new_table()
        table.append(3)
        table.open().checkpoint()
        self.damage(table)
        log = table.open()
        assert log.snapshot().num_files == 3
        append(log)
        assert checkpoints(table) == [3, 4]


class TestAFailingCheckpoint:
    @pytest.mark.parametrize("op", ["put", "put_if_absent"])
    @pytest.mark.parametrize("background", [False, True])
    def test_does_not_fail_the_commit(self, op: str, background: bool, caplog: pytest.LogCaptureFixture) -> None:
        def before(called: str, path: str) -> None:
            if called == op and path.startswith((CHECKPOINT_DIRECTORY, POINTER)):
                raise StorageUnavailableError(path, store="the store", detail="503")

        table = new_table()
        settings = configured(checkpoint__interval=1, checkpoint__background=background)
        log = table.place().open(settings, before=before).log
        with caplog.at_level(logging.WARNING):
            assert append(log) == 1
            finish_background_work(PATIENCE_S)
        assert any("version 1" in record.getMessage() for record in caplog.records)
        assert not checkpoints(table)
        assert log.snapshot().num_files == 1

    def test_is_tried_again_after_the_next_commit(self) -> None:
        def before(_: str, path: str) -> None:
            if path.startswith(CHECKPOINT_DIRECTORY) and fails:
                raise StorageUnavailableError(path, store="the store", detail="503")

        table, fails = new_table(), True
        log = table.place().open(configured(checkpoint__interval=3), before=before).log
        append(log, 4)
        fails = False
        append(log)
        assert checkpoints(table) == [5]

    def test_is_followed_by_no_cleanup(self) -> None:
        table = new_table()
        table.append(6)
        table.clock.forward(days=40)

        def before(called: str, path: str) -> None:
            if called == "put_if_absent" and part_version(path) == 7:
                raise StorageUnavailableError(path, store="the store", detail="503")

        settings = configured(checkpoint__interval=1, checkpoint__retention=0)
        table.open().checkpoint(3)
        append(table.place().open(settings, before=before).log)
        assert commit_path(0) in table.names()


class TestCleanupAfterACheckpoint:
    def aged(self) -> OldTable:
        table = new_table()
        table.append(8)
        table.clock.forward(days=40)
        return table

    def test_takes_away_what_is_old(self) -> None:
        table = self.aged()
        append(table.open(checkpoint__interval=1, checkpoint__retention=3))
        assert table.open().versions() == [7, 8, 9]

    def test_is_left_out_where_it_is_switched_off(self) -> None:
        table = self.aged()
        append(table.open(checkpoint__interval=1, checkpoint__retention=3, cleanup__enabled=False), 5)
        assert table.open().versions() == list(range(14))

    def test_happens_at_most_once_a_checkpoint(self) -> None:
        table = self.aged()
        deletions: list[str] = []
        settings = configured(checkpoint__interval=5, checkpoint__retention=3)
        log = (
            table.place().open(settings, before=lambda op, path: deletions.append(path) if op == "delete" else None).log
        )
        append(log)
        first = len(deletions)
        assert first
        table.clock.forward(days=40)
        append(log, 4)
        assert len(deletions) == first
        append(log)
        assert len(deletions) > first

    def test_can_be_asked_for_where_it_is_switched_off(self) -> None:
        table = self.aged()
        table.append()
        log = table.open(checkpoint__retention=3, cleanup__enabled=False)
        log.checkpoint()
        assert log.cleanup().commits == 7


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Keeps background work waiting until it is set; set in any case at the end."""
    event = threading.Event()
    yield event
    event.set()
    finish_background_work(PATIENCE_S)


class TestInTheBackground:
    def opened(self, table: OldTable, gate: threading.Event, **options: Any) -> tuple[TransactionLog, list[str]]:
        """Return a log whose checkpoints wait at the gate, and the names of the threads that came there."""
        came: list[str] = []

        def before(op: str, path: str) -> None:
            if op in {"put", "put_if_absent"} and path.startswith(CHECKPOINT_DIRECTORY):
                came.append(threading.current_thread().name)
                assert gate.wait(PATIENCE_S)

        settings = configured(
            **{"checkpoint__interval": 1, "checkpoint__background": True, "checkpoint__parallelism": 1, **options}
        )
        return table.place().open(settings, before=before).log, came

    def test_a_commit_does_not_wait_for_the_checkpoint(self, gate: threading.Event) -> None:
        table = new_table()
        log, came = self.opened(table, gate)
        assert append(log, 3) == 3
        assert not checkpoints(table)
        gate.set()
        finish_background_work(PATIENCE_S)
        assert checkpoints(table) == [1]
        assert set(came) == {"indextables-checkpoint"}

    def test_there_is_one_at_a_time_a_table(self, gate: threading.Event) -> None:
        table = new_table()
        log, _ = self.opened(table, gate)
        other, _ = self.opened(table, gate)
        append(log, 2)
        append(other, 2)
        assert len(running()) == 1
        gate.set()
        finish_background_work(PATIENCE_S)
        assert not running()
        assert checkpoints(table) == [1]

    def test_what_was_left_out_meanwhile_is_caught_up_by_the_next_commit(self, gate: threading.Event) -> None:
        table = new_table()
        log, _ = self.opened(table, gate)
        append(log, 3)
        gate.set()
        finish_background_work(PATIENCE_S)
        append(log)
        finish_background_work(PATIENCE_S)
        assert checkpoints(table) == [1, 4]

    def test_it_cleans_up_too(self, gate: threading.Event) -> None:
        table = new_table()
        table.append(8)
        table.clock.forward(days=40)
        gate.set()
        log, _ = self.opened(table, gate, checkpoint__retention=3)
        append(log)
        finish_background_work(PATIENCE_S)
        assert table.open().versions() == [7, 8, 9]

    def test_waiting_for_it_ends_at_the_limit(self, gate: threading.Event) -> None:
        table = new_table()
        log, _ = self.opened(table, gate)
        append(log)
        finish_background_work(0.01)
        assert len(running()) == 1
        assert not checkpoints(table)
        assert append(log) == 2

    def test_nothing_is_left_of_it_where_a_thread_cannot_be_started(
        self, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        table = new_table()
        gate.set()
        log, _ = self.opened(table, gate)
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            assert append(log) == 1
        append(log)
        finish_background_work(PATIENCE_S)
        assert checkpoints(table) == [2]

    @pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
    def test_a_forked_process_writes_its_own(self, gate: threading.Event) -> None:
        """The thread that was at work in the parent does not exist in the child, which must not wait for it."""
        table = new_table()
        log, _ = self.opened(table, gate)
        append(log)
        assert len(running()) == 1
        answer, question = os.pipe()
        pid = os.fork()
        if not pid:
            with suppress(BaseException):
                append(table.open(checkpoint__interval=1, checkpoint__background=True, checkpoint__parallelism=1))
                finish_background_work(PATIENCE_S)
                os.write(question, str(checkpoints(table)).encode())
            os._exit(0)
        os.close(question)
        ready, _, _ = select.select([answer], [], [], PATIENCE_S)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with os.fdopen(answer, "rb") as said:
            assert ready, "the child waits for a thread that it does not have"
            assert said.read() == b"[2]"


def running() -> list[threading.Thread]:
    return list(upkeep._running.values())


class TestACheckpointByHand:
    def test_of_an_earlier_version_leaves_the_pointer_alone(self) -> None:
        table = new_table()
        table.append(6)
        table.open().checkpoint()
        pointer = table.model.get(POINTER)
        assert table.open().checkpoint(3).version == 3
        assert table.model.get(POINTER) == pointer
        assert checkpoints(table) == [3, 6]

    def test_puts_the_next_one_off(self) -> None:
        table = new_table()
        log = table.open(checkpoint__interval=4)
        append(log, 3)
        log.checkpoint()
        append(log, 3)
        assert checkpoints(table) == [3]
        append(log)
        assert checkpoints(table) == [3, 7]

    @pytest.mark.parametrize("seed", range(8))
    def test_of_a_commit_that_a_power_cut_could_still_take_makes_that_commit_last(self, seed: int) -> None:
        """Else another commit could take its place, and the checkpoint would stand for one that never was."""
        table = new_table(make=PosixModel)
        table.append(2)
        table.open().checkpoint(1)

        def die_unsynced(op: str, path: str) -> None:
            if op == "put_if_absent" and commit_version(path) is not None:
                table.model.leave_unsynced("put_if_absent", path, table.model.get(commit_path(2)))
                raise Crash(path)

        def die_at_the_pointer(op: str, path: str) -> None:
            if op == "put" and path == POINTER:
                raise Crash(path)

        writer = table.place().open(configured(checkpoint__enabled=False), before=die_unsynced)
        with suppress(Crash):
            writer.log.add_files([add("dead")])
        assert commit_path(3) in table.names()
        with suppress(Crash):
            table.place().open(before=die_at_the_pointer).log.checkpoint()
        assert manifest_path(3) in table.names()
        table.model.crash(seed)
        log = table.open()
        append(log)
        table.model.delete(POINTER)  # a hint, without which whatever is newest counts
        by_commits = table.open(checkpoint__enabled=False).list_files()["path"].to_pylist()
        assert sorted(table.open().list_files()["path"].to_pylist()) == sorted(by_commits)


def test_work_is_done_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `checkpoint.background` there is no thread at all."""

    def refuse(thread: threading.Thread) -> None:
        raise AssertionError(f"{thread.name} was started")

    table = new_table()
    log = table.open(checkpoint__interval=1, checkpoint__parallelism=1)
    monkeypatch.setattr(threading.Thread, "start", _only_checksums(refuse))
    append(log)
    assert not running()


def _only_checksums(refuse: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    start = threading.Thread.start

    def guarded(thread: threading.Thread) -> None:
        if thread.name == "indextables-checkpoint":
            refuse(thread)
        start(thread)

    return guarded
