from __future__ import annotations

import json

import pytest

from indextables.config import Checkpoint, Settings
from indextables.errors import TableNotFoundError
from indextables.log.actions import MetaData, Protocol, Remove, Skip
from indextables.log.commit_info import COMMIT_TAG
from indextables.log.commits import CommitReader
from indextables.log.layout import commit_path
from indextables.log.protocol import LEGACY
from indextables.log.tip import Tip, commit_time, find_tip, still_there
from indextables.testing.faulty import FaultStore
from tests.support.logs import Place, add, foreign_add, new_table

METADATA = {"metaData": {"id": "i", "schemaString": '{"type":"struct","fields":[]}', "partitionColumns": []}}
PROTOCOL = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 2}}


def reader_of(place: Place) -> tuple[CommitReader, FaultStore]:
    store = FaultStore(place.model)
    return CommitReader(store, Settings(checkpoint=Checkpoint(enabled=False))), store


def reads(store: FaultStore) -> list[str]:
    return [path for op, path in store.calls if op == "get"]


class TestFinding:
    def test_knows_where_metadata_and_protocol_stand(self) -> None:
        place, log = new_table(files=3)
        log.update_metadata(name="named")
        log.add_files([add("g")])
        tip = find_tip(reader_of(place)[0])
        assert (tip.version, tip.metadata_version, tip.protocol_version) == (5, 4, 0)
        assert tip.metadata.name == "named"
        assert tip.timestamp == log.snapshot().timestamp
        assert tip.identity == place.model.head(commit_path(5))

    def test_follows_the_pointers_of_our_commits(self) -> None:
        place, log = new_table(files=60)
        log.update_metadata(name="named")
        for number in range(60):
            log.add_files([add(f"g{number}")])
        reader, store = reader_of(place)
        find_tip(reader)
        assert set(reads(store)) == {commit_path(0), commit_path(61), commit_path(121)}

    def test_searches_logs_of_others_backwards(self) -> None:
        place = Place()
        place.write(0, PROTOCOL, METADATA)
        for version in range(1, 40):
            place.write(version, foreign_add(f"f{version}"))
        place.write(40, METADATA)
        place.write(41, foreign_add("last"))
        reader, store = reader_of(place)
        tip = find_tip(reader)
        assert (tip.version, tip.metadata_version, tip.protocol_version) == (41, 40, 0)
        assert reads(store)[0] == commit_path(41)

    def test_takes_the_last_of_two_in_one_commit(self) -> None:
        place = Place()
        second = {"metaData": {**METADATA["metaData"], "name": "second"}}
        place.write(0, PROTOCOL, METADATA, second)
        assert find_tip(reader_of(place)[0]).metadata.name == "second"

    def test_of_a_log_without_protocol_is_a_table_of_version_one(self) -> None:
        place = Place()
        place.write(0, METADATA)
        tip = find_tip(reader_of(place)[0])
        assert (tip.protocol, tip.protocol_version) == (LEGACY, -1)

    def test_of_a_log_without_metadata_is_no_table(self) -> None:
        place = Place()
        place.write(0, PROTOCOL)
        place.write(1, foreign_add("f"))
        with pytest.raises(TableNotFoundError, match="its log holds no metaData action"):
            find_tip(reader_of(place)[0])

    def test_of_no_log_is_no_table(self) -> None:
        with pytest.raises(TableNotFoundError, match="it holds no _transaction_log"):
            find_tip(reader_of(Place())[0])

    @pytest.mark.parametrize(
        "facts",
        [
            {"version": 5, "metadata": 999, "protocol": 0},
            {"version": 5, "metadata": -5, "protocol": 0},
            {"version": 5, "metadata": 3, "protocol": 3},
            {"version": 1, "metadata": 0, "protocol": 0},
            {"version": 1, "metadata": 0, "protocol": -1},
            {"metadata": 0, "protocol": 0},
        ],
        ids=str,
    )
    def test_pointers_are_hints_that_decide_nothing(self, facts: dict[str, int]) -> None:
        """A tool that copied our lines into another place, or into another version, left pointers that point nowhere."""
        place, log = new_table(files=3)
        log.update_metadata(name="named")
        text = json.dumps({"id": "copied", "timestamp": 5, "operation": "append", **facts})
        place.write(5, foreign_add("copied", tags={COMMIT_TAG: text}))
        cold = place.log()
        assert cold.metadata.name == "named"
        assert cold.protocol == Protocol(min_reader_version=2, min_writer_version=2)


class TestRefreshing:
    def test_reads_only_what_is_newer(self) -> None:
        place, log = new_table(files=5)
        reader, store = reader_of(place)
        known = find_tip(reader)
        log.update_metadata(name="named")
        log.add_files([add("g")])
        store.calls.clear()
        tip = find_tip(reader, known=known)
        assert (tip.version, tip.metadata_version, tip.metadata.name) == (7, 6, "named")
        assert reads(store) == [commit_path(6), commit_path(7)]

    def test_of_an_unchanged_log_asks_for_one_file(self) -> None:
        place, _ = new_table(files=5)
        reader, store = reader_of(place)
        known = find_tip(reader)
        store.calls.clear()
        assert find_tip(reader, known=known) is known
        assert store.calls == [("exists", commit_path(6))]

    def test_advancing_keeps_what_a_commit_does_not_change(self) -> None:
        place, _ = new_table()
        tip = find_tip(reader_of(place)[0])
        later = tip.advanced(1, [add("f")], timestamp=tip.timestamp - 50)
        assert (later.version, later.metadata, later.protocol) == (1, tip.metadata, tip.protocol)
        assert later.timestamp == tip.timestamp
        assert later.identity is None
        upgraded = later.advanced(
            2, [Protocol(min_reader_version=3, min_writer_version=3)], timestamp=tip.timestamp + 9
        )
        assert (upgraded.protocol_version, upgraded.metadata_version) == (2, 0)


class TestStillThere:
    def tip(self, place: Place) -> tuple[CommitReader, Tip]:
        reader, _ = reader_of(place)
        return reader, find_tip(reader)

    def test_is_so_while_nobody_touches_the_file(self) -> None:
        place, log = new_table(files=1)
        reader, tip = self.tip(place)
        log.add_files([add("g")])
        assert still_there(reader, tip) == tip

    def test_is_not_so_when_the_file_is_gone_or_another(self) -> None:
        place, _ = new_table(files=1)
        reader, tip = self.tip(place)
        data = place.model.get(commit_path(1))
        place.model.delete(commit_path(1))
        assert still_there(reader, tip) is None
        place.model.put(commit_path(1), data)
        assert still_there(reader, tip) is None


class TestCommitTime:
    def test_is_the_commits_own_word(self) -> None:
        text = json.dumps({"version": 5, "id": "i", "timestamp": 77, "operation": "append"})
        assert commit_time([add("f", modification_time=99, tags={COMMIT_TAG: text})], 5) == 77

    def test_is_not_what_it_says_of_another_version(self) -> None:
        text = json.dumps({"version": 5, "id": "i", "timestamp": 77, "operation": "append"})
        assert commit_time([add("f", modification_time=99, tags={COMMIT_TAG: text})], 6) == 99

    def test_is_else_the_newest_time_that_its_actions_mention(self) -> None:
        metadata = MetaData(id="i", schema_string="{}", partition_columns=[], created_time=40)
        remove = Remove(path="r", data_change=True, deletion_timestamp=50)
        skip = Skip(path="s", skip_timestamp=60, reason="r", operation="o")
        assert commit_time([add("f", modification_time=30), metadata], 0) == 40
        assert commit_time([remove, add("f", modification_time=30)], 0) == 50
        assert commit_time([skip, remove, metadata], 0) == 60

    def test_is_zero_where_nothing_mentions_one(self) -> None:
        unset = Remove(path="r", data_change=True)
        null = Remove(path="r", data_change=True, deletion_timestamp=None)
        assert commit_time([unset, null, LEGACY], 0) == 0
        assert commit_time([], 0) == 0
