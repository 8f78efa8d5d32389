"""Interleavings: several actors of which exactly one runs at a time, and who is next is decided only at calls to a store.

Two processes that share nothing but a store can surprise each other only there. So between two calls an actor runs
undisturbed, and the choices made at the calls are the whole truth about a run: the same choices give the same run, all
choices give all runs.

Actors are parked right before a call. A choice says which of them does its call and goes on to its next one, to a sleep, or to
its end. Moving away from an actor that could go on is a preemption; most races need very few of them, which keeps the
search small. An actor that sleeps gives way to the next one; that is free, and anything else then counts as a preemption,
or two actors that poll for each other would have infinitely many interleavings.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from indextables.storage.base import ObjectMeta, Store
from indextables.testing.interleaving import Abandoned, Actor, Decision, Outcome, Run, ScheduleError, following
from indextables.testing.virtual import dice, virtual_runtime

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    from indextables.runtime import Runtime

__all__ = ["Actor", "Decision", "Outcome", "ScheduleError", "Scheduler", "explore", "random_runs", "virtual_runtime"]


class Scheduler:
    """Runs actors in threads of its own, which it keeps from run to run; close it, or use it in a `with`.

    Threads that an actor starts itself are not scheduled: their calls belong to whatever the actor is doing.

    Args:
        patience_s: How long one run may take; longer means that an actor waits for something that never comes.
        max_calls: How many calls and sleeps one run may have.
    """

    def __init__(self, *, patience_s: float = 60.0, max_calls: int = 10_000) -> None:
        self._patience_s = patience_s
        self._max_calls = max_calls
        self._turns: list[threading.Lock] = []
        self._numbers: dict[int, int] = {}
        self._done = _closed_gate()
        self._run: Run | None = None
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads; an actor that is still at work finds itself abandoned at its next call."""
        if not self._closed.is_set():
            self._closed.set()
            for turn in self._turns:
                turn.release()

    def runtime(self, seed: int) -> Runtime:
        """Return a virtual runtime for actors of this scheduler: who sleeps gives way to the others."""
        runtime = virtual_runtime(seed)

        def sleep(seconds: float) -> None:
            runtime.sleep(seconds)
            self.pause("sleep", f"{seconds:.3f}", gives_way=True)

        return replace(runtime, sleep=sleep)

    def run(self, actors: Sequence[Actor], choices: Sequence[int] | random.Random = ()) -> Outcome:
        """Run actors to their ends.

        Args:
            actors: Who takes part.
            choices: Which option to take at each choice; option 0 when they are used up. Or chance itself, which chooses then.

        Raises:
            ScheduleError: The run took too long (the scheduler is closed then) or too many calls, or the choices do not fit.
        """
        if self._closed.is_set():
            raise ScheduleError("the scheduler is closed")
        run = self._run = Run(actors, choices, self._max_calls)
        for number in range(len(self._turns), len(actors)):
            self._turns.append(_closed_gate())
            threading.Thread(target=self._work, args=(number,), daemon=True).start()
        first = run.next(-1)
        if first is not None:
            self._turns[first].release()
            if not self._done.acquire(timeout=self._patience_s):
                run.failure = f"an actor is stuck after {run.outcome.trace[-6:]}"
                self.close()
        return run.judged()

    def pause(self, op: str, path: str, *, gives_way: bool = False) -> None:
        """Let others take a turn, if it is an actor that calls; handles do so before every call to their store."""
        number, run = self._numbers.get(threading.get_ident()), self._run
        if number is None or run is None:
            return
        run.check()
        chosen = run.next(number, gives_way=gives_way)
        if chosen is not None and chosen != number:
            self._turns[chosen].release()
            self._turns[number].acquire()
        run.proceed(number, op, path)

    def _work(self, number: int) -> None:
        self._numbers[threading.get_ident()] = number
        while not self._closed.is_set():
            self._turns[number].acquire()
            run = self._run
            if self._closed.is_set() or run is None:
                return
            actor = run.outcome.actors[number]
            try:
                run.outcome.results[number] = actor.run(_Handle(actor.store, self))
            except Abandoned:
                if self._closed.is_set():
                    return
            except BaseException as error:  # noqa: BLE001 - whatever ends an actor is part of the outcome, a crash above all
                run.outcome.errors[number] = error
            chosen = run.next(number, finished=True)
            (self._done if chosen is None else self._turns[chosen]).release()
            del run, actor  # the outcome belongs to the caller now, and goes when the caller lets it go


class _Handle(Store):
    """A store as an actor sees it: every call is a moment at which others may come first."""

    def __init__(self, inner: Store, scheduler: Scheduler) -> None:
        self._inner = inner
        self.lists_whole_directories = inner.lists_whole_directories
        self._scheduler = scheduler

    @property
    def url(self) -> str:
        return self._inner.url

    def put_if_absent(self, path: str, data: bytes) -> None:
        self._scheduler.pause("put_if_absent", path)
        self._inner.put_if_absent(path, data)

    def put(self, path: str, data: bytes) -> None:
        self._scheduler.pause("put", path)
        self._inner.put(path, data)

    def get(self, path: str) -> bytes:
        self._scheduler.pause("get", path)
        return self._inner.get(path)

    def get_range(self, path: str, start: int, length: int) -> bytes:
        self._scheduler.pause("get_range", path)
        return self._inner.get_range(path, start, length)

    def head(self, path: str) -> ObjectMeta:
        self._scheduler.pause("head", path)
        return self._inner.head(path)

    def list_staged(self, prefix: str) -> Iterator[ObjectMeta]:
        return self._inner.list_staged(prefix)

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        return self._list(prefix, self._inner.list_from(prefix, start_after))

    def delete(self, path: str) -> None:
        self._scheduler.pause("delete", path)
        self._inner.delete(path)

    def exists(self, path: str) -> bool:
        self._scheduler.pause("exists", path)
        return self._inner.exists(path)

    def _list(self, prefix: str, found: Iterator[ObjectMeta]) -> Iterator[ObjectMeta]:
        self._scheduler.pause("list_from", prefix)
        yield from found


def explore(
    make_actors: Callable[[Runtime], Sequence[Actor]],
    *,
    preemptions: int | None = 3,
    limit: int | None = None,
    seed: int = 0,
) -> Iterator[Outcome]:
    """Run all interleavings that have at most so many preemptions, each once, depth first.

    Args:
        make_actors: Makes fresh actors on fresh stores, alike each time; gets the runtime that they must use.
        preemptions: The bound; None means none.
        limit: How many runs at most; fewer outcomes than that mean that all interleavings were seen.
        seed: Of the runtime.
    """
    choices: list[int] | None = []
    runs = 0
    with Scheduler() as scheduler:
        while choices is not None and (limit is None or runs < limit):
            runs += 1
            outcome = scheduler.run(make_actors(scheduler.runtime(seed)), choices)
            choices = following(outcome.decisions, preemptions)
            yield outcome


def random_runs(make_actors: Callable[[Runtime], Sequence[Actor]], *, seed: int, runs: int) -> Iterator[Outcome]:
    """Run so many interleavings drawn by chance; `Outcome.choices` repeats any of them without it."""
    with Scheduler() as scheduler:
        for number in range(runs):
            yield scheduler.run(make_actors(scheduler.runtime(seed)), dice(seed, number))


def _closed_gate() -> threading.Lock:
    """Return a lock that one thread opens for another one to pass, once."""
    gate = threading.Lock()
    gate.acquire()
    return gate
