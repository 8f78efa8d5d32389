"""The sweep finds every place where a scenario can be disturbed, and with it the bugs of a careless writer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from indextables.errors import AlreadyExistsError, OutcomeUnknownError, StorageError
from indextables.testing.faults import FaultKind, applicable
from indextables.testing.faulty import ALL, Case, Crash, FaultStore, Plan, sweep
from indextables.testing.models import MODELS, PosixModel, S3Model

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.storage.base import Store


def three_calls(store: Store) -> None:
    list(store.list_from(""))
    store.put_if_absent("a", b"1")
    store.get("a")


def test_it_yields_each_applicable_kind_at_each_call() -> None:
    cases = list(sweep(three_calls, stores=[S3Model], modes=["once"]))
    expected = {
        (index, kind)
        for index, op in enumerate(["list_from", "put_if_absent", "get"], start=1)
        for kind in FaultKind
        if applicable(kind, op)
    }
    assert len(cases) == len(expected)
    assert {(case.plan.index, case.plan.kind) for case in cases} == expected


def test_it_repeats_a_case_only_where_that_makes_another_one() -> None:
    cases = list(sweep(three_calls, stores=[S3Model], seeds=(1, 2, 3)))
    assert len(set(cases)) == len(cases)
    counts = Counter(case.plan.kind for case in cases if case.op == "put_if_absent")
    assert counts[FaultKind.CRASH_BEFORE] == 1
    assert counts[FaultKind.TORN_WRITE] == 3
    assert counts[FaultKind.ANSWER_LOST_DONE] == 2
    assert counts[FaultKind.LATE_EFFECT] == 6


def test_it_runs_on_every_store_and_on_stores_that_hold_something_already() -> None:
    base = S3Model()
    base.put("old", b"1")
    cases = list(sweep(three_calls, stores=[*MODELS, base.clone], kinds=[FaultKind.CRASH_BEFORE]))
    assert [type(case.make()).__name__ for case in cases[::3]] == ["S3Model", "PosixModel", "HdfsModel", "S3Model"]
    assert cases[-1].make().tree() == {"old": b"1"}
    assert base.tree() == {"old": b"1"}


def test_every_case_strikes() -> None:
    for case in sweep(three_calls, stores=MODELS, seeds=(0, 1)):
        store = FaultStore(case.make(), case.plan)
        try:
            three_calls(store)
        except (StorageError, Crash):
            assert store.fired
        assert store.fired
        assert store.calls[case.plan.index - 1] == (case.op, case.path)


def test_a_case_says_how_to_see_it_again() -> None:
    case = Case(S3Model, Plan(3, FaultKind.LATE_EFFECT, "forever", 7), "put", "log/0")
    assert str(case) == "late effect, forever, at call 3 (put log/0), seed 7"


def test_a_scenario_that_fails_undisturbed_is_reported_at_once() -> None:
    with pytest.raises(FileNotFoundError):
        list(sweep(lambda store: store.get("missing"), stores=[S3Model]))


def careless(store: Store, row: bytes) -> None:
    """Append to a log and take every trouble for the success of somebody else: try the next version."""
    version = len(list(store.list_from("log")))
    while True:
        try:
            store.put_if_absent(f"log/{version:03d}", row)
        except (AlreadyExistsError, OutcomeUnknownError):
            version += 1
        else:
            return


def careful(store: Store, row: bytes) -> None:
    """Append to a log and read back what is in doubt before anything else is tried."""
    version = len(list(store.list_from("log")))
    for _ in range(20):
        try:
            store.put_if_absent(f"log/{version:03d}", row)
        except (AlreadyExistsError, OutcomeUnknownError):
            if store.exists(f"log/{version:03d}"):
                if store.get(f"log/{version:03d}") == row:
                    return
                version += 1
        else:
            return
    raise OutcomeUnknownError(f"log/{version:03d}")


@pytest.mark.parametrize(("append", "doubles"), [(careless, True), (careful, False)])
def test_it_finds_rows_that_are_written_twice(append: Callable[[Store, bytes], None], doubles: bool) -> None:
    def scenario(store: Store) -> None:
        for number in range(3):
            append(store, f"row {number}".encode())

    kinds = [FaultKind.ANSWER_LOST_DONE, FaultKind.LATE_EFFECT, FaultKind.DUPLICATE, FaultKind.CONFLICT_409]
    bad = []
    for case in sweep(scenario, stores=MODELS, kinds=kinds, modes=["once"], seeds=range(5)):
        model = case.make()
        try:
            scenario(FaultStore(model, case.plan))
        except StorageError:
            continue
        model.crash(case.plan.seed)
        if len(set(model.tree().values())) < len(model.tree()):
            bad.append(str(case))
    assert bool(bad) is doubles, bad


def test_it_finds_a_sync_that_is_missing() -> None:
    def lost(make: Callable[[], PosixModel]) -> list[str]:
        cases = []
        for case in sweep(three_calls, stores=[make], kinds=ALL, seeds=range(10)):
            model = case.make()
            acknowledged = False
            try:
                store = FaultStore(model, case.plan)
                list(store.list_from(""))
                store.put_if_absent("a", b"1")
                acknowledged = True
                store.get("a")
            except (StorageError, Crash):
                pass
            model.crash(case.plan.seed)
            if acknowledged and model.tree() != {"a": b"1"}:
                cases.append(str(case))
        return cases

    assert lost(PosixModel) == []
    assert lost(lambda: PosixModel(sync_directory=False))
    assert lost(lambda: PosixModel(sync_file=False))
