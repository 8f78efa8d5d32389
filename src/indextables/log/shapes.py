"""What the lines of one writer have in common: the same fields in the same order, so that only some bytes differ.

A writer fills in a form. Its shape is the text of the form, cut at the places that are filled in, and it is found by laying a
few lines side by side. A shape claims nothing: whether another line has it is decided by comparing every byte of the form.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Place: TypeAlias = tuple[str, str | None]
"""A field by its name on the wire, and a key where the field is a map."""

Value: TypeAlias = str | int | bool | dict[str, str] | None

HEAD = b'{"add":{'
_TAIL = b"}}\n"
_ENOUGH = 4  # lines, from which on it is no accident that all have the same value in a place
# Texts with no escape but that of a quote, and numbers with no sign: the others are rare, and read another way.
_MEMBER = re.compile(rb'"([^"\\]+)":(?:"((?:[^"\\]|\\")*+)"|(0|[1-9][0-9]{0,17})|(true|false|null)|(\{\}?))')


class Item(NamedTuple):
    """A value in a line: its place, the group of `_MEMBER` that it matched, and where it starts and ends."""

    place: Place
    form: int
    start: int
    end: int


TEXT, NUMBER, WORD, MAP = range(2, 6)


class Hole(NamedTuple):
    """A place that lines fill in differently, with a text or a number, and how wide those were that were seen."""

    place: Place
    form: int
    widths: tuple[int, ...]


class Shape(NamedTuple):
    """The form of a line.

    Attributes:
        texts: What is the same in all lines: before the first hole, between holes, behind the last one.
        holes: What stands between the texts.
        fixed: The values of the places that are no holes; an object counts as an empty one.
    """

    texts: tuple[bytes, ...]
    holes: tuple[Hole, ...]
    fixed: dict[Place, Value]


def items_of(line: bytes) -> list[Item] | None:
    """Return the values of an add's line in order; None for a line that must be read another way.

    Args:
        line: The line, with its newline.
    """
    if not line.startswith(HEAD) or not _is_clean(line):
        return None
    items: list[Item] = []
    position, field = len(HEAD), None
    while match := _MEMBER.match(line, position):
        form = match.lastindex or 0
        name, position = match[1].decode(), match.end()
        place = (name, None) if field is None else (field, name)
        if form == MAP:
            if field is not None:
                return None
            items.append(Item(place, MAP, match.start(MAP), match.end(MAP)))
            if match[MAP] == b"{":
                field = name
                continue
        else:
            items.append(Item(place, form, match.start(form), match.end(form)))
        if field is not None and line.startswith(b"}", position):
            field, position = None, position + 1
        if line[position:] == _TAIL and field is None:
            return items if len({item.place for item in items}) == len(items) else None
        if not line.startswith(b",", position):
            return None
        position += 1
    return None


def _is_clean(line: bytes) -> bool:
    """Tell whether a line is UTF-8 and its only control byte the newline at its end."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return min(line[:-1]) >= ord(" ")


def shape_of(lines: Sequence[bytes]) -> Shape | None:
    """Return the shape that most of some lines have; None if one of them must be read another way."""
    read = []
    for line in lines:
        items = items_of(line)
        if items is None:
            return None
        read.append((line, items))
    outlines = [_outline(line, items) for line, items in read]
    usual = Counter(outlines).most_common(1)[0][0]
    return _drawn([entry for entry, outline in zip(read, outlines, strict=True) if outline == usual])


def _outline(line: bytes, items: Iterable[Item]) -> tuple[object, ...]:
    """Return what lines of one shape share, whatever their texts and numbers are."""
    return tuple(
        (item.place, item.form, line[item.start : item.end] if item.form in {WORD, MAP} else None) for item in items
    )


def _drawn(alike: Sequence[tuple[bytes, list[Item]]]) -> Shape:
    """Return the shape of lines that have the same outline: a hole wherever they differ, or might by the next line."""
    line, items = alike[0]
    holes, texts = [], []
    fixed: dict[Place, Value] = {}
    begin = 0
    for index, item in enumerate(items):
        values = {other[others[index].start : others[index].end] for other, others in alike}
        if item.form in {TEXT, NUMBER} and (len(values) > 1 or len(alike) < _ENOUGH):
            holes.append(Hole(item.place, item.form, tuple(sorted(set(map(len, values))))))
            texts.append(line[begin : item.start])
            begin = item.end
        else:
            fixed[item.place] = _value(line[item.start : item.end], item.form)
    texts.append(line[begin:])
    return Shape(tuple(texts), tuple(holes), fixed)


def _value(text: bytes, form: int) -> Value:
    if form == TEXT:
        return text.decode().replace('\\"', '"')
    if form == NUMBER:
        return int(text)
    return {b"true": True, b"false": False, b"null": None}[text] if form == WORD else {}
