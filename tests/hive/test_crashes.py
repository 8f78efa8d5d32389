"""SIGKILL at every step, at random moments, and inside recovery: the table is all old or all new, row for row.

More effort kills at more random moments, and recovery at more of its steps after a crash at each step of compaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hive.crashes import COMMANDS, Patient, kill_at_every_step, kill_at_random_moments, kill_inside_recovery
from tests.support.effort import EFFORT, times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from indextables.hive import Lake
    from tests.support.metastore import MetastoreService

LEAST = {"compact": 15, "rollback": 12, "cleanup": 4}


@pytest.fixture
def patient(lake: Lake, metastore: MetastoreService, database: str, tmp_path: Path) -> Patient:
    return Patient.make(lake, metastore, f"{database}.patient", f"file:{tmp_path}/place")


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_every_step(patient: Patient, command: str, record_property: Callable[[str, object], None]) -> None:
    kills = kill_at_every_step(patient, command)
    assert kills >= LEAST[command]
    record_property("lakekeeper: SIGKILLs at a step", kills)


@pytest.mark.slow
def test_killed_inside_recovery(patient: Patient, record_property: Callable[[str, object], None]) -> None:
    record_property("lakekeeper: SIGKILLs inside recovery", kill_inside_recovery(patient, moments=EFFORT))


@pytest.mark.slow
def test_killed_at_random_moments(patient: Patient, record_property: Callable[[str, object], None]) -> None:
    kills = kill_at_random_moments(patient, kills=times(6), seed=20260225)
    record_property("lakekeeper: SIGKILLs at random moments", kills)
