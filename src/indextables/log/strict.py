"""The exact reading of one line: slow, and the last word on what is an action and what is damage.

The quick readers are built on parsers that let things pass (a key twice, a number that fits no column) or that die of them
(a hundred thousand brackets). Whatever they do not take as it stands comes here, so that each oddity is judged in one place.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache
from typing import NoReturn, TypeVar

import msgspec
import numpy as np
from msgspec import Raw

from indextables.errors import LogCorruptionError, UnknownActionError
from indextables.log.actions import ACTIONS, Action, Fields, Format, MetaData

MAX_DEPTH = 64
"""How deep objects and arrays of a line may nest."""
MAX_VALUES = 1 << 18
"""How many values a line may hold, at all depths together: far more than columns have statistics, far less than memory."""

_Known = TypeVar("_Known", bound=Fields)

_MAPS = frozenset({"partitionValues", "tags", "minValues", "maxValues", "configuration", "options"})
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[list(b"{[")] = 1
_STEPS[list(b"}]")] = -1
_STRUCTURAL = _STEPS != 0
_STRUCTURAL[list(b'",')] = True

_encode = msgspec.json.Encoder().encode
_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode


class _RefusedError(ValueError):
    """JSON that is well formed and still not acceptable."""


def why_too_complex(line: bytes) -> str | None:
    """Return why no parser should be given the line: how deep it nests or how much it holds, strings not looked into."""
    if line.count(b"{") + line.count(b"[") <= MAX_DEPTH and len(line) <= 2 * MAX_VALUES:
        return None
    # Escapes go first, in pairs from the left, so that every quote that is left opens or closes a string.
    bare = np.frombuffer(line.replace(b"\\\\", b"").replace(b'\\"', b""), dtype=np.uint8)
    marks = bare[_STRUCTURAL[bare]]
    marks = marks[~np.bitwise_xor.accumulate(marks == ord('"'))]
    steps = _STEPS[marks]
    if marks.size and int(np.cumsum(steps, dtype=np.int32).max()) > MAX_DEPTH:
        return f"it nests deeper than {MAX_DEPTH} levels"
    if int(np.count_nonzero(steps > 0)) + int(np.count_nonzero(marks == ord(","))) > MAX_VALUES:
        return f"it holds more than {MAX_VALUES} values"
    return None


def read_line(line: bytes, *, path: str, number: int) -> Action:
    """Return the action of a line that is neither too long nor too complex.

    Raises:
        UnknownActionError: Its only key is no action of ours.
        LogCorruptionError: It is anything else than one action.
    """
    try:
        key, text = _only_member(line)
        if key in ACTIONS:
            return _build(ACTIONS[key], text)
    except UnicodeDecodeError as error:
        raise LogCorruptionError(path, f"bad UTF-8 ({error.reason})", line=number) from error
    except json.JSONDecodeError as error:
        reason = f"it is not JSON ({error.msg}, character {error.pos + 1})"
        raise LogCorruptionError(path, reason, line=number) from error
    except msgspec.ValidationError as error:
        raise LogCorruptionError(path, f"it is not an action ({error})", line=number) from error
    except msgspec.DecodeError as error:
        reason = "half of a surrogate pair" if _SURROGATE.search(line) else f"it is not JSON ({error})"
        raise LogCorruptionError(path, reason, line=number) from error
    except _RefusedError as error:
        raise LogCorruptionError(path, str(error), line=number) from error
    raise UnknownActionError(path, line=number, action=key[:100])


def _only_member(line: bytes) -> tuple[str, Raw]:
    _check(line.decode())
    members = _decode_object(line)
    if len(members) != 1:
        raise _RefusedError(f"it holds {len(members)} actions, and a line holds one")
    return next(iter(members.items()))


def _build(kind: type[_Known], text: Raw) -> _Known:
    """Return the known fields as a typed value, and the others beside them as they were written."""
    known = _names(kind)
    given = _decode_object(text)
    extra = {name: value.copy() for name, value in given.items() if name not in known}
    rest = {name: _as_text_map(value) if name in _MAPS else value for name, value in given.items() if name in known}
    replaced: dict[str, object] = {"extra": extra} if extra else {}
    if kind is MetaData and bytes(rest.get("format", b""))[:1] == b"{":
        replaced["format"] = _build(Format, rest.pop("format"))
    built: _Known = _decoder(kind).decode(_encode(rest))
    return msgspec.structs.replace(built, **replaced) if replaced else built


@cache
def _names(kind: type[Fields]) -> frozenset[str]:
    return frozenset(field.encode_name for field in msgspec.structs.fields(kind) if field.name != "extra")


@cache
def _decoder(kind: type[_Known]) -> msgspec.json.Decoder[_Known]:
    return msgspec.json.Decoder(kind)


def _as_text_map(value: Raw) -> Raw:
    """Turn numbers and booleans in a map of texts into their text; anything else is left for the typed reading to judge."""
    if bytes(value)[:1] != b"{":
        return value
    members = _decode_object(value)
    return Raw(_encode({name: _as_text(member) for name, member in members.items()}))


def _as_text(value: Raw) -> Raw | str:
    text = bytes(value)
    return value if text[:1] in b'"n{[' else text.decode()


def _object(pairs: list[tuple[str, object]]) -> None:
    names = set()
    for name, _ in pairs:
        if name in names:
            raise _RefusedError(f"the key {name[:100]!r} appears twice in one object")
        names.add(name)


def _integer(digits: str) -> None:
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
        raise _RefusedError(f"the number {digits[:24]}{'…' * (len(digits) > 24)} does not fit in 64 bits")


def _float(digits: str) -> None:
    if not math.isfinite(float(digits)):
        raise _RefusedError(f"the number {digits[:24]} is too large")


def _constant(name: str) -> NoReturn:
    raise _RefusedError(f"{name} is not a JSON number")


# The values are thrown away: only what the hooks say matters, and a large line then costs no memory.
_check = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
).decode
