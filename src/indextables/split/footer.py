"""The footer of a split: found in one read, checked before it is parsed, and the one place where Parquet's errors become ours.

The log knows the size of a file and where its footer begins, so a reader asks for exactly those bytes. It also knows their
checksum: bytes that do not match never reach the parser. The footer in turn holds a checksum of every column chunk, so the log
vouches for the footer and the footer for the data.
"""

from __future__ import annotations

import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.errors import IndexTablesError, SplitCorruptionError
from indextables.split.chunks import bloom_ranges
from indextables.split.sound import check_chunks
from indextables.split.sound_bounds import cut_bounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from indextables.storage.base import Store

FORMAT_KEY: Final = b"indextables.format"
TABLE_KEY: Final = b"indextables.table"
WRITER_KEY: Final = b"indextables.writer"
PARTITION_KEY: Final = b"indextables.partition"
STATISTICS_KEY: Final = b"indextables.statistics"
CHECKSUMS_KEY: Final = b"indextables.checksums"
NOTES_KEY: Final = b"indextables.notes"
TEXT_INDEX_KEY: Final = b"indextables.textIndex"
FORMAT: Final = b"1"
"""The version of what these keys mean. A reader takes a split of any version, and trusts the keys of this one only."""

MAGIC: Final = b"PAR1"
_NOTES: Final = (FORMAT_KEY, WRITER_KEY, TABLE_KEY, PARTITION_KEY, STATISTICS_KEY)
_TAIL: Final = 8  # the footer's length and the magic bytes
_GUESS: Final = 64 * 1024
_CHECKSUM_DIGITS: Final = 8


@dataclass(frozen=True, kw_only=True)
class Footer:
    """A parsed footer.

    Attributes:
        path: Of the file.
        content: Its bytes, less those that end every file.
        metadata: What Parquet keeps there.
        start: Where it begins.
        size: Of the file.
        checksum: CRC-32 of its bytes.
        vouched: Whether the log knows that checksum.
    """

    path: str
    content: bytes = field(repr=False)
    metadata: Any
    start: int
    size: int
    checksum: int
    vouched: bool

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the file."""
        with translated(self.path):
            schema = self.metadata.schema.to_arrow_schema()
            _ask_names(schema)
            return schema

    @cached_property
    def own(self) -> dict[bytes, bytes]:
        """What our writer noted; empty for files of others.

        Raises:
            SplitCorruptionError: It is not what was noted.
        """
        noted: dict[bytes, bytes] = self.metadata.metadata or {}
        if noted.get(FORMAT_KEY) != FORMAT:
            return {}
        if noted.get(NOTES_KEY) != notes_checksum(noted):
            raise SplitCorruptionError(self.path, "the notes in its footer are damaged")
        return noted

    @cached_property
    def checksums(self) -> list[int] | None:
        """A checksum of each column chunk, row group by row group, then of each bloom filter; None where there are none."""
        text = self.own.get(CHECKSUMS_KEY)
        if text is None:
            return None
        digits = text.rstrip()
        try:
            found = [int(digits[at : at + _CHECKSUM_DIGITS], 16) for at in range(0, len(digits), _CHECKSUM_DIGITS)]
        except ValueError as error:
            raise SplitCorruptionError(self.path, "its checksums are damaged") from error
        if len(digits) != _CHECKSUM_DIGITS * len(found) or len(found) < self._chunks:
            raise SplitCorruptionError(self.path, "it has not one checksum for each column chunk")
        return found

    @cached_property
    def bloom_filters(self) -> dict[tuple[int, int], tuple[int, int, int]]:
        """Where bloom filters begin and end, and their checksums, by row group and column; those of others have none."""
        self.check_chunks()
        with translated(self.path):
            places = bloom_ranges(self.metadata)
        sums = (self.checksums or [])[self._chunks :]
        if len(sums) != len(places):
            return {}
        return {key: (*place, total) for (key, place), total in zip(places.items(), sums, strict=True)}

    @cached_property
    def cut_bounds(self) -> frozenset[tuple[int, int]]:
        """Row group and column of the chunks whose bounds cannot be asked for; our writer leaves none."""
        with translated(self.path):
            return cut_bounds(self.metadata, self.content)

    def check_chunks(self, row_groups: Sequence[int] | None = None, columns: Sequence[int] | None = None) -> None:
        """Make sure that the metadata can be asked about column chunks: who wrote the log may have written this footer, too.

        Args:
            row_groups: Whose chunks; all if not given.
            columns: The numbers of their columns; all if not given.

        Raises:
            SplitCorruptionError: A description of them contradicts itself or others.
        """
        if self.vouched:  # or all were looked at when it was read
            with translated(self.path):
                check_chunks(self.metadata, size=self.size, row_groups=row_groups, columns=columns)

    @property
    def _chunks(self) -> int:
        return int(self.metadata.num_row_groups * self.metadata.num_columns)


def _ask_names(fields: Iterable[pa.Field]) -> None:
    """Ask every column for its name here, where it is known what to say of one that is no text."""
    for column in fields:
        _ = column.name
        kind = column.type
        _ask_names(kind.field(index) for index in range(kind.num_fields))


def notes_checksum(notes: Mapping[bytes, bytes]) -> bytes:
    """Return a checksum of what our writer notes in a footer, which the log may not be there to vouch for."""
    return b"%08x" % zlib.crc32(b"\0".join(notes.get(key, b"") for key in _NOTES))


def read_footer(
    store: Store, path: str, *, size: int | None = None, start: int | None = None, checksum: int | None = None
) -> Footer:
    """Read the footer of a file.

    Args:
        store: Where the table is.
        path: Of the file.
        size: Of the file, if it is known.
        start: Where the footer begins, if it is known; then one read suffices.
        checksum: Of the footer, if it is known.

    Raises:
        SplitCorruptionError: The file is not what these say, or no Parquet file.
        NotFoundError: It is not there.
    """
    known = size if size is not None else store.head(path).size
    begin = start if start is not None else max(0, known - _GUESS)
    data = read_end(store, path, begin, size=known)
    if start is None:
        length = _footer_length(path, data, known)
        if length > len(data):
            data = store.get_range(path, known - length, length)
        data = data[len(data) - length :]
    return parse_footer(path, data, size=known, checksum=checksum)


def read_end(store: Store, path: str, begin: int, *, size: int) -> bytes:
    """Read a file from some byte on to its end, which must be where its size says.

    Raises:
        SplitCorruptionError: It is longer or shorter.
    """
    data = store.get_range(path, begin, size - begin + 1)
    if len(data) != size - begin:
        raise SplitCorruptionError(path, f"it has {store.head(path).size} bytes where the log says {size}")
    return data


def _footer_length(path: str, data: bytes, size: int) -> int:
    if len(data) < _TAIL or data[-4:] != MAGIC:
        raise SplitCorruptionError(path, "it does not end as a Parquet file does")
    length = int.from_bytes(data[-_TAIL:-4], "little") + _TAIL
    if length > size:
        raise SplitCorruptionError(path, "it is shorter than its own footer")
    return length


def parse_footer(path: str, data: bytes, *, size: int, checksum: int | None = None) -> Footer:
    """Parse the last bytes of a file, which are exactly its footer.

    Raises:
        SplitCorruptionError: They are not what the checksum says, or no footer.
    """
    found = zlib.crc32(data)
    if checksum is not None and found != checksum:
        raise SplitCorruptionError(path, "its footer is not the one that was written: it is damaged or another file")
    if _footer_length(path, data, size) != len(data):
        raise SplitCorruptionError(path, "its footer does not begin where the log says")
    with translated(path):
        metadata = pq.read_metadata(pa.BufferReader(data))
        if checksum is None:  # what is taken into a table must be readable as a whole
            check_chunks(metadata, size=size)
    return Footer(
        path=path,
        content=data[:-_TAIL],
        metadata=metadata,
        start=size - len(data),
        size=size,
        checksum=found,
        vouched=checksum is not None,
    )


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn whatever the Parquet library raises about a file into our error about it."""
    try:
        yield
    except IndexTablesError:
        raise
    except Exception as error:  # types that others registered read the file's notes, and raise what they like
        reason = str(error).strip().split("\n")[0][:200]
        raise SplitCorruptionError(path, f"the Parquet reader says: {reason}") from error
