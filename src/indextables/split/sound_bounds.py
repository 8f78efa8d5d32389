"""Which bounds in a Parquet footer the library can be asked for.

Asked for the statistics of a column chunk whose least or greatest value is shorter than its type, the library ends the process:
its error crosses a border where nobody catches errors. Such a value is damage, or one that a writer has cut, and the library has
no way to look at it before. So a footer is read here as far as these values, in Thrift's compact protocol, and from the very bytes
that the library has read: it cannot write every footer again that it can read.

Whoever wrote it may have meant to confuse. What the library reads twice is looked at twice, so that a bound which it may hold is
never overlooked; and what the two might understand differently, a number that does not fit its type or a kind that nobody knows,
is an error here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDTHS: Final = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}

# Kinds of values in Thrift's compact protocol. Whether a field is true or false is its kind; as a member of a list it is a byte.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_BOOLEANS: Final = frozenset({_TRUE, _FALSE})
_INTEGERS: Final = frozenset({_I16, _I32, _I64})
_LISTS: Final = frozenset({_LIST, _SET})
_FIXED: Final = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8}
_LONG_LIST: Final = 15
_SHORT_FIELD: Final = 16  # what is less than that is a field whose number follows
_MORE: Final = 127  # a greater byte is not the last one of its number
_LONGEST_NUMBER: Final = 10  # bytes
_GREATEST_FIELD: Final = 2**15 - 1

# Numbers of fields in the structs of Parquet's format.
_ROW_GROUPS, _COLUMNS, _META_DATA, _STATISTICS = 4, 1, 3, 12
_BOUNDS: Final = frozenset({1, 2, 5, 6})  # max and min, as they were once written and as they are now


def cut_bounds(metadata: Any, content: bytes) -> frozenset[tuple[int, int]]:
    """Return the row group and the number of each column chunk that has a bound which is shorter than a value of its type.

    Args:
        metadata: What Parquet keeps in the footer.
        content: The bytes that it was read from.

    Raises:
        ValueError: They hold what readers may understand in different ways.
        IndexError: They end too early.
    """
    columns = [metadata.schema.column(index) for index in range(metadata.num_columns)]
    widths = [_WIDTHS.get(column.physical_type, column.length) for column in columns]
    return frozenset((group, column) for group, column, length in _Reader(content).bounds() if length < widths[column])


class _Reader:
    """Reads what the library has read before, and trusts it no further than that."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        """Yield row group, column and length of every bound."""
        for _ in self._inside(_ROW_GROUPS, _LIST):
            for group in range(self._members()):
                for _ in self._inside(_COLUMNS, _LIST):
                    for column in range(self._members()):
                        for length in self._chunk():
                            yield group, column, length

    def _chunk(self) -> Iterator[int]:
        for _ in self._inside(_META_DATA, _STRUCT):
            for _ in self._inside(_STATISTICS, _STRUCT):
                for number, kind in self._fields():
                    if number in _BOUNDS and kind == _BINARY:
                        length, self._at = _count(self._data, self._at)
                        self._at += length
                        yield length
                    else:
                        self._at = _behind_field(self._data, self._at, kind)

    def _inside(self, wanted: int, expected: int) -> Iterator[None]:
        """Skip all fields of a struct but one, at which its caller reads on; the library skips it too if it is of another kind."""
        for number, kind in self._fields():
            if number == wanted and kind == expected:
                yield
            else:
                self._at = _behind_field(self._data, self._at, kind)

    def _fields(self) -> Iterator[tuple[int, int]]:
        number = 0
        while head := self._data[self._at]:
            self._at += 1
            if step := head >> 4:
                number += step
            else:
                coded, self._at = _number(self._data, self._at)
                number = (coded >> 1) ^ -(coded & 1)
            if not -_GREATEST_FIELD <= number <= _GREATEST_FIELD:
                raise ValueError(f"a struct of its footer has a field {number}")
            yield number, head & 15
        self._at += 1

    def _members(self) -> int:
        count, _, self._at = _members(self._data, self._at)
        return count


# From here on everything takes bytes and a place in them, and returns the place behind what it has read: a footer has hundreds of
# values for each bound, and this is the quickest way to pass them by.


def _behind_field(data: bytes, at: int, kind: int) -> int:
    return at if kind in _BOOLEANS else _behind(data, at, kind)


def _behind(data: bytes, at: int, kind: int) -> int:
    if kind in _INTEGERS:
        while data[at] > _MORE:
            at += 1
        return at + 1
    if kind == _BINARY:
        length, at = _count(data, at)
        return at + length
    if kind == _STRUCT:
        return _behind_struct(data, at)
    if kind in _LISTS:
        count, inner, at = _members(data, at)
        for _ in range(count):
            at = _behind(data, at, inner)
        return at
    if kind in _FIXED:
        return at + _FIXED[kind]
    if kind == _MAP:
        return _behind_map(data, at)
    raise ValueError(f"its footer has a value of kind {kind}, which does not exist")


def _behind_struct(data: bytes, at: int) -> int:
    while head := data[at]:
        at += 1
        if head < _SHORT_FIELD:
            _, at = _number(data, at)
        kind = head & 15
        if kind not in _BOOLEANS:
            at = _behind(data, at, kind)
    return at + 1


def _behind_map(data: bytes, at: int) -> int:
    count, at = _count(data, at)
    if count:
        kinds = data[at]
        at += 1
        for _ in range(count):
            at = _behind(data, _behind(data, at, kinds >> 4), kinds & 15)
    return at


def _members(data: bytes, at: int) -> tuple[int, int, int]:
    """Return how many members a list has, their kind, and where the first one is."""
    head = data[at]
    count, at = head >> 4, at + 1
    if count == _LONG_LIST:
        count, at = _count(data, at)
    return count, head & 15, at


def _count(data: bytes, at: int) -> tuple[int, int]:
    count, at = _number(data, at)
    if count > len(data) - at:  # each takes a byte at least
        raise ValueError(f"its footer speaks of {count} values, and ends before them")
    return count, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte <= _MORE:
        return byte, at + 1
    value = 0
    for place in range(_LONGEST_NUMBER):
        byte = data[at + place]
        value |= (byte & _MORE) << 7 * place
        if byte <= _MORE:
            return value, at + place + 1
    raise ValueError("its footer has a number without an end")
