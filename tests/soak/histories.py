"""What clients write down while they work, and the checker that knows nothing else.

Each writer has a partition of its own, so what it did, one thing after the other, is all that its rows can come from. Where a writer
died in the middle of something, both outcomes are possible until its next life looks.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

Rows: TypeAlias = tuple[int, ...]
"""The rows of one writer by number, sorted; a number that is there twice is a row that is there twice."""


class Saw(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A writer begins a life and reads its rows; `at` is on the clock that all processes of a machine share."""

    at: int
    rows: Rows


class Wants(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A writer is about to change its rows: to add some, to replace all by them, or to delete those below a number."""

    at: int
    act: Literal["append", "replace", "delete"]
    rows: Rows = ()
    below: int = 0

    def applied(self, rows: Rows) -> Rows:
        """Return what the rows become."""
        if self.act == "append":
            return tuple(sorted(rows + self.rows))
        return self.rows if self.act == "replace" else tuple(row for row in rows if row >= self.below)


class Done(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """It is committed, as this version."""

    at: int
    version: int


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """It is not committed: somebody else was faster."""

    at: int


class Looked(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A reader read a version: the newest one, or `again` one that it had read before."""

    at: int
    version: int
    rows: int
    distinct: int
    digest: str
    again: bool = False


Event: TypeAlias = Saw | Wants | Done | Refused | Looked
_DECODER = msgspec.json.Decoder(Event)


def note(history: IO[bytes], event: Event) -> None:
    """Write down an event; what a process wrote outlives it, so a flush is enough."""
    history.write(msgspec.json.encode(event) + b"\n")
    history.flush()


def read(path: Path) -> list[Event]:
    """Return the events of a history; what follows the last newline was not finished."""
    return [_DECODER.decode(line) for line in path.read_bytes().split(b"\n")[:-1]]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the histories say together.

    Attributes:
        commits: Changes that were acknowledged.
        rows: Rows in them.
        refused: Changes that were refused.
        unknown: Changes whose writer died before it was told.
        reads: Looks of readers.
        problems: Every contradiction.
    """

    commits: int
    rows: int
    refused: int
    unknown: int
    reads: int
    problems: list[str]


def check(writers: Mapping[str, list[Event]], readers: Mapping[str, list[Event]], final: Mapping[str, Rows]) -> Verdict:
    """Hold what clients saw against each other.

    Args:
        writers: The history of each writer, over all its lives.
        readers: The history of each life of a reader.
        final: The rows of each writer when all is over.
    """
    problems: list[str] = []
    unknown = 0
    for name, events in writers.items():
        ended = Saw(at=0, rows=final.get(name, ()))
        unknown += _check_writer(name, [*events, ended], problems)
    _check_readers(writers.values(), readers, problems)
    every = [event for events in writers.values() for event in events]
    done = [event for event in every if isinstance(event, Done)]
    versions = [event.version for event in done]
    if len(set(versions)) < len(versions):
        problems.append("I1: two were told the same version")
    return Verdict(
        commits=len(done),
        rows=sum(len(event.rows) for event in every if isinstance(event, Wants)),
        refused=sum(isinstance(event, Refused) for event in every),
        unknown=unknown,
        reads=sum(len(events) for events in readers.values()),
        problems=problems,
    )


def _check_writer(name: str, events: Iterable[Event], problems: list[str]) -> int:
    """I3, I4, I5: what a writer sees is what it was told, with nothing lost and nothing double."""
    possible: set[Rows] = {()}
    pending: Wants | None = None
    unknown = 0
    for event in events:
        if isinstance(event, Wants):
            pending = event
            continue
        if pending is not None and isinstance(event, Done):
            possible = {pending.applied(rows) for rows in possible}
        elif pending is not None and isinstance(event, Saw):
            unknown += 1
            possible |= {pending.applied(rows) for rows in possible}
        pending = None
        if isinstance(event, Saw):
            if event.rows not in possible:
                wanted = min(possible, key=lambda rows: len(set(rows) ^ set(event.rows)))
                lacks, has = sorted(set(wanted) - set(event.rows)), sorted(set(event.rows) - set(wanted))
                problems.append(
                    f"I4: {name} saw {len(event.rows)} rows, not {len(wanted)}: without {lacks}, with {has}"
                )
            possible = {event.rows}
    return unknown


def _check_readers(writers: Iterable[list[Event]], readers: Mapping[str, list[Event]], problems: list[str]) -> None:
    """I2, I6: readers agree on every version, never go back, and see what was acknowledged before they looked."""
    told = sorted((event.at, event.version) for events in writers for event in events if isinstance(event, Done))
    digests: dict[int, str] = {}
    for name, events in readers.items():
        looks = [event for event in events if isinstance(event, Looked)]
        newest = -1
        for look in looks:
            if look.rows != look.distinct:
                problems.append(f"I3: {name} saw {look.rows} rows at version {look.version}, {look.distinct} distinct")
            if digests.setdefault(look.version, look.digest) != look.digest:
                problems.append(f"I6: version {look.version} was something else for {name}")
            if look.again:
                continue
            if look.version < newest:
                problems.append(f"I6: {name} saw version {look.version} after {newest}")
            newest = look.version
    looks = sorted((look for events in readers.values() for look in events if isinstance(look, Looked)), key=_moment)
    acknowledged, place = -1, 0
    for look in looks:
        while place < len(told) and told[place][0] < look.at:
            acknowledged = max(acknowledged, told[place][1])
            place += 1
        if not look.again and look.version < acknowledged:
            problems.append(f"I2: a reader saw version {look.version} after {acknowledged} was acknowledged")


def _moment(look: Looked) -> int:
    return look.at
