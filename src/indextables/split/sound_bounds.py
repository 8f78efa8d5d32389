"""Which bounds in a Parquet footer the library can be asked for.

Asked for the statistics of a column chunk whose least or greatest value is shorter than its type, the library ends the process:
its error crosses a border where nobody catches errors. Such a value is damage, or one that a writer has cut, and the library has
no way to look at it before. So footers of other writers are read here as far as these values, in Thrift's compact protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

_TAIL: Final = 8  # the footer's length, and PAR1
_MAGIC: Final = 4
_WIDTHS: Final = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_BINARY, _LIST, _STRUCT = 8, 9, 12
_FIXED: Final = {
    1: 0,
    2: 0,
    3: 1,
    7: 8,
}  # true and false, which say it all, byte and double; maps and sets Parquet has none
_LONG_LIST: Final = 15

# Numbers of fields in the structs of Parquet's format.
_ROW_GROUPS, _COLUMNS, _META_DATA, _STATISTICS = 4, 1, 3, 12
_BOUNDS: Final = frozenset({1, 2, 5, 6})  # max and min, as they were once written and as they are now


def cut_bounds(metadata: Any) -> frozenset[tuple[int, int]]:
    """Return the row group and the number of each column chunk that has a bound which is shorter than a value of its type.

    Args:
        metadata: What Parquet keeps in the footer.
    """
    sink = pa.BufferOutputStream()
    metadata.write_metadata_file(sink)
    reader = _Reader(sink.getvalue().to_pybytes()[_MAGIC:-_TAIL])
    columns = [metadata.schema.column(index) for index in range(metadata.num_columns)]
    widths = [_WIDTHS.get(column.physical_type, column.length) for column in columns]
    return frozenset((group, column) for group, column, length in reader.bounds() if length < widths[column])


class _Reader:
    """Reads what the library has read before and written again, so it is well formed."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        """Yield row group, column and length of every bound."""
        for _ in self._inside(_ROW_GROUPS):
            for group in range(self._members()):
                for _ in self._inside(_COLUMNS):
                    for column in range(self._members()):
                        for length in self._chunk():
                            yield group, column, length

    def _chunk(self) -> Iterator[int]:
        for _ in self._inside(_META_DATA):
            for _ in self._inside(_STATISTICS):
                for number, kind in self._fields():
                    if number in _BOUNDS and kind == _BINARY:
                        length = self._varint()
                        self._at += length
                        yield length
                    else:
                        self._skip(kind)

    def _inside(self, wanted: int) -> Iterator[int]:
        """Skip all fields of a struct but one, at which its caller reads on."""
        for number, kind in self._fields():
            if number == wanted and kind in {_LIST, _STRUCT}:
                yield kind
            else:
                self._skip(kind)

    def _fields(self) -> Iterator[tuple[int, int]]:
        number = 0
        while head := self._byte():
            number += head >> 4  # no struct of Parquet has gaps that do not fit in here
            yield number, head & 15

    def _skip(self, kind: int) -> None:
        if kind in _FIXED:
            self._at += _FIXED[kind]
        elif kind == _BINARY:
            length = self._varint()
            self._at += length
        elif kind == _STRUCT:
            for _, inner in self._fields():
                self._skip(inner)
        elif kind == _LIST:
            inner = self._data[self._at] & 15
            for _ in range(self._members()):
                self._skip(inner)
        else:
            self._varint()

    def _members(self) -> int:
        count = self._byte() >> 4
        return self._varint() if count == _LONG_LIST else count

    def _byte(self) -> int:
        found = self._data[self._at]
        self._at += 1
        return found

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
