"""Reads a split: the footer first, then only the column chunks that are wanted, each checked against its checksum."""

from __future__ import annotations

import mmap
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.errors import SplitCorruptionError
from indextables.split.chunks import chunk_range, coalesced
from indextables.split.footer import Footer, parse_footer, read_end, read_footer, translated
from indextables.split.types import parquet_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.storage.base import Store

_SMALL: Final = 256 * 1024  # so few bytes are read at once, for each request costs more than they do


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitAddress:
    """What the log knows of a file that a reader needs; what it does not know is None.

    Attributes:
        path: Relative to the table.
        size: Of the file.
        footer_start: Where its footer begins.
        footer_checksum: CRC-32 of the footer.
    """

    path: str
    size: int | None = None
    footer_start: int | None = None
    footer_checksum: int | None = None


def open_split(store: Store, address: SplitAddress) -> Split:
    """Read and check the footer of a split.

    Raises:
        SplitCorruptionError: It is damaged, or another file than the log says.
        NotFoundError: It is not there.
    """
    path, size, start, checksum = address.path, address.size, address.footer_start, address.footer_checksum
    if size is None or start is None or size > _SMALL:
        return Split(store, read_footer(store, path, size=size, start=start, checksum=checksum))
    data = read_end(store, path, 0, size=size)
    return Split(store, parse_footer(path, data[start:], size=size, checksum=checksum), data=data)


class Split:
    """An open split: its footer is in memory, its data is not, unless it is small."""

    def __init__(self, store: Store, footer: Footer, *, data: bytes | None = None) -> None:
        self._store = store
        self._data = data
        self.footer = footer

    @property
    def path(self) -> str:
        """Where it is, relative to the table."""
        return self.footer.path

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        return self.footer.schema

    @property
    def num_records(self) -> int:
        """Its rows."""
        return int(self.footer.metadata.num_rows)

    @property
    def num_row_groups(self) -> int:
        """How many parts it has that can be read alone."""
        return int(self.footer.metadata.num_row_groups)

    def rows_of(self, row_groups: Sequence[int]) -> int:
        """Return how many rows some row groups have."""
        return sum(int(self.footer.metadata.row_group(index).num_rows) for index in row_groups)

    def read(self, row_groups: Sequence[int], columns: Sequence[str], *, threads: bool = False) -> pa.Table:
        """Return some columns of some row groups.

        Args:
            row_groups: Their numbers.
            columns: Names of top-level columns, in any case, since for Spark they are the same; those that the file does not have
                are left out.
            threads: Decode columns in parallel.

        Raises:
            SplitCorruptionError: The bytes are not those that were written.
        """
        metadata = self.footer.metadata
        wanted = self._parquet_columns(columns)
        if not wanted or not row_groups:
            return self.schema.empty_table().select([name for name in self.schema.names if name in set(columns)])
        self.footer.check_chunks(row_groups, wanted)
        with translated(self.path):
            ranges = {
                (group, column): chunk_range(metadata.row_group(group).column(column))
                for group in row_groups
                for column in wanted
            }
        source = self._fetch(ranges)
        with translated(self.path):
            file = pq.ParquetFile(
                source, metadata=metadata, page_checksum_verification=self.footer.checksums is None, pre_buffer=False
            )
            table = file.reader.read_row_groups(list(row_groups), column_indices=wanted, use_threads=threads)
            if self.footer.checksums is None:
                table.validate()  # nothing but the pages themselves vouches for these bytes
            return table

    def bloom_filter(self, row_group: int, position: int) -> bytes | memoryview | None:
        """Return the bloom filter of a Parquet column in a row group; None where there is none that can be trusted.

        Raises:
            SplitCorruptionError: It is not what was written.
        """
        found = self.footer.bloom_filters.get((row_group, position))
        if found is None:
            return None
        begin, end, total = found
        stored: bytes | memoryview = (
            memoryview(self._data)[begin:end]
            if self._data is not None
            else self._store.get_range(self.path, begin, end - begin)
        )
        if zlib.crc32(stored) != total:
            raise SplitCorruptionError(
                self.path, f"a bloom filter of row group {row_group} does not match its checksum"
            )
        return stored

    def _parquet_columns(self, columns: Sequence[str]) -> list[int]:
        """Return the numbers of the Parquet columns that make up top-level columns."""
        found: list[int] = []
        names, position = {name.casefold() for name in columns}, 0
        for field in self.schema:
            width = parquet_width(field.type)
            if field.name.casefold() in names:
                found.extend(range(position, position + width))
            position += width
        return found

    def _fetch(self, ranges: dict[tuple[int, int], tuple[int, int]]) -> Any:
        end_of_data = self.footer.start
        if any(not 0 <= begin <= end <= end_of_data for begin, end in ranges.values()):
            raise SplitCorruptionError(self.path, "its footer points outside the file")
        view = memoryview(self._data) if self._data is not None else self._blocks(coalesced(ranges.values()))
        if (checksums := self.footer.checksums) is not None:
            width = self.footer.metadata.num_columns
            for (group, column), (begin, end) in ranges.items():
                if zlib.crc32(view[begin:end]) != checksums[group * width + column]:
                    name = self.footer.metadata.schema.column(column).path
                    raise SplitCorruptionError(
                        self.path, f"column {name} of row group {group} does not match its checksum"
                    )
        return pa.BufferReader(pa.py_buffer(view))

    def _blocks(self, blocks: list[tuple[int, int]]) -> memoryview:
        """Read some ranges of the file, to where they are in the file."""
        if len(blocks) == 1 and blocks[0][0] < _SMALL:  # from the start of the file they already are where they belong
            return memoryview(self._range(0, blocks[0][1]))
        # Anonymous memory costs nothing where nothing is written.
        view = memoryview(mmap.mmap(-1, max(1, self.footer.start)))
        for begin, end in blocks:
            view[begin:end] = self._range(begin, end)
        return view

    def _range(self, begin: int, end: int) -> bytes:
        data = self._store.get_range(self.path, begin, end - begin)
        if len(data) != end - begin:
            raise SplitCorruptionError(self.path, "it ends before its data does")
        return data
