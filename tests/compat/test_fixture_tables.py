"""The frozen tables of the original implementation: read exactly, whatever their checkpoints claim, and written to."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from indextables.log.actions import Add
from indextables.log.codec import decode
from indextables.log.commit_info import WRITER_TAG
from indextables.log.open import open_log
from tests.support.fixtures import fixture_tables
from tests.support.logs import add

if TYPE_CHECKING:
    from pathlib import Path

    from indextables.log.log import TransactionLog
    from indextables.log.snapshot import Snapshot

TABLES = {path.name: path for path in fixture_tables()}
READERS = {"optimised": {}, "plain": {"spark.indextables.transaction.useOptimized": "false"}}
LYING = (
    "b_partitioned_12_appends_checkpoint_overwrite",
    "b2_partitioned_checkpoint_no_overwrite",
    "c2_mixed_compression_with_checkpoint",
    "h_log_retention_cleanup",
)

every_table = pytest.mark.parametrize("name", TABLES)
every_reader = pytest.mark.parametrize("reader", READERS)


def open_fixture(path: Path, reader: str = "optimised") -> TransactionLog:
    return open_log(str(path), READERS[reader])


def expectations(name: str) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((TABLES[name] / "expected.json").read_text())
    return expected


def copied(table: Path, target: Path) -> Path:
    """Copy a table's log by its bytes alone: the frozen one may be read-only, and modification times must not matter."""
    (target / "_transaction_log").mkdir(parents=True)
    for file in (table / "_transaction_log").iterdir():
        (target / "_transaction_log" / file.name).write_bytes(file.read_bytes())
    return target


def described(snapshot: Snapshot, fields: list[str]) -> dict[str, dict[str, Any]]:
    """Return the files as the expectations describe them: those fields, without what is null."""
    rows = {}
    for row in snapshot.files.to_pylist():
        given = {_camel(key): _without_nulls(value) for key, value in row.items() if value is not None}
        rows[row["path"]] = {field: given[field] for field in fields if field in given}
    return rows


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _without_nulls(value: Any) -> Any:
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value


def test_all_thirteen_tables_are_here() -> None:
    assert len(TABLES) == 13


@every_table
@every_reader
class TestEveryTable:
    def test_has_exactly_the_expected_files_and_statistics(self, name: str, reader: str) -> None:
        expected = expectations(name)
        snapshot = open_fixture(TABLES[name], reader).snapshot()
        assert sorted(snapshot.files["path"].to_pylist()) == sorted(expected["active_paths"])
        fields = sorted({field for file in expected["files"].values() for field in file})
        wanted = {
            path: {field: _without_nulls(value) for field, value in file.items() if value is not None}
            for path, file in expected["files"].items()
        }
        assert {"size", "minValues", "maxValues", "numRecords", "partitionValues"} <= set(fields)
        assert described(snapshot, fields) == wanted

    def test_has_the_expected_schema_partition_columns_and_identity(self, name: str, reader: str) -> None:
        expected = expectations(name)
        log = open_fixture(TABLES[name], reader)
        assert json.loads(log.metadata.schema_string) == expected["schema_json"]
        assert log.schema.names == [field["name"] for field in expected["schema_json"]["fields"]]
        assert log.partition_columns == expected["partition_columns"]
        assert log.metadata.id == expected["metadata_id"]
        assert log.snapshot().metadata == log.metadata

    def test_has_the_expected_protocol_versions_and_row_count(self, name: str, reader: str) -> None:
        expected = expectations(name)
        log = open_fixture(TABLES[name], reader)
        protocol = expected["protocol"]
        assert log.protocol.min_reader_version == protocol["minReaderVersion"]
        assert log.protocol.min_writer_version == protocol["minWriterVersion"]
        assert not log.protocol.reader_features
        assert not log.protocol.writer_features
        assert log.versions() == expected["versions_on_disk"]
        assert log.snapshot().num_records == expected["total_row_count_peer_api"] == expected["df_count"]

    def test_takes_an_append_and_reads_it_back(self, name: str, reader: str, tmp_path: Path) -> None:
        before = open_fixture(TABLES[name]).snapshot()
        table = copied(TABLES[name], tmp_path / "table")
        values = dict.fromkeys(before.partition_columns, "2031-05-06")
        column = next(field.name for field in before.schema if field.name not in values)
        mine = add("ours.split", partition_values=values, min_values={column: "1"}, max_values={column: "2"})
        result = open_fixture(table, reader).add_files([mine])
        assert result.version == before.version + 1
        after = open_fixture(table, reader).snapshot()
        assert sorted(after.files["path"].to_pylist()) == sorted([*before.files["path"].to_pylist(), "ours.split"])
        assert after.timestamp > before.timestamp
        ours = dict(zip(after.files["path"].to_pylist(), after.ours.to_pylist(), strict=True))
        assert [path for path, own in ours.items() if own] == ["ours.split"]
        fields = [_camel(field) for field in Add.__struct_fields__ if field not in {"extra", "tags"}]
        assert described(before, fields).items() <= described(after, fields).items()


@every_table
def test_every_version_reads_the_same_in_both_ways(name: str) -> None:
    fields = [_camel(field) for field in Add.__struct_fields__ if field != "extra"]
    optimised, plain = open_fixture(TABLES[name]), open_fixture(TABLES[name], "plain")
    for version in optimised.versions():
        one, other = optimised.snapshot(version), plain.snapshot(version)
        assert described(one, fields) == described(other, fields)
        assert sorted(one.removes["path"].to_pylist()) == sorted(other.removes["path"].to_pylist())
        assert sorted(one.skips["path"].to_pylist()) == sorted(other.skips["path"].to_pylist())
        assert np.array_equal(one.state.timestamps, other.state.timestamps)


@every_table
def test_commit_times_never_go_back_and_lead_to_their_version(name: str) -> None:
    log = open_fixture(TABLES[name])
    times = log.snapshot().state.timestamps.tolist()
    assert times == sorted(times)
    for version, time in enumerate(times):
        assert times[log.snapshot(timestamp=time).version] == times[version]


def test_the_version_before_the_overwrite_is_still_there() -> None:
    name = "b_partitioned_12_appends_checkpoint_overwrite"
    before = expectations(name)["before_overwrite"]
    log = open_fixture(TABLES[name])
    snapshot = log.snapshot(before["versions_on_disk"][-1])
    assert sorted(snapshot.files["path"].to_pylist()) == sorted(before["active_paths"])
    assert sorted(log.snapshot().removes["path"].to_pylist()) == sorted(before["active_paths"])


class TestCheckpointsOfOthers:
    @pytest.mark.parametrize("name", LYING)
    def test_really_lie_in_four_tables(self, name: str) -> None:
        table = TABLES[name]
        pointer = json.loads((table / "_transaction_log" / "_last_checkpoint").read_text())
        file = table / "_transaction_log" / f"{pointer['version']:020d}.checkpoint.json"
        content = decode(file.read_bytes(), path=str(file))
        claimed = sum(line.startswith(b'{"add"') for line in content.splitlines())
        assert claimed < open_fixture(table).snapshot(pointer["version"]).num_files

    @pytest.mark.parametrize("name", [name for name, path in TABLES.items() if list(path.rglob("*.checkpoint.json"))])
    def test_decide_nothing_while_the_commits_are_there(self, name: str, tmp_path: Path) -> None:
        table = copied(TABLES[name], tmp_path / "table")
        for file in (table / "_transaction_log").glob("*.checkpoint.json"):
            file.write_bytes(b"\x01\x01 no checkpoint")
        pointer = table / "_transaction_log" / "_last_checkpoint"
        pointer.write_bytes(b"")
        assert open_fixture(table).list_files().equals(open_fixture(TABLES[name]).list_files())

    @every_table
    def test_checksum_sidecars_are_not_looked_at(self, name: str, tmp_path: Path) -> None:
        table = copied(TABLES[name], tmp_path / "table")
        sidecars = list((table / "_transaction_log").glob(".*.crc"))
        assert sidecars
        for sidecar in sidecars:
            sidecar.write_bytes(b"wrong")
        log = open_fixture(table)
        assert log.versions() == expectations(name)["versions_on_disk"]
        assert sorted(log.list_files()["path"].to_pylist()) == sorted(expectations(name)["active_paths"])


class TestStatisticsOfOthers:
    def test_are_typed_and_taken_only_where_they_are_bounds(self) -> None:
        snapshot = open_fixture(TABLES["f_many_types"]).snapshot()
        assert snapshot.min_values.to_pylist() == [
            {
                "i": -5,
                "l": -1152921504606846976,
                "f": -0.0,
                "d": -1.0e-300,
                "dt": dt.date(1969, 12, 31),
                "ts": None,  # the first time seen, which bounds nothing
                "b": False,
                "s": "plain",
            }
        ]
        (greatest,) = snapshot.max_values.to_pylist()
        assert greatest["f"] == float(np.float32(3.4e38))
        assert (greatest["i"], greatest["l"], greatest["d"]) == (2147483647, 1099511627776, 1.0e300)
        assert (greatest["dt"], greatest["ts"], greatest["b"]) == (dt.date(2261, 12, 31), None, True)
        assert greatest["s"] == "ünïcødé 日本語 😀\ttab\nnewline"

    @pytest.mark.parametrize("name", ["e_stats_trunc_default", "e3_stats_trunc_strategy_truncate"])
    def test_long_texts_may_have_been_cut_so_they_bound_nothing(self, name: str) -> None:
        snapshot = open_fixture(TABLES[name]).snapshot()
        texts = snapshot.files["min_values"].to_pylist()[0]
        assert len(texts["long_ascii"]) >= 32
        assert snapshot.min_values.to_pylist() == [
            {"id": 0, "s": "short0", "long_ascii": None, "long_uni": None, "edge": None}
        ]
        assert snapshot.max_values.to_pylist() == [
            {"id": 3, "s": "short3", "long_ascii": None, "long_uni": None, "edge": None}
        ]

    @every_table
    def test_no_file_of_theirs_passes_for_ours(self, name: str) -> None:
        snapshot = open_fixture(TABLES[name]).snapshot()
        assert snapshot.num_files > 0
        assert not any(snapshot.ours.to_pylist())
        assert WRITER_TAG not in str(snapshot.files["tags"].type)

    def test_partition_values_are_typed(self) -> None:
        snapshot = open_fixture(TABLES["b2_partitioned_checkpoint_no_overwrite"]).snapshot()
        values = snapshot.partition_values["date"].to_pylist()
        assert set(values) == {file.split("/")[0].removeprefix("date=") for file in snapshot.files["path"].to_pylist()}


def test_a_skip_of_theirs_is_part_of_the_snapshot() -> None:
    log = open_fixture(TABLES["d3_merge_skip_corrupt_split"])
    skips = log.skipped_files().to_pylist()
    assert skips
    active = set(log.list_files()["path"].to_pylist())
    assert {skip["path"] for skip in skips} <= active  # a skipped file stays in the table
    assert all(skip["skip_count"] >= 1 and skip["retry_after"] > skip["skip_timestamp"] for skip in skips)
