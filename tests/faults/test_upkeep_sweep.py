"""Every storage call of checkpoints and cleanup fails in every way, once and for ever, on every kind of store.

The table survives it: it opens, every version that is shown is what its commits said, no commit fails for the sake of upkeep,
nothing goes too early, and the next run removes what is left over. All cases are more than a test run has time for, so a run
takes a sample of them, and with more effort all of them. A failure prints a line that runs its case again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indextables.errors import ConcurrentWriteError
from indextables.testing.faulty import Case, Crash, FaultKind, FaultStore, Plan, sweep
from tests.faults.upkeep_judge import STORES, Witnessed, WitnessedHdfs, WitnessedPosix, WitnessedS3, aftermath
from tests.faults.upkeep_scenarios import JOBS, Job, Yard, first_call_of_upkeep, start
from tests.support.effort import sample
from tests.support.history import Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.history import Call

LEAST_CASES = 10_000
LEAST_SAMPLE = 2_000
LIGHT = {"checkpoint", "checkpoint in parts", "checkpoint in JSON", "commit and checkpoint", "slow commit"}
SHARE_OF_LIGHT, SHARE_OF_HEAVY = 0.28, 0.032
BY_NAME = {job.name: job for job in JOBS}

__all__ = ["BY_NAME", "Plan", "WitnessedHdfs", "WitnessedPosix", "WitnessedS3"]


def cases_of(job: Job, make: type[Witnessed]) -> Iterator[Case]:
    begin = start(make, job.begin)
    return sweep(lambda store: job.run(Yard(store, begin.history.copy())), stores=[begin.model.clone])


def chosen(job: Job, make: type[Witnessed]) -> Iterator[Case]:
    """Yield the cases that a run takes, the same ones every time."""
    share = SHARE_OF_LIGHT if job.name in LIGHT else SHARE_OF_HEAVY
    return sample(cases_of(job, make), share, name=f"{job.name} {make.__name__}")


def judge(job: Job, make: type[Witnessed], plan: Plan) -> list[str]:
    """Run one case and return which promises were broken."""
    begin = start(make, job.begin)
    model, history = begin.model.clone(), begin.history.copy()
    history.hides = plan.kind is FaultKind.MISSING
    store = FaultStore(model, plan)
    yard = Yard(store, history)
    found = []
    try:
        job.run(yard)
        if plan.mode == "once":
            found = going_on(yard, upkeep_only=job.upkeep_only)
    except Crash:
        pass
    if not store.fired:
        found.append("the fault did not strike")
    if job.upkeep_only and plan.index >= first_call_of_upkeep(job, make):
        (call,) = (call for call in history.calls if call.token == "a1")
        if call.told is not Told.DONE and not (call.told is Told.PENDING and store.dead):
            found.append(f"a commit failed because of upkeep: {call}")
    return found + aftermath(model, history, seed=plan.seed)


def going_on(yard: Yard, *, upkeep_only: bool) -> list[str]:
    """A fault that has passed is over: the clients that met it go on without being opened again."""
    looks = [client.read() for client in yard.clients]
    calls = [client.append() for client in yard.clients if not upkeep_only]
    found = [f"after the fault: {look.error!r}" for look in looks if look.view is None]
    return found + [f"after the fault: {call}" for call in calls if call.told is not Told.DONE and not slept(call)]


def slept(call: Call) -> bool:
    """Tell whether a call is one that slept past retention, if the one that was to do so failed before it could."""
    return isinstance(call.error, ConcurrentWriteError) and call.error.operation == "cleanup"


@pytest.mark.parametrize("make", STORES)
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_no_fault_breaks_a_promise(
    job: Job, make: type[Witnessed], record_property: Callable[[str, object], None]
) -> None:
    cases, broken = 0, []
    for case in chosen(job, make):
        cases += 1
        if problems := judge(job, make, case.plan):
            index, kind, mode, seed = case.plan.index, case.plan.kind, case.plan.mode, case.plan.seed
            again = f"judge(BY_NAME[{job.name!r}], {make.__name__}, Plan({index}, {kind}, {mode!r}, {seed}))"
            broken.append(f"{case}: {problems}\n    {again}")
    record_property("fault cases of upkeep", cases)
    print(f"{cases} fault cases, {len(broken)} with broken promises")
    assert not broken, "\n".join(broken[:20])


def test_the_sweep_and_its_sample_are_as_large_as_promised(record_property: Callable[[str, object], None]) -> None:
    everything = sum(1 for job in JOBS for make in STORES for _ in cases_of(job, make))
    sample = sum(1 for job in JOBS for make in STORES for _ in chosen(job, make))
    record_property("fault cases of upkeep in all", everything)
    print(f"{everything} fault cases of upkeep in all, {sample} of them in this run")
    assert everything >= LEAST_CASES
    assert sample >= LEAST_SAMPLE


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_undisturbed_every_job_does_what_it_is_for(job: Job) -> None:
    begin = start(WitnessedS3, job.begin)
    yard = begin.yard()
    before = yard.model.tree()
    job.run(yard)
    assert not yard.failures
    lost = [call for call in yard.history.calls if call.told is not Told.DONE]
    if job.name == "commit that slept past retention":
        assert [type(call.error) for call in lost] == [ConcurrentWriteError]
        assert "cleaned up" in str(lost[0].error)
    else:
        assert not lost
    if job.name != "slow commit":
        assert any("checkpoint" in path for path in yard.model.tree().keys() - before.keys())
    assert aftermath(yard.model, yard.history, seed=0) == []
