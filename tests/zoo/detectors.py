"""The detectors of the zoo: the suites' own harnesses and judges, in portions small enough to run twice for every fault.

A detector yields what it finds wrong, in words. It stops where its reader stops: with a fault switched on the first finding is
enough, and without one it has to come to its end in silence, or what it said before proves nothing.
"""

from __future__ import annotations

import inspect
import re
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from indextables.testing.models import MODELS, S3Model
from indextables.testing.schedule import explore, random_runs
from tests.faults import (
    invariants,
    scenarios,
    test_log_interleavings,
    test_log_sweep,
    test_upkeep_interleavings,
    test_upkeep_sweep,
    upkeep_judge,
    upkeep_scenarios,
)
from tests.faults.upkeep_judge import STORES, WitnessedS3

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from indextables.runtime import Runtime
    from indextables.storage.base import Store
    from indextables.testing.faulty import FaultKind, Plan
    from indextables.testing.models import Model
    from tests.faults.upkeep_judge import Witnessed

_INVARIANT = re.compile(r"[IP]\d+: ")
_BEGINNINGS = ("old", "rich", "summed up", "ready", "cleaned")


@dataclass(frozen=True)
class Detector:
    """A way to find faults.

    Attributes:
        method: What kind of way it is; those of two methods share neither driver nor judge, or drive at another level.
        name: What it looks at.
        find: Yields what is wrong, given a directory to work in.
    """

    method: str
    name: str
    find: Callable[[Path], Iterator[str]]

    def __str__(self) -> str:
        return f"{self.method}: {self.name}"


def swept(name: str, *kinds: FaultKind, make: type[Model] = S3Model) -> Detector:
    """A scenario of the log, each of its calls failing in some ways, judged by the bytes and by what clients were told."""

    def find(_: Path) -> Iterator[str]:
        scenario = test_log_sweep.BY_NAME[name]
        for case in test_log_sweep.cases_of(scenario, make):
            if case.plan.kind in kinds:
                yield from _broken(partial(test_log_sweep.judge, scenario, make), case.plan)

    return Detector("fault sweep", f"{name} on {make.__name__}, {_named(kinds)}", find)


def upkeep_swept(name: str, *kinds: FaultKind, make: type[Witnessed] = WitnessedS3, every: int = 1) -> Detector:
    """The same for a job of checkpoints and cleanup; of its cases every how many-th."""

    def find(_: Path) -> Iterator[str]:
        job = test_upkeep_sweep.BY_NAME[name]
        cases = [case for case in test_upkeep_sweep.cases_of(job, make) if case.plan.kind in kinds]
        for case in cases[::every]:
            yield from _broken(partial(test_upkeep_sweep.judge, job, make), case.plan)

    return Detector("fault sweep", f"{name} on {make.__name__}, {_named(kinds)}", find)


def _named(kinds: tuple[FaultKind, ...]) -> str:
    return "; ".join(kind.value for kind in kinds)


def _broken(judge: Callable[[Plan], list[str]], plan: Plan) -> list[str]:
    """A fault of the zoo may change how many calls there are, so only broken promises count, not a plan that did not strike."""
    return [text for text in judge(plan) if _INVARIANT.match(text)]


def interleaved(
    name: str, *, preemptions: int = 1, wrap: Callable[[Store, Runtime], Store] | None = None, called: str | None = None
) -> Detector:
    """Two clients in every order with so many preemptions."""

    def find(_: Path) -> Iterator[str]:
        pair = test_log_interleavings.PAIRS[name]
        stage = test_log_interleavings.Stage((pair.first, pair.second), empty=pair.empty, wrap=wrap)
        for outcome in explore(stage.actors, preemptions=preemptions):
            problems = stage.problems(outcome)
            (first,), (second,) = stage.calls("a"), stage.calls("b")
            yield from problems or ([] if pair.expects(first, second) else [f"I4: {first}; {second}"])

    return Detector("interleavings", called or name, find)


def crowded(name: str, *, runs: int) -> Detector:
    """Three and more clients in orders drawn by chance."""

    def find(_: Path) -> Iterator[str]:
        stage = test_log_interleavings.Stage(test_log_interleavings.CROWDS[name])
        for outcome in random_runs(stage.actors, seed=zlib.crc32(name.encode()), runs=runs):
            yield from stage.problems(outcome)

    return Detector("interleavings", name, find)


def upkeep_crowded(name: str, *, runs: int) -> Detector:
    """The same with cleaners among them."""

    def find(_: Path) -> Iterator[str]:
        stage = test_upkeep_interleavings.Stage(test_upkeep_interleavings.CROWDS[name])
        for outcome in random_runs(stage.actors, seed=zlib.crc32(name.encode()), runs=runs):
            yield from stage.problems(outcome)

    return Detector("interleavings", name, find)


def existing(
    method: str, test: Callable[..., object], *, made: Mapping[str, Callable[[Path], Any]] | None = None, **given: Any
) -> Detector:
    """A test of the suites, run as it stands; what it needs of pytest it gets, and its failure is what it found.

    Args:
        method: Of the detector.
        test: The test.
        made: Makes the arguments that must be new each time.
        given: Its other arguments.
    """

    def find(directory: Path) -> Iterator[str]:
        with pytest.MonkeyPatch.context() as patch:
            offered: dict[str, Any] = {
                "tmp_path": directory,
                "monkeypatch": patch,
                "record_property": lambda *_: None,
            }
            wanted = inspect.signature(test).parameters
            chosen = {name: value for name, value in offered.items() if name in wanted}
            try:
                test(**chosen | given | {name: make(directory) for name, make in (made or {}).items()})
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - however it fails, it noticed
                yield f"{type(error).__name__}: {error}"

    return Detector(method, test.__name__.replace("_", " "), find)


@contextmanager
def fresh_judges() -> Iterator[None]:
    """Make the tables to start from while all is well, and let no judgement be remembered over the switch of a fault."""
    for make in MODELS:
        for empty in (False, True):
            scenarios.start(make, empty=empty)
    for kind in STORES:
        for begin in _BEGINNINGS:
            upkeep_scenarios.start(kind, begin)
    _forget()
    try:
        yield
    finally:
        _forget()


def _forget() -> None:
    for remembered in (
        scenarios._opens,
        invariants.read_commit,
        upkeep_judge._recovered,
        upkeep_judge._shown_wrongly,
        upkeep_scenarios.first_call_of_upkeep,
    ):
        remembered.cache_clear()
