"""Two faults in a row: a commit in doubt whose settling fails too, and a crash whose recovery fails too.

A run takes a sample of the pairs, and with more effort all of them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from indextables.errors import CommitUnknownError
from indextables.log.layout import commit_version
from indextables.testing.faults import repeats
from indextables.testing.faulty import ALL, Crash, FaultKind, FaultStore, Plan, applicable, sweep
from indextables.testing.models import MODELS, Model, PosixModel
from tests.faults.clients import Client
from tests.faults.invariants import read_commit, slots_of, violations
from tests.faults.scenarios import FIRST, SECOND, Scenario, Site, Start, aftermath, start
from tests.support.effort import sample
from tests.support.history import Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from indextables.storage.base import Store
    from indextables.testing.faults import Mode, Op
    from indextables.testing.faulty import _Strike

SHARE = 0.55
LEAST_IN_DOUBT = 1_000
LEAST_INTERRUPTED = 1_000
BATCH = ("stream", 1)

DOUBTS = (
    FaultKind.ANSWER_LOST_DONE,
    FaultKind.ANSWER_LOST_NOT_DONE,
    FaultKind.LATE_EFFECT,
    FaultKind.DUPLICATE,
    FaultKind.CONFLICT_409,
    FaultKind.SYNC_FAILS,
)
DEATHS = (FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER, FaultKind.TORN_WRITE)
SETTLING = 3
"""How many calls after a commit in doubt belong to settling it; what fails later is a fault of its own."""

COMMITS = (
    Scenario("append", lambda site: site.client("a").append(batch=BATCH)),
    Scenario("merge", lambda site: site.client("a").merge(FIRST, SECOND)),
    Scenario("skip", lambda site: site.client("a").skip(FIRST)),
    Scenario("describe", lambda site: site.client("a").describe()),
    Scenario("create", lambda site: site.client("a").create(), empty=True),
)
DIFFERENT = ("append", "skip", "create")
"""Those of them after whose death there is something else to recover from."""


class TwoFaults(FaultStore):
    """A store with a fault at one call, and another one at a later call or from there on."""

    def __init__(self, inner: Model, first: Plan, second: Plan | None) -> None:
        super().__init__(inner, first)
        self._first = first
        self._second = second

    def _strike(self, op: Op, path: str) -> _Strike | None:
        self._plan = self._first if len(self.calls) < self._first.index else self._second
        return super()._strike(op, path)


def plans(
    calls: Sequence[tuple[Op, str]], *, after: int = 0, modes: Sequence[Mode] = ("once", "forever")
) -> Iterator[Plan]:
    """Yield every fault that can strike at one of the calls behind the first few."""
    for number, (op, _) in enumerate(calls[after:], start=after + 1):
        for kind in ALL:
            if applicable(kind, op):
                yield from (Plan(number, kind, mode, number) for mode in (modes if repeats(kind) else modes[:1]))


def possible(first: Plan, second: Plan) -> bool:
    """No store has both: S3 alone answers 409 for an object that is not there, and it has nothing to sync."""
    return {first.kind, second.kind} != {FaultKind.SYNC_FAILS, FaultKind.CONFLICT_409}


def undisturbed(scenario: Scenario, begin: Start) -> Callable[[Store], None]:
    def job(store: Store) -> None:
        scenario.run(Site(store, begin.history.copy()))

    return job


def faults_in_doubt(scenario: Scenario, begin: Start) -> Iterator[tuple[Plan, Plan]]:
    """Yield pairs of faults: one that leaves a commit in doubt, and one at a call that would settle it."""
    job = undisturbed(scenario, begin)
    for case in sweep(job, stores=[begin.model.clone], kinds=DOUBTS, modes=["once"]):
        if commit_version(case.path) is not None:
            first = case.plan
            dry = TwoFaults(begin.model.clone(), first, None)
            job(dry)
            for second in plans(dry.calls[: first.index + SETTLING], after=first.index):
                if possible(first, second):
                    yield first, second


def judge_doubt(scenario: Scenario, begin: Start, first: Plan, second: Plan) -> list[str]:
    """Run one pair of faults and return which promises were broken."""
    model, history = begin.model.clone(), begin.history.copy()
    history.hides = second.kind is FaultKind.MISSING
    with suppress(Crash):
        scenario.run(Site(TwoFaults(model, first, second), history))
    return aftermath(model, history, seed=second.seed)


@pytest.mark.parametrize("scenario", COMMITS, ids=lambda scenario: scenario.name)
def test_a_commit_in_doubt_stays_honest_when_settling_it_fails(
    scenario: Scenario, record_property: Callable[[str, object], None]
) -> None:
    cases, broken = 0, []
    for make in MODELS:
        begin = start(make, empty=scenario.empty)
        for first, second in sample(faults_in_doubt(scenario, begin), SHARE, name=scenario.name):
            cases += 1
            if problems := judge_doubt(scenario, begin, first, second):
                broken.append(f"{make.__name__}, {first}, then {second}: {problems}")
    record_property("double faults", cases)
    print(f"{cases} commits in doubt, {len(broken)} with broken promises")
    assert not broken, "\n".join(broken[:20])
    assert cases >= LEAST_IN_DOUBT / len(COMMITS)


def interrupted(scenario: Scenario, begin: Start) -> Iterator[Start]:
    """Yield each state that a crash in the scenario can leave, once."""
    seen = set()
    for case in sweep(undisturbed(scenario, begin), stores=[begin.model.clone], kinds=DEATHS, seeds=range(3)):
        model, history = begin.model.clone(), begin.history.copy()
        try:
            scenario.run(Site(FaultStore(model, case.plan), history))
        except Crash:
            model.crash(case.plan.seed)
        else:
            continue  # it would have died at the end of a listing that nobody read to the end
        problems = violations(model.tree(), history)
        assert not problems, f"{case}: {problems}"
        state = (frozenset(model.tree().items()), *((call.token, call.told) for call in history.calls))
        if state not in seen:
            seen.add(state)
            yield Start(model, history)


def recover(site: Site) -> None:
    """Do what a new process does after the death of another one: look, do the job again, look again."""
    client = site.client("r")
    client.read()
    client.create()
    client.append(batch=BATCH)
    client.read()


def judge_recovery(begin: Start, plan: Plan) -> list[str]:
    """Let a recovery fail and return which promises were broken."""
    model, history = begin.model.clone(), begin.history.copy()
    history.hides = plan.kind is FaultKind.MISSING
    with suppress(Crash):
        recover(Site(FaultStore(model, plan), history))
    return aftermath(model, history, seed=plan.seed)


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_crash_is_survived_when_the_recovery_fails_too(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    (scenario,) = (scenario for scenario in COMMITS if scenario.name == name)
    cases, broken = 0, []
    for make in MODELS:
        for begin in interrupted(scenario, start(make, empty=scenario.empty)):
            dry = FaultStore(begin.model.clone())
            recover(Site(dry, begin.history.copy()))
            for plan in sample(plans(dry.calls, modes=["once"]), SHARE, name=f"{make.__name__} {name}"):
                cases += 1
                if problems := judge_recovery(begin, plan):
                    broken.append(f"{make.__name__}, {list(map(str, begin.history.calls))}, then {plan}: {problems}")
    record_property("double faults", cases)
    print(f"{cases} failed recoveries, {len(broken)} with broken promises")
    assert not broken, "\n".join(broken[:20])
    assert cases >= LEAST_INTERRUPTED / len(DIFFERENT)


class Unsynced(FaultStore):
    """A store whose process dies at its first commit: the name is there, and a power cut may still take it."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        assert isinstance(self._inner, Model)
        self._inner.leave_unsynced("put_if_absent", path, data)
        self._die(path)


@pytest.mark.parametrize("seed", range(8))
def test_a_batch_that_is_called_done_survives_a_power_cut_whoever_wrote_it(seed: int) -> None:
    begin = start(PosixModel)
    model, history = begin.model.clone(), begin.history.copy()
    with suppress(Crash):
        Client("a", Unsynced(model), history).append(batch=BATCH)
    call = Client("b", model, history).append(batch=BATCH)
    assert (call.told, call.written) == (Told.DONE, False)
    assert aftermath(model, history, seed=seed) == []


@pytest.mark.parametrize("seed", range(8))
def test_a_commit_that_is_resolved_as_landed_survives_a_power_cut(seed: int) -> None:
    begin = start(PosixModel)
    model, history = begin.model.clone(), begin.history.copy()
    with suppress(Crash):
        Client("a", Unsynced(model), history).append()
    version = len(slots_of(model.tree())) - 1
    facts = read_commit(slots_of(model.tree())[version]).facts
    unknown = CommitUnknownError(model.url, version=version, commit_id=facts["id"])
    assert Client("b", model, history).log.resolve_commit(unknown) == version
    model.crash(seed)
    assert version in slots_of(model.tree())
