"""Every storage call of a restore fails in every way: the table is what it was, or what it was to become, and the answer was true.

A run takes a sample of the cases, and with more effort all of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pytest

from indextables.errors import CommitUnknownError, IndexTablesError
from indextables.log.log import TransactionLog
from indextables.testing.faulty import Crash, FaultKind, FaultStore, Plan, sweep
from indextables.testing.models import MODELS
from indextables.testing.virtual import virtual_runtime
from tests.faults.repair_scenarios import PLAIN, SETTINGS, patient, seen
from tests.support.effort import sample
from tests.support.logs import SCHEMA, add

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.storage.base import Store
    from indextables.testing.models import Model

SHARE = 1 / 6
VERSION = 2
BEFORE, AFTER = frozenset({"b.split", "c.split"}), frozenset({"a.split", "b.split"})


def opened(store: Store, *, seed: int) -> TransactionLog:
    return TransactionLog(patient(store, seed=seed), settings=SETTINGS, runtime=virtual_runtime(seed))


@lru_cache(maxsize=8)
def start(make: Callable[[], Model]) -> Model:
    model = make()
    log = opened(model, seed=1)
    log.initialize(SCHEMA)
    for name in ("a.split", "b.split"):
        log.add_files([add(name)])
        model.put(name, b"x" * 100)
    log.remove_files(["a.split"])
    log.add_files([add("c.split")])
    log.update_metadata(name="renamed")
    return model


def judge(make: Callable[[], Model], plan: Plan) -> list[str]:
    model = start(make).clone()
    store = FaultStore(model, plan)
    told, found = "crashed", []
    try:
        told = "done" if opened(store, seed=2).restore(VERSION).written else "nothing"
    except CommitUnknownError:
        told = "unknown"
    except IndexTablesError:
        told = "failed"
    except Crash:
        pass
    model.crash(plan.seed)
    state = seen(model)
    if state not in (BEFORE, AFTER):
        found.append(f"readers see {state}")
    if (told == "done" and state != AFTER) or (told in {"failed", "nothing"} and state != BEFORE):
        found.append(f"the answer was {told}, and readers see {state}")
    again = opened(model, seed=3)
    again.restore(VERSION)
    if seen(model) != AFTER or seen(model, PLAIN) != AFTER or again.metadata.name is not None:
        found.append(f"after the next restore readers see {seen(model)}")
    return found


@pytest.mark.parametrize("make", MODELS)
def test_no_fault_makes_a_restore_lie_or_leave_half_of_it(
    make: type[Model], record_property: Callable[[str, object], None]
) -> None:
    cases, broken = 0, []
    stores = [start(make).clone]
    every = sweep(lambda store: opened(store, seed=2).restore(VERSION), stores=stores)
    for case in sample(every, SHARE, name=make.__name__):
        cases += 1
        if problems := judge(make, case.plan):
            broken.append(f"{case}: {problems}")
    record_property("fault cases of restores", cases)
    print(f"{cases} fault cases, {len(broken)} with broken promises")
    assert not broken, "\n".join(broken[:20])


def test_a_data_file_that_is_hidden_for_a_moment_stops_a_restore_and_nothing_else() -> None:
    make = MODELS[0]
    dry = FaultStore(start(make).clone())
    opened(dry, seed=2).restore(VERSION)
    index = dry.calls.index(("head", "a.split")) + 1
    assert judge(make, Plan(index, FaultKind.MISSING)) == []
