from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from indextables.log.actions import Add, MetaData, Protocol, Remove, Skip, encode_action
from indextables.log.commit_info import (
    COMMIT_TAG,
    CommitInfo,
    find_info,
    parse_info,
    plain_reason,
    stamp,
)
from indextables.log.lines import parse_lines
from tests.support.logs import add

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.log.actions import Action

INFO = CommitInfo(
    version=5,
    id="5f0c",
    timestamp=77,
    operation="append",
    metadata=0,
    protocol=0,
    read=3,
    app="é",
    batch=4,
    user='"quoted"\n',
)
METADATA = MetaData(id="i", schema_string="{}", partition_columns=[], configuration={"owner": "me"})
PROTOCOL = Protocol(min_reader_version=2, min_writer_version=2)
REMOVE = Remove(path="r", data_change=True)
SKIP = Skip(path="s", skip_timestamp=99, reason="broken", operation="merge")


def carriers(actions: Sequence[Action]) -> list[int]:
    """Return which of the actions carry facts."""
    return [index for index, action in enumerate(actions) if find_info([action], 5) is not None]


class TestStamping:
    def test_marks_the_first_add_or_remove(self) -> None:
        stamped = stamp([PROTOCOL, METADATA, SKIP, REMOVE, add("a")], INFO)
        assert carriers(stamped) == [3]
        assert find_info(stamped, 5) == INFO
        assert carriers(stamp([add("a"), add("b"), REMOVE], INFO)) == [0]

    def test_marks_the_metadata_where_no_file_is_touched(self) -> None:
        stamped = stamp([PROTOCOL, METADATA, SKIP], INFO)
        assert carriers(stamped) == [1]
        assert isinstance(stamped[1], MetaData)
        assert isinstance(stamped[1].configuration, dict)
        assert stamped[1].configuration["owner"] == "me"
        assert find_info(stamped, 5) == INFO

    def test_marks_the_end_of_the_first_skips_reason_where_there_is_nothing_else(self) -> None:
        stamped = stamp([SKIP, SKIP], INFO)
        assert carriers(stamped) == [0]
        info = find_info(stamped, 5)
        assert info is not None
        assert (info.id, info.timestamp, info.operation) == (INFO.id, 99, "skip")
        assert isinstance(stamped[0], Skip)
        assert plain_reason(stamped[0].reason) == "broken"

    def test_keeps_other_tags(self) -> None:
        (stamped,) = stamp([add("a", tags={"mine": "1", "null": None})], INFO)
        assert isinstance(stamped, Add)
        assert isinstance(stamped.tags, dict)
        assert stamped.tags.keys() == {"mine", "null", COMMIT_TAG}

    def test_takes_old_facts_away(self) -> None:
        old = msgspec.structs.replace(INFO, id="old")
        for actions in (
            stamp([add("a")], old),
            stamp([REMOVE], old),
            stamp([METADATA], old),
            stamp([SKIP], old),
        ):
            again = stamp([add("new"), *actions], INFO)
            assert carriers(again) == [0]
            assert find_info(again, 5) == INFO
            assert b"old" not in b"".join(encode_action(action) for action in again)

    def test_leaves_the_actions_that_it_was_given_alone(self) -> None:
        given = add("a", tags={"mine": "1"})
        stamp([given], INFO)
        assert given == add("a", tags={"mine": "1"})

    @pytest.mark.parametrize("action", [add("a"), REMOVE, METADATA, SKIP], ids=lambda action: action.key)
    def test_survives_the_log(self, action: Add | Remove | MetaData | Skip) -> None:
        stamped = stamp([action], INFO)
        read = parse_lines(encode_action(stamped[0]), path="p")
        found = find_info(read, 5)
        assert found is not None
        assert found == find_info(stamped, 5)
        assert found.id == INFO.id

    def test_uses_no_field_that_other_readers_do_not_know(self) -> None:
        known = {"path", "partitionValues", "size", "modificationTime", "dataChange", "tags"}
        (line,) = [json.loads(encode_action(action)) for action in stamp([add("a")], INFO)]
        assert line["add"].keys() == known


class TestReading:
    @pytest.mark.parametrize(
        "text",
        [
            None,
            "",
            "{",
            "[]",
            "null",
            "5",
            '{"version":5,"id":"x"}',
            '{"id":"x","timestamp":1,"operation":"o"}',
            '{"version":5,"id":5,"timestamp":1,"operation":"o"}',
            '{"version":5,"id":"x","timestamp":"soon","operation":"o"}',
            f'{{"version":5,"id":"x","timestamp":{2**80},"operation":"o"}}',
            "[" * 100_000,
        ],
        ids=lambda text: repr(text)[:40],
    )
    def test_text_that_is_not_ours_is_nothing(self, text: str | None) -> None:
        assert parse_info(text, 5) is None
        assert find_info([add("a", tags={COMMIT_TAG: text})], 5) is None

    def test_facts_of_another_version_are_nothing(self) -> None:
        """A tool that writes old lines into a new version takes the old facts along."""
        for actions in (stamp([add("a")], INFO), stamp([REMOVE], INFO), stamp([METADATA], INFO)):
            assert find_info(actions, 5) == INFO
            assert find_info(actions, 6) is None

    def test_fields_of_later_versions_are_passed_over(self) -> None:
        info = parse_info('{"version":5,"id":"x","timestamp":1,"operation":"o","later":{"a":[1]}}', 5)
        assert info == CommitInfo(version=5, id="x", timestamp=1, operation="o")

    def test_actions_without_any_are_nothing(self) -> None:
        assert (
            find_info([PROTOCOL, METADATA, SKIP, REMOVE, add("a"), add("b", tags=None), add("c", tags={})], 5) is None
        )

    def test_a_reason_that_only_looks_alike_is_left_whole(self) -> None:
        for reason in ("", "broken", "see [indextables.commit]", "[indextables.commit=x]"):
            assert plain_reason(reason) == reason

    def test_facts_that_are_not_given_take_no_room(self) -> None:
        bare = CommitInfo(version=5, id="x", timestamp=1, operation="o")
        assert msgspec.json.encode(bare) == b'{"version":5,"id":"x","timestamp":1,"operation":"o"}'
