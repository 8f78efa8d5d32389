"""Adds of regular lines as columns, without parsing: where every byte of a form is in its place, the rest are the values.

Most logs are written by a program in a loop, so that thousands of lines have one of two or three shapes. The texts of a shape
are compared, and what stands between them is copied to the columns. That is exact: a line whose every fixed byte was compared,
and whose holes hold nothing but the inside of a text or a number, is the JSON that it seems to be. Lines with any doubt about
them are left to others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Add
from indextables.log.columns import ActionKeys, columns_of, present_columns
from indextables.log.matching import BACKSLASH, QUOTE, Match, Text, match
from indextables.log.shapes import NUMBER, TEXT, shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from indextables.log.columns import Column
    from indextables.log.matching import Positions
    from indextables.log.shapes import Place, Shape

_T = TypeVar("_T", bound=np.generic)
_MOST_SHAPES = 6
_SAMPLES = 8
_LONG = 1 << 20  # for a line, which the exact reader may find too long
_BLANK = ord(" ")


class RegularReader:
    """Reads adds, and remembers the shapes that it met; several threads may use it."""

    def __init__(self) -> None:
        self._shapes: list[Shape] = []

    def read(
        self, buffer: bytes | memoryview, starts: Positions, rows: Positions, *, keys: ActionKeys
    ) -> list[pa.Array] | None:
        """Return the columns of adds, one for each field of the class; None where the lines are not regular.

        Args:
            buffer: Whole lines, of any kind.
            starts: Where the lines start.
            rows: Which of them are adds.
            keys: All keys that the maps may have.
        """
        text = Text(buffer, starts)
        if int((text.behind - starts).max()) > _LONG:
            return None
        shapes = [shape for shape in self._shapes if _is_acceptable(shape, keys)]
        matches = self._share_out(text, rows, shapes, keys)
        return None if matches is None else _Filling(text, matches, keys).columns()

    def _share_out(self, text: Text, rows: Positions, shapes: list[Shape], keys: ActionKeys) -> list[Match] | None:
        """Share all lines out among shapes; None if that takes too many."""
        matches = []
        for number in range(_MOST_SHAPES):
            shape = shapes[number] if number < len(shapes) else _sampled(text, rows, keys)
            if shape is None:
                return None
            found, rows = match(text, shape, rows)
            if found is None:
                continue
            matches.append(found)
            if not len(rows):
                # The next lines are likely to have the same ones, the most frequent first.
                self._shapes = [found.shape for found in sorted(matches, key=lambda found: -len(found.rows))]
                return matches
        return None


def _sampled(text: Text, rows: Positions, keys: ActionKeys) -> Shape | None:
    """Return the shape of most of some lines, if its values are such as its columns hold."""
    chosen = rows[:: max(1, len(rows) // _SAMPLES)][:_SAMPLES]
    shape = shape_of([text.line(row) for row in chosen.tolist()])
    return shape if shape is not None and _is_acceptable(shape, keys) else None


def _is_acceptable(shape: Shape, keys: ActionKeys) -> bool:
    columns = {column.wire: column for column in present_columns(Add, keys)}
    forms: dict[Place, type | int] = {hole.place: hole.form for hole in shape.holes}
    forms |= {place: type(value) for place, value in shape.fixed.items()}
    if any(column.required and (column.wire, None) not in forms for column in columns.values()):
        return False
    return all(field in columns and _fits(columns[field], key, forms[field, key], keys) for field, key in forms)


def _fits(column: Column, key: str | None, form: type | int, keys: ActionKeys) -> bool:
    if column.type is None and key is not None:
        return key in keys.of(column.name) and form in {TEXT, str, type(None)}
    if form is type(None):
        return not column.required
    if column.type is None:
        return form is dict
    if pa.types.is_int64(column.type):
        return form in {NUMBER, int}
    if pa.types.is_boolean(column.type):
        return form is bool
    return pa.types.is_string(column.type) and form in {TEXT, str}


class _Filling:
    """Copies the values of lines to columns."""

    def __init__(self, text: Text, matches: list[Match], keys: ActionKeys) -> None:
        self._text = text
        self._matches = matches
        self._keys = keys
        self._counts = [len(match.rows) for match in matches]
        # From the order of matches to that of lines.
        self._order = np.argsort(np.concatenate([match.rows for match in matches]), kind="stable")

    def columns(self) -> list[pa.Array] | None:
        """Return the columns, or None if a hole holds what is neither a number nor the inside of a text."""
        try:
            return [self._column(column) for column in columns_of(Add)]
        except pa.ArrowInvalid:
            return None

    def _column(self, column: Column) -> pa.Array:
        if column.type is not None:
            return self._values((column.wire, None), column.type)
        names = self._keys.of(column.name)
        children = [self._values((column.wire, name), pa.string()) for name in names]
        absent = [match.shape.fixed.get((column.wire, None)) is None for match in self._matches]
        missing = self._in_order([np.full(count, flag) for flag, count in zip(absent, self._counts, strict=True)])
        if not names:  # a map without keys is nothing but whether it is there
            return pa.Array.from_buffers(pa.struct([]), len(missing), [pa.array(~missing).buffers()[1]])
        return pa.StructArray.from_arrays(children, names=names, mask=pa.array(missing) if any(absent) else None)

    def _values(self, place: Place, kind: pa.DataType) -> pa.Array:
        fixed = [match.shape.fixed.get(place) for match in self._matches]
        spans = [match.span(place) for match in self._matches]
        filled = [span for span in spans if span is not None]
        if not filled and all(value == fixed[0] for value in fixed):
            return pa.repeat(pa.scalar(fixed[0], kind), len(self._order))
        if len(filled) == len(spans):
            starts, ends = zip(*filled, strict=True)
            return self._copied(self._in_order(starts), self._in_order(ends), kind)
        pieces = [
            pa.repeat(pa.scalar(value, kind), count) if span is None else self._copied(*span, kind)
            for value, span, count in zip(fixed, spans, self._counts, strict=True)
        ]
        return pa.concat_arrays(pieces).take(pa.array(self._order))

    def _in_order(self, values: Sequence[npt.NDArray[_T]]) -> npt.NDArray[_T]:
        """Return in the order of lines what is given match by match."""
        return values[0] if len(values) == 1 else np.concatenate(values)[self._order]

    def _copied(self, starts: Positions, ends: Positions, kind: pa.DataType) -> pa.Array:
        """Return the values of a hole.

        Raises:
            ArrowInvalid: They are not what the column holds.
        """
        width = int(ends[0] - starts[0])
        if width and bool((ends - starts == width).all()):
            offsets = np.arange(0, width * len(starts) + 1, width, dtype=np.int32)
            data = self._text.windows(width)[starts]
            values = pa.Array.from_buffers(
                pa.string(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(data.view(np.uint8))]
            )
        else:  # of the text, cut at every start and end, each other piece
            cuts = np.empty(2 * len(starts), np.int32)
            cuts[0::2], cuts[1::2] = starts, ends
            pieces = pa.Array.from_buffers(pa.string(), len(cuts) - 1, [None, pa.py_buffer(cuts), self._text.buffer])
            values = pieces.take(pa.array(np.arange(0, len(cuts), 2, dtype=np.int32)))
        return _unescaped(values) if pa.types.is_string(kind) else values.cast(kind)


def _unescaped(values: pa.Array) -> pa.Array:
    """Return what texts of JSON say.

    Raises:
        ArrowInvalid: One of them is not the inside of a text, or is not UTF-8, or has another escape than that of a quote.
    """
    data = values.buffers()[2]
    if data is None:
        return values
    octets = np.frombuffer(data, np.uint8)
    if not len(octets):
        return values
    if int(octets.max()) > 0x7F:
        values.validate(full=True)
    quotes, slashes = octets == QUOTE, octets == BACKSLASH
    escaped = int(np.count_nonzero(quotes[1:] & slashes[:-1]))
    is_whole = escaped == int(np.count_nonzero(quotes)) == int(np.count_nonzero(slashes))
    if int(octets.min()) < _BLANK or not is_whole:
        raise pa.ArrowInvalid("a text has control bytes, quotes or escapes")
    if not escaped:
        return values
    # An escape across two values is none.
    ends = np.frombuffer(values.buffers()[1], np.int32)[1:]
    if (octets[ends[ends > 0] - 1] == BACKSLASH).any():
        raise pa.ArrowInvalid("a text ends within an escape")
    return pc.replace_substring(values, '\\"', '"')
