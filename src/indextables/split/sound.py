"""Whether Parquet's library can be asked about the columns of a footer at all.

Asked from Python for a column chunk whose description contradicts itself, the library ends the process: its error crosses a
border where nobody catches errors. On the way to the pages the same error is caught. So a footer for which no log vouches is
first taken to the point where the first byte of data would be read, which is never given to it.
"""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_BUFFER = 1024  # with a buffer nothing is read before all columns of a row group have been looked at


class _ReachedError(Exception):
    """The descriptions of all columns have been read."""


class _NoData(io.RawIOBase):
    """A file of some size, of which nothing can be read."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, _: int = -1) -> bytes:
        raise _ReachedError


def check_columns(metadata: Any, *, size: int) -> None:
    """Let the library look at every column chunk where it can say what is wrong.

    Args:
        metadata: What Parquet keeps in the footer.
        size: Of the file.

    Raises:
        OSError: A description contradicts itself, the schema or the number of rows, or leads outside the file.
    """
    source = pa.PythonFile(_NoData(size), mode="r")
    file = pq.ParquetFile(source, metadata=metadata, buffer_size=_BUFFER, pre_buffer=False)
    columns = list(range(metadata.num_columns))
    if sum(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)) != metadata.num_rows:
        raise OSError("its row groups have not as many rows as the file")
    for group in range(metadata.num_row_groups):
        with suppress(_ReachedError):
            file.reader.read_row_groups([group], column_indices=columns, use_threads=False)
        described = metadata.row_group(group)
        if any(
            described.column(index).physical_type != metadata.schema.column(index).physical_type for index in columns
        ):
            raise OSError("a column chunk is of another type than its column")
