"""Adds of regular lines as columns, without parsing: where every byte of a form is in its place, the rest are the values.

Most logs are written by a program in a loop, so that thousands of lines have one of two or three shapes. The quotes of all
lines are found at once; they say where the texts of a shape must stand if a line has it; the texts are compared; what stands
between them is copied to the columns. That is exact: a line whose every fixed byte was compared, and which has no other quotes
than those, is the JSON that it seems to be. Lines with any doubt about them are left to others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Add
from indextables.log.columns import ActionKeys, columns_of, present_columns
from indextables.log.shapes import NUMBER, TEXT, Place, Shape, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from indextables.log.columns import Column

    Positions = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

_T = TypeVar("_T", bound=np.generic)
_MOST_SHAPES = 6
_SAMPLES = 8
_LONG = 1 << 20  # for a line, which the exact reader may find too long
_QUOTE, _BACKSLASH, _BLANK, _ZERO = (ord(character) for character in '"\\ 0')


class _Match(NamedTuple):
    """Lines of one shape: which ones they are, and where in them the texts of the shape begin."""

    shape: Shape
    rows: Positions
    begins: list[Positions]

    def span(self, place: Place) -> tuple[Positions, Positions] | None:
        """Return where the values of a hole start and end."""
        for number, hole in enumerate(self.shape.holes):
            if hole.place == place:
                return self.begins[number] + len(self.shape.texts[number]), self.begins[number + 1]
        return None


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
        text = _Text(buffer, starts)
        shapes = [shape for shape in self._shapes if _is_acceptable(shape, keys)]
        if not shapes:
            shape = _sampled(text, rows, keys)
            if shape is None:  # before any work is done, for new keys are soon learned
                return None
            shapes = [shape]
        matches = self._share_out(text, rows, shapes, keys) if text.is_simple() else None
        return None if matches is None else _Filling(text, matches, keys).columns()

    def _share_out(self, text: _Text, rows: Positions, shapes: list[Shape], keys: ActionKeys) -> list[_Match] | None:
        """Share all lines out among shapes; None if that takes too many."""
        matches = []
        for number in range(_MOST_SHAPES):
            shape = shapes[number] if number < len(shapes) else _sampled(text, rows, keys)
            if shape is None:
                return None
            match = _match(text, shape, rows)
            if match is None:
                continue
            matches.append(match)
            if len(match.rows) == len(rows):
                # The next lines are likely to have the same ones, the most frequent first.
                self._shapes = [found.shape for found in sorted(matches, key=lambda found: -len(found.rows))]
                return matches
            rows = np.setdiff1d(rows, match.rows, assume_unique=True)
        return None


class _Text:
    """The bytes of lines, and where their quotes are."""

    def __init__(self, buffer: bytes | memoryview, starts: Positions) -> None:
        self.buffer = pa.py_buffer(buffer)
        self.octets = np.frombuffer(buffer, np.uint8)
        self.starts = starts
        self.behind = np.append(starts[1:], len(self.octets))
        self.has_escapes = False

    def line(self, row: int) -> bytes:
        return self.octets[self.starts[row] : self.behind[row]].tobytes()

    def is_simple(self) -> bool:
        """Find the quotes, and tell whether there are only short lines of UTF-8, without control bytes and escapes but of quotes."""
        octets = self.octets
        if int(np.count_nonzero(octets < _BLANK)) != len(self.starts) or int((self.behind - self.starts).max()) > _LONG:
            return False
        if int(octets.max()) > 0x7F and not _is_utf8(self.buffer):
            return False
        quotes = octets == _QUOTE
        slashes = octets == _BACKSLASH
        if slashes.any():
            self.has_escapes = True
            structural = quotes[1:] > slashes[:-1]
            escapes = int(np.count_nonzero(quotes)) - int(np.count_nonzero(structural)) - int(quotes[0])
            if escapes != int(np.count_nonzero(slashes)):
                return False
            quotes[1:] = structural
        self.quotes = np.flatnonzero(quotes)
        self.first_quotes = np.searchsorted(self.quotes, self.starts)
        self.quote_counts = np.diff(self.first_quotes, append=len(self.quotes))
        return True

    def holds(self, text: bytes, at: Positions) -> Mask | None:
        """Tell which lines hold a text in a place; None if all do."""
        width = len(text)
        inside: Mask = (at >= 0) & (at <= len(self.octets) - width)
        if not inside.any():
            return inside
        if not inside.all():
            at = np.where(inside, at, 0)
        windows = np.ndarray((len(self.octets) - width + 1,), f"V{width}", self.octets, strides=(1,))
        found = windows[at]
        if found.tobytes() == text * len(at):
            return _unless_all(inside)
        equal: Mask = (found.view(np.uint8).reshape(-1, width) == np.frombuffer(text, np.uint8)).all(axis=1)
        return inside & equal


def _is_utf8(buffer: pa.Buffer) -> bool:
    whole = pa.Array.from_buffers(pa.large_string(), 1, [None, pa.py_buffer(np.array([0, buffer.size])), buffer])
    try:
        whole.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _sampled(text: _Text, rows: Positions, keys: ActionKeys) -> Shape | None:
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


def _match(text: _Text, shape: Shape, rows: Positions) -> _Match | None:
    """Return those of some lines that have a shape."""
    rows = rows[text.quote_counts[rows] == shape.quotes]
    begins = [text.starts[rows]]
    for anchor, words in zip(shape.anchors[1:], shape.texts[1:], strict=True):
        if anchor is None:
            begins.append(text.behind[rows] - len(words))
        else:
            begins.append(text.quotes[text.first_quotes[rows] + anchor.quote] - anchor.offset)
    fitting: Mask | None = None
    for check in _checks(text, shape, rows, begins):
        if check is not None:
            fitting = check if fitting is None else fitting & check
    if fitting is not None:
        rows, begins = rows[fitting], [begin[fitting] for begin in begins]
    return _Match(shape, rows, begins) if len(rows) else None


def _checks(text: _Text, shape: Shape, rows: Positions, begins: list[Positions]) -> Iterator[Mask | None]:
    """Yield what must hold of lines of a shape, line by line; None if it holds of all."""
    for words, begin in zip(shape.texts, begins, strict=True):
        yield text.holds(words, begin)
    yield _unless_all(begins[-1] + len(shape.texts[-1]) == text.behind[rows])
    for number, hole in enumerate(shape.holes):
        start = begins[number] + len(shape.texts[number])
        lengths = begins[number + 1] - start
        if hole.form == TEXT:
            yield _unless_all(lengths >= 0)
        else:  # a number, which starts with a digit that is not 0, or is one digit
            leading = text.octets[np.clip(start, 0, len(text.octets) - 1)]
            yield _unless_all((lengths == 1) | ((lengths > 1) & (leading > _ZERO) & (leading <= ord("9"))))


def _unless_all(mask: Mask) -> Mask | None:
    return None if mask.all() else mask


class _Filling:
    """Copies the values of lines to columns."""

    def __init__(self, text: _Text, matches: list[_Match], keys: ActionKeys) -> None:
        self._text = text
        self._matches = matches
        self._keys = keys
        self._counts = [len(match.rows) for match in matches]
        # From the order of matches to that of lines.
        self._order = np.argsort(np.concatenate([match.rows for match in matches]), kind="stable")

    def columns(self) -> list[pa.Array] | None:
        """Return the columns, or None if what should be a number is none."""
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
        """Return the values of a hole: of the text cut at every start and end, each other piece."""
        cuts = np.empty(2 * len(starts), np.int32)
        cuts[0::2], cuts[1::2] = starts, ends
        pieces = pa.Array.from_buffers(pa.string(), len(cuts) - 1, [None, pa.py_buffer(cuts), self._text.buffer])
        values = pieces.take(pa.array(np.arange(0, len(cuts), 2, dtype=np.int32)))
        if not pa.types.is_string(kind):
            return values.cast(kind)
        return pc.replace_substring(values, '\\"', '"') if self._text.has_escapes and _has_escape(values) else values


def _has_escape(values: pa.Array) -> bool:
    data = values.buffers()[2]
    return data is not None and bool((np.frombuffer(data, np.uint8) == _BACKSLASH).any())
