"""The logic of interleavings, free of threads: who may go on, what was chosen, and which choices come next."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from indextables.storage.base import Store


class ScheduleError(RuntimeError):
    """A run that cannot be judged: an actor hangs, never finishes, or does not repeat itself."""


class Abandoned(BaseException):
    """Ends an actor whose run is given up. Not an `Exception`, so that no handler of the actor keeps it alive."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Something that works on a store: `run` is called with a handle on `store`, at whose calls actors take turns."""

    store: Store
    run: Callable[[Store], object]


class Decision(NamedTuple):
    """A moment at which there was a choice: option number `chosen` of so many; `preempts` if any but option 0 costs one."""

    chosen: int
    options: int
    preempts: bool


@dataclass(slots=True)
class Outcome:
    """A run that is over.

    Attributes:
        actors: Who took part.
        results: What each actor returned.
        errors: What each actor raised, a `Crash` included.
        trace: Every call, and every sleep, in order: number of the actor, name, path.
        decisions: Every choice that was made.
    """

    actors: Sequence[Actor]
    results: list[object] = field(default_factory=list)
    errors: list[BaseException | None] = field(default_factory=list)
    trace: list[tuple[int, str, str]] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    @property
    def choices(self) -> tuple[int, ...]:
        """What to pass to `Scheduler.run` to see this run again."""
        return tuple(decision.chosen for decision in self.decisions)

    @property
    def preemptions(self) -> int:
        """How often the run left the beaten track: an actor that could go on had to wait, or a sleeper did not give way."""
        return sum(decision.preempts and decision.chosen > 0 for decision in self.decisions)


class Run:
    """The state of one run; only the actor whose turn it is touches it."""

    def __init__(self, actors: Sequence[Actor], choices: Sequence[int] | random.Random, max_calls: int) -> None:
        self.outcome = Outcome(actors, [None] * len(actors), [None] * len(actors))
        self.failure: str | None = None
        self._choices = choices
        self._max_calls = max_calls
        self._unstarted = list(range(len(actors)))
        self._live = self._unstarted.copy()

    def next(self, last: int, *, finished: bool = False, gives_way: bool = False) -> int | None:
        """Return whose turn it is after `last` has stopped, or None when all are done."""
        if finished:
            self._live.remove(last)
        if self._unstarted:
            # All go to their first call before anything is chosen, else one order of calls would have several schedules.
            return self._unstarted.pop(0)
        if not self._live:
            return None
        if finished or not self.outcome.trace:
            return self._choose(self._live, preempts=False)
        # The next in the round comes first, so that by default nobody waits for ever for sleepers to stop taking turns.
        others = [number for number in self._live if number > last] + [number for number in self._live if number < last]
        if gives_way:
            return self._choose([*others, last], preempts=True)
        return self._choose([last, *others], preempts=True)

    def proceed(self, number: int, op: str, path: str) -> None:
        """Note the call that an actor makes now that it is its turn again, unless the run is given up."""
        self.check()
        trace = self.outcome.trace
        trace.append((number, op, path))
        if len(trace) > self._max_calls:
            self.failure = f"no end after {self._max_calls} calls, the last of them {trace[-6:]}"
            self.check()

    def judged(self) -> Outcome:
        """Return the outcome of a run that is over.

        Raises:
            ScheduleError: It was given up, or ended before all choices were used.
        """
        if self.failure is not None:
            raise ScheduleError(self.failure)
        if not isinstance(self._choices, random.Random) and len(self._choices) > len(self.outcome.decisions):
            raise ScheduleError(f"only {len(self.outcome.decisions)} of {len(self._choices)} choices came up")
        return self.outcome

    def check(self) -> None:
        """Raise in an actor whose run is given up."""
        if self.failure is not None:
            raise Abandoned(self.failure)

    def _choose(self, options: list[int], *, preempts: bool) -> int:
        if len(options) == 1 or self.failure is not None:
            return options[0]
        made = self.outcome.decisions
        if isinstance(self._choices, random.Random):
            chosen = self._choices.randrange(len(options))
        else:
            chosen = self._choices[len(made)] if len(made) < len(self._choices) else 0
        if chosen >= len(options):
            self.failure = f"no option {chosen} among {len(options)} after {self.outcome.trace[-6:]}"
            chosen = 0
        made.append(Decision(chosen, len(options), preempts))
        return options[chosen]


def following(decisions: list[Decision], preemptions: int | None) -> list[int] | None:
    """Return the choices of the next run in order: the last decision that has another option left takes that."""
    used = [0]
    for decision in decisions:
        used.append(used[-1] + (decision.preempts and decision.chosen > 0))
    for position in reversed(range(len(decisions))):
        decision = decisions[position]
        affordable = preemptions is None or used[position] + decision.preempts <= preemptions
        if affordable and decision.chosen + 1 < decision.options:
            return [earlier.chosen for earlier in decisions[:position]] + [decision.chosen + 1]
    return None
