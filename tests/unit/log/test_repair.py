from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from indextables.config import Settings
from indextables.errors import LogCorruptionError, ProtocolError, UnsafePathError
from indextables.log.actions import Skip
from indextables.log.codec import decode, detect, encode
from indextables.log.layout import (
    LOG_DIRECTORY,
    POINTER,
    commit_path,
    commit_version,
    json_checkpoint_path,
    manifest_path,
)
from indextables.log.log import TransactionLog
from indextables.log.repair import Problem, RepairResult, Way, repair_store
from indextables.log.repair.backup import BACKUP_DIRECTORY
from indextables.storage.retry import RetryingStore
from indextables.testing.models import S3Model
from indextables.testing.virtual import virtual_runtime
from tests.support.logs import PARTITIONED, SCHEMA, Place, add, foreign_add

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN = Settings.resolve({"spark.indextables.transaction.useOptimized": False})
HEAD = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 2}}


class Damaged:
    """A table of six versions with a file each, whose data files are there too, to be damaged and repaired."""

    def __init__(self, files: int = 5) -> None:
        runtime = virtual_runtime(0)
        self.place = Place(model=S3Model(now_ms=runtime.now_ms), runtime=runtime, checkpoints=True)
        self.store = RetryingStore(self.place.model, runtime=runtime)
        self.log = self.place.log()
        self.log.initialize(SCHEMA)
        for number in range(files):
            self.append(f"f{number}.split")
        self.id = self.log.metadata.id

    def append(self, path: str, **fields: Any) -> None:
        self.log.add_files([add(path, num_records=10, **fields)])
        self.place.model.put(path, b"x" * 100)

    def repair(self, *, dry_run: bool = False, **options: Any) -> RepairResult:
        return repair_store(self.store, settings=Settings(), runtime=self.place.runtime, dry_run=dry_run, **options)

    def spoil(self, path: str, change: Callable[[bytes], bytes] = lambda data: data[: len(data) // 2]) -> None:
        self.place.model.put(path, change(self.place.model.get(path)))

    def lose(self, *paths: str) -> None:
        for path in paths:
            self.place.model.delete(path)

    def names(self) -> set[str]:
        return {path for path in self.place.model.tree() if path.startswith(f"{LOG_DIRECTORY}/")}

    def files(self, settings: Settings | None = None, version: int | None = None) -> list[str]:
        log = TransactionLog(self.place.model, settings=settings, runtime=self.place.runtime)
        return sorted(log.snapshot(version).files["path"].to_pylist())


def all_files(*without: int, of: int = 5) -> list[str]:
    return [f"f{number}.split" for number in range(of) if number not in without]


def problems(result: RepairResult) -> list[tuple[str, int | None]]:
    return [(str(finding.problem), finding.version) for finding in result.findings]


def test_a_sound_log_needs_nothing_and_gets_nothing() -> None:
    table = Damaged()
    before = table.place.model.tree()
    result = table.repair()
    assert (result.way, result.changed, result.findings, result.steps) == (Way.NOTHING, False, (), ())
    assert (result.files, result.records, result.version, result.exact) == (5, 50, 5, True)
    assert table.place.model.tree() == before
    assert result.healthy
    assert "Nothing to repair" in str(result)


def test_a_dry_run_tells_everything_and_touches_nothing() -> None:
    table = Damaged()
    table.lose(commit_path(3))
    before = table.place.model.tree()
    dry = table.repair(dry_run=True)
    assert table.place.model.tree() == before
    assert (dry.dry_run, dry.changed, dry.backup) == (True, False, None)
    wet = table.repair()
    same = ("way", "findings", "steps", "version", "oldest_version", "files", "lost_versions", "exact")
    assert [getattr(dry, name) for name in same] == [getattr(wet, name) for name in same]
    assert not wet.dry_run


BAD_LINES: dict[str, Callable[[bytes], bytes]] = {
    "not JSON": lambda _: b"this is no JSON\n",
    "truncated": lambda data: decode(data, path="")[:-20],
    "empty": lambda _: b"",
    "blank": lambda _: b"\n\n",
    "cut gzip": lambda data: encode(decode(data, path=""), codec="gzip")[:-12],
    "flipped gzip": lambda data: _flipped(encode(decode(data, path=""), codec="gzip")),
    "unknown codec": lambda data: b"\x01\x77" + data[2:],
    "unknown action": lambda _: b'{"cdc":{"path":"x"}}\n',
    "unsafe path": lambda data: decode(data, path="").replace(b"f2.split", b"../f2.split"),
    "zeroes": lambda data: bytes(len(data)),
}


def _flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 16]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_damaged_commit_costs_its_own_lines_and_nothing_else(damage: Callable[[bytes], bytes]) -> None:
    table = Damaged()
    table.spoil(commit_path(3), damage)
    with pytest.raises((LogCorruptionError, UnsafePathError)):
        table.files()
    result = table.repair()
    assert (result.way, result.lost_versions, result.exact) == (Way.REWRITE, (3,), False)
    assert problems(result)[0] == ("damaged commit", 3)
    assert table.files() == table.files(PLAIN) == all_files(2)
    assert result.files == 4
    assert result.unreferenced_files == ("f2.split",)


def test_the_good_lines_of_a_damaged_append_are_kept_and_the_others_are_named() -> None:
    table = Damaged(files=0)
    table.log.add_files([add(f"f{number}.split") for number in range(5)])
    lines = decode(table.place.model.get(commit_path(1)), path="").splitlines()
    lines[1], lines[3] = b'{"add":', b"\xff\xfe"
    table.place.write_bytes(1, b"\n".join(lines))
    result = table.repair()
    (finding,) = [found for found in result.findings if found.problem is Problem.COMMIT_DAMAGED]
    assert finding.lines == (2, 4)
    assert "3 lines are kept" in finding.detail
    assert result.lost_lines == 2
    assert table.files() == all_files(1, 3)


def test_the_lines_before_the_cut_of_a_compressed_commit_are_kept() -> None:
    table = Damaged(files=0)
    table.log.add_files([add(f"f{number}.split", stats=f'{{"n":{number * 7919}}}') for number in range(200)])
    whole = decode(table.place.model.get(commit_path(1)), path="")
    table.place.write_bytes(1, encode(whole, codec="gzip")[:-400])
    table.repair()
    kept = table.files()
    assert 0 < len(kept) < 200
    assert set(kept) < {f"f{number}.split" for number in range(200)}


def test_a_byte_order_mark_costs_nothing() -> None:
    table = Damaged()
    table.spoil(commit_path(3), lambda data: b"\xef\xbb\xbf" + decode(data, path=""))
    result = table.repair()
    assert (result.way, result.lost_lines) == (Way.REWRITE, 0)
    assert table.files() == all_files()


@pytest.mark.parametrize("cut", ["removes", "adds"])
def test_half_of_a_merge_is_not_applied_since_it_would_lose_or_double_rows(cut: str) -> None:
    table = Damaged(files=3)
    table.log.merge_files(["f0.split", "f1.split"], [add("m0.split"), add("m1.split")])
    lines = decode(table.place.model.get(commit_path(4)), path="").splitlines()
    lines = lines[:1] + lines[2:] if cut == "removes" else lines[:-1]
    table.place.write_bytes(4, b"\n".join([*lines, b'{"add":{"pa']))
    result = table.repair()
    assert table.files() == all_files(of=3)
    assert "3 good lines are half of a replacement and not applied" in str(result)


def test_half_of_an_overwrite_is_not_applied() -> None:
    table = Damaged(files=3)
    table.log.overwrite_files([add("n0.split"), add("n1.split")])
    lines = decode(table.place.model.get(commit_path(4)), path="").splitlines()
    table.place.write_bytes(4, b"\n".join(lines[:-1]) + b"\n" + lines[-1][:20])
    table.repair()
    assert table.files() == all_files(of=3)


def test_half_of_a_removal_is_applied() -> None:
    table = Damaged(files=3)
    table.log.remove_files(["f0.split", "f1.split"])
    lines = decode(table.place.model.get(commit_path(4)), path="").splitlines()
    table.place.write_bytes(4, lines[0] + b"\n" + lines[1][:20])
    table.repair()
    assert table.files() == ["f1.split", "f2.split"]


@pytest.mark.parametrize("missing", [[3], [1, 2], [2, 4], [1, 2, 3, 4]])
def test_a_gap_costs_what_was_in_it(missing: list[int]) -> None:
    table = Damaged()
    table.lose(*map(commit_path, missing))
    with pytest.raises(LogCorruptionError):
        table.files()
    result = table.repair()
    assert problems(result)[: len(missing)] == [("missing commit", version) for version in missing]
    assert result.lost_versions == tuple(missing)
    assert table.files() == table.files(PLAIN) == all_files(*(version - 1 for version in missing))
    assert table.log.versions() == [6]


def test_the_repaired_table_is_the_same_table_and_goes_on() -> None:
    table = Damaged()
    table.lose(commit_path(3))
    table.repair()
    log = table.place.log()
    assert log.metadata.id == table.id
    assert log.history()["operation"].to_pylist() == ["repair"]
    assert log.add_files([add("later.split")]).version == 7
    assert log.versions() == [6, 7]
    assert table.files(version=6) == all_files(2)


def test_what_is_written_is_gzip_whatever_the_settings_say() -> None:
    table = Damaged()
    table.lose(commit_path(3))
    settings = Settings.resolve({"spark.indextables.transaction.compression.enabled": False})
    repair_store(table.place.model, settings=settings, runtime=table.place.runtime, dry_run=False)
    data = table.place.model.get(commit_path(6))
    assert detect(data) == "gzip"
    assert gzip.decompress(data[2:]).count(b'{"add":') == 4


def test_running_it_twice_changes_nothing_the_second_time() -> None:
    table = Damaged()
    table.lose(commit_path(3))
    table.repair()
    before = table.place.model.tree()
    assert table.repair().way is Way.NOTHING
    assert table.place.model.tree() == before


def test_the_old_log_is_kept_aside_whole() -> None:
    table = Damaged()
    table.spoil(commit_path(3))
    before = {path: data for path, data in table.place.model.tree().items() if path in table.names()}
    result = table.repair()
    tree = table.place.model.tree()
    assert result.backup is not None
    assert result.backup.startswith(f"{BACKUP_DIRECTORY}/20240101T")
    assert {path: tree[f"{result.backup}/{path}"] for path in before} == before
    assert not any(commit_version(path) not in (None, 6) for path in table.names())


def test_statistics_tags_and_unknown_fields_of_adds_survive_exactly() -> None:
    table = Damaged(files=1)
    table.place.write(
        2,
        foreign_add("theirs.split", minValues={"id": "1"}, stats="{}", later={"deep": [1, None]}, tags={"a": None}),
    )
    table.append("ours.split", min_values={"id": "3"}, split_tags=["x", "y"])
    before = {row["path"]: row for row in table.log.snapshot().files.to_pylist()}
    ours = dict(zip(table.log.snapshot().files["path"].to_pylist(), table.log.snapshot().ours.to_pylist(), strict=True))
    table.spoil(commit_path(1))
    table.repair()
    snapshot = table.place.log().snapshot()
    after = {row["path"]: row for row in snapshot.files.to_pylist()}
    assert after.keys() == {"theirs.split", "ours.split"}
    for path, row in after.items():
        for name, value in row.items():
            if name not in {"version", "ordinal", "tags"}:
                assert value == before[path][name], name
    assert dict(zip(snapshot.files["path"].to_pylist(), snapshot.ours.to_pylist(), strict=True)) == {
        path: ours[path] for path in after
    }


def test_removed_files_skips_and_batches_survive() -> None:
    table = Damaged(files=3)
    table.log.remove_files(["f0.split"])
    table.log.add_files([add("s.split")], app="stream", batch=7)
    table.log.record_skipped_files([Skip(path="f1.split", skip_timestamp=0, reason="bad", operation="merge")])
    table.lose(commit_path(2))
    table.repair()
    log = table.place.log()
    assert log.snapshot().removes["path"].to_pylist() == ["f0.split"]
    assert log.skipped_files()["reason"].to_pylist() == ["bad"]
    assert log.snapshot().transactions["stream"].number == 7
    assert not log.add_files([add("s.split")], app="stream", batch=7).written


class TestCheckpoints:
    def test_damage_below_a_verified_one_costs_history_and_no_file(self) -> None:
        table = Damaged()
        table.log.checkpoint(4)
        table.lose(commit_path(2))
        result = table.repair()
        assert (result.way, result.exact, result.oldest_version, result.lost_versions) == (Way.TRIM, True, 4, (2,))
        assert table.files() == table.files(PLAIN) == all_files()
        assert table.log.versions() == [4, 5]
        assert table.files(version=4) == all_files(4)
        assert table.repair().way is Way.NOTHING

    def test_damage_at_its_own_version_moves_the_beginning_behind_it(self) -> None:
        table = Damaged()
        table.log.checkpoint(4)
        table.spoil(commit_path(4))
        result = table.repair()
        assert (result.way, result.oldest_version) == (Way.TRIM, 5)
        assert table.files() == all_files()
        assert table.place.log().history()["version"].to_pylist() == [5]

    def test_damage_of_the_newest_commit_costs_nothing_where_it_has_one(self) -> None:
        table = Damaged()
        table.log.checkpoint()
        table.spoil(commit_path(5))
        result = table.repair()
        assert (result.way, result.exact) == (Way.REWRITE, True)
        assert table.files() == table.files(PLAIN) == all_files()

    def test_what_comes_after_a_verified_one_is_added_from_good_lines(self) -> None:
        table = Damaged(files=8)
        table.log.checkpoint(4)
        table.lose(commit_path(2), commit_path(6))
        result = table.repair()
        assert (result.way, result.exact, result.lost_versions) == (Way.REWRITE, False, (2, 6))
        assert table.files() == all_files(5, of=8)

    def test_one_of_lost_commits_brings_their_files_back(self) -> None:
        table = Damaged()
        table.log.checkpoint()
        table.lose(commit_path(4), commit_path(5))
        result = table.repair()
        assert (Problem.CHECKPOINT_AHEAD, 5) in problems(result)
        assert (result.way, result.exact, result.version) == (Way.REWRITE, True, 6)
        assert table.files() == all_files()
        assert table.repair().way is Way.NOTHING

    def test_one_without_any_commit_brings_the_table_back(self) -> None:
        table = Damaged()
        table.log.checkpoint()
        table.lose(*(commit_path(version) for version in range(6)))
        result = table.repair()
        assert (result.way, result.exact, result.version) == (Way.REWRITE, True, 6)
        assert table.files() == all_files()
        assert table.place.log().metadata.id == table.id

    def test_one_that_contradicts_its_commits_is_set_aside(self) -> None:
        table = Damaged()
        table.log.checkpoint()
        table.lose(commit_path(4), commit_path(5))
        stray = table.place.log(Settings.resolve({"spark.indextables.checkpoint.enabled": False}))
        stray.add_files([add("other4.split")])
        stray.add_files([add("other5.split")])
        result = table.repair()
        assert (result.way, result.exact) == (Way.CHECKPOINTS, True)
        assert "its files are not those that the commits add up to" in str(result)
        assert "f3.split: left out" in str(result)
        assert table.files() == [*all_files(3, 4), "other4.split", "other5.split"]
        assert table.repair().way is Way.NOTHING

    def test_one_of_lost_commits_does_not_hide_what_was_committed_since(self) -> None:
        table = Damaged()
        table.log.checkpoint()
        table.lose(commit_path(4), commit_path(5))
        table.place.log(Settings.resolve({"spark.indextables.checkpoint.enabled": False})).add_files([add("o.split")])
        result = table.repair()
        assert (result.way, result.doubtful_files, result.exact) == (Way.REWRITE, ("o.split",), False)
        assert table.files() == [*all_files(), "o.split"]

    @pytest.mark.parametrize("form", ["parquet", "json"])
    def test_a_damaged_one_is_set_aside_and_written_anew(self, form: str) -> None:
        table = Damaged()
        table.place.log(Settings.resolve({"spark.indextables.checkpoint.format": form})).checkpoint(4)
        path = manifest_path(4) if form == "parquet" else json_checkpoint_path(4)
        table.spoil(path)
        result = table.repair()
        assert result.way is Way.CHECKPOINTS
        assert problems(result) == [("damaged checkpoint", 4), ("bad pointer", None)]
        assert path not in table.names()
        assert manifest_path(5) in table.names()
        assert table.log.versions() == list(range(6))
        assert table.repair().way is Way.NOTHING

    def test_one_with_a_missing_part_is_set_aside(self) -> None:
        table = Damaged()
        table.log.checkpoint(5)
        table.lose(*(path for path in table.names() if path.endswith(".parquet")))
        result = table.repair()
        assert result.way is Way.CHECKPOINTS
        assert "is missing" in str(result)
        assert table.repair().way is Way.NOTHING
        assert table.files() == all_files()

    @pytest.mark.parametrize("data", [b"", b"{", b"{}", b'{"version":99}', b'{"version":2}', b'{"version":-1}'])
    def test_a_bad_pointer_is_written_anew(self, data: bytes) -> None:
        table = Damaged()
        table.log.checkpoint(4)
        table.place.model.put(POINTER, data)
        result = table.repair()
        assert (result.way, problems(result)) == (Way.CHECKPOINTS, [("bad pointer", None)])
        assert msgspec.json.decode(table.place.model.get(POINTER))["version"] == 5
        assert table.repair().way is Way.NOTHING

    def test_the_loss_of_the_one_that_a_cleaned_log_begins_with_costs_the_versions_up_to_the_next(self) -> None:
        table = Damaged(files=8)
        table.log.checkpoint(3)
        table.log.checkpoint(6)
        table.place.model.put(f"{LOG_DIRECTORY}/_floor/{3:020d}", b"{}\n")
        table.lose(*(commit_path(version) for version in range(3)), manifest_path(3))
        result = table.repair()
        assert (result.way, result.exact, result.oldest_version) == (Way.TRIM, True, 6)
        assert ("missing checkpoint", 3) in problems(result)
        assert table.files() == all_files(of=8)
        assert table.repair().way is Way.NOTHING

    def test_a_cleaned_log_without_any_keeps_what_its_commits_say(self) -> None:
        table = Damaged()
        table.place.model.put(f"{LOG_DIRECTORY}/_floor/{3:020d}", b"{}\n")
        table.lose(*(commit_path(version) for version in range(3)))
        with pytest.raises(LogCorruptionError, match="schema"):
            table.repair()
        result = table.repair(schema=SCHEMA)
        assert (result.way, result.exact) == (Way.REWRITE, False)
        assert table.files() == all_files(0, 1)


class TestCheckpointsOfOthers:
    """They may lack files, so they stand in for lost commits only."""

    def table(self, in_checkpoint: list[int]) -> Damaged:
        table = Damaged()
        metadata = msgspec.json.decode(msgspec.json.encode({"metaData": {"id": table.id}}))
        metadata["metaData"] |= {"schemaString": table.log.metadata.schema_string, "partitionColumns": []}
        lines = [HEAD, metadata, *(foreign_add(f"f{number}.split") for number in in_checkpoint)]
        table.place.model.put(json_checkpoint_path(4), b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        return table

    def test_are_no_problem_while_the_commits_are_there(self) -> None:
        assert self.table([]).repair().way is Way.NOTHING

    def test_give_back_what_a_lost_commit_added(self) -> None:
        table = self.table([0, 1, 2, 3])
        table.lose(commit_path(2))
        result = table.repair()
        assert ("checkpoint of other software", 4) in problems(result)
        assert not result.exact
        assert table.files() == all_files()

    def test_that_lack_files_are_completed_from_the_lines(self) -> None:
        table = self.table([1])
        table.lose(commit_path(2))
        result = table.repair()
        assert table.files() == all_files()
        assert result.doubtful_files == ("f0.split",)

    def test_that_are_empty_take_no_file_away(self) -> None:
        table = self.table([])
        table.spoil(commit_path(4))
        table.repair()
        assert table.files() == all_files(3)

    def test_that_know_more_than_the_lines_tell_which_files_a_lost_commit_removed(self) -> None:
        table = self.table([1, 2])
        table.place.model.put(
            json_checkpoint_path(4), table.place.model.get(json_checkpoint_path(4)).replace(b"f1.split", b"m.split")
        )
        table.spoil(commit_path(4), lambda _: b"")
        result = table.repair()
        assert table.files() == ["f2.split", "f4.split", "m.split"]
        assert "left out: commits and checkpoint differ" in str(result)

    def test_that_a_log_begins_with_are_replaced_by_one_of_ours(self) -> None:
        table = self.table([0, 1, 2, 3])
        table.lose(*(commit_path(version) for version in range(4)))
        result = table.repair()
        assert result.way is Way.CHECKPOINTS
        assert manifest_path(5) in table.names()
        assert table.files() == all_files()
        assert table.repair().way is Way.NOTHING


class TestDataFiles:
    def test_that_are_gone_are_named_and_stay_in_the_table(self) -> None:
        table = Damaged()
        table.lose("f1.split", "f3.split")
        result = table.repair()
        assert (result.way, result.changed) == (Way.NOTHING, False)
        assert result.missing_files == ("f1.split", "f3.split")
        assert ("missing data file", None) in problems(result)
        assert table.files() == all_files()

    def test_that_are_gone_leave_the_table_when_asked(self) -> None:
        table = Damaged()
        table.lose("f1.split", "f3.split")
        result = table.repair(drop_missing_files=True)
        assert (result.way, result.dropped_files, result.files) == (Way.DROP, ("f1.split", "f3.split"), 3)
        assert table.files() == all_files(1, 3)
        assert table.log.versions() == list(range(7))
        assert table.repair(drop_missing_files=True).way is Way.NOTHING

    def test_that_are_gone_leave_a_damaged_log_too_when_asked(self) -> None:
        table = Damaged()
        table.lose("f1.split", commit_path(3))
        result = table.repair(drop_missing_files=True)
        assert (result.way, result.files) == (Way.REWRITE, 3)
        assert table.files() == all_files(1, 2)

    def test_that_are_gone_leave_a_trimmed_log_too_when_asked(self) -> None:
        table = Damaged()
        table.log.checkpoint(4)
        table.lose("f1.split", commit_path(2))
        result = table.repair(drop_missing_files=True)
        assert (result.way, result.files, result.version) == (Way.TRIM, 4, 6)
        assert table.files() == all_files(1)

    def test_of_another_size_are_named(self) -> None:
        table = Damaged()
        table.place.model.put("f1.split", b"short")
        assert ("data file of another size", None) in problems(table.repair())

    def test_that_nobody_names_are_no_finding_while_nothing_is_lost(self) -> None:
        table = Damaged()
        table.place.model.put("stray.split", b"x")
        assert table.repair().findings == ()


class TestTotalLoss:
    def lost(self) -> Damaged:
        table = Damaged()
        table.lose(*table.names())
        return table

    def test_of_the_log_says_what_it_needs(self) -> None:
        table = self.lost()
        dry = table.repair(dry_run=True)
        assert (dry.way, dry.files) == (Way.REWRITE, 0)
        assert "Cannot go on without rebuild" in str(dry)
        with pytest.raises(LogCorruptionError, match=r"Give rebuild.* and schema"):
            table.repair()
        assert table.names() == set()

    def test_of_the_log_is_made_good_from_the_files(self) -> None:
        table = self.lost()
        adds = [add(path) for path in all_files()]
        result = table.repair(rebuild=lambda _: adds, schema=SCHEMA)
        assert (result.way, result.version, result.exact) == (Way.REWRITE, 0, False)
        assert table.files() == table.files(PLAIN) == all_files()
        assert table.log.schema.equals(SCHEMA)
        assert table.repair().way is Way.NOTHING

    def test_of_the_log_finds_the_partition_columns_in_the_order_of_directories(self) -> None:
        table = self.lost()
        values = {"day": "2024-01-01", "text": "a"}
        adds = [add("text=a/day=2024-01-01/x.split", partition_values=values)]
        table.repair(rebuild=lambda _: adds, schema=PARTITIONED)
        assert table.place.log().partition_columns == ["text", "day"]

    def test_of_all_metadata_needs_the_schema_alone(self) -> None:
        table = Damaged()
        table.spoil(commit_path(0))
        with pytest.raises(LogCorruptionError, match="Give schema"):
            table.repair()
        result = table.repair(schema=SCHEMA)
        assert ("metadata lost", None) in problems(result)
        assert table.files() == all_files()
        assert table.place.log().metadata.id != table.id

    def test_leaves_nothing_of_a_broken_log_behind(self) -> None:
        table = self.lost()
        table.place.model.put(manifest_path(7), b"broken")
        table.place.model.put(POINTER, b'{"version":7}')
        table.repair(rebuild=lambda _: [add("f0.split")], schema=SCHEMA)
        assert table.names() == {commit_path(0)}
        assert table.repair().way is Way.NOTHING


def test_a_table_of_newer_software_is_left_to_it() -> None:
    table = Damaged()
    table.place.write(6, {"protocol": {"minReaderVersion": 9, "minWriterVersion": 9}}, foreign_add("x"))
    table.lose(commit_path(3))
    before = table.place.model.tree()
    with pytest.raises(ProtocolError):
        table.repair()
    assert table.place.model.tree() == before


def test_versions_that_jump_beyond_reason_are_refused() -> None:
    table = Damaged()
    table.place.write(10**15, foreign_add("x"))
    with pytest.raises(LogCorruptionError, match="jumps to version 1000000000000000"):
        table.repair()


def test_findings_are_rows_too() -> None:
    table = Damaged()
    table.spoil(commit_path(3), lambda _: b"bad\nworse\nworst\n")
    (row,) = [row for row in table.repair(dry_run=True).rows if row["version"] == 3]
    assert (row["problem"], row["path"], row["lines"]) == ("damaged commit", commit_path(3), "1-3")
