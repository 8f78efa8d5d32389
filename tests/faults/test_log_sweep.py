"""Every storage call of every scenario fails in every way, once and for ever, on every kind of store; the table survives it.

Where chance plays a part it is drawn once, and with more effort again. A failure prints a line that runs its case again, here or in a
shell that has imported everything from this file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indextables.errors import AlreadyExistsError, OutcomeUnknownError, StorageUnavailableError
from indextables.log.layout import commit_path, commit_version
from indextables.testing.faulty import Case, Crash, FaultKind, FaultStore, Plan, sweep
from indextables.testing.models import MODELS, HdfsModel, PosixModel, S3Model
from tests.faults.invariants import violations
from tests.faults.scenarios import SCENARIOS, Scenario, Site, aftermath, start
from tests.support.effort import EFFORT
from tests.support.history import History, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from indextables.runtime import Runtime
    from indextables.storage.base import Store
    from indextables.testing.models import Model

LEAST_CASES = 10_000
SEEDS = range(EFFORT)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


def cases_of(scenario: Scenario, make: Callable[[], Model]) -> Iterator[Case]:
    begin = start(make, empty=scenario.empty)
    return sweep(lambda store: scenario.run(Site(store, begin.history.copy())), stores=[begin.model.clone], seeds=SEEDS)


def judge(
    scenario: Scenario,
    make: Callable[[], Model],
    plan: Plan,
    *,
    wrap: Callable[[Store, Runtime], Store] | None = None,
) -> list[str]:
    """Run one case and return which promises were broken."""
    begin = start(make, empty=scenario.empty)
    model, history = begin.model.clone(), begin.history.copy()
    history.hides = plan.kind is FaultKind.MISSING
    store = FaultStore(model, plan)
    site = Site(store, history, wrap=wrap)
    found = []
    try:
        scenario.run(site)
        if plan.mode == "once":
            found = going_on(site)
    except Crash:
        pass
    if not store.fired:
        found.append("the fault did not strike")
    return found + aftermath(model, history, seed=plan.seed)


def going_on(site: Site) -> list[str]:
    """A fault that has passed is over: the clients that met it go on without being opened again."""
    readers = {look.client for look in site.history.looks}
    calls, looks = [], []
    for client in site.clients:
        if not site.store.exists(commit_path(0)):
            calls.append(client.create())
        calls.append(client.append())
        if client.name in readers:
            looks.append(client.read())
    found = [f"after the fault: {call}" for call in calls if call.told is not Told.DONE]
    return found + [f"after the fault: {look.error!r}" for look in looks if look.view is None]


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_no_fault_breaks_a_promise(
    scenario: Scenario, make: type[Model], record_property: Callable[[str, object], None]
) -> None:
    cases, broken = 0, []
    for case in cases_of(scenario, make):
        cases += 1
        if problems := judge(scenario, make, case.plan):
            index, kind, mode, seed = case.plan.index, case.plan.kind, case.plan.mode, case.plan.seed
            again = f"judge(BY_NAME[{scenario.name!r}], {make.__name__}, Plan({index}, {kind}, {mode!r}, {seed}))"
            broken.append(f"{case}: {problems}\n    {again}")
    record_property("fault cases", cases)
    print(f"{cases} fault cases, {len(broken)} with broken promises")
    assert not broken, "\n".join(broken[:20])


def test_the_sweep_is_as_large_as_promised(record_property: Callable[[str, object], None]) -> None:
    cases = sum(1 for scenario in SCENARIOS for make in MODELS for _ in cases_of(scenario, make))
    record_property("fault cases in all", cases)
    print(f"{cases} fault cases in all")
    assert cases >= LEAST_CASES


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_undisturbed_every_call_gets_a_definite_answer(scenario: Scenario) -> None:
    begin = start(S3Model, empty=scenario.empty)
    model, history = begin.model.clone(), begin.history.copy()
    scenario.run(Site(model, history))
    told = [call.told for call in history.calls[len(begin.history.calls) :]]
    loses = scenario.name in {"racing merges", "overwrite against append"}
    assert told == [Told.DONE] * len(told) if not loses else sorted(told, key=str) == [Told.DONE, Told.FAILED]
    assert aftermath(model, history, seed=0) == []


DOUBTS = (
    FaultKind.ANSWER_LOST_DONE,
    FaultKind.ANSWER_LOST_NOT_DONE,
    FaultKind.LATE_EFFECT,
    FaultKind.DUPLICATE,
    FaultKind.SYNC_FAILS,
)


def noticed(name: str, wrap: Callable[[Store, Runtime], Store], make: Callable[[], Model] = S3Model) -> set[str]:
    """Return which invariants are seen to break when clients reach their store through something broken."""
    scenario = BY_NAME[name]
    return {
        problem.partition(":")[0]
        for case in cases_of(scenario, make)
        if case.plan.kind in DOUBTS
        for problem in judge(scenario, make, case.plan, wrap=wrap)
    }


class MovesOn(FaultStore):
    """A store that takes a lost answer for a lost race and tries the next version."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        try:
            super().put_if_absent(path, data)
        except OutcomeUnknownError:
            version = commit_version(path)
            assert version is not None
            super().put_if_absent(commit_path(version + 1), data)


class Denies(FaultStore):
    """A store that says of a lost answer that nothing happened."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        try:
            super().put_if_absent(path, data)
        except OutcomeUnknownError as error:
            raise StorageUnavailableError(path) from error


class Pretends(FaultStore):
    """A store that takes every lost answer for a success."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        try:
            super().put_if_absent(path, data)
        except OutcomeUnknownError:
            return


class NeverReadsBack(FaultStore):
    """A store that believes whoever says that something exists."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        try:
            super().put_if_absent(path, data)
        except OutcomeUnknownError as error:
            raise AlreadyExistsError(path) from error


@pytest.mark.parametrize(
    ("broken", "invariants"),
    [(MovesOn, {"I1"}), (Denies, {"I4"}), (Pretends, {"I4"})],
)
def test_the_judge_notices_a_client_that_does_not_settle_what_is_in_doubt(
    broken: Callable[[Store], Store], invariants: set[str]
) -> None:
    assert invariants <= noticed("append without caches", lambda store, _: broken(store))


def test_the_judge_notices_a_client_that_does_not_recognise_its_own_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrap(store: Store, _: Runtime) -> Store:
        return NeverReadsBack(store)

    assert "I1" not in noticed("append without caches", wrap), "the commit's id is the second line of defence"
    monkeypatch.setattr("indextables.log.commit.commit_infos", lambda _: {})
    assert "I1" in noticed("append without caches", wrap)
    assert "I13" in noticed("racing batches", wrap)


@pytest.mark.parametrize("forgets", ["sync_file", "sync_directory"])
def test_the_judge_notices_a_store_that_does_not_sync(forgets: str) -> None:
    found = []
    for seed in range(10):
        model, history = PosixModel(**{forgets: False}), History()  # type: ignore[arg-type]
        client = Site(model, history).client("a")
        client.create()
        client.append()
        found += violations(model.tree(), history, final=False)
        model.crash(seed)
        found += violations(model.tree(), history)
    assert any(text.startswith("I1") for text in found)


def test_the_judge_notices_bytes_that_change_or_go() -> None:
    begin = start(HdfsModel)
    tree = begin.model.tree()
    changed = tree | {commit_path(1): tree[commit_path(2)]}
    assert "I1: version 1 changed" in violations(changed, begin.history.copy())
    assert any("gap" in text for text in violations({commit_path(2): b""}, History()))
    cut = {path: data for path, data in tree.items() if path != commit_path(2)}
    found = violations(cut, begin.history.copy())
    assert "I1: version 2 is gone" in found
    assert any(text.startswith("I4") for text in found)
