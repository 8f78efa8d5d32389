"""Two faults in a row: upkeep dies or fails half-way, the next run meets a fault too, and then the power goes.

Between the two only a process dies: what it wrote and did not sync is still there to be seen, and to be relied on by mistake.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from indextables.testing.faulty import ALL, Crash, FaultKind, FaultStore, Plan, sweep
from indextables.testing.virtual import dice
from tests.faults.upkeep_judge import RECOVERY, STORES, Witnessed, WitnessedPosix, aftermath
from tests.faults.upkeep_scenarios import JOBS, Job, Yard, start
from tests.support.effort import times

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

LEAST_CASES = 210
CASES = times(24)
MOST_CALLS = 90
"""About as many as a recovery takes; a fault at a later call is none, and the recovery gets through."""

ENDS = (FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER, FaultKind.TORN_WRITE, FaultKind.SYNC_FAILS)
"""How the first run ends: dead, or with something that is there and may not last."""

INTERRUPTED = ("commit, checkpoint and cleanup", "cleanup once more", "checkpoint in parts")
BY_NAME = {job.name: job for job in JOBS}


def second_fault(chance: random.Random) -> Plan:
    kind = chance.choice(ALL)
    return Plan(chance.randint(1, MOST_CALLS), kind, chance.choice(["once", "forever"]), chance.randrange(100))


def judge(job: Job, make: type[Witnessed], first: Plan, second: Plan) -> list[str]:
    """Run one pair of faults and return which promises were broken."""
    begin = start(make, job.begin)
    model, history = begin.model.clone(), begin.history.copy()
    with suppress(Crash):
        job.run(Yard(FaultStore(model, first), history))
    model.clock.forward(hours=2)  # so that what was left behind looks as if nobody needed it
    history.hides = second.kind is FaultKind.MISSING
    with suppress(Crash):
        yard = Yard(FaultStore(model, second), history)
        yard.client("r", RECOVERY).append()
        yard.attempt(yard.client("q").log.cleanup)
    return aftermath(model, history, seed=second.seed)


@pytest.mark.parametrize("make", STORES)
@pytest.mark.parametrize("name", INTERRUPTED)
def test_upkeep_that_was_interrupted_is_survived_when_the_next_run_fails_too(
    name: str, make: type[Witnessed], record_property: Callable[[str, object], None]
) -> None:
    job, broken = BY_NAME[name], []
    begin = start(make, job.begin)
    ends = list(
        sweep(
            lambda store: job.run(Yard(store, begin.history.copy())),
            stores=[begin.model.clone],
            kinds=ENDS,
            modes=["forever"],
        )
    )
    chance = dice(zlib.crc32(f"{name} {make.__name__}".encode()))
    for _ in range(CASES):
        first, second = chance.choice(ends).plan, second_fault(chance)
        if problems := judge(job, make, first, second):
            again = f"judge(BY_NAME[{name!r}], {make.__name__}, {first}, {second})"
            broken.append(f"{problems}\n    {again}")
    record_property("double faults of upkeep", CASES)
    print(f"{CASES} double faults, {len(broken)} with broken promises")
    assert not broken, "\n".join(broken[:20])


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        # A cleanup took a checkpoint that was listed and not found for a deleted one, and deleted its part.
        (
            "commit, checkpoint and cleanup",
            Plan(70, FaultKind.CRASH_BEFORE, "forever"),
            Plan(59, FaultKind.MISSING, "once", 26),
        ),
        ("cleanup once more", Plan(73, FaultKind.CRASH_AFTER, "forever"), Plan(37, FaultKind.MISSING, "forever", 47)),
    ],
)
def test_pairs_of_faults_that_once_broke_a_promise(name: str, first: Plan, second: Plan) -> None:
    assert judge(BY_NAME[name], WitnessedPosix, first, second) == []


def test_there_are_as_many_double_faults_as_promised() -> None:
    assert len(INTERRUPTED) * len(STORES) * CASES >= LEAST_CASES
