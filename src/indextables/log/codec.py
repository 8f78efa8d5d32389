"""The two-byte envelope: whether, and how, the bytes of a log file are compressed, told by the bytes alone.

Readers meet files of every age and of every writer in one directory, so nothing about a file may depend on its name or on a
setting. Bytes that start with 0x01 are an envelope and nothing else: one that does not open is damage, never plain text.
What opens is bounded while it grows, because forty bytes can claim to be a gigabyte.
"""

from __future__ import annotations

import io
import logging
import struct
import zlib
from typing import TYPE_CHECKING

import pyarrow as pa

try:  # it opens gzip, the usual codec, in less than half the time
    from isal import isal_zlib as inflate
except ImportError:  # there is none for this machine
    import zlib as inflate  # type: ignore[no-redef]

from indextables.errors import ConfigError, IndexTablesError, LogCorruptionError
from indextables.runtime import SYSTEM, Runtime

if TYPE_CHECKING:
    from collections.abc import Callable

_logger = logging.getLogger(__name__)

MAX_FILE_BYTES = 256 << 20
"""The most that one file of the log may hold, counted uncompressed."""
MAX_RATIO = 1000
"""The most that one compressed byte may expand to."""

CODEC_KEY = "spark.indextables.transaction.compression.codec"
LEVEL_KEY = "spark.indextables.transaction.compression.gzip.level"

_MAGIC = 0x01
_CODES = {"gzip": 0x01, "zstd": 0x02, "lz4": 0x03, "snappy": 0x04}
_NAMES = {code: name for name, code in _CODES.items()}
_AUTO_LEVEL = 6
_AUTO_PLAIN_BELOW = 1 << 10
_AUTO_GZIP_UP_TO = 1 << 20
_GZIP_WINDOW = 31
_INFLATE_ERROR: type[Exception] = inflate.error  # type: ignore[assignment]  # its stub calls the class an instance
_MAX_MEMBERS = 1000
_INPUT_STEP = 16 << 10
_OUTPUT_STEP = 1 << 20
# Arrow writes zstd and lz4 frames without a checksum. Both formats let a reader skip a frame of this kind, so one that holds
# the CRC-32 of the content makes damage visible and stays readable for everybody else.
_SEAL = struct.Struct("<4sII")
_SEAL_MAGIC = b"\x50\x2a\x4d\x18"


def encode(data: bytes, *, codec: str, level: int = 6, path: str = "", runtime: Runtime = SYSTEM) -> bytes:
    """Return the bytes to store for `data`.

    What comes back is plain where an envelope would expand by more than a reader allows.

    Args:
        data: The uncompressed content.
        codec: `gzip`, `zstd`, `lz4`, `snappy`, `none`, or `auto`: none below 1 KB, gzip to 1 MB, zstd above.
        level: gzip's, from 0 to 9; the other codecs have one level.
        path: Names the file in an error.
        runtime: Supplies the clock behind the logged time.

    Raises:
        ConfigError: The codec or the level does not exist.
        IndexTablesError: The content is larger than any reader accepts.
    """
    name, level = _choose(codec, level, len(data))
    if len(data) > MAX_FILE_BYTES:
        raise IndexTablesError(
            f"{path or 'The file'} would hold {len(data)} bytes, and a file of the log holds at most {MAX_FILE_BYTES}",
            "Write it as several commits",
        )
    started = runtime.monotonic()
    result = data
    if name != "none":
        body = _compress(data, name, level)
        if len(data) <= MAX_RATIO * len(body):
            result = bytes((_MAGIC, _CODES[name])) + body
    _logger.info(
        "Transaction file compression: original=%dB, compressed=%dB, ratio=%.2fx, time=%dms",
        len(data),
        len(result),
        len(data) / max(len(result), 1),
        (runtime.monotonic() - started) * 1000,
    )
    return result


def decode(data: bytes, *, path: str) -> bytes:
    """Return the content behind the bytes of a log file.

    Raises:
        LogCorruptionError: The file is empty, or is an envelope that does not open; `codec` and `offset` say where.
    """
    if not data:
        raise LogCorruptionError(path, "the file is empty")
    if not is_compressed(data):
        _logger.debug("Reading uncompressed file: %s", path)
        return data
    if len(data) == 1:
        raise LogCorruptionError(path, "the codec byte is missing", offset=1)
    name = detect(data)
    if name is None:
        raise LogCorruptionError(
            path,
            f"unknown codec 0x{data[1]:02x}",
            offset=1,
            way_out="Restore the file, or read the table with the newer version of the software that wrote it",
        )
    _logger.debug("Reading compressed file (codec=%s): %s", name, path)
    content = _Content(path, name, len(data) - 2)
    _DECOMPRESS[name](memoryview(data)[2:], content)
    return content.value()


def is_compressed(data: bytes) -> bool:
    """Tell whether the bytes are an envelope."""
    return data[:1] == b"\x01"


def detect(data: bytes) -> str | None:
    """Return the codec of an envelope, and None for plain bytes and for a codec that does not exist."""
    return _NAMES.get(data[1]) if is_compressed(data) and len(data) > 1 else None


def _choose(codec: str, level: int, size: int) -> tuple[str, int]:
    name = codec.lower()
    if name not in _CODES and name not in {"none", "auto"}:
        raise ConfigError(CODEC_KEY, codec, "gzip, zstd, lz4, snappy, none or auto")
    if level not in range(10):
        raise ConfigError(LEVEL_KEY, level, "a whole number from 0 to 9")
    if name != "auto":
        return name, level
    if size < _AUTO_PLAIN_BELOW:
        return "none", level
    return ("gzip" if size <= _AUTO_GZIP_UP_TO else "zstd"), _AUTO_LEVEL


def _compress(data: bytes, name: str, level: int) -> bytes:
    if name == "gzip":
        compressor = zlib.compressobj(level, zlib.DEFLATED, _GZIP_WINDOW)
        return compressor.compress(data) + compressor.flush()
    body: bytes = pa.Codec(name).compress(data, asbytes=True)
    return body if name == "snappy" else body + _SEAL.pack(_SEAL_MAGIC, 4, zlib.crc32(data))


class _Content:
    """The growing output of one file, which refuses to grow beyond its bounds."""

    def __init__(self, path: str, codec: str, compressed: int) -> None:
        self._path = path
        self._codec = codec
        self._limit = min(MAX_FILE_BYTES, MAX_RATIO * compressed)
        self._first = b""
        # Its buffer becomes the result without a copy, so the peak stays near the size of the content.
        self._buffer: io.BytesIO | None = None
        self._size = 0

    def reserve(self, size: int, *, offset: int) -> None:
        if self._size + size > self._limit:
            raise self.damage(f"it expands to more than {self._limit} bytes, as only a decompression bomb does", offset)

    def write(self, chunk: bytes, *, offset: int) -> None:
        self.reserve(len(chunk), offset=offset)
        if not self._size:  # most files are one chunk, which needs no buffer
            self._first = chunk
        else:
            if self._buffer is None:
                self._buffer = io.BytesIO()
                self._buffer.write(self._first)
                self._first = b""
            self._buffer.write(chunk)
        self._size += len(chunk)

    def value(self) -> bytes:
        return self._first if self._buffer is None else self._buffer.getvalue()

    def damage(self, reason: str, offset: int) -> LogCorruptionError:
        return LogCorruptionError(self._path, reason, codec=self._codec, offset=offset + 2)


def _gunzip(data: memoryview, content: _Content) -> None:
    """Open every member of a gzip file, a small step of input at a time: zlib turns a step into 16 MB at most."""
    position = 0
    for _ in range(_MAX_MEMBERS):
        member = inflate.decompressobj(_GZIP_WINDOW)
        while not member.eof:
            step = data[position : position + _INPUT_STEP]
            if not step:
                raise content.damage("the compressed data is cut off", position)
            try:
                chunk = member.decompress(step)
            except _INFLATE_ERROR as error:
                raise content.damage(f"the compressed data is broken ({error})", position) from error
            content.write(chunk, offset=position)
            position += len(step) - len(member.unused_data)
        if position == len(data):
            return
    raise content.damage(f"it has more than {_MAX_MEMBERS} gzip members", position)


def _unframe(name: str) -> Callable[[memoryview, _Content], None]:
    """Return the reader of a framed format, which opens the frames one after the other in bounded steps."""

    def decompress(data: memoryview, content: _Content) -> None:
        if not data:
            raise content.damage("the compressed data is cut off", 0)
        source = pa.BufferReader(data)
        stream = pa.CompressedInputStream(source, name)
        while True:
            try:
                chunk = stream.read(_OUTPUT_STEP)
            except (OSError, pa.ArrowException) as error:
                raise content.damage(f"the compressed data is broken ({error})", source.tell()) from error
            if not chunk:
                break
            content.write(chunk, offset=source.tell())
        seal = len(data) - _SEAL.size
        if seal > 0:
            magic, length, checksum = _SEAL.unpack_from(data, seal)
            if (magic, length) == (_SEAL_MAGIC, 4) and checksum != zlib.crc32(content.value()):
                raise content.damage("the checksum does not match the content", seal)

    return decompress


def _unsnap(data: memoryview, content: _Content) -> None:
    """Open one raw snappy block, whose first bytes state the size: it is checked before anything is allocated."""
    size = 0
    for index, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            break
    else:
        raise content.damage("the compressed data is cut off or states no size", 0)
    content.reserve(size, offset=0)
    try:
        chunk = pa.Codec("snappy").decompress(data, decompressed_size=size, asbytes=True)
    except (OSError, pa.ArrowException) as error:
        raise content.damage(f"the compressed data is broken ({error})", 0) from error
    content.write(chunk, offset=0)


_DECOMPRESS: dict[str, Callable[[memoryview, _Content], None]] = {
    "gzip": _gunzip,
    "zstd": _unframe("zstd"),
    "lz4": _unframe("lz4"),
    "snappy": _unsnap,
}
