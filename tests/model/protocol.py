"""The commit protocol as a model: a few writers, a writer of checkpoints and a cleaner, and a store that loses answers.

Small enough to look at every state that there is. Time does not exist here: anybody may sleep at any point for as long as
retention lasts, which is the worst that clocks can do. What a state holds besides what is in the store is what somebody
remembers, and what nobody knows but the judge: who had a version first.

The rules of the protocol can be switched off one by one, to see that they are needed and that the invariants notice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES: Final = {
    "read back": "after a doubtful answer the version is read, and whose commit is there decides",
    "own id": "a writer that lost its version knows its own commit among those that it finds",
    "same slot": "what is in doubt is sent to the same version again, never to the next one",
    "floor check": "whoever won a version makes sure that it is not one that was cleaned up",
    "age": "whoever won a version long ago and finds the floor above it does not take that for a defeat",
    "doubt": "whoever was in doubt about a version that is below the floor by now stays in doubt",
    "resolve": "a version below the floor does not tell what became of a commit of unknown outcome",
    "files stay": "data files go only when their commit is certain not to be there",
    "validated": "a checkpoint is read back before it counts",
    "mark first": "the floor is raised before the first commit goes",
    "create": "of two creations of one version one is refused",
}


class Pc(IntEnum):
    """Where a writer is."""

    BEGIN = 0
    SEND = 1
    WAIT = 2
    DOUBT = 3
    LOST = 4
    WON = 5
    DONE = 6
    FAILED = 7
    UNKNOWN = 8
    LANDED = 9
    """It was unknown, and then found."""
    MISSED = 10
    """It was unknown, and then found not to be there."""
    DEAD = 11


_FINAL: Final = frozenset({Pc.DONE, Pc.FAILED, Pc.LANDED, Pc.MISSED, Pc.DEAD})


class Writer(NamedTuple):
    """A writer of one commit: the version that it goes for, the newest one that it has checked, how often it may try yet,
    and whether an attempt of its own may have landed without its knowing."""

    pc: Pc = Pc.BEGIN
    slot: int = 0
    base: int = 0
    tries: int = 0
    doubt: bool = False


class State(NamedTuple):
    """Everything that what happens next depends on.

    Attributes:
        slots: Whose commit is at each version; 0 is nobody's.
        first: Whose commit was at each version first, when it was not below the floor: the judge's memory.
        floor: The oldest version that is kept.
        checkpoints: Versions, each with the set of commits that its checkpoint holds, as bits.
        flight: Creations that are on their way: version and writer.
        writers: The writers.
        files: Whose data files are there, as bits.
        writing: The checkpoint that is being written, if any.
        cleaning: The floor that a cleaner goes for, and whether it has marked it; (0, False) is an idle cleaner.
        faults: How many answers may still get lost.
        crashes: How many processes may still die.
    """

    slots: tuple[int, ...]
    first: tuple[int, ...]
    floor: int
    checkpoints: tuple[tuple[int, int], ...]
    flight: frozenset[tuple[int, int]]
    writers: tuple[Writer, ...]
    files: int
    writing: tuple[int, int]
    cleaning: tuple[int, bool]
    faults: int
    crashes: int

    @property
    def tip(self) -> int:
        """The newest version: listed, and asked for by name until there is none."""
        return max(version for version, writer in enumerate(self.slots) if writer)


@dataclass(frozen=True)
class Protocol:
    """How large the model is, and which rules hold.

    Attributes:
        writers: How many writers there are; each makes one commit.
        versions: How many versions there is room for, the creation of the table included.
        tries: How often a writer sends a commit.
        faults: How many answers get lost, come late, or are a mere collision.
        crashes: How many processes die.
        rivals: The writers that rule each other's commits out; all others go on top of each other.
        without: The rules that are switched off.
    """

    writers: int = 2
    versions: int = 4
    tries: int = 2
    faults: int = 2
    crashes: int = 1
    rivals: frozenset[int] = frozenset()
    without: frozenset[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        if unknown := self.without - RULES.keys():
            raise ValueError(f"there are no such rules: {sorted(unknown)}")

    def holds(self, rule: str) -> bool:
        """Tell whether a rule is in force."""
        return rule not in self.without

    def start(self) -> State:
        """Return a table that was just created, by nobody who takes part."""
        creator = self.writers + 1
        rest = (0,) * (self.versions - 1)
        return State(
            slots=(creator, *rest),
            first=(creator, *rest),
            floor=0,
            checkpoints=(),
            flight=frozenset(),
            writers=(Writer(tries=self.tries),) * self.writers,
            files=(1 << (creator + 1)) - 2,
            writing=(0, 0),
            cleaning=(0, False),
            faults=self.faults,
            crashes=self.crashes,
        )

    def next_states(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield everything that can happen next, each with a name."""
        for number, writer in enumerate(state.writers, 1):
            if writer.pc not in _FINAL:
                yield from self._write(state, number, writer)
                if state.crashes and writer.pc is not Pc.UNKNOWN:
                    dead = _with(state, number, writer._replace(pc=Pc.DEAD))
                    yield f"{number} dies", dead._replace(crashes=state.crashes - 1)
        for slot, number in state.flight:
            # A writer that still waits for its answer lets its own message arrive; this is for those that gave up.
            if state.writers[number - 1].pc is not Pc.WAIT or state.writers[number - 1].slot != slot:
                yield f"a late write of {number} arrives at {slot}", self._landed(state, slot, number)
        yield from self._sum_up(state)
        yield from self._clean(state)

    def _write(self, state: State, number: int, writer: Writer) -> Iterator[tuple[str, State]]:
        match writer.pc:
            case Pc.BEGIN:
                tip = state.tip
                if tip + 1 < self.versions:
                    yield (
                        f"{number} reads version {tip}",
                        _with(state, number, writer._replace(pc=Pc.SEND, slot=tip + 1, base=tip)),
                    )
            case Pc.SEND:
                if writer.slot < self.versions:
                    flying = state._replace(flight=state.flight | {(writer.slot, number)})
                    yield (
                        f"{number} sends version {writer.slot}",
                        _with(flying, number, writer._replace(pc=Pc.WAIT, tries=writer.tries - 1)),
                    )
            case Pc.WAIT:
                yield from self._answered(state, number, writer)
            case Pc.DOUBT:
                yield self._read_back(state, number, writer)
            case Pc.LOST:
                yield self._refresh(state, number, writer)
            case Pc.WON:
                yield self._check_floor(state, number, writer)
            case Pc.UNKNOWN:
                yield from self._resolve(state, number, writer)

    def _answered(self, state: State, number: int, writer: Writer) -> Iterator[tuple[str, State]]:
        slot = writer.slot
        free = not state.slots[slot] or not self.holds("create")
        after = self._landed(state, slot, number)
        doubtful = writer._replace(pc=Pc.DOUBT, doubt=True)
        if free:
            yield f"{number} is told that it has {slot}", _with(after, number, writer._replace(pc=Pc.WON))
        else:
            yield f"{number} is told that {slot} exists", _with(after, number, doubtful)
        if state.faults:
            # A hidden retry that meets its own write, and a mere collision, leave a writer where these two do.
            gone = state._replace(flight=state.flight - {(slot, number)})
            for what, then in (("answer is lost", after), ("request is lost", gone), ("answer takes long", state)):
                fewer = then._replace(faults=state.faults - 1)
                yield f"{number} sent {slot}, and the {what}", _with(fewer, number, doubtful)

    def _read_back(self, state: State, number: int, writer: Writer) -> tuple[str, State]:
        slot, found = writer.slot, state.slots[writer.slot]
        if not self.holds("read back"):
            return f"{number} takes {slot} for lost", _with(state, number, writer._replace(pc=Pc.LOST, doubt=False))
        if found == number:
            return f"{number} finds itself at {slot}", _with(state, number, writer._replace(pc=Pc.WON))
        if found and slot < state.floor and self.holds("doubt"):
            return f"{number} finds {found} at {slot}, too late", self._give_up(state, number, writer)
        if found:
            settled = writer._replace(pc=Pc.LOST, doubt=False)
            return f"{number} finds {found} at {slot}", _with(state, number, settled)
        if not writer.tries:
            return f"{number} gives up on {slot}", self._give_up(state, number, writer)
        again = slot if self.holds("same slot") else slot + 1
        return f"{number} finds nothing at {slot}", _with(state, number, writer._replace(pc=Pc.SEND, slot=again))

    def _give_up(self, state: State, number: int, writer: Writer) -> State:
        after = _with(state, number, writer._replace(pc=Pc.UNKNOWN))
        return after if self.holds("files stay") else after._replace(files=after.files & ~(1 << number))

    def _refresh(self, state: State, number: int, writer: Writer) -> tuple[str, State]:
        """Look at what came first, and go on top of it if nothing of it rules ours out."""
        tip = state.tip
        passed = range(writer.base + 1, tip + 1)
        if writer.base < state.floor and any(not state.slots[version] for version in (writer.base, *passed)):
            return f"{number} slept past the floor {state.floor}", _failed(state, number, writer)
        for version in passed:
            theirs = state.slots[version]
            if theirs == number and self.holds("own id"):
                return f"{number} finds itself at {version}", _with(
                    state, number, writer._replace(pc=Pc.DONE, slot=version)
                )
            if number in self.rivals and theirs in self.rivals:
                return f"{number} is ruled out by {theirs}", _failed(state, number, writer)
        if not writer.tries or tip + 1 >= self.versions:
            return f"{number} was too late each time", _failed(state, number, writer)
        return f"{number} goes on top of {tip}", _with(
            state, number, writer._replace(pc=Pc.SEND, slot=tip + 1, base=tip)
        )

    def _check_floor(self, state: State, number: int, writer: Writer) -> tuple[str, State]:
        slot = writer.slot
        if slot >= state.floor or not self.holds("floor check"):
            return f"{number} is done at {slot}", _with(state, number, writer._replace(pc=Pc.DONE))
        # What the judge remembers stands for the times of files: the commit is older than the mark, or younger.
        if self.holds("age") and (state.slots[slot] != number or state.first[slot] == number):
            return f"{number} was at {slot} before the floor was", self._give_up(state, number, writer)
        if writer.doubt and self.holds("doubt"):
            return f"{number} cannot know what became of {slot}", self._give_up(state, number, writer)
        cleared = state._replace(slots=_set(state.slots, slot, 0))
        return f"{number} slept past the floor {state.floor}", _failed(cleared, number, writer)

    def _resolve(self, state: State, number: int, writer: Writer) -> Iterator[tuple[str, State]]:
        """Ask later what became of a commit; a version that is free, or was cleaned up, says nothing."""
        found = state.slots[writer.slot]
        if not found or (writer.slot < state.floor and self.holds("resolve")):
            return
        if found == number:
            yield f"{number} finds that it landed", _with(state, number, writer._replace(pc=Pc.LANDED))
        else:
            missed = _with(state, number, writer._replace(pc=Pc.MISSED))
            yield f"{number} finds that it did not land", missed._replace(files=state.files & ~(1 << number))

    def _landed(self, state: State, slot: int, number: int) -> State:
        """Let a creation arrive: it is refused where something is."""
        arrived = state._replace(flight=state.flight - {(slot, number)})
        if state.slots[slot] and self.holds("create"):
            return arrived
        first = state.first
        if slot >= state.floor and not first[slot]:
            first = _set(first, slot, number)
        return arrived._replace(slots=_set(state.slots, slot, number), first=first)

    def _sum_up(self, state: State) -> Iterator[tuple[str, State]]:
        version, held = state.writing
        if held:
            idle = state._replace(writing=(0, 0))
            yield f"the checkpoint of {version} is published", _published(idle, version, held)
            if not self.holds("validated"):
                short = held & ~(1 << held.bit_length() - 1)
                yield f"a short checkpoint of {version} is published", _published(idle, version, short)
            if state.crashes:
                yield "the writer of the checkpoint dies", idle._replace(crashes=state.crashes - 1)
            return
        tip = state.tip
        if tip and all(known != tip for known, _ in state.checkpoints):
            content = content_of(state, tip)
            if content:
                yield f"a checkpoint of {tip} is begun", state._replace(writing=(tip, content))

    def _clean(self, state: State) -> Iterator[tuple[str, State]]:
        floor, marked = state.cleaning
        if not floor:
            for version, _ in state.checkpoints:
                if state.floor < version <= state.tip:
                    yield f"a cleaner goes for {version}", state._replace(cleaning=(version, False))
            return
        if state.crashes:
            yield "the cleaner dies", state._replace(cleaning=(0, False), crashes=state.crashes - 1)
        doomed = next((version for version in range(floor) if state.slots[version]), None)
        if not marked and (self.holds("mark first") or doomed is None):
            raised = state._replace(floor=max(floor, state.floor))
            rest = (floor, True) if self.holds("mark first") else (0, False)
            yield f"the floor is marked at {floor}", raised._replace(cleaning=rest)
        elif doomed is not None:
            yield f"version {doomed} is deleted", state._replace(slots=_set(state.slots, doomed, 0))
        else:
            yield "the cleaner is done", state._replace(cleaning=(0, False))


def content_of(state: State, version: int) -> int:
    """Return the commits that a reader finds at a version, as bits; 0 where it cannot be read."""
    base, held = max((entry for entry in state.checkpoints if entry[0] <= version), default=(-1, 0))
    for following in range(base + 1, version + 1):
        if not state.slots[following]:
            return 0
        held |= 1 << state.slots[following]
    return held


def _with(state: State, number: int, writer: Writer) -> State:
    writers = state.writers
    return state._replace(writers=(*writers[: number - 1], writer, *writers[number:]))


def _failed(state: State, number: int, writer: Writer) -> State:
    """Tell a writer that its commit is not there, whereupon it deletes its data file."""
    after = _with(state, number, writer._replace(pc=Pc.FAILED))
    return after._replace(files=after.files & ~(1 << number))


def _published(state: State, version: int, held: int) -> State:
    return state._replace(checkpoints=tuple(sorted({**dict(state.checkpoints), version: held}.items())))


def _set(slots: tuple[int, ...], position: int, value: int) -> tuple[int, ...]:
    return (*slots[:position], value, *slots[position + 1 :])
