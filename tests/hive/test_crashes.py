"""SIGKILL at every step, at random moments, and inside recovery: the table is all old or all new, row for row.

The defaults keep the suite quick. `LAKEKEEPER_KILLS=200 LAKEKEEPER_STRIDE=1 LAKEKEEPER_EVERY=1` kills at 200 random moments, at every step
of every command, and at every step of recovery after a crash at every step of compaction.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.hive.crashes import COMMANDS, Patient, kill_at_every_step, kill_at_random_moments, kill_inside_recovery

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from indextables.hive import Lake
    from tests.support.metastore import MetastoreService

KILLS = int(os.environ.get("LAKEKEEPER_KILLS", "6"))
STRIDE = int(os.environ.get("LAKEKEEPER_STRIDE", "3"))  # every how many-th step of rollback and cleanup
EVERY = int(os.environ.get("LAKEKEEPER_EVERY", "12"))  # every how many-th pair of crashes
LEAST = {"compact": 15, "rollback": 12, "cleanup": 4}


@pytest.fixture
def patient(lake: Lake, metastore: MetastoreService, database: str, tmp_path: Path) -> Patient:
    return Patient.make(lake, metastore, f"{database}.patient", f"file:{tmp_path}/place")


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_every_step(patient: Patient, command: str, record_property: Callable[[str, object], None]) -> None:
    stride = 1 if command == "compact" else STRIDE
    kills = kill_at_every_step(patient, command, stride=stride)
    assert kills >= LEAST[command] // stride
    record_property("lakekeeper: SIGKILLs at a step", kills)


def test_killed_inside_recovery(patient: Patient, record_property: Callable[[str, object], None]) -> None:
    record_property("lakekeeper: SIGKILLs inside recovery", kill_inside_recovery(patient, every=EVERY))


def test_killed_at_random_moments(patient: Patient, record_property: Callable[[str, object], None]) -> None:
    kills = kill_at_random_moments(patient, kills=KILLS, seed=20260225)
    record_property("lakekeeper: SIGKILLs at random moments", kills)
