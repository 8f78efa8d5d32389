"""Somebody writes, or repairs too, right before any storage call of a repair: nobody's acknowledged commit is lost.

A run takes a sample of the calls, and with more effort all of them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from indextables.errors import IndexTablesError
from indextables.log.log import TransactionLog
from indextables.log.repair import Way
from indextables.testing.faulty import FaultStore
from indextables.testing.models import PosixModel
from indextables.testing.virtual import virtual_runtime
from tests.faults.repair_scenarios import PLAIN, REPAIRS, SETTINGS, Job, patient, repaired, seen, start, undone
from tests.support.effort import sample
from tests.support.logs import add

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.testing.faults import Op
    from indextables.testing.faulty import _Strike
    from indextables.testing.models import Model


SHARE = 1 / 17


class Interrupted(FaultStore):
    """Lets something else happen right before one call."""

    def __init__(self, inner: Model, index: int, meanwhile: Callable[[], object]) -> None:
        super().__init__(inner)
        self._index = index
        self._meanwhile = meanwhile

    def _strike(self, op: Op, path: str) -> _Strike | None:
        strike = super()._strike(op, path)
        if len(self.calls) == self._index:
            self._meanwhile()
        return strike


class Writer:
    """Appends a file once, and remembers whether it was acknowledged."""

    def __init__(self, model: Model, *, warm: bool) -> None:
        self.log = TransactionLog(patient(model, seed=20), settings=SETTINGS, runtime=virtual_runtime(21))
        self.version: int | None = None
        if warm:
            try:
                self.log.latest_version()
            except IndexTablesError:
                return

    def __call__(self) -> None:
        try:
            self.version = self.log.add_files([add("meanwhile.split")]).version
        except IndexTablesError:
            self.version = None


def calls_of(job: Job, make: Callable[[], Model]) -> int:
    store = FaultStore(start(job.name, make).model.clone())
    job.run(store)
    return len(store.calls)


def moments_of(calls: int, job: Job) -> list[int]:
    """Return before which of the calls something else happens, the first and the last one always among them."""
    return [1, *sample(range(2, calls), SHARE, name=job.name), calls]


@pytest.mark.parametrize("warm", [False, True], ids=["a new writer", "a writer that knows the log"])
@pytest.mark.parametrize("job", REPAIRS, ids=lambda job: job.name)
def test_an_append_at_any_moment_of_a_repair_is_in_the_repaired_table_or_was_refused(
    job: Job, warm: bool, record_property: Callable[[str, object], None]
) -> None:
    begin = start(job.name, PosixModel)
    moments, acknowledged = moments_of(calls_of(job, PosixModel), job), 0
    for index in moments:
        model = begin.model.clone()
        writer = Writer(model, warm=warm)
        job.run(Interrupted(model, index, writer))
        acknowledged += writer.version is not None
        expected = {*begin.after} | ({"meanwhile.split"} if writer.version is not None else set())
        for settings in (SETTINGS, PLAIN):
            assert seen(model, settings) == frozenset(expected), f"an append as {writer.version} before call {index}"
        assert repaired(model, seed=22).way is Way.NOTHING, f"before call {index}"
    record_property("appends during repairs", len(moments))
    assert acknowledged > 0


@pytest.mark.parametrize("job", REPAIRS, ids=lambda job: job.name)
def test_a_second_repair_at_any_moment_of_a_repair_does_no_harm(
    job: Job, record_property: Callable[[str, object], None]
) -> None:
    begin = start(job.name, PosixModel)
    moments = moments_of(calls_of(job, PosixModel), job)
    for index in moments:
        model = begin.model.clone()
        try:
            job.run(Interrupted(model, index, partial(repaired, model, seed=23)))
        except IndexTablesError:
            repaired(model, seed=24)
        assert seen(model) == begin.after, f"before call {index}"
        repaired(model, seed=25)
        assert seen(model, PLAIN) == begin.after, f"before call {index}"
        assert repaired(model, seed=26).way is Way.NOTHING, f"before call {index}"
    record_property("repairs during repairs", len(moments))


@pytest.mark.parametrize("job", [job for job in REPAIRS if job.way is Way.REWRITE], ids=lambda job: job.name)
def test_an_append_at_any_moment_of_an_undo_is_in_the_table_or_was_refused(
    job: Job, record_property: Callable[[str, object], None]
) -> None:
    begin = start(job.name, PosixModel)
    mended = begin.model.clone()
    repaired(mended)
    dry = FaultStore(mended.clone())
    undone(dry)
    moments = moments_of(len(dry.calls), job)
    for index in moments:
        model = mended.clone()
        writer = Writer(model, warm=True)
        try:
            undone(Interrupted(model, index, writer))
        except IndexTablesError:
            assert writer.version is not None, f"before call {index}"
            assert seen(model) == frozenset({*begin.after, "meanwhile.split"}), f"before call {index}"
            continue
        if writer.version is not None:
            repaired(model, seed=27)
            state = seen(model)
            assert "meanwhile.split" in state, f"an append as {writer.version} before call {index} is lost: {state}"
    record_property("appends during undos", len(moments))
