from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

import pytest

from indextables.config import Settings, Transaction
from indextables.errors import ConcurrentWriteError, ConfigError, SchemaError, TableNotFoundError
from indextables.log.actions import Add, Remove, Skip
from indextables.log.commit_info import WRITER_TAG
from indextables.log.conflicts import Kind
from indextables.log.log import TransactionLog
from indextables.log.open import open_log
from indextables.storage.open import open_store
from indextables.version import VERSION
from tests.support.logs import PARTITIONED, SCHEMA, Place, add, kinds, new_table, paths

if TYPE_CHECKING:
    from pathlib import Path


class TestOpening:
    def test_reads_nothing_before_something_is_asked(self, tmp_path: Path) -> None:
        open_log(str(tmp_path / "nowhere"))
        assert not (tmp_path / "nowhere").exists()

    def test_takes_settings_by_their_full_names(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"spark\.indextables\.transaction\.useOptimized"):
            open_log(str(tmp_path), {"spark.indextables.transaction.useOptimized": "perhaps"})

    def test_takes_resolved_settings_too(self, tmp_path: Path) -> None:
        log = open_log(str(tmp_path), settings=Settings(transaction=Transaction(use_optimized=False)))
        log.initialize(SCHEMA)
        assert log.cache_stats().entries == 0

    def test_is_the_same_by_path_and_by_store(self, tmp_path: Path) -> None:
        open_log(str(tmp_path)).initialize(SCHEMA)
        log = TransactionLog(open_store(str(tmp_path), settings=Settings()))
        assert log.schema.equals(SCHEMA)
        assert log.url == open_log(str(tmp_path)).url


class TestAppends:
    def test_add_files_beside_those_that_are_there(self) -> None:
        _, log = new_table(files=1)
        result = log.add_files([add("g"), add("h")])
        assert (result.version, result.written, result.attempts) == (2, True, 1)
        assert paths(log) == ["f0", "g", "h"]

    def test_mark_what_they_write(self) -> None:
        _, log = new_table(files=2)
        log.overwrite_files([add("a", tags={"mine": "x"})])
        log.merge_files(["a"], [add("m")])
        for version in (1, 2, 3, 4):
            adds = [action for action in log.read_version(version) if isinstance(action, Add)]
            assert adds
            assert all(action.tags[WRITER_TAG] == VERSION for action in adds)  # type: ignore[index]

    def test_of_nothing_write_no_version(self) -> None:
        place, log = new_table(files=1)
        result = log.add_files([])
        assert (result.written, result.version) == (False, 1)
        assert place.commits() == 2

    def test_of_a_file_that_is_there_replace_what_is_known_of_it(self) -> None:
        _, log = new_table(files=1)
        log.add_files([add("f0", size=7)])
        assert log.list_files().select(["path", "size"]).to_pylist() == [{"path": "f0", "size": 7}]

    def test_to_no_table_are_refused(self) -> None:
        place = Place()
        with pytest.raises(TableNotFoundError):
            place.log().add_files([add("f")])
        assert place.model.tree() == {}


class TestOverwrites:
    def test_remove_everything_and_add_in_one_commit(self) -> None:
        place, log = new_table(files=3)
        log.overwrite_files([add("n")])
        assert paths(log) == ["n"]
        assert kinds(log.read_version(4)) == ["remove", "remove", "remove", "add"]
        assert place.commits() == 5

    def test_with_nothing_empty_the_table(self) -> None:
        _, log = new_table(files=2)
        assert log.overwrite_files([]).written
        assert paths(log) == []

    def test_of_an_empty_table_with_nothing_write_nothing(self) -> None:
        place, log = new_table()
        assert not log.overwrite_files([]).written
        assert place.commits() == 1

    def test_with_a_file_of_the_same_name_keep_the_new_one(self) -> None:
        _, log = new_table(files=2)
        log.overwrite_files([add("f0", size=9)])
        assert log.list_files().select(["path", "size"]).to_pylist() == [{"path": "f0", "size": 9}]

    def test_that_did_not_see_a_new_file_are_refused(self) -> None:
        place, log = new_table(files=1)
        other = place.log()

        def before(op: str, _: str) -> None:
            if op == "put_if_absent" and other.latest_version() == 1:
                other.add_files([add("unseen")])

        slow = place.open(before=before).log
        with pytest.raises(ConcurrentWriteError) as caught:
            slow.overwrite_files([add("n")])
        assert (caught.value.version, caught.value.operation) == (2, "append")
        assert caught.value.cause == "it added files that our overwrite did not see"
        assert paths(log) == ["f0", "unseen"]

    def test_keep_partition_values_and_sizes_in_their_removes(self) -> None:
        _, log = new_table(PARTITIONED, ("day",))
        log.add_files(
            [add("a", partition_values={"day": "2024-01-01"}, size=5), add("b", partition_values={"day": None})]
        )
        log.overwrite_files([])
        removes = [action for action in log.read_version(2) if isinstance(action, Remove)]
        assert [(action.path, action.partition_values, action.size) for action in removes] == [
            ("a", {"day": "2024-01-01"}, 5),
            ("b", {"day": None}, 100),
        ]
        assert all(action.data_change and action.deletion_timestamp for action in removes)


class TestRemovesAndMerges:
    def test_take_files_out_of_the_table(self) -> None:
        _, log = new_table(files=3)
        log.remove_files(["f2", "f0", "f2"])
        assert paths(log) == ["f1"]
        assert sorted(log.snapshot().removes["path"].to_pylist()) == ["f0", "f2"]

    def test_of_files_that_are_not_active_are_refused_by_name(self) -> None:
        place, log = new_table(files=2)
        wrong = ["f0", "x", "y"]
        for act in (partial(log.remove_files, wrong), partial(log.merge_files, wrong, [add("m")])):
            with pytest.raises(SchemaError, match="2 files are not active in the table, x, y among them"):
                act()
        assert place.commits() == 3

    def test_of_nothing_write_nothing(self) -> None:
        place, log = new_table(files=1)
        assert not log.remove_files([]).written
        assert not log.merge_files([], []).written
        assert place.commits() == 2

    def test_merges_change_no_data_and_say_so(self) -> None:
        _, log = new_table(files=2)
        log.merge_files(["f0", "f1"], [add("m", data_change=True)])
        assert [action.data_change for action in log.read_version(3) if isinstance(action, Add | Remove)] == [False] * 3

    def test_removes_can_say_that_they_change_no_data(self) -> None:
        _, log = new_table(files=1)
        log.remove_files(["f0"], data_change=False)
        (action,) = log.read_version(2)
        assert isinstance(action, Remove)
        assert action.data_change is False

    def test_merges_are_made_against_the_version_that_was_planned_on(self) -> None:
        place, log = new_table(files=2)
        planned = log.latest_version()
        place.log().remove_files(["f0"])
        with pytest.raises(ConcurrentWriteError) as caught:
            log.merge_files(["f0", "f1"], [add("m")], read_version=planned)
        assert caught.value.files == ("f0",)


class TestExactlyOnce:
    def test_the_same_batch_is_committed_once(self) -> None:
        place, log = new_table()
        first = log.add_files([add("a")], app="stream", batch=1)
        again = log.add_files([add("a2")], app="stream", batch=1)
        assert (first.written, again.written, again.version) == (True, False, first.version)
        assert paths(log) == ["a"]
        assert place.commits() == 2

    def test_also_by_a_process_that_knows_nothing_of_it(self) -> None:
        place, log = new_table()
        log.add_files([add("a")], app="stream", batch=1)
        assert not place.log().add_files([add("b")], app="stream", batch=1).written

    def test_earlier_batches_are_done_too(self) -> None:
        _, log = new_table()
        log.add_files([add("a")], app="stream", batch=5)
        assert not log.add_files([add("b")], app="stream", batch=3).written
        assert log.add_files([add("c")], app="stream", batch=6).written

    def test_applications_do_not_disturb_each_other(self) -> None:
        _, log = new_table()
        for app in ("one", "two"):
            assert log.add_files([add(app)], app=app, batch=0).written
        assert paths(log) == ["one", "two"]

    def test_the_answer_to_a_repeat_is_that_of_the_first_time(self) -> None:
        place, log = new_table()
        first = log.add_files([add("a")], app="stream", batch=1)
        place.runtime.sleep(100)
        log.add_files([add("other")])
        again = log.add_files([add("a")], app="stream", batch=1)
        assert (again.version, again.timestamp, again.commit_id) == (first.version, first.timestamp, first.commit_id)

    @pytest.mark.parametrize("mine", [4, 5])
    def test_two_attempts_at_the_same_moment_have_one_effect(self, mine: int) -> None:
        """A restarted job meets its old self, which is at the same batch or already a later one."""
        place, _ = new_table()
        other = place.log()

        def before(op: str, _: str) -> None:
            if op == "put_if_absent" and other.latest_version() == 0:
                other.add_files([add("theirs")], app="stream", batch=5)

        result = place.open(before=before).log.add_files([add("mine")], app="stream", batch=mine)
        assert (result.version, result.written) == (1, False)
        assert paths(other) == ["theirs"]

    def test_overwrites_count_as_well(self) -> None:
        _, log = new_table(files=1)
        log.overwrite_files([add("n")], app="job", batch=1)
        log.add_files([add("later")])
        assert not log.overwrite_files([add("n")], app="job", batch=1).written
        assert paths(log) == ["later", "n"]

    @pytest.mark.parametrize(("app", "batch"), [("stream", None), (None, 3)])
    def test_an_application_and_a_batch_come_together(self, app: str | None, batch: int | None) -> None:
        place, log = new_table()
        with pytest.raises(ConfigError, match="a number, and app to a name, or neither"):
            log.add_files([add("a")], app=app, batch=batch)
        assert place.commits() == 1


class TestWorkAfterACommit:
    def test_is_done_with_each_version_that_this_log_wrote(self) -> None:
        place, log = new_table()
        done: list[int] = []
        log.after_commit(done.append)
        log.add_files([add("a")])
        log.add_files([])
        place.log().add_files([add("b")])
        log.add_files([add("c")])
        assert done == [1, 3]

    def test_that_fails_does_not_fail_the_commit(self, caplog: pytest.LogCaptureFixture) -> None:
        _, log = new_table()
        done: list[int] = []

        def fail(version: int) -> None:
            raise RuntimeError(f"no checkpoint of {version}")

        log.after_commit(fail)
        log.after_commit(done.append)
        with caplog.at_level(logging.WARNING, logger="indextables.log.log"):
            result = log.add_files([add("a")])
        assert result.version == 1
        assert done == [1]
        assert caplog.messages == ["Work after version 1 of s3 model failed; the commit stands"]
        assert paths(log) == ["a"]


class TestReading:
    def test_a_version_gives_its_actions(self) -> None:
        _, log = new_table(files=1)
        assert kinds(log.read_version(0)) == ["protocol", "metaData"]
        assert kinds(log.read_version(1)) == ["add"]

    def test_versions_are_all_there_are(self) -> None:
        _, log = new_table(files=2)
        assert log.versions() == [0, 1, 2]
        assert log.latest_version() == 2
        log.versions().clear()
        assert log.versions() == [0, 1, 2]

    def test_schema_and_partition_columns_are_those_of_the_table(self) -> None:
        _, log = new_table(PARTITIONED, ("day",))
        assert log.schema.equals(PARTITIONED)
        assert log.partition_columns == ["day"]
        log.partition_columns.append("x")
        assert log.partition_columns == ["day"]


class TestCommit:
    def test_takes_any_actions_under_any_name(self) -> None:
        _, log = new_table(files=1)
        skip = Skip(path="f0", skip_timestamp=5, reason="r", operation="o")
        result = log.commit([add("a"), Remove(path="f0", data_change=True), skip], operation="REPLACE")
        assert result.version == 2
        assert paths(log) == ["a"]
        assert log.history(limit=1)["operation"].to_pylist() == ["REPLACE"]

    def test_of_nothing_is_not_written(self) -> None:
        place, log = new_table()
        assert not log.commit([], operation=Kind.APPEND).written
        assert place.commits() == 1
