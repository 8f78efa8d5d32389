"""What is disturbed: checkpoints, cleanup and what commits do for the log, on a small table most of which is old."""

from __future__ import annotations

import threading
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from indextables.errors import IndexTablesError
from indextables.log.layout import POINTER
from indextables.log.upkeep import finish_background_work
from indextables.testing.faulty import Crash, FaultStore
from tests.faults.clients import Client
from tests.faults.upkeep_judge import Witnessed, broken, calm, quiet
from tests.support.history import History, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from indextables.config import Settings
    from indextables.storage.base import Store
    from tests.faults.upkeep_clock import Clock

PATIENCE_S = 30.0
PARQUET = calm()
PARTS = calm(checkpoint__maxFileSize="1K")
JSON = calm(checkpoint__format="json")
EACH_COMMIT = calm(checkpoint__interval=1, cleanup__enabled=False)
EACH_COMMIT_AND_CLEANUP = calm(checkpoint__interval=1)
JSON_AND_CLEANUP = calm(checkpoint__interval=1, checkpoint__format="json")
PARTS_AND_CLEANUP = calm(checkpoint__interval=1, checkpoint__maxFileSize="1K")
BACKGROUND = calm(checkpoint__interval=1, checkpoint__background=True)


class Yard:
    """A store with a table, its clock, the clients that work on it, and their history."""

    def __init__(self, store: Store, history: History) -> None:
        self.store = store
        self.history = history
        self.clients: list[Client] = []
        self.failures: list[IndexTablesError] = []

    @property
    def model(self) -> Witnessed:
        store = self.store
        while not isinstance(store, Witnessed):
            assert isinstance(store, FaultStore)
            store = store._inner
        return store

    @property
    def clock(self) -> Clock:
        return self.model.clock

    def client(
        self, name: str, settings: Settings = PARQUET, *, before_commit: Callable[[], object] | None = None
    ) -> Client:
        client = Client(
            name,
            self.store,
            self.history,
            settings=settings,
            before_commit=before_commit,
            runtime=quiet(self.clock, zlib.crc32(name.encode())),
        )
        self.clients.append(client)
        return client

    def attempt(self, work: Callable[[], object]) -> None:
        """Do what may fail, as long as it fails in a way that a caller can be prepared for."""
        try:
            work()
        except IndexTablesError as error:
            self.failures.append(error)


@dataclass(frozen=True, slots=True)
class Job:
    """A job to disturb, and the table that it starts from.

    Attributes:
        name: What it is called.
        run: Does it.
        begin: The table.
        upkeep_only: Whether the commit in it must succeed whatever happens after it.
    """

    name: str
    run: Callable[[Yard], object]
    begin: str = "old"
    upkeep_only: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """A store in a state to start from, and how it got there."""

    model: Witnessed
    history: History

    def yard(self) -> Yard:
        return Yard(self.model.clone(), self.history.copy())


@lru_cache(maxsize=64)
def start(make: type[Witnessed], begin: str) -> Start:
    """Return a table of that age.

    `old`: versions 0 to 3 are forty days old, 4 and 5 are new. `rich`: the same, with files that were removed and skipped.
    `summed up`: it has checkpoints of versions 1 and 5. `ready`: and of version 4, the oldest one that may stay. `cleaned`: versions below 4 were cleaned up, and forty days later
    there are a few more.
    """
    model, history = make(), History()
    yard = Yard(model, history)
    client = yard.client("s")
    calls = [client.create(), client.append(files=5, batch=("stream", 1))]
    calls += (
        [client.skip("s2/s2-0"), client.remove("s2/s2-1")] if begin == "rich" else [client.append(), client.append()]
    )
    yard.clock.forward(days=40)
    calls += [client.append(), client.describe()]
    if begin in {"summed up", "ready", "cleaned"}:
        client.log.checkpoint(1)
        if begin == "ready":
            client.log.checkpoint(4)
        client.log.checkpoint()
    if begin == "cleaned":
        client.log.cleanup()
        yard.clock.forward(days=40)
        calls += [client.append(), client.append()]
        client.log.checkpoint()
        calls += [client.append()]
    yard.clock.forward(hours=3)
    problems = broken(model, history)
    if problems or any(call.told is not Told.DONE for call in calls):
        raise AssertionError(f"the table to start from is not sound: {problems}, {list(map(str, calls))}")
    return Start(model, history)


@contextmanager
def deaths_in_threads_are_silent() -> Iterator[None]:
    """Let a thread die with its process without anybody being told, as it is in reality."""
    hook = threading.excepthook

    def silently(args: threading.ExceptHookArgs) -> None:
        if not isinstance(args.exc_value, Crash):
            hook(args)

    threading.excepthook = silently
    try:
        yield
    finally:
        threading.excepthook = hook


def _in_the_background(yard: Yard) -> None:
    with deaths_in_threads_are_silent():
        yard.client("a", BACKGROUND).append()
        finish_background_work(PATIENCE_S)
    if isinstance(yard.store, FaultStore) and yard.store.dead:
        raise Crash("the process died in another thread")


def _checkpoint_and_read(yard: Yard) -> None:
    client = yard.client("a")
    yard.attempt(client.log.checkpoint)
    client.append()
    yard.client("r").read()


def _cleanup_and_read(yard: Yard) -> None:
    client = yard.client("a")
    yard.attempt(client.log.cleanup)
    client.append()
    client.read()
    yard.client("r").read()


def _read_while_cleaned(yard: Yard) -> None:
    reader = yard.client("r")
    reader.read()
    client = yard.client("a", EACH_COMMIT_AND_CLEANUP)
    client.append()
    reader.read()


def _slow_commit(yard: Yard) -> None:
    yard.client("a", before_commit=lambda: yard.clock.forward(days=20)).append()


def _slept_past_retention(yard: Yard) -> None:
    """While a writer sleeps, others commit, forget what they committed, and go on."""

    def others() -> None:
        other = yard.client("b")
        other.append()
        other.append()
        yard.clock.forward(days=40)
        other.append()
        other.append()
        yard.attempt(other.log.checkpoint)
        yard.attempt(other.log.cleanup)

    yard.client("a", before_commit=others).append()


JOBS = (
    Job("checkpoint", _checkpoint_and_read, "rich"),
    Job("checkpoint in parts", lambda yard: yard.attempt(yard.client("a", PARTS).log.checkpoint)),
    Job(
        "checkpoint in parts, some of them again",
        lambda yard: yard.attempt(yard.client("a", PARTS).log.checkpoint),
        "cleaned",
    ),
    Job("checkpoint in JSON", lambda yard: yard.attempt(yard.client("a", JSON).log.checkpoint), "rich"),
    Job("commit and checkpoint", lambda yard: yard.client("a", EACH_COMMIT).append(), upkeep_only=True),
    Job(
        "commit, checkpoint and cleanup",
        lambda yard: yard.client("a", EACH_COMMIT_AND_CLEANUP).append(),
        "summed up",
        upkeep_only=True,
    ),
    Job("the same in JSON", lambda yard: yard.client("a", JSON_AND_CLEANUP).append(), "cleaned", upkeep_only=True),
    Job("the same in parts", lambda yard: yard.client("a", PARTS_AND_CLEANUP).append(), "summed up", upkeep_only=True),
    Job("the same in the background", _in_the_background, "summed up", upkeep_only=True),
    Job("cleanup", _cleanup_and_read, "summed up"),
    Job("cleanup once more", _cleanup_and_read, "cleaned"),
    Job("read while it is cleaned up", _read_while_cleaned, "summed up"),
    Job("slow commit", _slow_commit, "summed up"),
    Job("commit that slept past retention", _slept_past_retention, "summed up"),
)


@lru_cache(maxsize=64)
def first_call_of_upkeep(job: Job, make: type[Witnessed]) -> int:
    """Return the number of the first call, undisturbed, that comes after the commit and has nothing to do with it."""
    begin = start(make, job.begin)
    dry = FaultStore(begin.model.clone())
    job.run(Yard(dry, begin.history.copy()))
    commit = next(number for number, (op, _) in enumerate(dry.calls) if op == "put_if_absent")
    return next(number for number, (_, path) in enumerate(dry.calls, 1) if number > commit and path == POINTER)
