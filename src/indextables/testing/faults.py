"""What can go wrong at a call to a store: the kinds of faults, and the plan that says which of them strikes where.

The ids are those of the fault model. Two of its rows need no kind here: clocks that lie (F9) are a matter of the runtime, and of
the clock that a model is given; renames with quirks (F16) are `HdfsModel.rename`. A listing out of order (F8) is left out,
because the port promises order: an adapter that cannot keep it sorts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple

Op = Literal["put_if_absent", "put", "get", "get_range", "head", "list_from", "delete", "exists"]
Mode = Literal["once", "forever"]


class Crash(BaseException):
    """The process died here. Not an `Exception`, so that no handler survives it."""


class FaultKind(Enum):
    """A kind of fault. Unless its text says otherwise the call fails, and nothing was done."""

    CRASH_BEFORE = "crash before"
    """F1: the process dies before the call does anything. Like every crash it is final: later calls die, too."""
    CRASH_AFTER = "crash after"
    """F1: the process dies when the call has done everything, without hearing of it."""
    TORN_WRITE = "torn write"
    """F2, F3: the process dies inside the write. What is not published yet stays behind, torn; nothing is published."""
    ANSWER_LOST_DONE = "answer lost, done"
    """F4: the write happens, or is refused, and `OutcomeUnknownError` hides which."""
    ANSWER_LOST_NOT_DONE = "answer lost, not done"
    """F5: the write does not happen, and `OutcomeUnknownError` hides it."""
    LATE_EFFECT = "late effect"
    """F5: `OutcomeUnknownError`, and the write lands one to four calls later or when the store settles, if it is not
    refused then."""
    DUPLICATE = "duplicate"
    """F6: a hidden retry does it twice. A creation meets itself and answers `AlreadyExistsError`, although it is ours. Any other
    write is done and acknowledged by the retry, and the first attempt lands up to four calls later, over what is there then."""
    CONFLICT_409 = "conflict 409"
    """F7: S3 saw two writers at once and answers `AlreadyExistsError`, although nothing need be there."""
    UNAVAILABLE = "unavailable"
    """F7: 500, 503 or throttling: `StorageUnavailableError`; a listing may end so in its midst."""
    STALE_LIST = "stale list"
    """F8: the listing lacks one to three of the newest objects."""
    DUPLICATE_LIST = "duplicate list"
    """F8: the listing holds some objects twice in a row."""
    TRUNCATED_LIST = "truncated list"
    """F8: the listing ends early and does not say so."""
    DISK_FULL = "disk full"
    """F10: `StorageUnavailableError`, and part of a temporary file stays behind."""
    PERMISSION = "permission"
    """F11: `PermissionDeniedError`, as when a token expires; a listing may end so in its midst."""
    CLOSE_FAILS = "close fails"
    """F15: closing the file fails after good writes. It is not published: `StorageUnavailableError`, with the whole of it left
    behind under its temporary name."""
    SYNC_FAILS = "sync fails"
    """F15: the last sync fails. The write is visible and may not survive a power cut: `OutcomeUnknownError`. A store that needs
    no sync has done it. A write that is refused is refused as always."""
    MISSING = "missing"
    """F8: one object that exists is not found, once, as before it becomes visible everywhere."""
    BIT_FLIP = "bit flip"
    """F14: one bit of what is read is wrong."""
    TRUNCATED_READ = "truncated read"
    """F14: what is read lacks its end."""


class _Nature(NamedTuple):
    """Where a kind can strike, whether striking for ever differs from once, and whether chance plays a part in it."""

    ops: frozenset[str]
    repeats: bool = True
    varies: bool = False


_PUTS = frozenset({"put_if_absent", "put"})
_WRITES = _PUTS | {"delete"}
_GETS = frozenset({"get", "get_range"})
_LIST = frozenset({"list_from"})
_ALL = _WRITES | _GETS | _LIST | {"head", "exists"}

_NATURE = {
    FaultKind.CRASH_BEFORE: _Nature(_ALL, repeats=False),
    FaultKind.CRASH_AFTER: _Nature(_ALL, repeats=False),
    FaultKind.TORN_WRITE: _Nature(_PUTS, repeats=False, varies=True),
    FaultKind.ANSWER_LOST_DONE: _Nature(_WRITES),
    FaultKind.ANSWER_LOST_NOT_DONE: _Nature(_WRITES),
    FaultKind.LATE_EFFECT: _Nature(_WRITES, varies=True),
    FaultKind.DUPLICATE: _Nature(_WRITES, varies=True),
    FaultKind.CONFLICT_409: _Nature(frozenset({"put_if_absent"})),
    FaultKind.UNAVAILABLE: _Nature(_ALL),
    FaultKind.STALE_LIST: _Nature(_LIST, varies=True),
    FaultKind.DUPLICATE_LIST: _Nature(_LIST, varies=True),
    FaultKind.TRUNCATED_LIST: _Nature(_LIST, varies=True),
    FaultKind.DISK_FULL: _Nature(_PUTS, varies=True),
    FaultKind.PERMISSION: _Nature(_ALL),
    FaultKind.CLOSE_FAILS: _Nature(_PUTS),
    FaultKind.SYNC_FAILS: _Nature(_WRITES, varies=True),
    FaultKind.MISSING: _Nature(_GETS | {"head", "exists"}, repeats=False),
    FaultKind.BIT_FLIP: _Nature(_GETS, varies=True),
    FaultKind.TRUNCATED_READ: _Nature(_GETS, varies=True),
}


def applicable(kind: FaultKind, op: str) -> bool:
    """Tell whether a fault of that kind can strike at a call of that name."""
    return op in _NATURE[kind].ops


def repeats(kind: FaultKind) -> bool:
    """Tell whether a fault that strikes for ever is another case than one that strikes once."""
    return _NATURE[kind].repeats


def varies(kind: FaultKind) -> bool:
    """Tell whether another seed makes another case, in the fault itself or in what a crash then leaves."""
    return _NATURE[kind].varies


@dataclass(frozen=True, slots=True)
class Plan:
    """One fault: at which call it strikes, what it is, and whether it comes back.

    Attributes:
        index: The number of the call, counted from 1.
        kind: What goes wrong.
        mode: `once` strikes at that call alone; `forever` at it and at every later one where the kind is applicable.
        seed: Decides all that is left to chance.
    """

    index: int
    kind: FaultKind
    mode: Mode = "once"
    seed: int = 0
