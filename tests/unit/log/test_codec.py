from __future__ import annotations

import gzip
import logging
import subprocess
import sys
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from indextables.errors import ConfigError, IndexTablesError, LogCorruptionError
from indextables.log import codec
from indextables.runtime import SYSTEM

if TYPE_CHECKING:
    from pathlib import Path

LINE = b'{"add":{"path":"file.split","size":1000}}'
COMMIT = b"".join(b'{"add":{"path":"part-%05d.split","size":%d}}\n' % (n, n * 7919) for n in range(200))
CODES = {"gzip": 0x01, "zstd": 0x02, "lz4": 0x03, "snappy": 0x04}
CHECKED = ("gzip", "zstd", "lz4")


def encoded(data: bytes, name: str) -> bytes:
    return codec.encode(data, codec=name)


class TestEnvelope:
    @pytest.mark.parametrize("name", CODES)
    def test_is_the_magic_byte_the_codec_byte_and_the_compressed_data(self, name: str) -> None:
        data = encoded(COMMIT, name)
        assert data[0] == 0x01
        assert data[1] == CODES[name]
        assert len(data) < len(COMMIT)
        assert codec.decode(data, path="p") == COMMIT

    def test_bytes_that_do_not_start_with_the_magic_byte_are_read_as_they_are(self) -> None:
        assert codec.decode(LINE, path="p") == LINE

    def test_detection_needs_nothing_but_the_bytes(self) -> None:
        assert not codec.is_compressed(b'{"add":{}}')
        assert not codec.is_compressed(b"")
        assert codec.is_compressed(encoded(b'{"add":{}}', "gzip"))
        assert codec.is_compressed(b"\x01")

    @pytest.mark.parametrize("name", CODES)
    def test_the_codec_is_named_by_its_byte(self, name: str) -> None:
        assert codec.detect(encoded(COMMIT, name)) == name

    @pytest.mark.parametrize("data", [b"", b"{", b"\x01", b"\x01\x05", b"\x01\x00"])
    def test_no_codec_is_named_where_there_is_none(self, data: bytes) -> None:
        assert codec.detect(data) is None

    def test_none_leaves_the_bytes_alone(self) -> None:
        assert encoded(COMMIT, "none") == COMMIT

    def test_names_of_codecs_may_be_written_in_any_case(self) -> None:
        assert codec.detect(encoded(COMMIT, "GZip")) == "gzip"
        assert encoded(COMMIT, "NONE") == COMMIT

    def test_any_gzip_reads_what_we_write_and_the_other_way_round(self) -> None:
        assert gzip.decompress(encoded(COMMIT, "gzip")[2:]) == COMMIT
        assert codec.decode(b"\x01\x01" + gzip.compress(COMMIT), path="p") == COMMIT

    @pytest.mark.parametrize("name", ["zstd", "lz4"])
    def test_any_stream_reader_skips_the_checksum_and_a_frame_without_one_is_read(self, name: str) -> None:
        data = encoded(COMMIT, name)
        assert pa.CompressedInputStream(pa.BufferReader(data[2:]), name).read() == COMMIT
        bare = bytes((0x01, CODES[name])) + pa.Codec(name).compress(COMMIT, asbytes=True)
        assert len(bare) == len(data) - 12
        assert codec.decode(bare, path="p") == COMMIT

    def test_snappy_is_one_raw_block(self) -> None:
        assert pa.Codec("snappy").decompress(encoded(COMMIT, "snappy")[2:], len(COMMIT), asbytes=True) == COMMIT

    def test_gzip_may_come_in_several_members(self) -> None:
        data = b"\x01\x01" + gzip.compress(COMMIT[:1000]) + gzip.compress(COMMIT[1000:])
        assert codec.decode(data, path="p") == COMMIT


class TestSettings:
    def test_the_level_is_honoured(self) -> None:
        sizes = [len(codec.encode(COMMIT, codec="gzip", level=level)) for level in (0, 1, 9)]
        assert sizes[0] > len(COMMIT) > sizes[1] > sizes[2]

    def test_the_level_is_six_unless_said_otherwise(self) -> None:
        assert encoded(COMMIT, "gzip") == codec.encode(COMMIT, codec="gzip", level=6)

    @pytest.mark.parametrize("level", [-1, 10, 100])
    def test_a_level_that_does_not_exist_is_refused_by_the_name_of_its_key(self, level: int) -> None:
        with pytest.raises(ConfigError, match="0 to 9") as caught:
            codec.encode(COMMIT, codec="gzip", level=level)
        assert caught.value.key == "spark.indextables.transaction.compression.gzip.level"
        assert caught.value.value == level

    @pytest.mark.parametrize("name", ["", "brotli", "gzip ", "zip"])
    def test_a_codec_that_does_not_exist_is_refused_by_the_name_of_its_key(self, name: str) -> None:
        with pytest.raises(ConfigError, match="gzip, zstd, lz4, snappy, none or auto") as caught:
            encoded(COMMIT, name)
        assert caught.value.key == "spark.indextables.transaction.compression.codec"

    @pytest.mark.parametrize(
        ("size", "expected"), [(1023, None), (1024, "gzip"), (1 << 20, "gzip"), ((1 << 20) + 1, "zstd")]
    )
    def test_auto_chooses_by_size(self, size: int, expected: str | None) -> None:
        data = b"".join(b"%d," % (n * 7919) for n in range(size // 4))[:size]
        result = codec.encode(data, codec="auto", level=0)
        assert codec.detect(result) == expected
        assert len(result) < size or expected is None
        assert codec.decode(result, path="p") == data


class TestDamage:
    def check(self, data: bytes, reason: str, *, name: str | None = None) -> LogCorruptionError:
        with pytest.raises(LogCorruptionError, match=reason) as caught:
            codec.decode(data, path="log/7.json")
        assert caught.value.path == "log/7.json"
        assert caught.value.codec == name
        return caught.value

    def test_an_empty_file(self) -> None:
        self.check(b"", "the file is empty")

    def test_a_missing_codec_byte(self) -> None:
        assert self.check(b"\x01", "codec byte is missing").offset == 1

    @pytest.mark.parametrize("code", [0x00, 0x05, 0x7B, 0xFF])
    def test_an_unknown_codec(self, code: int) -> None:
        error = self.check(bytes((0x01, code)) + COMMIT, f"unknown codec 0x{code:02x}")
        assert error.offset == 1

    @pytest.mark.parametrize("name", CODES)
    @pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.95])
    def test_truncated_data(self, name: str, share: float) -> None:
        data = encoded(COMMIT, name)
        error = self.check(data[: 2 + int(share * (len(data) - 2))], "cut off|broken", name=name)
        assert error.offset is not None
        assert 2 <= error.offset <= len(data)

    def test_a_gzip_file_without_its_last_byte(self) -> None:
        self.check(encoded(COMMIT, "gzip")[:-1], "cut off", name="gzip")

    @pytest.mark.parametrize("name", CHECKED)
    def test_a_bad_checksum(self, name: str) -> None:
        data = bytearray(encoded(COMMIT, name))
        data[-5 if name == "gzip" else -1] ^= 0x40
        self.check(bytes(data), "check", name=name)

    @pytest.mark.parametrize("name", ["zstd", "lz4"])
    def test_content_that_changed_under_an_intact_frame(self, name: str) -> None:
        seal = encoded(COMMIT, name)[-12:]
        other = encoded(COMMIT.replace(b"part", b"trap"), name)[:-12]
        self.check(other + seal, "the checksum does not match", name=name)

    @pytest.mark.parametrize("name", CODES)
    @pytest.mark.parametrize("junk", [b"\x00", b"\x00" * 600, b"junk", b"{}\n"])
    def test_junk_after_the_data(self, name: str, junk: bytes) -> None:
        self.check(encoded(COMMIT, name) + junk, "cut off|broken", name=name)

    @pytest.mark.parametrize("name", CODES)
    def test_a_broken_envelope_is_never_taken_for_plain_text(self, name: str) -> None:
        self.check(bytes((0x01, CODES[name])) + COMMIT, "broken|cut off|bomb", name=name)

    def test_a_snappy_block_that_states_no_size(self) -> None:
        self.check(b"\x01\x04" + b"\xff" * 9, "states no size", name="snappy")


_MEASURED = """
import pathlib, resource, sys
from indextables.errors import LogCorruptionError
from indextables.log.codec import decode
data = pathlib.Path(sys.argv[1]).read_bytes()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    decode(data, path="p")
except LogCorruptionError:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


class TestBombs:
    def refused(self, data: bytes) -> None:
        with pytest.raises(LogCorruptionError, match="decompression bomb") as caught:
            codec.decode(data, path="p")
        assert caught.value.offset is not None

    def test_more_than_a_thousand_bytes_for_one(self) -> None:
        zeros = pa.Codec("zstd").compress(b"\0" * (8 << 20), asbytes=True)
        assert len(zeros) * 1000 < 8 << 20
        self.refused(b"\x01\x02" + zeros)
        self.refused(b"\x01\x01" + zlib.compress(b"\0" * (8 << 20), 9, 31))

    def test_more_than_the_absolute_cap(self, monkeypatch: pytest.MonkeyPatch) -> None:
        data = {name: encoded(COMMIT, name) for name in CODES}
        monkeypatch.setattr(codec, "MAX_FILE_BYTES", len(COMMIT) - 1)
        for bomb in data.values():
            self.refused(bomb)

    @pytest.mark.parametrize(
        ("header", "piece", "mebibytes"),
        [
            pytest.param(b"\x01\x01", zlib.compress(b"\0" * (16 << 20), 9, 31), 340, id="gzip, to the absolute cap"),
            pytest.param(
                b"\x01\x02", pa.Codec("zstd").compress(b"\0" * (16 << 20), asbytes=True), 80, id="zstd, to its ratio"
            ),
        ],
    )
    def test_a_gigabyte_is_noticed_before_it_is_there(
        self, header: bytes, piece: bytes, mebibytes: int, tmp_path: Path
    ) -> None:
        file = tmp_path / "bomb"
        file.write_bytes(header + piece * 64)
        command = [sys.executable, "-c", _MEASURED, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert int(done.stdout) < mebibytes

    def test_many_small_frames_count_together(self) -> None:
        frame = pa.Codec("zstd").compress(b"\0" * (1 << 20), asbytes=True)
        self.refused(b"\x01\x02" + frame * 100)

    def test_a_snappy_block_that_claims_four_gigabytes(self) -> None:
        self.refused(b"\x01\x04\xff\xff\xff\xff\x0f" + b"x" * 100)

    def test_a_gzip_file_of_countless_empty_members(self) -> None:
        with pytest.raises(LogCorruptionError, match="more than 1000 gzip members"):
            codec.decode(b"\x01\x01" + gzip.compress(b"") * 2000, path="p")

    @pytest.mark.parametrize("name", [*CODES, "auto"])
    def test_nothing_is_written_that_would_be_refused_as_one(self, name: str) -> None:
        data = b"a" * (4 << 20)
        assert codec.decode(encoded(data, name), path="p") == data

    def test_nothing_is_written_that_is_larger_than_the_cap(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(codec, "MAX_FILE_BYTES", 1000)
        with pytest.raises(IndexTablesError, match=r"log/7\.json would hold .* Write it as several commits"):
            codec.encode(COMMIT, codec="gzip", path="log/7.json")


class TestLogLines:
    def test_a_read_says_how_the_file_was_stored(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.DEBUG, logger="indextables"):
            codec.decode(encoded(LINE, "zstd"), path="log/1.json")
            codec.decode(LINE, path="log/2.json")
        lines = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
        assert lines == [
            "Reading compressed file (codec=zstd): log/1.json",
            "Reading uncompressed file: log/2.json",
        ]

    def test_a_write_says_what_compression_cost_and_brought(self, caplog: pytest.LogCaptureFixture) -> None:
        clock = iter((10.0, 10.0125))
        runtime = replace(SYSTEM, monotonic=lambda: next(clock))
        with caplog.at_level(logging.INFO, logger="indextables"):
            data = codec.encode(COMMIT, codec="gzip", runtime=runtime)
        expected = (
            f"Transaction file compression: original={len(COMMIT)}B, compressed={len(data)}B, "
            f"ratio={len(COMMIT) / len(data):.2f}x, time=12ms"
        )
        assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("INFO", expected)]
