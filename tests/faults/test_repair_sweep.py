"""Every storage call of a repair, and of its undo, fails in every way; readers see the old log or the repaired one, nothing else.

A run takes a sample of the cases, and with more effort all of them. A failure prints a line that runs its case again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indextables.errors import IndexTablesError
from indextables.log.repair import Way
from indextables.testing.faulty import Case, Crash, FaultKind, FaultStore, Plan, sweep
from indextables.testing.models import MODELS, HdfsModel, PosixModel, S3Model
from tests.faults.repair_scenarios import (
    JOBS,
    PLAIN,
    Job,
    Seen,
    Start,
    appended,
    has_backup,
    old_log,
    repaired,
    seen,
    start,
    undone,
)
from tests.support.effort import sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from indextables.testing.models import Model

SHARE = 1 / 83
__all__ = ["HdfsModel", "PosixModel", "S3Model"]  # for the lines that run a case again


def cases_of(job: Job, make: Callable[[], Model]) -> Iterator[Case]:
    return sweep(job.run, stores=[start(job.name, make).model.clone])


def judge(job: Job, make: Callable[[], Model], plan: Plan) -> list[str]:
    """Run one case and return which promises were broken."""
    begin = start(job.name, make)
    model = begin.model.clone()
    store = FaultStore(model, plan)
    found: list[str] = []
    try:
        job.run(store)
    except Crash:
        pass
    except IndexTablesError:
        pass
    if not store.fired:
        found.append("the fault did not strike")
    model.crash(plan.seed)
    found += _in_between(job, begin, seen(model))
    found += _undone_again(job, begin, model) if job.undoes else _repaired_again(job, begin, model)
    return found


def _in_between(job: Job, begin: Start, state: Seen) -> list[str]:
    """A repair leaves the old log in force or the new one; an undo may refuse readers until it is finished."""
    if state in (begin.before, begin.after):
        return []
    if isinstance(state, str) and (job.undoes or isinstance(begin.before, str)):
        return []
    return [f"readers see {state}, which is neither {begin.before} nor {begin.after}"]


def _repaired_again(job: Job, begin: Start, model: Model) -> list[str]:
    """The next repair finishes what was begun; the one after it finds nothing; and all of it can be undone."""
    found = []
    repaired(model, seed=11)
    for settings in (None, PLAIN):
        state = seen(model, settings) if settings else seen(model)
        if state != begin.after:
            found.append(f"after the next repair readers see {state}, not {begin.after}")
    if found:
        return found
    tree = model.tree()
    if repaired(model, seed=12).way is not Way.NOTHING or model.tree() != tree:
        found.append("a second repair still finds something to do")
    data = {path: bytes_ for path, bytes_ in begin.damaged.items() if path.endswith(".split")}
    if any(tree.get(path) != bytes_ for path, bytes_ in data.items()):
        found.append("data files changed")
    twin = model.clone()
    appended(model, "later.split")
    if seen(model) != frozenset({*begin.after, "later.split"}):
        found.append(f"an append after the repair is not seen: {seen(model)}")
    return found + _undone_again(job, begin, twin)


def _undone_again(job: Job, begin: Start, model: Model) -> list[str]:
    """The next undo finishes what was begun; a repair that died and the one that finished it are two to go back."""
    while has_backup(model.tree()):
        try:
            undone(model, seed=13)
        except IndexTablesError as error:
            if "nothing to undo" not in str(error):
                return [f"the next undo fails: {error}"]
            break
    return _is_old(job, begin, model)


def _is_old(job: Job, begin: Start, model: Model) -> list[str]:
    tree, old = model.tree(), old_log(begin.damaged)
    found = [f"{path} did not come back" for path, data in old.items() if tree.get(path) != data]
    more = sorted(path for path in set(old_log(tree)) - set(old) if not path.endswith(".parquet"))
    if job.way is Way.REWRITE and more:
        found.append(f"{more} stay behind")
    if seen(model) != begin.before and job.way is Way.REWRITE:
        found.append(f"after the undo readers see {seen(model)}, not {begin.before}")
    return found


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS.keys())
def test_no_fault_leaves_anything_but_the_old_log_or_the_new_one(
    job: Job, make: type[Model], record_property: Callable[[str, object], None]
) -> None:
    cases, broken = 0, []
    for case in sample(cases_of(job, make), SHARE, name=f"{job.name} {make.__name__}"):
        cases += 1
        if problems := judge(job, make, case.plan):
            index, kind, mode, seed = case.plan.index, case.plan.kind, case.plan.mode, case.plan.seed
            again = f"judge(JOBS[{job.name!r}], {make.__name__}, Plan({index}, {kind}, {mode!r}, {seed}))"
            broken.append(f"{case}: {problems}\n    {again}")
    record_property("fault cases of repairs", cases)
    print(f"{cases} fault cases, {len(broken)} with broken promises")
    assert not broken, "\n".join(broken[:20])


def test_the_judge_notices_a_repair_that_deletes_before_it_has_written() -> None:
    begin = start("repair of a gap", S3Model)
    model = begin.model.clone()
    for path in old_log(model.tree()):
        if path.endswith("5.json"):
            model.delete(path)
    assert _repaired_again(JOBS["repair of a gap"], begin, model)


def test_a_fault_kind_that_can_strike_does() -> None:
    kinds = {case.plan.kind for job in JOBS.values() for case in cases_of(job, PosixModel)}
    assert kinds == set(FaultKind)
