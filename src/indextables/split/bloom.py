"""Bloom filters of Parquet: whether a row group can hold a value, where bounds cannot tell.

Ids that come in no order lie between the bounds of every row group. A filter of a few bits a value says of nearly all of them that
the wanted one is not there. This is Parquet's split block filter with xxHash64; Arrow writes them and does not read them.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

_MASK: Final = 2**64 - 1
_PRIMES: Final = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_SALTS: Final = (
    0x47B6137B,
    0x44974D91,
    0x8824AD5B,
    0xA2B7289D,
    0x705495C7,
    0x2DF1424B,
    0x9EFC4947,
    0x5C6BFB31,
)
_BLOCK: Final = 32


def plain_bytes(value: Any, kind: pa.DataType) -> bytes | None:
    """Return the bytes that Parquet hashes for a value of a column; None for types without filters.

    Args:
        value: A text, bytes, or a whole number: days of dates, microseconds of timestamps.
        kind: The type of the column in the file.
    """
    if pa.types.is_string(kind) and isinstance(value, str):
        return value.encode()
    if pa.types.is_binary(kind) and isinstance(value, bytes):
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    if pa.types.is_int64(kind) or (pa.types.is_timestamp(kind) and kind.unit == "us"):
        return struct.pack("<q", value) if -(2**63) <= value < 2**63 else None
    if pa.types.is_signed_integer(kind) or pa.types.is_date32(kind):
        return struct.pack("<i", value) if -(2**31) <= value < 2**31 else None
    return None


def may_contain(stored: bytes | memoryview, values: Iterable[bytes]) -> bool:
    """Tell whether one of some values may be in a row group.

    Args:
        stored: The filter as it is in the file: a header of less than 32 bytes, then a power of two of bytes.
        values: What is looked for, as Parquet writes it.
    """
    size = 1 << len(stored).bit_length() >> 1
    if size < _BLOCK or len(stored) - size >= _BLOCK:
        return True  # not the form that is known, so nothing is ruled out
    bits = stored[len(stored) - size :]
    return any(_is_set(bits, xxh64(value)) for value in values)


def _is_set(bits: bytes | memoryview, hashed: int) -> bool:
    block = ((hashed >> 32) * (len(bits) // _BLOCK)) >> 32
    words = struct.unpack_from("<8I", bits, block * _BLOCK)
    key = hashed & 0xFFFFFFFF
    return all(word >> (((key * salt) & 0xFFFFFFFF) >> 27) & 1 for word, salt in zip(words, _SALTS, strict=True))


def xxh64(data: bytes) -> int:
    """Return the xxHash of bytes, 64 bits with seed 0."""
    position, size = 0, len(data)
    if size >= _BLOCK:
        lanes = [(_PRIMES[0] + _PRIMES[1]) & _MASK, _PRIMES[1], 0, -_PRIMES[0] & _MASK]
        while position <= size - _BLOCK:
            lanes = [
                _round(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, position), strict=True)
            ]
            position += _BLOCK
        rotated = (_rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        hashed = sum(rotated) & _MASK
        for lane in lanes:
            hashed = ((hashed ^ _round(0, lane)) * _PRIMES[0] + _PRIMES[3]) & _MASK
    else:
        hashed = _PRIMES[4]
    hashed = (hashed + size) & _MASK
    return _avalanche(_tail(hashed, data[position:]))


def _tail(hashed: int, rest: bytes) -> int:
    position = 0
    while position + 8 <= len(rest):
        hashed ^= _round(0, int.from_bytes(rest[position : position + 8], "little"))
        hashed = (_rotate(hashed, 27) * _PRIMES[0] + _PRIMES[3]) & _MASK
        position += 8
    if position + 4 <= len(rest):
        hashed ^= int.from_bytes(rest[position : position + 4], "little") * _PRIMES[0] & _MASK
        hashed = (_rotate(hashed, 23) * _PRIMES[1] + _PRIMES[2]) & _MASK
        position += 4
    for byte in rest[position:]:
        hashed ^= byte * _PRIMES[4] & _MASK
        hashed = _rotate(hashed, 11) * _PRIMES[0] & _MASK
    return hashed


def _round(lane: int, word: int) -> int:
    return _rotate((lane + word * _PRIMES[1]) & _MASK, 31) * _PRIMES[0] & _MASK


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK


def _avalanche(hashed: int) -> int:
    hashed = (hashed ^ hashed >> 33) * _PRIMES[1] & _MASK
    hashed = (hashed ^ hashed >> 29) * _PRIMES[2] & _MASK
    return hashed ^ hashed >> 32
