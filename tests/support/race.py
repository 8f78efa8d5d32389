"""Real processes that race to create the same object, round after round, each round released by a barrier."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from indextables.errors import AlreadyExistsError, IndexTablesError

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from multiprocessing.synchronize import Barrier

    from indextables.storage.base import Store

_ROUND_SECONDS = 60.0
_WON = "won"
_LOST = "lost"


@dataclass(frozen=True, kw_only=True)
class RaceResult:
    """What came out of a race.

    Attributes:
        rounds: How many objects were raced for.
        single: Rounds with exactly one winner.
        double: Rounds with more than one winner.
        none: Rounds without a winner.
        foreign: Rounds in which the stored bytes are not those of a winner.
        failures: Errors other than that of a loser, as text.
    """

    rounds: int
    single: int
    double: int
    none: int
    foreign: int
    failures: tuple[str, ...]

    @property
    def is_fair(self) -> bool:
        """Whether every round had one winner, whose bytes are stored, and nothing else went wrong."""
        return self.single == self.rounds and not self.foreign and not self.failures

    def line(self, name: str) -> str:
        """Return the counts as one line to print."""
        text = (
            f"{name} race: {self.rounds} rounds, {self.single} single winners, {self.double} double, {self.none} none"
        )
        extra = {"with foreign bytes": self.foreign, "failures": len(self.failures)}
        return text + "".join(f", {count} {what}" for what, count in extra.items() if count)


def race(open_store: Callable[[], Store], *, rounds: int, processes: int) -> RaceResult:
    """Let processes race for one new object a round, and compare what they say with what is stored.

    Args:
        open_store: Opens the store, in this process as well as in each racing one; it travels by pickle.
        rounds: How many objects to race for.
        processes: How many processes race.
    """
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes)
    receivers: list[Connection] = []
    racers = []
    for number in range(processes):
        receiver, sender = context.Pipe(duplex=False)
        racer = context.Process(target=_run, args=(open_store, number, rounds, barrier, sender), daemon=True)
        racer.start()
        sender.close()  # or a racer's death would not end the pipe
        receivers.append(receiver)
        racers.append(racer)
    try:
        stories = _listen(receivers)
    finally:
        for racer in racers:
            racer.terminate()
            racer.join()
    return _judge(open_store(), stories, rounds)


def _run(open_store: Callable[[], Store], number: int, rounds: int, barrier: Barrier, sender: Connection) -> None:
    store = open_store()
    for current in range(rounds):
        barrier.wait(timeout=_ROUND_SECONDS)
        try:
            store.put_if_absent(_path(current), _bytes(current, number))
        except AlreadyExistsError:
            sender.send(_LOST)
        except IndexTablesError as error:
            sender.send(repr(error))
        else:
            sender.send(_WON)
    sender.close()


def _listen(receivers: list[Connection]) -> list[list[str]]:
    """Return what each racer says about each round; a racer that died or stands still says less."""
    stories: list[list[str]] = [[] for _ in receivers]
    running = dict(zip(receivers, stories, strict=True))
    while running and (ready := wait(running, timeout=2 * _ROUND_SECONDS)):
        for receiver in receivers:
            if receiver in ready:
                try:
                    running[receiver].append(receiver.recv())
                except EOFError:
                    del running[receiver]
    return stories


def _judge(store: Store, stories: list[list[str]], rounds: int) -> RaceResult:
    failures = [
        f"racer {number} stopped after {len(story)} rounds"
        for number, story in enumerate(stories)
        if len(story) < rounds
    ]
    winners_a_round: Counter[int] = Counter()
    foreign = 0
    for current in range(rounds):
        said = [story[current] if current < len(story) else _LOST for story in stories]
        failures += [text for text in said if text not in {_WON, _LOST}]
        winners = [number for number, text in enumerate(said) if text == _WON]
        winners_a_round[len(winners)] += 1
        if winners and store.get(_path(current)) not in {_bytes(current, number) for number in winners}:
            foreign += 1
    single, none = winners_a_round[1], winners_a_round[0]
    return RaceResult(
        rounds=rounds,
        single=single,
        double=rounds - single - none,
        none=none,
        foreign=foreign,
        failures=tuple(failures),
    )


def _path(current: int) -> str:
    return f"race/{current:06d}.json"


def _bytes(current: int, number: int) -> bytes:
    # Long enough that a mixture of two writers' bytes would show.
    return f"round {current} belongs to racer {number};".encode() * 100
