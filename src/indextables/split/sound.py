"""Whether Parquet's library can be asked about the column chunks of a footer at all.

Asked from Python for a column chunk whose description contradicts itself, the library ends the process: its error crosses a
border where nobody catches errors. On the way to the pages the same error is caught. So the library is first made to read these
chunks from a file that has the right size and no bytes: it looks at every description, finds no page, and is done.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence

_BUFFER = 1024  # without a buffer a whole chunk is asked for, and one that is not there is an error


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
        return b""


def check_chunks(
    metadata: Any, *, size: int, row_groups: Sequence[int] | None = None, columns: Sequence[int] | None = None
) -> None:
    """Let the library look at column chunks where it can say what is wrong.

    Args:
        metadata: What Parquet keeps in the footer.
        size: Of the file.
        row_groups: Whose chunks; all if not given.
        columns: The numbers of their columns; all if not given.

    Raises:
        OSError: A description contradicts itself, the schema or the number of rows, or leads outside the file.
    """
    if sum(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)) != metadata.num_rows:
        raise OSError("its row groups have not as many rows as the file")
    groups = list(range(metadata.num_row_groups) if row_groups is None else row_groups)
    numbers = list(range(metadata.num_columns) if columns is None else columns)
    source = pa.PythonFile(_NoData(size), mode="r")
    file = pq.ParquetFile(source, metadata=metadata, buffer_size=_BUFFER, pre_buffer=False)
    file.reader.read_row_groups(groups, column_indices=numbers, use_threads=False)
    types = [metadata.schema.column(number).physical_type for number in numbers]
    for group in map(metadata.row_group, groups):
        if any(group.column(number).physical_type != kind for number, kind in zip(numbers, types, strict=True)):
            raise OSError("a column chunk is of another type than its column")
