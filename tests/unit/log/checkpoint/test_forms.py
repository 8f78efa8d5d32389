"""What checkpoints look like in a store, by the letter of the format, and what is read of those that others wrote."""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.config import Checkpoint, Settings
from indextables.errors import (
    CheckpointCorruptionError,
    CheckpointValidationError,
    CheckpointWriteError,
    PermissionDeniedError,
)
from indextables.log.checkpoint.finder import CheckpointFinder
from indextables.log.checkpoint.finder import Place as Found
from indextables.log.checkpoint.manifest import decode_manifest, encode_manifest
from indextables.log.codec import decode, encode
from indextables.log.layout import (
    POINTER,
    commit_path,
    json_checkpoint_path,
    manifest_path,
    part_path,
)
from tests.support.logs import PARTITIONED, Place, add, foreign_add

if TYPE_CHECKING:
    from indextables.log.log import TransactionLog

BY_HAND = Settings(checkpoint=Checkpoint(interval=10**6))
AS_JSON = Settings(checkpoint=Checkpoint(interval=10**6, format="json", compression_enabled=False))


def table(settings: Settings = BY_HAND) -> tuple[Place, TransactionLog]:
    place = Place(checkpoints=True)
    log = place.log(settings)
    log.initialize(PARTITIONED, ["day"])
    for day in ("2024-01-02", "2024-01-01", None):
        log.add_files([add(f"{day}.split", partition_values={"day": day}, min_values={"id": "1"}, num_records=4)])
    log.record_skipped_file("None.split", reason="broken", operation="merge")
    log.remove_files(["2024-01-02.split"])
    return place, log


class TestParquet:
    def test_is_a_file_that_any_reader_of_parquet_opens(self) -> None:
        place, log = table()
        log.checkpoint()
        rows = pq.read_table(pa.BufferReader(place.model.get(part_path(5)))).to_pylist()
        assert [row["path"] for row in rows] == ["2024-01-01.split", "None.split"]
        assert rows[0]["partitionValues"] == {"day": "2024-01-01"}
        assert rows[0]["minValues"] == {"id": "1"}
        assert (rows[0]["numRecords"], rows[0]["dataChange"], rows[0]["version"]) == (4, True, 2)

    def test_keeps_removes_and_skips_in_parts_of_their_own(self) -> None:
        place, log = table()
        log.checkpoint()
        removes = pq.read_table(pa.BufferReader(place.model.get(part_path(5, kind="remove")))).to_pylist()
        skips = pq.read_table(pa.BufferReader(place.model.get(part_path(5, kind="mergeskip")))).to_pylist()
        assert [row["path"] for row in removes] == ["2024-01-02.split"]
        assert [(row["path"], row["skipCount"]) for row in skips] == [("None.split", 1)]

    def test_has_a_manifest_with_rows_and_checksums(self) -> None:
        place, log = table()
        log.checkpoint()
        manifest = json.loads(place.model.get(manifest_path(5)))
        assert (manifest["version"], manifest["size"], manifest["parts"]) == (5, 2, 1)
        part = manifest["files"][0]
        assert (part["path"], part["rows"]) == (part_path(5), 2)
        assert part["partitions"] == {"day": ["2024-01-01", "2024-01-01", True]}
        data = place.model.get(part["path"])
        assert part["sha256"] == hashlib.sha256(data).hexdigest()
        assert part["crc32"] == zlib.crc32(data)
        assert len(manifest["checksum"]) == 64

    def test_a_manifest_of_before_there_was_a_quick_checksum_is_read_by_the_other(self) -> None:
        place, log = table()
        log.checkpoint()
        manifest = decode_manifest(place.model.get(manifest_path(5)), version=5, path="")
        old = [msgspec.structs.replace(part, crc32=None) for part in manifest.files]
        place.model.put(manifest_path(5), encode_manifest(msgspec.structs.replace(manifest, files=old)))
        part = place.model.get(part_path(5))
        finder = CheckpointFinder(place.model, Settings())
        assert finder.load(Found(version=5, parquet=True)).state.files.num_rows == 2
        place.model.put(part_path(5), part[:-20] + b"x" + part[-19:])
        with pytest.raises(CheckpointCorruptionError, match="do not match the manifest"):
            finder.load(Found(version=5, parquet=True))

    def test_leaves_a_pointer_behind(self) -> None:
        place, log = table()
        result = log.checkpoint()
        pointer = json.loads(place.model.get(POINTER))
        assert pointer["version"] == 5
        assert pointer["format"] == "parquet"
        assert pointer["size"] == result.entries == 6
        assert pointer["numFiles"] == 2
        assert pointer["parts"] == 1
        assert pointer["checksum"] == json.loads(place.model.get(manifest_path(5)))["checksum"]
        assert pointer["createdTime"] > 0

    def test_keeps_unknown_fields_of_adds(self) -> None:
        place, log = table()
        place.write(6, foreign_add("theirs", partitionValues={"day": None}, newField={"a": [1]}))
        log.checkpoint()
        loaded = CheckpointFinder(place.model, BY_HAND).load(Found(version=6, parquet=True)).state.files
        extra = dict(zip(loaded["path"].to_pylist(), loaded["extra"].to_pylist(), strict=True))
        assert json.loads(extra["theirs"]) == {"newField": {"a": [1]}}

    @pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4"])
    def test_is_compressed_as_the_settings_say(self, codec: Any) -> None:
        place, log = table(Settings(checkpoint=Checkpoint(interval=10**6, compression=codec)))
        log.add_files(
            [add(f"{n:05d}-{'long-name-' * 5}.split", partition_values={"day": "2024-01-01"}) for n in range(500)]
        )
        log.checkpoint()
        column = pq.read_metadata(pa.BufferReader(place.model.get(part_path(6)))).row_group(0).column(0)
        assert column.compression == {"none": "UNCOMPRESSED"}.get(codec, codec.upper())

    def test_without_files_is_a_checkpoint_too(self) -> None:
        place = Place(checkpoints=True)
        log = place.log(BY_HAND)
        log.initialize(PARTITIONED, ["day"])
        assert log.checkpoint().parts == 0
        assert place.log(BY_HAND).snapshot().num_files == 0

    def test_of_a_version_that_has_one_is_written_again(self) -> None:
        place, log = table()
        log.checkpoint()
        place.model.put(part_path(5), b"damaged")
        log.checkpoint()
        finder = CheckpointFinder(place.model, BY_HAND)
        assert finder.load(Found(version=5, parquet=True)).state.files.num_rows == 2


class TestJson:
    def test_has_the_members_of_the_format(self) -> None:
        place, log = table(AS_JSON)
        log.checkpoint()
        told = json.loads(place.model.get(json_checkpoint_path(5)))
        assert list(told) == ["indextables", "protocol", "metaData", "add", "remove", "mergeskip"]
        assert told["protocol"] == {"minReaderVersion": 2, "minWriterVersion": 2}
        assert told["metaData"]["partitionColumns"] == ["day"]
        assert sorted(row["path"] for row in told["add"]) == ["2024-01-01.split", "None.split"]
        assert [row["partitionValues"] for row in told["add"] if row["path"] == "None.split"] == [{"day": None}]
        assert [row["path"] for row in told["remove"]] == ["2024-01-02.split"]
        assert [row["path"] for row in told["mergeskip"]] == ["None.split"]

    def test_is_compressed_when_asked(self) -> None:
        place, log = table(Settings(checkpoint=Checkpoint(interval=10**6, format="json")))
        log.checkpoint()
        data = place.model.get(json_checkpoint_path(5))
        assert data[:2] == b"\x01\x01"
        assert json.loads(decode(data, path=""))["protocol"]

    def test_leaves_a_pointer_behind(self) -> None:
        place, log = table(AS_JSON)
        log.checkpoint()
        pointer = json.loads(place.model.get(POINTER))
        assert (pointer["version"], pointer["format"], pointer["parts"]) == (5, "json", 1)


def foreign(place: Place, version: int, form: str, actions: list[dict[str, Any]]) -> None:
    if form == "lines":
        text = b"".join(json.dumps(action).encode() + b"\n" for action in actions)
    else:
        whole: dict[str, Any] = {"add": [action["add"] for action in actions if "add" in action]}
        for action in actions:
            whole |= {key: value for key, value in action.items() if key != "add"}
        text = json.dumps(whole, indent=1).encode()
    place.model.put(json_checkpoint_path(version), encode(text, codec="gzip"))


@pytest.mark.parametrize("form", ["lines", "one object"])
class TestThoseOfOthers:
    def actions(self, place: Place) -> list[dict[str, Any]]:
        lines = decode(place.model.get(commit_path(0)), path="").splitlines()
        return [json.loads(line) for line in lines] + [foreign_add("only", partitionValues={"day": None})]

    def test_are_read_where_the_commits_are_gone(self, form: str, caplog: pytest.LogCaptureFixture) -> None:
        place, _ = table()
        foreign(place, 4, form, self.actions(place))
        for version in range(5):
            place.model.delete(commit_path(version))
        # Version 5 removes a file that the checkpoint does not know; that is no contradiction.
        assert place.log(BY_HAND).snapshot().files["path"].to_pylist() == ["only"]
        assert sum("which other software wrote, may be incomplete" in text for text in caplog.messages) == 1

    def test_are_passed_over_where_the_commits_are_there(self, form: str) -> None:
        place, log = table()
        foreign(place, 4, form, self.actions(place))
        place.model.put(POINTER, b'{"version":4,"size":3,"sizeInBytes":9,"numFiles":1,"createdTime":1}')
        assert place.log(BY_HAND).snapshot().num_files == log.snapshot().num_files == 2

    def test_are_passed_over_where_ours_is_there(self, form: str) -> None:
        place, log = table()
        log.checkpoint(3)
        foreign(place, 4, form, self.actions(place))
        for version in range(3):
            place.model.delete(commit_path(version))
        assert place.log(BY_HAND).snapshot().num_files == 2


class TestErrors:
    def test_of_writing_name_version_and_cause(self) -> None:
        place, _ = table()

        def refuse(op: str, path: str) -> None:
            if op.startswith("put") and "_checkpoints" in path:
                raise PermissionDeniedError(path, store="s3 model")

        log = place.open(BY_HAND, before=refuse).log
        with pytest.raises(CheckpointWriteError, match=r"version 5 could not be written .* was refused"):
            log.checkpoint()
        assert place.log(BY_HAND).snapshot().num_files == 2

    def test_of_bytes_that_changed_later_are_noticed_by_the_checksum(self) -> None:
        place, _ = table()

        def refuse(op: str, path: str) -> None:
            if op == "put" and path == manifest_path(5):
                place.model.put(part_path(5), b"somebody wrote over it")

        log = place.open(BY_HAND, before=refuse).log
        log.checkpoint()
        with pytest.raises(CheckpointCorruptionError, match="bytes do not match the manifest"):
            CheckpointFinder(place.model, BY_HAND).load(Found(version=5, parquet=True))

    def test_are_of_the_three_kinds_of_the_format(self) -> None:
        for kind in (CheckpointWriteError, CheckpointValidationError, CheckpointCorruptionError):
            error = kind(7, path="p", reason="r")
            assert (error.version, error.path, error.reason) == (7, "p", "r")
            assert "version 7" in str(error)
