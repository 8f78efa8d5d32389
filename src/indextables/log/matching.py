"""Which lines have a shape, and where in them its holes are.

Each line is walked along its shape, all lines at once: a fixed text must stand where the walk has come to, a hole reaches up to
the next fixed text, and the last text must end the line. What stands in the holes is not looked at here: if it turns out to
hold a quote, the walk was wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from indextables.log.shapes import NUMBER

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from indextables.log.shapes import Hole, Place, Shape

    Positions = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

_WORD = 8
_MOST_STEPS = 64  # of a word, or up to the next quote, to find the end of a hole
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_ONE, _TOP_BYTE = np.uint64(1), np.uint64(56)
QUOTE, BACKSLASH = ord('"'), ord("\\")


class Match(NamedTuple):
    """Lines of one shape: which ones they are, and where in them each hole starts and ends."""

    shape: Shape
    rows: Positions
    spans: list[tuple[Positions, Positions]]

    def span(self, place: Place) -> tuple[Positions, Positions] | None:
        """Return where the values of a hole start and end."""
        for hole, span in zip(self.shape.holes, self.spans, strict=True):
            if hole.place == place:
                return span
        return None


class Text:
    """The bytes of lines, and where these start."""

    def __init__(self, buffer: bytes | memoryview, starts: Positions) -> None:
        self.buffer = pa.py_buffer(buffer)
        self.octets = np.frombuffer(buffer, np.uint8)
        self.starts = starts
        self.behind = np.append(starts[1:], len(self.octets))
        self._words: npt.NDArray[np.uint64] = np.ndarray(
            (len(self.octets) - _WORD + 1,), "<u8", self.octets, strides=(1,)
        )

    def line(self, row: int) -> bytes:
        """Return a line."""
        return self.octets[self.starts[row] : self.behind[row]].tobytes()

    def windows(self, width: int) -> npt.NDArray[np.void]:
        """Return the `width` bytes from every place on, as one value each."""
        return np.ndarray((len(self.octets) - width + 1,), f"V{width}", self.octets, strides=(1,))

    def holds(self, words: bytes, at: Positions) -> Mask | None:
        """Tell in which of some places a text stands; None if in all."""
        width = len(words)
        inside: Mask = (at >= 0) & (at <= len(self.octets) - width)
        if not inside.any():
            return inside if len(at) else None
        if not inside.all():
            at = np.where(inside, at, 0)
        found = self.windows(width)[at]
        if found.tobytes() == words * len(at):
            return None if inside.all() else inside
        equal: Mask = (found.view(np.uint8).reshape(-1, width) == np.frombuffer(words, np.uint8)).all(axis=1)
        return inside & equal

    def guess(self, byte: int, at: Positions, widths: Sequence[int]) -> Positions:
        """Return where a byte stands at the first of some distances from each of some places, or else any place."""
        found = at + widths[0]
        for width in widths[1:]:
            missed = np.flatnonzero(self.octets.take(found, mode="clip") != byte)
            if not len(missed):
                break
            found[missed] = at[missed] + width
        return found

    def find(self, byte: int, at: Positions) -> Positions:
        """Return where a byte next stands, from each of some places on; -1 where it is far away. Escaped quotes do not count."""
        found = at.copy()
        pending = np.arange(len(at))
        pattern = np.uint64(byte) * _ONES
        for _ in range(_MOST_STEPS):
            here = found[pending]
            # The lowest byte of a word that is equal to the pattern has the lowest bit set of those that are left.
            differing = self._word(here) ^ pattern
            equal = (differing - _ONES) & ~differing & _HIGHS
            lowest = equal & (~equal + _ONE)
            is_found = equal != 0
            before = (((lowest - _ONE) & _ONES) * _ONES) >> _TOP_BYTE
            here += np.where(is_found, before.astype(np.int64) - 1, _WORD)
            is_open = ~is_found
            if byte == QUOTE:
                is_escaped = is_found & (self.octets.take(here - 1, mode="clip") == BACKSLASH)
                here += is_escaped
                is_open |= is_escaped
            found[pending] = here
            pending = pending[is_open & (here < len(self.octets))]
            if not len(pending):
                return found
        found[pending] = -1
        return found

    def _word(self, at: Positions) -> npt.NDArray[np.uint64]:
        """Return the eight bytes from each of some places on, with zeros behind the end."""
        last = len(self._words) - 1
        beyond = np.minimum(np.maximum(at - last, 0), _WORD - 1)
        words: npt.NDArray[np.uint64] = self._words[np.minimum(at, last)] >> (beyond * 8).astype(np.uint64)
        return words


def match(text: Text, shape: Shape, rows: Positions) -> tuple[Match | None, Positions]:
    """Return those of some lines that have a shape, and the others."""
    walk = _Walk(text, rows)
    walk.expect(shape.texts[0])
    for hole, words in zip(shape.holes, shape.texts[1:], strict=True):
        walk.skip(hole, words)
    walk.keep(walk.at == text.behind[rows[walk.kept]])
    if not len(walk.kept):
        return None, rows
    return Match(shape, rows[walk.kept], walk.spans), np.delete(rows, walk.kept)


class _Walk:
    """How far each line has been walked; lines that do not fit are left behind.

    Attributes:
        kept: Which lines are still walked, by their numbers among those that the walk began with.
        at: Where each of them has been walked to.
        spans: Where the holes that lie behind start and end.
    """

    def __init__(self, text: Text, rows: Positions) -> None:
        self._text = text
        self.kept: Positions = np.arange(len(rows))
        self.at = text.starts[rows]
        self.spans: list[tuple[Positions, Positions]] = []

    def expect(self, words: bytes) -> None:
        """Walk over a fixed text."""
        self.keep(self._text.holds(words, self.at))
        self.at = self.at + len(words)

    def skip(self, hole: Hole, words: bytes) -> None:
        """Walk over a hole, and over the text behind it."""
        start = self.at
        end = self._text.guess(words[0], start, hole.widths)
        fits = self._text.holds(words, end)
        if fits is not None:
            others = np.flatnonzero(~fits)
            end[others] = self._text.find(words[0], start[others])
            found = self._text.holds(words, end[others])
            fits[others] = True if found is None else found
        self.spans.append((start, end))
        self.at = end + len(words)
        self.keep(fits)
        if hole.form == NUMBER:
            self._expect_number(*self.spans[-1])

    def keep(self, fitting: Mask | None) -> None:
        """Leave lines behind; None leaves none."""
        if fitting is None or fitting.all():
            return
        self.kept, self.at = self.kept[fitting], self.at[fitting]
        self.spans = [(start[fitting], end[fitting]) for start, end in self.spans]

    def _expect_number(self, start: Positions, end: Positions) -> None:
        """Leave lines behind whose number does not start with a digit from 1 to 9, unless it is but one byte."""
        width = end - start
        leading = self._text.octets[start]
        self.keep((width == 1) | ((width > 1) & (leading >= ord("1")) & (leading <= ord("9"))))
