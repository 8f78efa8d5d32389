"""SIGKILL at every step, at random moments, and inside recovery: the table is all old or all new, row for row.

The defaults keep the suite quick. `LAKEKEEPER_KILLS=200 LAKEKEEPER_STRIDE=1 LAKEKEEPER_EVERY=1` tries 200 random moments, every step of
every command, and every step of recovery after a crash at every step of compaction.
"""

from __future__ import annotations

import os
import time
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.hive.crashes import COMMANDS, Patient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from indextables.hive import Lake
    from tests.support.metastore import MetastoreService

KILLS = int(os.environ.get("LAKEKEEPER_KILLS", "6"))
STRIDE = int(os.environ.get("LAKEKEEPER_STRIDE", "3"))  # every how many-th step of rollback and cleanup
STEPS_OF_RECOVERY = 16
EVERY = int(
    os.environ.get("LAKEKEEPER_EVERY", "4")
)  # every how many-th pair of a crash and a crash inside its recovery


@pytest.fixture
def patient(lake: Lake, metastore: MetastoreService, database: str, tmp_path: Path) -> Patient:
    return Patient.make(lake, metastore, f"{database}.patient", f"file:{tmp_path}/place")


@pytest.mark.parametrize(("command", "least"), [("compact", 15), ("rollback", 12), ("cleanup", 4)])
def test_killed_at_every_step(
    patient: Patient, command: str, least: int, record_property: Callable[[str, object], None]
) -> None:
    patient.set_stage(command)
    steps = patient.kill(command, kill_at=1000).steps
    assert steps >= least
    patient.restore()
    chosen = range(1, steps + 1) if command == "compact" else range(1, steps + 1, STRIDE)
    for step in chosen:
        patient.set_stage(command)
        assert patient.kill(command, kill_at=step).killed
        patient.heal()
        patient.restore()
    record_property("lakekeeper: SIGKILLs at a step", len(chosen))


def test_killed_inside_recovery(patient: Patient, record_property: Callable[[str, object], None]) -> None:
    steps = patient.kill("compact", kill_at=1000).steps
    patient.restore()
    pairs = [(first, second) for first in range(1, steps + 1) for second in range(1, STEPS_OF_RECOVERY + 1)]
    kills = 0
    for first, second in pairs[::EVERY]:
        assert patient.kill("compact", kill_at=first).killed
        kills += patient.kill("recover", kill_at=second).killed
        patient.heal()
        patient.restore()
    assert kills >= len(pairs) // EVERY // 3
    record_property("lakekeeper: SIGKILLs inside recovery", kills)


def test_killed_at_random_moments(patient: Patient, record_property: Callable[[str, object], None]) -> None:
    random = Random(20260225)
    lasts = {}
    for command in COMMANDS:
        patient.set_stage(command)
        began = time.monotonic()
        assert not patient.kill(command).killed
        lasts[command] = time.monotonic() - began
        patient.heal()
        patient.restore()
    kills = 0
    for attempt in range(KILLS):
        command = COMMANDS[attempt % len(COMMANDS)]
        patient.set_stage(command)
        kills += patient.kill(command, after=random.uniform(0, lasts[command])).killed
        if attempt % 5 == 4:
            kills += patient.kill("recover", after=random.uniform(0, lasts[command] / 2)).killed
        patient.heal()
        patient.restore()
    record_property("lakekeeper: SIGKILLs at random moments", kills)
    assert kills >= KILLS // 3
