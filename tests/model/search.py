"""Every state of a model, breadth first, so that the first broken invariant comes with a shortest way to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.model.protocol import Pc, Protocol, State, content_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        states: How many different states it saw.
        whole: Whether these are all that there are.
        broken: The invariant that the last state breaks; nothing where none does.
        trace: What happened on the shortest way to it.
    """

    states: int
    whole: bool
    broken: str = ""
    trace: tuple[str, ...] = ()

    def __str__(self) -> str:
        steps = "".join(f"\n  {number}. {step}" for number, step in enumerate(self.trace, 1))
        return f"{self.broken}, after {len(self.trace)} steps:{steps}"


def search(protocol: Protocol, *, most: int | None = None) -> Found:
    """Look at every state, or at so many, and stop at the first that breaks an invariant.

    Of a state that was seen only its hash is kept, with that of the state before it: that is enough to know it again, and to find
    the way to it once more.
    """
    start = protocol.start()
    before: dict[int, int] = {hash(start): 0}
    frontier = [start]
    while frontier:
        following: list[State] = []
        for state in frontier:
            came_from = hash(state)
            for _, after in protocol.next_states(state):
                known = hash(after)
                if known in before:
                    continue
                before[known] = came_from
                if broken := next(violations(after), ""):
                    return Found(len(before), whole=False, broken=broken, trace=_way(protocol, before, known))
                if most is not None and len(before) >= most:
                    return Found(len(before), whole=False)
                following.append(after)
        frontier = following
    return Found(len(before), whole=True)


def _way(protocol: Protocol, before: dict[int, int], known: int) -> tuple[str, ...]:
    """Walk from the start to a state by the hashes on the way to it."""
    hashes = []
    while known:
        hashes.append(known)
        known = before[known]
    state, steps = protocol.start(), []
    for wanted in reversed(hashes[:-1]):
        step, state = next((step, after) for step, after in protocol.next_states(state) if hash(after) == wanted)
        steps.append(step)
    return tuple(steps)


def violations(state: State) -> Iterator[str]:
    """Yield the invariants that a state breaks."""
    tip, first = state.tip, state.first
    for version in range(state.floor, tip + 1):
        if not state.slots[version]:
            yield f"I1: version {version} is missing below {tip}"
        elif state.slots[version] != first[version]:
            yield f"I1: version {version} was {first[version]} and is {state.slots[version]}"
    written = [author for author in first if author]
    if len(set(written)) < len(written):
        yield f"I3: a commit is there twice: {first}"
    whole = 0
    for version, author in enumerate(first[: tip + 1]):
        whole |= 1 << author
        if version >= state.floor and content_of(state, version) != whole:
            yield f"I3: version {version} shows {content_of(state, version):b}, not {whole:b}"
    for number, writer in enumerate(state.writers, 1):
        there = number in first
        if writer.pc is Pc.DONE and first[writer.slot] != number:
            yield f"I4: {number} was told that it is at {writer.slot}, where {first[writer.slot]} is"
        elif writer.pc is Pc.FAILED and there:
            yield f"I4: {number} was told that it failed, and is there"
        elif (writer.pc is Pc.LANDED and not there) or (writer.pc is Pc.MISSED and there):
            yield f"I5: what {number} was told of its fate is not true"
        if there and not state.files >> number & 1:
            yield f"I9: the data file of {number} was deleted, and its commit is there"
