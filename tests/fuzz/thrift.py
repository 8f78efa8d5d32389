"""Damage to a Parquet footer that its reader understands: fields that are gone, doubled, moved, of another kind, or nobody's.

A flipped bit mostly ends the reading of a footer at once, and what comes after the reading is never tried. So a footer is taken
apart here as Thrift's compact protocol has it, one of its values is changed, and it is put together again.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_MEMBERS: Final = frozenset({_I32, _I64, _BINARY, _STRUCT})
_TAIL: Final = 8
_NUMBERS: Final = (0, 1, -1, 2, 3, 4, 7, 8, 127, 128, 2**15, 2**31 - 1, -(2**31), 2**31, 2**32 + 1, 2**63 - 1, -(2**63))
_TEXTS: Final = (b"", b"\0", b"x", b"\xff" * 3, b"\x80\0\0\0", b"1234567", b"12345678", b"x" * 40)


@dataclass
class Value:
    """A value of some kind: a number, bytes, the fields of a struct by number, or the members of a list, which are of one kind."""

    kind: int
    held: Any
    members: int = field(default=0)


def damaged_footer(data: bytes, dice: random.Random) -> bytes:
    """Return a Parquet file in whose footer up to three values are others; what has no footer that can be read, as it is."""
    length = int.from_bytes(data[-_TAIL:-4], "little")
    if len(data) < length + _TAIL:
        return data
    try:
        footer = _Decoder(data[-_TAIL - length : -_TAIL]).struct()
    except (IndexError, ValueError, RecursionError):
        return data
    for _ in range(dice.randint(1, 3)):
        _change(dice.choice(list(_structs(footer))), dice)
    encoded = bytes(_struct(footer))
    return data[: -_TAIL - length] + encoded + len(encoded).to_bytes(4, "little") + data[-4:]


def _structs(value: Value) -> Iterator[Value]:
    if value.kind == _STRUCT:
        yield value
        for _, inner in value.held:
            yield from _structs(inner)
    elif value.kind == _LIST:
        for inner in value.held:
            yield from _structs(inner)


def _change(struct: Value, dice: random.Random) -> None:
    fields = struct.held
    ways = ("add", "drop", "double", "move", "change", "change", "change")
    way = dice.choice(ways) if fields else "add"
    at = dice.randrange(len(fields)) if fields else 0
    if way == "add":
        fields.insert(at, (dice.randint(1, 20), _any(dice)))
        if dice.random() < 0.8:
            fields.sort(key=lambda one: one[0])
    elif way == "drop":
        del fields[at]
    elif way == "double":
        fields.insert(at, copy.deepcopy(fields[at]))
    elif way == "move":
        fields[at] = (dice.randint(1, 20), fields[at][1])
    else:
        fields[at] = (fields[at][0], _other(fields[at][1], dice))


def _other(value: Value, dice: random.Random) -> Value:
    if value.kind in {_TRUE, _FALSE}:
        return Value(_TRUE + _FALSE - value.kind, None)
    if value.kind in {_I16, _I32, _I64}:
        near = value.held + dice.choice((-1, 1))
        return Value(value.kind, dice.choice((near, *_NUMBERS)))
    if value.kind == _BINARY:
        return Value(_BINARY, dice.choice((value.held[:-1], value.held[:1], value.held * 2, *_TEXTS)))
    if value.kind == _LIST and value.held:
        members = list(value.held)
        at = dice.randrange(len(members))
        way = dice.randrange(4)
        if way == 0:
            del members[at]
        elif way == 1:
            members.insert(at, copy.deepcopy(members[at]))
        elif way == 2:
            members[at] = _other(members[at], dice)
        else:
            members[at], members[0] = members[0], members[at]
        return Value(_LIST, members, value.members)
    return _any(dice)


def _any(dice: random.Random) -> Value:
    kind = dice.choice((_TRUE, _FALSE, _I16, _I32, _I64, _BINARY, _BINARY, _LIST, _STRUCT, _STRUCT))
    if kind in {_I16, _I32, _I64}:
        return Value(kind, dice.choice(_NUMBERS))
    if kind == _BINARY:
        return Value(kind, dice.choice(_TEXTS))
    if kind == _LIST:
        return Value(kind, [Value(_STRUCT, []) for _ in range(dice.choice((0, 1, 3, 20)))], _STRUCT)
    if kind == _STRUCT:
        return Value(kind, [(dice.randint(1, 14), _any(dice)) for _ in range(dice.choice((0, 1, 1, 2)))])
    return Value(kind, None)


class _Decoder:
    """Takes a footer apart that a sound writer wrote."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> Value:
        fields, number = [], 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields.append((number, self._value(head & 15)))
        return Value(_STRUCT, fields)

    def _value(self, kind: int) -> Value:
        if kind in {_TRUE, _FALSE}:
            return Value(kind, None)
        if kind in {_I16, _I32, _I64}:
            return Value(kind, self._signed())
        if kind in {_BYTE, _DOUBLE}:
            return Value(kind, self._bytes(1 if kind == _BYTE else 8))
        if kind == _BINARY:
            return Value(kind, self._bytes(self._varint()))
        if kind == _STRUCT:
            return self.struct()
        if kind == _LIST:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            if (members := head & 15) not in _MEMBERS:
                raise ValueError(f"Parquet's footers have no list of kind {members}")
            return Value(kind, [self._value(members) for _ in range(count)], members)
        raise ValueError(f"Parquet's footers have no value of kind {kind}")

    def _bytes(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._data):
            raise ValueError("the footer ends too early")
        return self._data[self._at - count : self._at]

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _signed(self) -> int:
        coded = self._varint()
        return (coded >> 1) ^ -(coded & 1)

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) > 127:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift


def _struct(value: Value) -> bytearray:
    out, before = bytearray(), 0
    for number, inner in value.held:
        if 1 <= number - before <= 15:
            out.append((number - before) << 4 | inner.kind)
        else:
            out.append(inner.kind)
            out += _signed(number)
        before = number
        out += _value(inner)
    out.append(0)
    return out


def _value(value: Value) -> bytes | bytearray:
    if value.kind in {_I16, _I32, _I64}:
        return _signed(value.held)
    if value.kind in {_BYTE, _DOUBLE}:
        return bytes(value.held)
    if value.kind == _BINARY:
        return _varint(len(value.held)) + bytes(value.held)
    if value.kind == _STRUCT:
        return _struct(value)
    if value.kind == _LIST:
        count = len(value.held)
        head = bytes([min(count, 15) << 4 | value.members]) + (_varint(count) if count > 14 else b"")
        return head + b"".join(map(_value, value.held))
    return b""


def _signed(number: int) -> bytes:
    return _varint((number << 1 ^ number >> 63) & (2**64 - 1))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
