"""Detectors of what a log says: random histories, checkpoints of them, damage, and clocks that are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import IndexTablesError
from indextables.log.layout import commit_path
from indextables.testing.models import S3Model
from indextables.testing.virtual import dice
from tests.faults import scenarios, upkeep_scenarios
from tests.faults.clients import PLAIN, SETTINGS, UNCACHED, Client
from tests.faults.invariants import replay, slots_of
from tests.faults.upkeep_clock import DAY_MS
from tests.faults.upkeep_judge import WitnessedS3, broken
from tests.property import test_checkpoints, test_log_replay
from tests.support.history import History
from tests.zoo.detectors import Detector

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

HISTORIES = 6
STEPS_OF_A_HISTORY = 12


def _steps(chance: random.Random) -> list[tuple[str, int]]:
    operations = sorted(test_log_replay.OPERATIONS)
    return [(chance.choice(operations), chance.randrange(1000)) for _ in range(STEPS_OF_A_HISTORY)]


def _fails(check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except (AssertionError, IndexTablesError) as error:
        yield f"{type(error).__name__}: {error}"


def _replayed(_: Path) -> Iterator[str]:
    for number in range(HISTORIES):
        chance = dice(number)
        shape, steps = number % 6, _steps(chance)
        yield from _fails(lambda shape=shape, steps=steps: test_log_replay.live_through(shape, steps))  # type: ignore[misc]


def _summed_up(_: Path) -> Iterator[str]:
    for number in range(HISTORIES):
        chance = dice(number)
        history = test_log_replay.History(number % 6)
        for operation, choice in _steps(chance):
            history.run(operation, choice)
        form = sorted(test_checkpoints.FORMS)[number % len(test_checkpoints.FORMS)]
        yield from _fails(
            lambda history=history, form=form, chance=chance: test_checkpoints.check_form(history, form, chance)  # type: ignore[misc]
        )


def _emptied(_: Path) -> Iterator[str]:
    """F14: each commit loses its bytes, or half of them; whoever reads the table then must be told, whichever way."""
    begin = scenarios.start(S3Model)
    truth = replay(slots_of(begin.model.tree()))[-1]
    for version, data in slots_of(begin.model.tree()).items():
        for left in (b"", data[: len(data) // 2]):
            model = begin.model.clone()
            model.put(commit_path(version), left)
            for settings in (SETTINGS, UNCACHED, PLAIN):
                look = Client("r", model, History(), settings=settings).read()
                if look.error is None and look.view != truth:
                    yield f"P6: version {version} is damaged, and a read shows {look.view}"


def _skewed(_: Path) -> Iterator[str]:
    """F9: a cleaner whose clock is forty days ahead, or behind, takes nothing that is young by the clock of the store."""
    for days in (40, -40):
        yard = upkeep_scenarios.start(WitnessedS3, "summed up").yard()
        client = yard.client("a")
        for _number in range(3):
            client.append()
        client.log.checkpoint()
        wrong = yard.clock.runtime(7, skew_ms=days * DAY_MS)
        cleaner = Client("c", yard.store, yard.history, settings=upkeep_scenarios.PARQUET, runtime=wrong)
        yield from _fails(cleaner.log.cleanup)
        yield from broken(yard.model, yard.history)


REPLAYED = Detector("random histories", "every version, to every reader", _replayed)
SUMMED_UP = Detector("random histories", "every version, with checkpoints in every form", _summed_up)
EMPTIED = Detector("damage", "each commit of a table, emptied and halved", _emptied)
SKEWED = Detector("wrong clocks", "a cleaner forty days ahead and behind, judged by the bytes", _skewed)
