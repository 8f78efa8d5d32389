"""Files of a store elsewhere, with the methods that pyarrow and Python's own buffers want."""

from __future__ import annotations

import io
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from hdfs_native._internal import RawFileWriter

CHUNK = 4 << 20
"""How much goes to or comes from the cluster at a time."""


class Ranges(Protocol):
    """What serves a file piece by piece."""

    def file_length(self) -> int:
        """Return its length."""

    def read_range(self, offset: int, len: int) -> bytes:  # noqa: A002 - hdfs-native calls it so
        """Return that many bytes from there on."""


class RangeReader(io.RawIOBase):
    """A file with the methods that a buffered reader wants.

    Args:
        reader: Serves it.
        translated: Gives a context in which errors of the reader become ours.
    """

    def __init__(self, reader: Ranges, translated: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._reader = reader
        self._translated = translated
        self._position = 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """Every byte can be reached."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._reader.file_length()}[whence]
        self._position = base + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as there are bytes."""
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._reader.file_length() - self._position))
        if count:
            with self._translated():
                view[:count] = self._reader.read_range(self._position, count)
            self._position += count
        return count


class HdfsWriter:
    """A file of HDFS for pyarrow to write; not the library's own object, which closes itself when it is collected.

    Args:
        writer: The library's.
        translated: Gives a context in which errors of the writer become ours.
    """

    def __init__(self, writer: RawFileWriter, translated: Callable[[], AbstractContextManager[None]]) -> None:
        self._writer = writer
        self._translated = translated
        self._buffer = bytearray()
        self._closed = False

    def write(self, data: Any) -> int:
        """Take bytes; they are sent in pieces."""
        view = memoryview(data).cast("B")
        self._buffer += view
        if len(self._buffer) >= CHUNK:
            self._flush()
        return len(view)

    def _flush(self) -> None:
        if self._buffer:
            with self._translated():
                self._writer.write(bytes(self._buffer))
            self._buffer.clear()

    def close(self) -> None:
        """Send the rest and complete the file."""
        if not self._closed:
            self._flush()
            with self._translated():
                self._writer.close()
            self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
