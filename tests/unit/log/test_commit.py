from __future__ import annotations

import itertools
import logging
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
import pytest

from indextables.config import Compression, Retry, Settings
from indextables.errors import (
    AlreadyExistsError,
    CommitUnknownError,
    ConcurrentWriteError,
    IndexTablesError,
    LogCorruptionError,
    NotFoundError,
    PermissionDeniedError,
    TableNotFoundError,
    VersionNotFoundError,
)
from indextables.log import commit
from indextables.log.actions import Protocol, Remove, Skip
from indextables.log.codec import detect
from indextables.log.commit import encode_commit
from indextables.log.conflicts import Kind
from indextables.log.layout import commit_path
from indextables.storage.retry import RetryingStore
from indextables.testing.faulty import FaultKind, Plan
from tests.support.logs import SCHEMA, Place, add, facts, foreign_add, new_table, paths

if TYPE_CHECKING:
    from collections.abc import Callable

PUT: Final = "put_if_absent"


def losing(place: Place, times: int, other: Callable[[int], object]) -> Callable[[str, str], None]:
    """Return what lets somebody else commit right before each of so many puts."""
    left = iter(range(times))

    def before(op: str, _: str) -> None:
        if op == PUT and (number := next(left, None)) is not None:
            other(number)

    assert place.commits()
    return before


class TestTheNextVersion:
    def test_is_the_one_after_the_newest(self) -> None:
        _, log = new_table()
        assert [log.add_files([add(f"f{number}")]).version for number in range(3)] == [1, 2, 3]

    def test_is_found_when_others_were_faster(self) -> None:
        place, _ = new_table()
        other = place.log()
        slow = place.open(before=losing(place, 3, lambda number: other.add_files([add(f"other{number}")]))).log
        result = slow.add_files([add("mine")])
        assert (result.version, result.attempts) == (4, 4)
        assert paths(slow) == ["mine", "other0", "other1", "other2"]

    def test_is_given_up_on_after_as_many_races_as_the_settings_allow(self) -> None:
        place, _ = new_table()
        other = place.log()
        settings = Settings(retry=Retry(max_attempts=3))
        slow = place.open(settings, before=losing(place, 99, lambda number: other.add_files([add(f"o{number}")]))).log
        with pytest.raises(ConcurrentWriteError, match="other writers were faster 9 times") as caught:
            slow.add_files([add("mine")])
        assert (caught.value.version, caught.value.retryable) == (9, True)
        assert paths(other) == [f"o{number}" for number in range(9)]

    def test_is_tried_three_times_at_once_and_then_after_a_pause_that_grows(self) -> None:
        place, _ = new_table()
        other = place.log()
        moments: list[float] = []

        def before(op: str, _: str) -> None:
            if op == PUT and len(moments) < 13:
                moments.append(place.runtime.monotonic())
                other.add_files([add(f"o{len(moments)}")])

        place.open(before=before).log.add_files([add("mine")])
        pauses = [round(later - earlier, 3) for earlier, later in itertools.pairwise(moments)]
        assert [number for number, pause in enumerate(pauses, 1) if pause] == [3, 6, 9, 12]
        bounds = zip(pauses[2::3], [0.05, 0.1, 0.2, 0.4], strict=True)
        assert all(low <= pause <= 2 * low for pause, low in bounds)

    def test_is_not_tried_before_all_that_came_meanwhile_was_read(self) -> None:
        place, _ = new_table()
        other = place.log()
        puts: list[str] = []
        reads: list[str] = []

        def before(op: str, path: str) -> None:
            if op == PUT:
                puts.append(path)
                if len(puts) == 1:
                    other.add_files([add("first")])
            elif op == "get" and puts and len(reads) < 5:  # whoever reads is overtaken again
                reads.append(path)
                other.add_files([add(f"o{len(reads)}")])

        result = place.open(before=before).log.add_files([add("mine")])
        assert len(reads) == 5
        assert (result.attempts, result.version) == (2, 7)

    def test_is_tried_after_so_many_looks_though_others_may_have_come(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(commit, "_MOST_LOOKS", 1)
        place, _ = new_table()
        other = place.log()
        slow = place.open(before=losing(place, 2, lambda number: other.add_files([add(f"other{number}")]))).log
        assert slow.add_files([add("mine")]).version == 3
        assert paths(slow) == ["mine", "other0", "other1"]

    def test_is_dated_after_the_one_before_even_if_the_clock_stands_still(self) -> None:
        _, log = new_table()
        times = [log.add_files([add(f"f{number}")]).timestamp for number in range(3)]
        assert times == [log.snapshot(0).timestamp + number for number in (1, 2, 3)]

    def test_is_dated_after_commits_from_the_future(self) -> None:
        place, log = new_table()
        future = 4_000_000_000_000
        place.write(1, foreign_add("f", modificationTime=future))
        assert log.add_files([add("g")]).timestamp == future + 1


class TestCost:
    """How many calls to the store a commit takes, which must not depend on how long the log is."""

    @pytest.mark.parametrize("files", [1, 60])
    def test_of_a_warm_append_is_one_put_and_three_heads_at_any_length(self, files: int) -> None:
        place, _ = new_table(files=files)
        opened = place.open()
        opened.log.add_files([add("first")])
        for _ in range(3):
            assert opened.cost(lambda: opened.log.add_files([add("again")])) == Counter(head=3, put_if_absent=1)

    def test_of_a_cold_append_to_500_versions_is_bounded(self) -> None:
        place, _ = new_table(files=500)
        opened = place.open()
        cost = opened.cost(lambda: opened.log.add_files([add("g")]))
        assert cost["list_from"] == 1
        assert cost["get"] <= 2
        assert cost[PUT] == 1
        assert cost["head"] <= 4

    def test_of_new_commits_by_others_is_a_listing_and_one_read_for_each(self) -> None:
        place, _ = new_table(files=20)
        other, opened = place.log(), place.open()
        opened.log.add_files([add("first")])
        for number in range(5):
            other.add_files([add(f"o{number}")])
        cost = opened.cost(lambda: opened.log.add_files([add("g")]))
        assert cost["get"] == 5
        assert cost["list_from"] == 1

    def test_of_a_merge_is_the_same_when_the_table_is_larger(self) -> None:
        costs = []
        for files in (4, 40):
            place, log = new_table(files=files)
            opened = place.open()
            opened.log.list_files()
            merge = partial(opened.log.merge_files, ["f0", "f1"], [add("m")])
            costs.append(opened.cost(merge))
            assert log.latest_version() == files + 1
        assert costs[0] == costs[1]


class TestTheFileOfACommit:
    def test_is_compressed_as_the_settings_say(self) -> None:
        actions = [add("f")]
        for codec in ("gzip", "zstd", "lz4", "snappy"):
            settings = Settings(compression=Compression(codec=codec))
            assert detect(encode_commit(actions, settings, path="p")) == codec
        off = Settings(compression=Compression(enabled=False))
        assert encode_commit(actions, off, path="p").startswith(b'{"add":')

    def test_carries_its_facts_once(self) -> None:
        place, log = new_table()
        result = log.commit([add("a"), add("b")], operation="load", user_metadata="hello")
        (told,) = facts(log.read_version(1))
        assert (told["id"], told["timestamp"], told["operation"]) == (result.commit_id, result.timestamp, "load")
        assert (told["metadata"], told["protocol"], told["read"], told["user"]) == (0, 0, 0, "hello")
        assert place.commits() == 2

    def test_names_no_old_facts_when_old_actions_are_committed_again(self) -> None:
        _, log = new_table(files=1)
        old = log.read_version(1)
        metadata = log.metadata
        log.remove_files(["f0"])
        result = log.commit([Remove(path="x", data_change=True), metadata, *old], operation=Kind.OVERWRITE)
        assert [told["id"] for told in facts(log.read_version(3))] == [result.commit_id]
        assert log.history(limit=1)["commit_id"].to_pylist() == [result.commit_id]
        assert log.snapshot().timestamp == result.timestamp

    @pytest.mark.parametrize(
        "action",
        [
            add("a", size=2**63),
            add("a", num_records=2**70),
            add("a", modification_time=None),
            add("a", data_change="yes"),
            add("a", tags={"k": ["v"]}),
            Skip(path="a", skip_timestamp=0, reason="r", operation="o", size=2**63),
            Remove(path="a", data_change=True, size=2**63),
        ],
        ids=lambda action: f"{action.key} {action.path}",
    )
    def test_is_never_one_that_nobody_can_read(self, action: object) -> None:
        place, log = new_table()
        with pytest.raises(IndexTablesError):
            log.commit([action], operation="write")  # type: ignore[list-item]
        assert place.commits() == 1

    def test_is_never_without_a_way_to_recognise_it(self) -> None:
        _, log = new_table()
        result = log.commit([Protocol(min_reader_version=3, min_writer_version=3)], operation=Kind.PROTOCOL)
        assert [told["id"] for told in facts(log.read_version(result.version))] == [result.commit_id]


class TestUnknownOutcomes:
    """A put whose answer is lost for good: the commit may be there, and nothing guesses."""

    def unknown(self, place: Place, kind: FaultKind) -> CommitUnknownError:
        """Let a commit fail so: the answer to its put is lost, and the store no longer lets us look."""

        def before(op: str, path: str) -> None:
            if op == "get" and (PUT, path) in opened.store.calls:
                raise PermissionDeniedError(path)

        opened = place.open(plan=Plan(1, kind, "forever"), before=before)
        with pytest.raises(CommitUnknownError) as caught:
            opened.log.add_files([add("mine")])
        return caught.value

    def test_are_told_with_version_and_id_and_what_to_do(self) -> None:
        place, _ = new_table()
        error = self.unknown(place, FaultKind.ANSWER_LOST_NOT_DONE)
        assert error.version == 1
        assert error.commit_id
        assert f"It is not known whether commit {error.commit_id} became version 1 of s3 model" in str(error)
        assert "Ask resolve_commit for its fate before you retry, and delete none of its files until then" in str(error)

    def test_resolve_to_the_version_that_it_became(self) -> None:
        place, _ = new_table()
        error = self.unknown(place, FaultKind.ANSWER_LOST_DONE)
        log = place.log()
        assert log.resolve_commit(error) == 1
        assert paths(log) == ["mine"]

    def test_resolve_to_nothing_when_another_commit_has_its_version(self) -> None:
        place, _ = new_table()
        error = self.unknown(place, FaultKind.ANSWER_LOST_NOT_DONE)
        log = place.log()
        log.add_files([add("other")])
        assert log.resolve_commit(error) is None

    def test_stay_open_while_its_version_is_free(self) -> None:
        place, log = new_table()
        error = self.unknown(place, FaultKind.ANSWER_LOST_NOT_DONE)
        with pytest.raises(CommitUnknownError, match="its version is still free") as caught:
            log.resolve_commit(error)
        assert (caught.value.version, caught.value.commit_id) == (error.version, error.commit_id)

    def test_of_skips_resolve_too(self) -> None:
        place, log = new_table(files=1)
        result = log.record_skipped_file("f0", reason="r", operation="merge")
        error = CommitUnknownError("p", version=result.version, commit_id=result.commit_id)
        assert place.log().resolve_commit(error) == result.version

    def test_of_changes_of_metadata_and_files_in_one_commit_resolve_too(self) -> None:
        place, log = new_table(files=1)
        result = log.commit([log.metadata, add("n")], operation="replace")
        error = CommitUnknownError("p", version=result.version, commit_id=result.commit_id)
        assert place.log().resolve_commit(error) == result.version

    @pytest.mark.parametrize(
        "kind",
        [FaultKind.ANSWER_LOST_DONE, FaultKind.ANSWER_LOST_NOT_DONE, FaultKind.CONFLICT_409, FaultKind.DUPLICATE],
    )
    def test_an_answer_that_is_lost_once_is_settled_without_a_word(self, kind: FaultKind) -> None:
        place, _ = new_table()
        twin = Place(place.model.clone()).open()
        twin.log.add_files([add("mine")])
        put = [op for op, _ in twin.store.calls].index(PUT) + 1
        opened = place.open(plan=Plan(put, kind))
        assert opened.log.add_files([add("mine")]).version == 1
        assert opened.store.fired == 1
        assert paths(opened.log) == ["mine"]
        assert place.commits() == 2


class TestTheVersionThatWasRead:
    def test_is_the_newest_one_if_it_is_not_given(self) -> None:
        place, log = new_table()
        log.list_files()
        place.log().update_metadata(schema=SCHEMA.append(pa.field("more", pa.string())))
        # The append begins after the change, so it is made against it, whatever this process knew before.
        assert log.add_files([add("f")]).version == 2

    def test_an_append_that_follows_a_change_of_protocol_lands(self) -> None:
        place, log = new_table()
        log.list_files()
        place.log().upgrade_protocol(Protocol(min_reader_version=3, min_writer_version=3))
        assert log.add_files([add("f")]).version == 2

    def test_a_retry_after_a_conflict_does_not_meet_the_same_conflict(self) -> None:
        place, log = new_table()
        read_version = log.latest_version()
        place.log().update_metadata(schema=SCHEMA.append(pa.field("more", pa.string())))
        with pytest.raises(ConcurrentWriteError):
            log.commit([add("f")], operation=Kind.APPEND, read_version=read_version)
        assert log.add_files([add("f")]).version == 2

    def test_must_exist(self) -> None:
        _, log = new_table(files=1)
        with pytest.raises(VersionNotFoundError):
            log.commit([add("g")], operation=Kind.APPEND, read_version=7)
        assert log.latest_version() == 1

    def test_is_no_basis_where_a_commit_since_is_damaged(self) -> None:
        place, log = new_table(files=3)
        place.model.put(commit_path(2), b"no commit\n")
        with pytest.raises(LogCorruptionError):
            place.log().commit([add("g")], operation=Kind.APPEND, read_version=1)
        assert log.latest_version() == 3

    def test_may_be_newer_than_what_this_process_knew(self) -> None:
        place, log = new_table()
        other = place.log()
        other.update_metadata(schema=SCHEMA.append(pa.field("more", pa.string())))
        other.add_files([add("theirs")])
        assert log.commit([add("ours")], operation=Kind.APPEND, read_version=2).version == 3


class TestWhatOvertookACommit:
    def test_that_cannot_be_read_leaves_its_fate_open(self) -> None:
        place, _ = new_table()

        def before(op: str, path: str) -> None:
            if op == PUT:
                place.model.put(path, b"no commit\n")

        with pytest.raises(CommitUnknownError) as caught:
            place.open(before=before).log.add_files([add("g")])
        assert caught.value.version == 1

    def test_is_damage_if_it_is_gone_and_nobody_cleaned_up(self) -> None:
        place, _ = new_table(files=3)

        def before(op: str, path: str) -> None:
            if (op, path) == ("get", commit_path(2)):
                place.model.delete(path)

        with pytest.raises(NotFoundError, match=commit_path(2)):
            place.open(before=before).log.commit([add("g")], operation=Kind.APPEND, read_version=1)
        assert place.commits() == 3

    def test_may_be_the_commit_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its bytes arrived before the answer that somebody else's were there."""
        place, _ = new_table()
        put = RetryingStore.put_if_absent

        def put_and_deny(store: RetryingStore, path: str, data: bytes) -> None:
            put(store, path, data)
            raise AlreadyExistsError(path, store="the store")

        monkeypatch.setattr(RetryingStore, "put_if_absent", put_and_deny)
        result = place.log().add_files([add("g")])
        assert (result.version, result.written) == (1, True)
        assert paths(place.log()) == ["g"]


class TestATableThatVanishes:
    def test_takes_no_commit(self) -> None:
        place, log = new_table(files=1)
        place.drop()
        with pytest.raises(TableNotFoundError):
            log.add_files([add("g")])
        assert place.model.tree() == {}

    def test_while_a_commit_runs_takes_it_neither(self) -> None:
        place, _ = new_table(files=1)
        maker = place.log()

        def before(op: str, _: str) -> None:
            if op == PUT and not made:
                made.append(True)
                place.drop()
                maker.initialize(SCHEMA)
                maker.add_files([add("new0")])
                maker.add_files([add("new1")])

        made: list[bool] = []
        log = place.open(before=before).log
        with pytest.raises(TableNotFoundError, match="dropped or made anew while this commit ran"):
            log.add_files([add("g")])
        assert paths(place.log()) == ["new0", "new1"]


def test_skips_are_dated_by_their_commit() -> None:
    place, log = new_table(files=2)
    place.write(3, foreign_add("late", modificationTime=4_000_000_000_000))
    log.record_skipped_file("f0", reason="r", operation="merge", cooldown_hours=1)
    (skip,) = log.snapshot().skips.to_pylist()
    assert skip["skip_timestamp"] == log.snapshot().timestamp == 4_000_000_000_001
    assert skip["retry_after"] - skip["skip_timestamp"] == 3_600_000


def test_a_commit_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    _, log = new_table()
    with caplog.at_level(logging.INFO, logger="indextables.log.commit"):
        log.add_files([add("f")])
    assert "Committed version 1 of s3 model (append)" in caplog.messages


def test_actions_are_committed_as_they_are_given() -> None:
    _, log = new_table()
    given = add("f", num_records=3, extra={"new": msgspec.Raw(b'{"a":1}')}, tags={"mine": "yes"})
    log.add_files([given])
    (written,) = log.read_version(1)
    assert msgspec.structs.replace(written, tags=None) == msgspec.structs.replace(given, tags=None)
    assert written.tags["mine"] == "yes"  # type: ignore[union-attr, index]
