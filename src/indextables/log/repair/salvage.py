"""The good lines of a damaged commit, and which of them may be applied.

A commit is one change. Half of an append is some of its rows, which is better than none of them. Half of a replacement loses or
doubles rows: a merge whose removes were read and whose adds were not would take its rows out of the table. So of a damaged commit
that replaces files none is applied, and the table keeps what it would have replaced.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from indextables.errors import LogCorruptionError, UnsafePathError
from indextables.log.actions import Add, Remove, Skip
from indextables.log.codec import MAX_FILE_BYTES, decode, detect
from indextables.log.commit_info import find_info
from indextables.log.conflicts import Kind
from indextables.log.lines import parse_lines
from indextables.storage.paths import canonical

if TYPE_CHECKING:
    from indextables.log.actions import Action

REPAIR: Final = "repair"
"""The operation of commits that a repair writes."""

FILLER: Final = "this version is lost"
"""What a commit says that takes the place of a lost one."""

_BOM: Final = b"\xef\xbb\xbf"
_GZIP: Final = 31
_WHOLE_LINES: Final = frozenset({Kind.APPEND, Kind.REMOVE, Kind.METADATA, Kind.PROTOCOL, Kind.SKIP, "create"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Salvaged:
    """What is left of a damaged commit.

    Attributes:
        actions: What is applied.
        lost_lines: The lines that cannot be read.
        set_aside: How many good lines are not applied, because they are half of a replacement.
        reason: Why the commit is damaged.
        filler: Whether it stands in for a commit that was lost before.
    """

    actions: list[Action]
    lost_lines: tuple[int, ...] = ()
    set_aside: int = 0
    reason: str = ""
    filler: bool = False


def filler_line(version: int) -> bytes:
    """Return a commit that takes the place of a missing one, and that no reader accepts."""
    return msgspec.json.encode({REPAIR: {"version": version, "detail": FILLER}}) + b"\n"


def check_commit(data: bytes, *, path: str) -> list[Action]:
    """Return the actions of a commit that is whole.

    Raises:
        LogCorruptionError: It is not.
        UnsafePathError: It names something outside the table.
    """
    actions = parse_lines(decode(data, path=path), path=path)
    for action in actions:
        if isinstance(action, Add | Remove | Skip):
            canonical(action.path)
    return actions


def salvage(data: bytes, *, version: int, path: str) -> Salvaged:
    """Return what is left of a commit that is not whole."""
    if data == filler_line(version):
        return Salvaged(actions=[], reason=FILLER, filler=True)
    text, reason = _opened(data, path)
    good: list[Action] = []
    lost: list[int] = []
    for number, line in enumerate(text.removeprefix(_BOM).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            good += check_commit(line, path=path)
        except (LogCorruptionError, UnsafePathError) as error:
            lost.append(number)
            reason = reason or f"line {number}: {error.reason}"
    if text.startswith(_BOM):
        reason = reason or "it starts with a byte order mark"
    halved = _may_be_halved(good, version)
    applied = [action for action in good if halved or not isinstance(action, Add | Remove)]
    return Salvaged(
        actions=applied,
        lost_lines=tuple(lost),
        set_aside=len(good) - len(applied),
        reason=reason or "it holds no action",
    )


def _opened(data: bytes, path: str) -> tuple[bytes, str]:
    """Return as much of the content as can be relied on, and why it is not all."""
    try:
        return decode(data, path=path), ""
    except LogCorruptionError as error:
        # What a cut stream has given so far is right. One that is whole and fails its checksum may be wrong anywhere.
        return (_cut_gzip(data) if detect(data) == "gzip" else b""), error.reason


def _cut_gzip(data: bytes) -> bytes:
    member = zlib.decompressobj(_GZIP)
    try:
        content = member.decompress(data[2:], MAX_FILE_BYTES)
    except zlib.error:
        return b""
    whole, newline, _ = content.rpartition(b"\n")
    return b"" if member.eof else whole + newline


def _may_be_halved(actions: list[Action], version: int) -> bool:
    """Tell whether some of a commit is better than nothing of it."""
    files = [action for action in actions if isinstance(action, Add | Remove)]
    info = find_info(actions, version)
    if info is not None:
        return info.operation in _WHOLE_LINES
    return all(isinstance(action, Add) and action.data_change for action in files)
