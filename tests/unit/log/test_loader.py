from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest

from indextables.config import Settings, Staleness, Transaction
from indextables.errors import (
    IndexTablesError,
    LogCorruptionError,
    PermissionDeniedError,
    TableNotFoundError,
    UnknownActionError,
    VersionNotFoundError,
)
from indextables.log.actions import Protocol
from indextables.log.layout import LOG_DIRECTORY, commit_path
from indextables.log.open import open_log
from indextables.testing.faulty import FaultKind, Plan
from tests.support.logs import SCHEMA, Place, add, foreign_add, new_table, paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from indextables.log.log import TransactionLog

PLAIN = Settings(transaction=Transaction(use_optimized=False))
WARM = Counter(head=2)
"""Is the newest version that we know still the same file, and is there a next one."""


class TestCost:
    """How many calls to the store a read takes."""

    @pytest.mark.parametrize("files", [1, 300])
    def test_of_a_warm_list_is_two_heads_and_no_read_at_any_size(self, files: int) -> None:
        place, _ = new_table(files=files)
        opened = place.open()
        opened.log.list_files()
        for _ in range(3):
            assert opened.cost(opened.log.list_files) == WARM
        asked = sorted(path for _, path in opened.store.calls[-2:])
        assert asked == [commit_path(files), commit_path(files + 1)]

    def test_of_every_warm_question_is_the_same(self) -> None:
        place, _ = new_table(files=5)
        opened = place.open()
        log = opened.log
        questions = (
            log.snapshot,
            log.latest_version,
            log.skipped_files,
            log.files_in_cooldown,
            lambda: log.metadata,
            lambda: log.protocol,
            lambda: log.schema,
            lambda: log.partition_columns,
            lambda: log.is_in_cooldown("f0"),
            lambda: log.snapshot(3),
        )
        for ask in questions:
            ask()
        for ask in questions:
            assert opened.cost(ask) == WARM

    def test_of_the_list_of_versions_is_one_more_to_see_whether_the_oldest_was_cleaned_up(self) -> None:
        place, _ = new_table(files=5)
        opened = place.open()
        opened.log.versions()
        assert opened.cost(opened.log.versions) == WARM + Counter(head=1)

    @pytest.mark.parametrize("new", [1, 7])
    def test_of_a_refresh_is_a_read_for_each_new_commit(self, new: int) -> None:
        place, writer = new_table(files=50)
        opened = place.open()
        opened.log.list_files()
        for number in range(new):
            writer.add_files([add(f"new{number}")])
        before = len(opened.store.calls)
        cost = opened.cost(opened.log.list_files)
        assert cost["get"] == new
        read = {path for op, path in opened.store.calls[before:] if op == "get"}
        assert read == {commit_path(51 + number) for number in range(new)}
        assert cost["list_from"] == 1
        assert len(paths(opened.log)) == 50 + new

    def test_of_a_refresh_after_our_own_commit_is_one_read(self) -> None:
        place, _ = new_table(files=50)
        opened = place.open()
        opened.log.list_files()
        opened.log.add_files([add("new")])
        cost = opened.cost(opened.log.list_files)
        assert cost["get"] <= 1
        assert cost["list_from"] == 0

    def test_of_a_cold_list_is_one_read_for_each_commit(self) -> None:
        place, _ = new_table(files=50)
        opened = place.open()
        cost = opened.cost(opened.log.list_files)
        assert cost["get"] <= 51 + 2
        assert cost["list_from"] == 1

    def test_of_metadata_on_a_long_log_is_three_reads_and_never_the_files(self) -> None:
        place, log = new_table(files=150)
        log.update_metadata(description="in the middle")
        for number in range(150):
            log.add_files([add(f"more{number}")])
        for ask in ("metadata", "protocol", "schema", "partition_columns"):
            opened = place.open()
            cost = opened.cost(lambda opened=opened, ask=ask: getattr(opened.log, ask))  # type: ignore[misc]
            assert cost["get"] <= 3
            assert cost["list_from"] == 1

    def test_of_metadata_behind_skips_is_three_reads_too(self) -> None:
        place, log = new_table(files=150)
        log.record_skipped_file("f0", reason="r", operation="merge")
        opened = place.open()
        assert opened.cost(lambda: opened.log.metadata)["get"] <= 3

    def test_of_metadata_behind_a_commit_by_others_is_a_few_reads(self) -> None:
        place, _ = new_table(files=150)
        place.write(151, foreign_add("theirs"))
        opened = place.open()
        assert opened.cost(lambda: opened.log.metadata)["get"] <= 5


class TestFreshness:
    def test_a_read_sees_every_commit_that_was_acknowledged_before(self) -> None:
        place, writer = new_table()
        reader = place.log()
        for number in range(20):
            writer.add_files([add(f"f{number}")])
            assert len(paths(reader)) == number + 1

    def test_a_snapshot_does_not_change_while_others_commit(self) -> None:
        place, writer = new_table(files=2)
        held = place.log().snapshot()
        before = held.files.to_pylist()
        writer.overwrite_files([add("new")])
        assert held.files.to_pylist() == before
        assert held.version == 2

    def test_versions_of_the_past_are_read_in_any_order(self) -> None:
        place, writer = new_table(files=3)
        writer.remove_files(["f0"])
        log = place.log()
        for version in (4, 0, 3, 1, 2, 4):
            expected = ["f1", "f2"] if version == 4 else [f"f{number}" for number in range(version)]
            assert sorted(log.snapshot(version).files["path"].to_pylist()) == expected

    @pytest.mark.parametrize("version", [-1, 4, 2**63])
    @pytest.mark.parametrize("settings", [Settings(), PLAIN], ids=["optimised", "plain"])
    def test_a_version_that_does_not_exist_is_named_with_those_that_do(self, version: int, settings: Settings) -> None:
        place, _ = new_table(files=3)
        log = place.log(settings)
        with pytest.raises(VersionNotFoundError, match="Available: 0 to 3") as caught:
            log.snapshot(version)
        assert caught.value.version == version
        with pytest.raises(VersionNotFoundError, match="Available: 0 to 3"):
            log.read_version(version)


class TestStaleness:
    """A reader that accepts an old answer gets it without a call, and never one that is older than it accepts."""

    def test_serves_without_any_call_until_it_is_over(self) -> None:
        place, writer = new_table(files=1)
        opened = place.open()
        opened.log.list_files()
        writer.add_files([add("new")])
        place.runtime.sleep(5)
        assert opened.cost(lambda: opened.log.list_files(max_staleness_s=5)) == Counter()
        assert opened.log.list_files(max_staleness_s=5).num_rows == 1
        place.runtime.sleep(0.1)
        assert opened.log.list_files(max_staleness_s=5).num_rows == 2

    def test_can_be_the_rule_for_a_log(self) -> None:
        place, writer = new_table(files=1)
        opened = place.open(Settings(staleness=Staleness(max_staleness_s=10)))
        opened.log.list_files()
        writer.add_files([add("new")])
        assert opened.cost(opened.log.list_files) == Counter()
        assert opened.log.list_files(max_staleness_s=0).num_rows == 2

    def test_of_nothing_known_reads(self) -> None:
        place, _ = new_table(files=1)
        assert place.log().list_files(max_staleness_s=1000).num_rows == 1

    def test_does_not_take_a_version_of_the_past_for_the_newest(self) -> None:
        place, _ = new_table(files=2)
        log = place.log()
        log.snapshot(0)
        assert log.list_files(max_staleness_s=1000).num_rows == 2

    def test_includes_our_own_commits(self) -> None:
        _, log = new_table(files=1)
        log.list_files()
        log.add_files([add("mine")])
        assert log.list_files(max_staleness_s=1000).num_rows == 2

    def test_is_not_prolonged_by_other_questions(self) -> None:
        place, writer = new_table(files=1)
        log = place.log()
        log.list_files()
        writer.add_files([add("new")])
        for _ in range(5):
            place.runtime.sleep(4)
            _ = log.metadata
        assert log.list_files(max_staleness_s=5).num_rows == 2


WRITES: Final[dict[str, Callable[[TransactionLog], object]]] = {
    "metadata": lambda log: log.update_metadata(description="changed"),
    "protocol": lambda log: log.upgrade_protocol(Protocol(min_reader_version=3, min_writer_version=3)),
    "overwrite": lambda log: log.overwrite_files([add("over")]),
    "remove": lambda log: log.remove_files(["f0"]),
    "merge": lambda log: log.merge_files(["f0", "f1"], [add("merged")]),
}


class TestATableMadeAnew:
    """A table that is dropped and created again in the same place never shows old rows, to no reader however warm."""

    def made_anew(self, *, files: int, warm: str) -> tuple[TransactionLog, TransactionLog]:
        place, log = new_table(files=2)
        log = place.log() if warm == "reader" else log
        log.list_files()
        log.read_version(2)
        if warm == "writer":
            log.add_files([add("old")])
        place.drop()
        other = place.log()
        other.initialize(SCHEMA)
        for number in range(files):
            other.add_files([add(f"new{number}")])
        return log, other

    @pytest.mark.parametrize("files", [0, 1, 2, 3, 4])
    @pytest.mark.parametrize("warm", ["reader", "writer"])
    def test_shows_its_own_rows_to_an_old_handle(self, files: int, warm: str) -> None:
        log, _ = self.made_anew(files=files, warm=warm)
        assert paths(log) == [f"new{number}" for number in range(files)]

    @pytest.mark.parametrize("warm", ["reader", "writer"])
    def test_shows_its_own_metadata_and_commits(self, warm: str) -> None:
        log, other = self.made_anew(files=3, warm=warm)
        assert [action.path for action in log.read_version(2)] == ["new1"]  # type: ignore[union-attr]
        assert log.metadata == other.metadata
        assert log.history().equals(other.history())

    def test_takes_appends_of_an_old_handle(self) -> None:
        log, other = self.made_anew(files=3, warm="writer")
        log.add_files([add("late")])
        assert paths(other) == ["late", "new0", "new1", "new2"]

    def remade_before_call(self, number: int, *, files: int) -> tuple[Place, TransactionLog]:
        """Return a log that has just been opened, and whose table is made anew before the call of that number."""
        place, _ = new_table(files=2)
        calls: list[str] = []

        def before(op: str, _: str) -> None:
            calls.append(op)
            if len(calls) == number:
                place.drop()
                other = place.log()
                other.initialize(SCHEMA)
                other.add_files([add(f"new{index}") for index in range(3)])
                for index in range(3, files):
                    other.add_files([add(f"new{index}")])

        return place, place.open(before=before).log

    @pytest.mark.parametrize("files", [3, 4, 5])
    @pytest.mark.parametrize("number", range(1, 10))
    def test_in_the_middle_of_a_read_shows_no_old_row_to_the_next_one(self, number: int, files: int) -> None:
        place, log = self.remade_before_call(number, files=files)
        for _ in range(10):  # so that all calls happen, however few a read takes
            with contextlib.suppress(IndexTablesError):
                log.list_files()
        assert paths(log) == [f"new{index}" for index in range(files)]
        assert log.metadata == place.log().metadata
        assert [action.key for action in log.read_version(0)] == ["protocol", "metaData"]
        assert log.read_version(1) == place.log().read_version(1)

    @pytest.mark.parametrize("files", [3, 4, 5, 6])
    @pytest.mark.parametrize("operation", WRITES)
    def test_in_the_middle_of_a_write_takes_nothing_that_was_made_for_the_old_one(
        self, operation: str, files: int
    ) -> None:
        dry = new_table(files=2)[0].open()
        WRITES[operation](dry.log)
        # Before the last four calls: is it still the same table, is there a next version, the write, and a look at it.
        for number in range(1, len(dry.store.calls) - 2):
            place, log = self.remade_before_call(number, files=files)
            with contextlib.suppress(IndexTablesError):
                WRITES[operation](log)
            now = place.log()
            made = [f"new{index}" for index in range(files)]
            assert paths(now) in ([made, ["over"]] if operation == "overwrite" else [made])
            assert now.metadata.id == now.snapshot(0).metadata.id

    def test_is_gone_for_an_old_handle_while_there_is_none(self) -> None:
        place, log = new_table(files=2)
        log.list_files()
        place.drop()
        for ask in (log.list_files, log.versions, lambda: log.metadata):
            with pytest.raises(TableNotFoundError):
                ask()


class TestErrors:
    @pytest.mark.parametrize("settings", [Settings(), PLAIN], ids=["optimised", "plain"])
    def test_where_there_is_no_table(self, settings: Settings) -> None:
        log = Place().log(settings)
        for ask in (log.list_files, log.versions, log.latest_version, log.history, lambda: log.schema):
            with pytest.raises(TableNotFoundError) as caught:
                ask()
            assert str(caught.value) == (
                "There is no table at s3 model: it holds no _transaction_log. "
                "Check the path, or create the table by writing to it."
            )

    def test_in_an_empty_directory_or_one_with_other_files(self, tmp_path: Path) -> None:
        with pytest.raises(TableNotFoundError, match="it holds no _transaction_log"):
            open_log(str(tmp_path)).list_files()
        (tmp_path / LOG_DIRECTORY).mkdir()
        (tmp_path / "data.parquet").write_bytes(b"x")
        with pytest.raises(TableNotFoundError):
            open_log(str(tmp_path)).list_files()
        with pytest.raises(TableNotFoundError):
            open_log(str(tmp_path / "nowhere")).list_files()

    @pytest.mark.parametrize("settings", [Settings(), PLAIN], ids=["optimised", "plain"])
    def test_of_a_log_that_does_not_say_what_the_table_is(self, settings: Settings) -> None:
        place = Place()
        place.write(0, foreign_add("f"))
        with pytest.raises(TableNotFoundError, match="its log holds no metaData action"):
            _ = place.log(settings).snapshot().metadata
        with pytest.raises(TableNotFoundError, match="its log holds no metaData action"):
            _ = place.log(settings).schema

    @pytest.mark.parametrize("settings", [Settings(), PLAIN], ids=["optimised", "plain"])
    @pytest.mark.parametrize("warm", [True, False])
    def test_of_a_damaged_file_in_the_middle_name_file_and_line(self, settings: Settings, warm: bool) -> None:
        place, _ = new_table(files=30)
        log = place.log(settings)
        if warm:
            _ = log.metadata
        place.write_bytes(
            12, b'{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}\n{"ad'
        )
        with pytest.raises(LogCorruptionError) as caught:
            log.list_files()
        assert caught.value.path == f"s3 model/{commit_path(12)}"
        assert caught.value.line == 2

    @pytest.mark.parametrize("data", [b"", b"\n\n", b"\x01", b"\x01\x01", b"\x01\x01junk", b"\x01\x09xx", b"\xff\xfe"])
    def test_of_a_file_that_is_no_commit_name_it(self, data: bytes) -> None:
        place, _ = new_table(files=4)
        place.write_bytes(2, data)
        for log in (place.log(), place.log(PLAIN)):
            with pytest.raises(LogCorruptionError) as caught:
                log.list_files()
            assert commit_path(2) in str(caught.value)

    @pytest.mark.parametrize("settings", [Settings(), PLAIN], ids=["optimised", "plain"])
    def test_of_an_unknown_action_name_file_line_and_action(self, settings: Settings) -> None:
        place, _ = new_table(files=2)
        place.write(3, foreign_add("g"), {"commitInfo": {"operation": "WRITE"}})
        place.write(4, foreign_add("h"))
        with pytest.raises(UnknownActionError) as caught:
            place.log(settings).list_files()
        assert (caught.value.path, caught.value.line) == (f"s3 model/{commit_path(3)}", 2)
        assert caught.value.action == "commitInfo"
        assert str(caught.value) == (
            f"s3 model/{commit_path(3)}, line 2 is damaged: unknown action 'commitInfo', known are protocol, metaData, add, "
            "remove and mergeskip. Read the table with the newer version of the software that wrote it."
        )

    def test_of_a_version_that_vanished_under_a_warm_handle_name_that_version(self) -> None:
        place, log = new_table(files=30)
        assert log.latest_version() == 30
        place.model.delete(commit_path(12))
        with pytest.raises(LogCorruptionError) as caught:
            log.list_files()
        assert caught.value.versions == (12,)
        assert commit_path(12) in str(caught.value)

    def test_of_asking_for_the_commit_that_vanished_are_the_same(self) -> None:
        place, log = new_table(files=5)
        place.model.delete(commit_path(2))
        with pytest.raises(LogCorruptionError) as caught:
            log.read_version(2)
        assert caught.value.versions == (2,)

    def test_of_rights_are_told_as_such(self) -> None:
        place, _ = new_table(files=2)
        log = place.open(plan=Plan(1, FaultKind.PERMISSION, "forever")).log
        for ask in (log.list_files, lambda: log.metadata, lambda: log.add_files([add("g")])):
            with pytest.raises(PermissionDeniedError, match=r"Access to _transaction_log.* in s3 model was refused"):
                ask()


class TestThreads:
    def test_readers_see_only_states_that_existed_and_never_go_back(self) -> None:
        place, log = new_table()
        failures: list[str] = []
        done = threading.Event()

        def write(name: str) -> None:
            for number in range(25):
                log.add_files([add(f"{name}{number}a"), add(f"{name}{number}b")])

        def read() -> None:
            seen = -1
            while not done.is_set():
                snapshot = log.snapshot()
                # A commit adds two files or none, so an odd number would be half a commit.
                if snapshot.num_files != 2 * snapshot.version or snapshot.version < seen:
                    failures.append(f"{snapshot} after version {seen}")
                seen = snapshot.version

        readers = [threading.Thread(target=read) for _ in range(8)]
        writers = [threading.Thread(target=write, args=(name,)) for name in "ab"]
        for thread in (*readers, *writers):
            thread.start()
        for thread in writers:
            thread.join(120)
        done.set()
        for thread in readers:
            thread.join(60)
        assert not failures
        assert not any(thread.is_alive() for thread in (*readers, *writers))
        assert log.latest_version() == 50
        assert place.log().list_files().num_rows == 100

    def test_a_forked_child_reads_although_a_thread_of_its_parent_held_the_locks(self, tmp_path: Path) -> None:
        log = open_log(str(tmp_path / "table"))
        log.initialize(SCHEMA)
        log.add_files([add("f0")])
        log.list_files()
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            with log._loader._lock, log._loader._snapshots._lock, log._loader._commits._lock:
                held.set()
                release.wait(60)

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait(30)
        child = os.fork()
        if not child:
            signal.alarm(30)  # a child that waits for a lock for ever ends like this
            try:
                log.add_files([add("child")])
                os._exit(0 if paths(log) == ["child", "f0"] else 1)
            finally:
                os._exit(2)
        try:
            _, status = os.waitpid(child, 0)
        finally:
            release.set()
            holder.join(30)
        assert os.waitstatus_to_exitcode(status) == 0
        assert paths(log) == ["child", "f0"]


class TestThePlainReader:
    def test_is_chosen_by_its_setting_and_reads_file_by_file_every_time(self, tmp_path: Path) -> None:
        open_log(str(tmp_path)).initialize(SCHEMA)
        plain = open_log(str(tmp_path), {"spark.indextables.transaction.useOptimized": "false"})
        plain.add_files([add("f")])
        assert paths(plain) == ["f"]
        assert plain.cache_stats().entries == 0

    def test_costs_a_read_for_each_commit_every_time(self) -> None:
        place, _ = new_table(files=5)
        opened = place.open(PLAIN)
        assert opened.cost(opened.log.list_files)["get"] == 6
        assert opened.cost(opened.log.list_files)["get"] == 6

    def test_takes_every_operation(self) -> None:
        place, _ = new_table(files=3)
        log = place.log(PLAIN)
        log.merge_files(["f0", "f1"], [add("m")])
        log.remove_files(["f2"])
        log.record_skipped_file("m", reason="r", operation="merge")
        assert paths(log) == ["m"]
        assert log.is_in_cooldown("m")
        assert log.history().num_rows == 7
