"""A commit as lines, one action each: parsed within fixed bounds, because a log is input that anybody may have written.

Every bound is checked on the bytes before a parser sees them, so that a hostile file costs a second and not the process.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from indextables.errors import IndexTablesError, LogCorruptionError
from indextables.log.actions import Action, Add, Fields, MetaData, Protocol, Remove, Skip, encode_action
from indextables.log.codec import MAX_FILE_BYTES
from indextables.log.strict import read_line, why_too_complex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_LINE_BYTES = 16 << 20
"""How long one line may be, and how many bytes of blank lines may stand together."""

_BOM = b"\xef\xbb\xbf"
_BLANK = re.compile(rb"[\r\n]{0,%d}" % (MAX_LINE_BYTES + 1))


class _Line(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, gc=False):
    add: Add | UnsetType = UNSET
    remove: Remove | UnsetType = UNSET
    mergeskip: Skip | UnsetType = UNSET
    protocol: Protocol | UnsetType = UNSET
    meta_data: MetaData | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Line).decode
_fields = msgspec.structs.astuple


def parse_lines(data: bytes, *, path: str) -> list[Action]:
    """Return the actions of a commit in the order of its lines; blank lines and CR LF are tolerated.

    Args:
        data: The uncompressed content of one file of the log.
        path: Names the file in errors.

    Raises:
        LogCorruptionError: The content is too large, holds no action, or has a line that is not one action; `line` counts
            from 1.
        UnknownActionError: A line holds an action that this version does not know.
    """
    if len(data) > MAX_FILE_BYTES:
        raise LogCorruptionError(path, f"it holds {len(data)} bytes, and {MAX_FILE_BYTES} are the most")
    if data.startswith(_BOM):
        raise LogCorruptionError(path, "it starts with a byte order mark", line=1)
    actions = [_parse(line, path, number) for number, line in _numbered(data, path)]
    if not actions:
        raise LogCorruptionError(path, "it holds no action")
    return actions


def format_lines(actions: Iterable[Action]) -> bytes:
    """Return the content of a commit: a line for each action, each ended by a newline.

    Raises:
        IndexTablesError: There is no action, or a line or the whole is larger than any reader accepts.
    """
    lines = [encode_action(action) for action in actions]
    if not lines:
        raise IndexTablesError("A commit without actions cannot be written", "Give it at least one action")
    longest, total = max(map(len, lines)), sum(map(len, lines)) + len(lines)
    if longest > MAX_LINE_BYTES or total > MAX_FILE_BYTES:
        raise IndexTablesError(
            f"A commit of {total} bytes, {longest} of them in one line, cannot be written: "
            f"the most are {MAX_FILE_BYTES} and {MAX_LINE_BYTES}",
            "Write it as several commits, and keep statistics and tags short",
        )
    return b"\n".join([*lines, b""])


def _numbered(data: bytes, path: str) -> Iterator[tuple[int, bytes]]:
    number, position = 1, 0
    while blank := _BLANK.match(data, position):
        if blank.end() - position > MAX_LINE_BYTES:
            raise LogCorruptionError(path, f"blank lines of more than {MAX_LINE_BYTES} bytes start here", line=number)
        number += data.count(b"\n", position, blank.end())
        position = blank.end()
        if position == len(data):
            return
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end
        if end - position > MAX_LINE_BYTES:
            reason = f"the line has {end - position} bytes, and {MAX_LINE_BYTES} are the most"
            raise LogCorruptionError(path, reason, line=number)
        yield number, data[position:end]
        position = end


def _parse(line: bytes, path: str, number: int) -> Action:
    if reason := why_too_complex(line):
        raise LogCorruptionError(path, reason, line=number)
    try:
        found = [action for action in _fields(_decode(line)) if action is not UNSET]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return read_line(line, path=path, number=number)
    if len(found) != 1 or not _is_plain(found[0], line):
        return read_line(line, path=path, number=number)
    action: Action = found[0]
    return action


def _is_plain(action: Action, line: bytes) -> bool:
    """Tell, soundly and cheaply, that the line has no key twice, which the quick decoder would not notice.

    It counts the keys in the bytes, as quotes before a colon, and compares with what was decoded. A quote inside a string has a
    backslash before it. Blanks before a colon and keys that end in a backslash would hide a key from the count, so a line in
    which there may be one of these is not plain.
    """
    keys = line.count(b'":')
    if b"\\" in line:
        if b'\\\\":' in line:
            return False
        keys -= line.count(b'\\":')
    if b"\t" in line or b"\r" in line or (b" " in line and b'" ' in line):
        return False
    return keys == 1 + _count_keys(action)


def _count_keys(fields: Fields) -> int:
    values = _fields(fields)
    # Minus one for `extra`, which is no key of the line; where it is one after all, the numbers differ.
    count = len(values) - values.count(UNSET) - 1
    for value in values:
        if type(value) is dict:
            count += len(value)
        elif isinstance(value, Fields):
            count += _count_keys(value)
    return count
