"""Thrift's binary protocol, read and written without generated classes.

The protocol names the type of every value, so a struct can be read into numbered fields, changed in one of them and written
back with everything else as it was, also with fields that a newer Metastore has and this code has never heard of. Generated
classes would drop those, and an `ALTER` made from them would erase what they hold.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_VERSION = 0x80010000
_LARGEST = 1 << 28  # no string or collection of a Metastore is larger; a wild length must not take the machine's memory
_DEEPEST = 64


class Kind(IntEnum):
    """What a value is, as it stands before the value."""

    STOP = 0
    BOOL = 2
    BYTE = 3
    DOUBLE = 4
    I16 = 6
    I32 = 8
    I64 = 10
    STRING = 11
    STRUCT = 12
    MAP = 13
    SET = 14
    LIST = 15


class MessageType(IntEnum):
    """What a message is."""

    CALL = 1
    REPLY = 2
    EXCEPTION = 3


class ProtocolViolationError(ValueError):
    """The bytes are not Thrift's binary protocol."""


class Source(Protocol):
    """Where bytes come from."""

    def read(self, count: int, /) -> bytes:
        """Return that many bytes, fewer only at the end."""


@dataclass(slots=True)
class Struct:
    """Fields by their number, each with its kind."""

    fields: dict[int, tuple[Kind, Any]] = field(default_factory=dict)

    def get(self, number: int, default: Any = None) -> Any:
        """Return a field's value, or `default` where the field is not set."""
        held = self.fields.get(number)
        return default if held is None else held[1]

    def set(self, number: int, kind: Kind, value: Any) -> None:
        """Set a field; None takes it out."""
        if value is None:
            self.fields.pop(number, None)
        else:
            self.fields[number] = (kind, value)

    def copy(self) -> Struct:
        """Return a copy that shares nothing that can change."""
        return Struct({number: (kind, _copy(value)) for number, (kind, value) in self.fields.items()})


@dataclass(slots=True)
class Sequence:
    """A list, or a set, of one kind."""

    kind: Kind
    items: list[Any]


@dataclass(slots=True)
class Mapping:
    """A map of one kind of key to one kind of value."""

    key_kind: Kind
    value_kind: Kind
    items: dict[Any, Any]


def _copy(value: Any) -> Any:
    match value:
        case Struct():
            return value.copy()
        case Sequence():
            return Sequence(value.kind, [_copy(item) for item in value.items])
        case Mapping():
            return Mapping(value.key_kind, value.value_kind, {key: _copy(item) for key, item in value.items.items()})
    return value


def strings(values: Iterable[str]) -> Sequence:
    """Return a list of strings."""
    return Sequence(Kind.STRING, list(values))


def structs(values: Iterable[Struct]) -> Sequence:
    """Return a list of structs."""
    return Sequence(Kind.STRUCT, list(values))


def string_map(values: dict[str, str]) -> Mapping:
    """Return a map from strings to strings."""
    return Mapping(Kind.STRING, Kind.STRING, dict(values))


def encode_call(name: str, sequence: int, arguments: Struct) -> bytes:
    """Return the message that calls a method."""
    parts = [struct.pack(">I", _VERSION | MessageType.CALL)]
    _write(parts, Kind.STRING, name)
    parts.append(struct.pack(">i", sequence))
    _write(parts, Kind.STRUCT, arguments)
    return b"".join(parts)


def decode_message(source: Source) -> tuple[MessageType, str, int, Struct]:
    """Return type, method, sequence number and content of the next message.

    Raises:
        ProtocolViolationError: The bytes are something else, or end too early.
    """
    (version,) = struct.unpack(">I", _exactly(source, 4))
    if version & 0xFFFF0000 != _VERSION:
        raise ProtocolViolationError(f"a message begins with {version:#x}, which is not Thrift's binary protocol")
    try:
        kind = MessageType(version & 0xFF)
    except ValueError as error:
        raise ProtocolViolationError(f"message type {version & 0xFF} is unknown") from error
    name = _read(source, Kind.STRING, 0)
    (sequence,) = struct.unpack(">i", _exactly(source, 4))
    return kind, name, sequence, _read(source, Kind.STRUCT, 0)


_FIXED = {Kind.BYTE: ">b", Kind.DOUBLE: ">d", Kind.I16: ">h", Kind.I32: ">i", Kind.I64: ">q"}
_UNPACK_LENGTH = struct.Struct(">i").unpack
_UNPACK_FIELD = struct.Struct(">h").unpack
_KINDS = {int(kind): kind for kind in Kind}


def _write(parts: list[bytes], kind: Kind, value: Any) -> None:
    match kind:
        case Kind.STRING:
            data = value.encode("utf-8", "surrogateescape")
            parts += (struct.pack(">i", len(data)), data)
        case Kind.BOOL:
            parts.append(b"\x01" if value else b"\x00")
        case Kind.STRUCT:
            for number, (inner, item) in sorted(value.fields.items()):
                parts.append(struct.pack(">bh", inner, number))
                _write(parts, inner, item)
            parts.append(b"\x00")
        case Kind.LIST | Kind.SET:
            parts.append(struct.pack(">bi", value.kind, len(value.items)))
            for item in value.items:
                _write(parts, value.kind, item)
        case Kind.MAP:
            parts.append(struct.pack(">bbi", value.key_kind, value.value_kind, len(value.items)))
            for key, item in value.items.items():
                _write(parts, value.key_kind, key)
                _write(parts, value.value_kind, item)
        case _:
            parts.append(struct.pack(_FIXED[kind], value))


def _read(source: Source, kind: Kind, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ProtocolViolationError("its values are nested too deeply")
    return _READERS[kind](source, depth + 1)


def _read_string(source: Source, _: int) -> str:
    # A Metastore may hold bytes that are no UTF-8; they come back out as they went in.
    return _exactly(source, _length(source)).decode("utf-8", "surrogateescape")


def _read_struct(source: Source, depth: int) -> Struct:
    fields: dict[int, tuple[Kind, Any]] = {}
    while (inner := _kind(source)) is not Kind.STOP:
        (number,) = _UNPACK_FIELD(_exactly(source, 2))
        fields[number] = (inner, _read(source, inner, depth))
    return Struct(fields)


def _read_sequence(source: Source, depth: int) -> Sequence:
    inner = _kind(source)
    return Sequence(inner, [_read(source, inner, depth) for _ in range(_length(source))])


def _read_map(source: Source, depth: int) -> Mapping:
    key_kind, value_kind = _kind(source), _kind(source)
    items = ((_read(source, key_kind, depth), _read(source, value_kind, depth)) for _ in range(_length(source)))
    return Mapping(key_kind, value_kind, dict(items))


def _read_stop(*_: object) -> Any:
    raise ProtocolViolationError("a value has no kind")


def _fixed_reader(form: str) -> Callable[[Source, int], Any]:
    packed = struct.Struct(form)

    def read(source: Source, _: int) -> Any:
        return packed.unpack(_exactly(source, packed.size))[0]

    return read


# A partition has some hundred values, and a table ten thousand partitions: finding the reader of a value must cost nothing.
_READERS: dict[Kind, Callable[[Source, int], Any]] = {
    Kind.STOP: _read_stop,
    Kind.STRING: _read_string,
    Kind.BOOL: lambda source, _: _exactly(source, 1) != b"\x00",
    Kind.STRUCT: _read_struct,
    Kind.LIST: _read_sequence,
    Kind.SET: _read_sequence,
    Kind.MAP: _read_map,
    **{kind: _fixed_reader(form) for kind, form in _FIXED.items()},
}


def _kind(source: Source) -> Kind:
    number = _exactly(source, 1)[0]
    try:
        return _KINDS[number]
    except KeyError as error:
        raise ProtocolViolationError(f"kind {number} of a value is unknown") from error


def _length(source: Source) -> int:
    (length,) = _UNPACK_LENGTH(_exactly(source, 4))
    if not 0 <= length <= _LARGEST:
        raise ProtocolViolationError(f"a length is given as {length}")
    return int(length)


def _exactly(source: Source, count: int) -> bytes:
    data = source.read(count)
    if len(data) != count:
        raise ProtocolViolationError("the message ends too early")
    return data
