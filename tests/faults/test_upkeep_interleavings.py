"""A cleaner, two writers and a reader at once, in orders drawn by chance: nothing is lost, nobody reads a wrong version.

In some of them one writer sleeps past retention right before its commit, so that the slot it goes for may be one that was used
and cleaned up since. The choices that a failure prints repeat it.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from indextables.errors import (
    CommitUnknownError,
    ConcurrentWriteError,
    IndexTablesError,
    NotFoundError,
    TableNotFoundError,
)
from indextables.testing.schedule import Actor, random_runs
from indextables.testing.virtual import dice
from tests.faults.clients import Client
from tests.faults.upkeep_judge import (
    CALM,
    Witnessed,
    WitnessedHdfs,
    WitnessedPosix,
    WitnessedS3,
    broken,
    floor_of,
    quiet,
    shown_wrongly,
    truth_of,
)
from tests.faults.upkeep_scenarios import EACH_COMMIT, EACH_COMMIT_AND_CLEANUP, JSON, PARTS, start
from tests.support.effort import times
from tests.support.history import Told

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from indextables.config import Settings
    from indextables.runtime import Runtime
    from indextables.storage.base import Store
    from indextables.testing.schedule import Outcome
    from tests.support.history import Call, History

    Work = tuple[Settings, Callable[["Stage", Client], object]]

LEAST_RUNS = 2_000


class Stage:
    """Makes the same actors again and again, each time on a fresh copy of the same table.

    Args:
        crowd: What each client does, and with which settings; they are called a, b, c and so on.
    """

    def __init__(self, crowd: Crowd) -> None:
        self._works = crowd.works
        self._begin = start(crowd.make, crowd.begin)
        self.floor = floor_of(self._begin.model.tree())
        self.model: Witnessed = self._begin.model
        self.history: History = self._begin.history
        self.failures: list[IndexTablesError] = []
        self.chance = dice(0)
        self.runs = 0

    def wait(self, turns: int) -> None:
        """Let the others go first, so many times."""
        for _ in range(turns):
            self._sleep(0.0)

    def actors(self, runtime: Runtime) -> list[Actor]:
        self.runs += 1
        self.chance, self._sleep = dice(self.runs), runtime.sleep
        self.model, self.history = self._begin.model.clone(), self._begin.history.copy()
        self.failures = []
        return [self._actor(name, work, runtime) for name, work in zip("abcdef", self._works, strict=False)]

    def _actor(self, name: str, work: Work, runtime: Runtime) -> Actor:
        settings, act = work
        own = replace(quiet(self.model.clock, zlib.crc32(name.encode())), sleep=runtime.sleep)
        client = Client(name, self.model, self.history, settings=settings, runtime=own)

        def run(handle: Store) -> object:
            client.line.lead_to(handle)
            return act(self, client)

        return Actor(self.model, run)

    def problems(self, outcome: Outcome) -> list[str]:
        """Return what is wrong after a run."""
        found = [repr(error) for error in outcome.errors if error is not None]
        found += [f"upkeep failed: {error!r}" for error in self.failures]
        found += [f"a read failed: {look.error!r}" for look in self.history.looks if look.error is not None]
        found += broken(self.model, self.history)
        return found or shown_wrongly(self.model.tree(), frozenset(truth_of(self.model).items()))

    def calls(self) -> list[Call]:
        return self.history.calls[len(self._begin.history.calls) :]


def clean(stage: Stage, client: Client) -> None:
    try:
        client.log.cleanup()
    except IndexTablesError as error:
        stage.failures.append(error)


def checkpoint_and_clean(stage: Stage, client: Client) -> None:
    try:
        client.log.checkpoint()
    except IndexTablesError as error:
        stage.failures.append(error)
    clean(stage, client)


def append(_: Stage, client: Client) -> None:
    client.append()


def append_thrice(_: Stage, client: Client) -> None:
    for _number in range(3):
        client.append()


def read(_: Stage, client: Client) -> None:
    client.read()


def sleep_past_retention(stage: Stage, client: Client) -> None:
    """Commit on top of a version that was the newest one forty days ago; the others do a lot before and after that."""

    def sleep() -> None:
        stage.wait(stage.chance.randrange(60))
        stage.model.clock.forward(days=40)
        stage.wait(stage.chance.randrange(200))

    client.line._before_commit = sleep
    client.append()


def clean_late(stage: Stage, client: Client) -> None:
    stage.wait(stage.chance.randrange(100))
    checkpoint_and_clean(stage, client)


@dataclass(frozen=True)
class Crowd:
    """Who works on which table at once, and in how many orders a run tries it."""

    works: Sequence[Work]
    begin: str
    runs: int
    make: type[Witnessed]


CLEANER = ((CALM, clean), (CALM, append_thrice), (CALM, append), (CALM, read))
CROWDS = {
    "a cleaner, two writers, a reader": Crowd(CLEANER, "ready", 1300, WitnessedS3),
    "the same where the oldest version has no checkpoint": Crowd(CLEANER, "summed up", 200, WitnessedPosix),
    "the same where something was cleaned up before": Crowd(CLEANER, "cleaned", 100, WitnessedHdfs),
    "a writer that cleans up, a writer, a reader": Crowd(
        ((EACH_COMMIT_AND_CLEANUP, append), (CALM, append), (CALM, read)), "summed up", 100, WitnessedHdfs
    ),
    "two cleaners, a writer of checkpoints, a reader": Crowd(
        ((CALM, clean), (CALM, clean), (EACH_COMMIT, append), (CALM, read)), "summed up", 100, WitnessedS3
    ),
    "two cleaners in different forms, a writer": Crowd(
        ((JSON, checkpoint_and_clean), (PARTS, checkpoint_and_clean), (CALM, append)), "summed up", 20, WitnessedPosix
    ),
    "a sleeper, a late cleaner, a writer, a reader": Crowd(
        ((CALM, sleep_past_retention), (CALM, clean_late), (CALM, append_thrice), (CALM, read)),
        "ready",
        200,
        WitnessedPosix,
    ),
}
SLEEPING = "a sleeper, a late cleaner, a writer, a reader"


@pytest.mark.parametrize("name", CROWDS)
def test_everybody_keeps_every_promise(name: str, record_property: Callable[[str, object], None]) -> None:
    crowd, broken_runs, told = CROWDS[name], [], Counter[str]()
    stage, runs = Stage(crowd), times(crowd.runs)
    for outcome in random_runs(stage.actors, seed=zlib.crc32(name.encode()), runs=runs):
        problems = stage.problems(outcome)
        told["cleaned up"] += floor_of(stage.model.tree()) > stage.floor
        for call in stage.calls():
            told[call.told.name] += 1
            told["slots that were cleaned up"] += is_lost_slot(call)
            if call.told is not Told.DONE and not is_too_late(call):
                problems.append(f"{call} need not have failed")
        if problems:
            broken_runs.append(f"run {stage.runs}, choices {outcome.choices}: {problems}")
    record_property("interleavings of upkeep", runs)
    print(f"{runs} interleavings on {crowd.make.__name__}, {len(broken_runs)} with broken promises: {dict(told)}")
    assert not broken_runs, "\n".join(broken_runs[:10])
    assert told["cleaned up"] > runs / 4, "nothing was cleaned up, so nothing was tried"
    assert bool(told["slots that were cleaned up"]) == (name == SLEEPING)


def is_lost_slot(call: Call) -> bool:
    """Tell whether a writer was told that it slept too long and that its slot had been used and cleaned up since."""
    return isinstance(call.error, ConcurrentWriteError) and call.error.operation == "cleanup"


def is_too_late(call: Call) -> bool:
    """Tell whether the sleeper was told in one way or another that what it built on is gone since, or may be."""
    told = (CommitUnknownError, NotFoundError, TableNotFoundError)
    return call.token == "a1" and (is_lost_slot(call) or isinstance(call.error, told))


def test_there_are_as_many_interleavings_as_promised() -> None:
    assert sum(crowd.runs for crowd in CROWDS.values()) >= LEAST_RUNS


def test_the_judge_notices_a_writer_that_does_not_look_at_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indextables.log.commit.Committer._check_floor", lambda *_: None)
    stage = Stage(CROWDS[SLEEPING])
    found = {
        problem.partition(":")[0]
        for outcome in random_runs(stage.actors, seed=zlib.crc32(SLEEPING.encode()), runs=60)
        for problem in stage.problems(outcome)
    }
    assert "I4" in found


def test_the_judge_notices_a_cleaner_that_does_not_ask_how_old_a_version_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indextables.log.cleanup.oldest_kept", lambda *_, latest, **__: latest)
    stage = Stage(CROWDS["a writer that cleans up, a writer, a reader"])
    found = {
        problem.partition(":")[0]
        for outcome in random_runs(stage.actors, seed=1, runs=5)
        for problem in stage.problems(outcome)
    }
    assert "P4" in found


def test_the_judge_notices_commits_that_go_before_a_checkpoint_stands_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("indextables.log.cleanup._Valid.has", lambda *_: True)
    stage = Stage(CROWDS["a writer that cleans up, a writer, a reader"])
    found = {
        problem.partition(":")[0]
        for outcome in random_runs(stage.actors, seed=1, runs=5)
        for problem in stage.problems(outcome)
    }
    assert "I7" in found
