from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from indextables.errors import UnsafePathError
from indextables.log.actions import Add, MetaData, Protocol, Remove, Skip
from indextables.log.bulk_decode import decode_commits
from indextables.log.lines import format_lines
from indextables.log.state import LogState, apply_commits
from tests.support.logs import add, foreign_add, new_table

METADATA = MetaData(id="i", schema_string="{}", partition_columns=[], created_time=7)


def remove(path: str, **fields: Any) -> Remove:
    return Remove(path=path, data_change=True, **fields)


def skip(path: str, **fields: Any) -> Skip:
    return Skip(**{"path": path, "skip_timestamp": 1, "reason": "r", "operation": "merge", **fields})


def replayed(*commits: list[Any], base: LogState | None = None) -> LogState:
    """Return the state after some commits, decoded and applied together."""
    first = base.version + 1 if base else 0
    files = [(first + number, format_lines(actions)) for number, actions in enumerate(commits)]
    columns = decode_commits(files, path_of=str)
    return apply_commits(base, columns, first=first, last=first + len(commits) - 1)


def one_by_one(*commits: list[Any]) -> LogState:
    state = None
    for commit in commits:
        state = replayed(commit, base=state)
    assert state is not None
    return state


# Each way of replaying must give the same.
every_way = pytest.mark.parametrize("replay", [replayed, one_by_one])


def active(state: LogState) -> list[str]:
    paths: list[str] = state.files["path"].to_pylist()
    return paths


@every_way
class TestTheLastActionOnAPathWins:
    def test_across_commits(self, replay: Any) -> None:
        state = replay([add("a"), add("b")], [remove("a")], [add("a", size=5)], [remove("b")])
        assert active(state) == ["a"]
        assert state.files["size"].to_pylist() == [5]
        assert state.removes["path"].to_pylist() == ["b"]

    def test_inside_a_commit(self, replay: Any) -> None:
        assert active(replay([add("a"), remove("a")])) == []
        state = replay([remove("a"), add("a", size=1), add("a", size=2)])
        assert (active(state), state.files["size"].to_pylist()) == (["a"], [2])
        assert state.removes.num_rows == 0

    def test_and_is_a_remove_also_where_there_was_no_file(self, replay: Any) -> None:
        state = replay([METADATA], [remove("never", size=3)])
        assert state.removes.select(["path", "size"]).to_pylist() == [{"path": "never", "size": 3}]

    def test_for_protocol_and_metadata(self, replay: Any) -> None:
        newer = MetaData(id="i", name="newer", schema_string="{}", partition_columns=[])
        protocol = Protocol(min_reader_version=3, min_writer_version=3)
        state = replay([METADATA, Protocol(min_reader_version=2, min_writer_version=2)], [protocol], [METADATA, newer])
        assert (state.metadata, state.metadata_version) == (newer, 2)
        assert (state.protocol, state.protocol_version) == (protocol, 1)

    def test_and_nothing_is_known_of_what_no_commit_says(self, replay: Any) -> None:
        state = replay([add("a")])
        assert (state.metadata, state.metadata_version, state.protocol, state.protocol_version) == (None, -1, None, -1)


@every_way
class TestSkips:
    def test_add_up_to_the_last_with_the_greatest_count_and_time(self, replay: Any) -> None:
        state = replay(
            [add("a")],
            [skip("a", skip_count=5, retry_after=900, reason="first")],
            [skip("a", skip_count=1, retry_after=100, reason="second", size=4)],
        )
        (row,) = state.skips.to_pylist()
        assert (row["skip_count"], row["retry_after"], row["reason"], row["size"]) == (5, 900, "second", 4)

    def test_end_when_the_file_is_removed_or_written_anew(self, replay: Any) -> None:
        state = replay([add("a"), add("b"), add("c")], [skip("a"), skip("b"), skip("c")], [remove("a"), add("b")])
        assert state.skips["path"].to_pylist() == ["c"]
        assert active(state) == ["c", "b"]

    def test_after_the_file_came_back_count_from_the_beginning(self, replay: Any) -> None:
        state = replay([add("a")], [skip("a", skip_count=9)], [remove("a")], [add("a")], [skip("a", skip_count=1)])
        assert state.skips["skip_count"].to_pylist() == [1]

    def test_of_the_same_commit_count_if_they_come_later(self, replay: Any) -> None:
        assert replay([skip("a"), add("a")]).skips.num_rows == 0
        assert replay([add("a"), skip("a")]).skips.num_rows == 1

    def test_leave_the_file_in_the_table(self, replay: Any) -> None:
        assert active(replay([add("a")], [skip("a")])) == ["a"]

    def test_without_count_and_time_leave_them_open(self, replay: Any) -> None:
        (row,) = replay([skip("a"), skip("a", skip_count=None, retry_after=None)]).skips.to_pylist()
        assert (row["skip_count"], row["retry_after"]) == (None, None)


@every_way
class TestTimes:
    def test_are_the_newest_that_a_commit_mentions_and_never_decrease(self, replay: Any) -> None:
        state = replay(
            [METADATA],
            [add("a", modification_time=50), remove("x", deletion_timestamp=60)],
            [add("b", modification_time=20)],
            [skip("a", skip_timestamp=70)],
            [remove("a")],
        )
        assert state.timestamps.tolist() == [7, 60, 60, 70, 70]
        assert state.timestamp == 70

    def test_of_any_size_are_exact(self, replay: Any) -> None:
        state = replay([add("a", modification_time=2**53 + 1)], [add("b", modification_time=2**62 + 1)])
        assert state.timestamps.tolist() == [2**53 + 1, 2**62 + 1]
        assert state.timestamps.dtype == np.int64


class TestColumns:
    def test_files_with_different_keys_stand_in_one_table(self) -> None:
        state = one_by_one(
            [add("a", min_values={"x": "1"}, tags={"t": "1"})],
            [add("b", min_values={"y": "2"})],
            [add("c", partition_values={"p": "1"})],
        )
        rows = state.files.select(["min_values", "partition_values"]).to_pylist()
        assert [row["min_values"] for row in rows] == [{"x": "1", "y": None}, {"x": None, "y": "2"}, None]
        assert [row["partition_values"] for row in rows] == [{"p": None}, {"p": None}, {"p": "1"}]

    def test_unknown_fields_are_kept(self) -> None:
        place, log = new_table()
        place.write(1, foreign_add("a", later={"x": [1]}))
        assert log.snapshot().files["extra"].to_pylist() == ['{"later":{"x":[1]}}']

    def test_a_long_run_of_refreshes_does_not_leave_a_chunk_each(self) -> None:
        state = one_by_one(*[[add(f"f{number}")] for number in range(200)])
        assert state.files.num_rows == 200
        assert state.files["path"].num_chunks <= 65

    def test_many_files_and_removes_add_up(self) -> None:
        count = 20_000
        state = replayed(
            [add(f"f{number}") for number in range(count)],
            [remove(f"f{number}") for number in range(0, count, 2)],
            [add(f"f{number}") for number in range(0, count, 4)],
        )
        kept = [number for number in range(count) if number % 2] + list(range(0, count, 4))
        assert active(state) == [f"f{number}" for number in kept]
        assert state.removes.num_rows == count // 4


def test_batches_of_applications_are_known_with_their_versions() -> None:
    _, log = new_table()
    log.add_files([add("a")], app="stream", batch=3)
    log.add_files([add("b")], app="other", batch=0)
    log.add_files([add("c")], app="stream", batch=8)

    def known(version: int) -> dict[str, tuple[int, int]]:
        return {app: (batch.number, batch.version) for app, batch in log.snapshot(version).transactions.items()}

    assert known(3) == {"stream": (8, 3), "other": (0, 2)}
    assert known(1) == {"stream": (3, 1)}


@pytest.mark.parametrize("action", [add("../x"), add("/etc/passwd"), remove("a/../../b"), skip("s3://other/x")])
def test_paths_that_lead_out_of_the_table_are_refused(action: Add | Remove | Skip) -> None:
    with pytest.raises(UnsafePathError) as caught:
        replayed([add("good"), action])
    assert caught.value.path == action.path


def test_paths_that_only_look_strange_are_taken() -> None:
    strange = ["day=a%2Fb/x.split", "ünï/日本.split", "a b/c+d&e.split", "..a/b..c", "...", "word=%2E%2E/x"]
    assert active(replayed([add(path) for path in strange])) == strange
