"""Writers that are suspended in mid-air, wake up when the table has moved on, and must not act on what they knew.

A run takes every other step of a writer, and with more effort every one.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from indextables.errors import CommitUnknownError
from indextables.table import Table
from tests.faults.paused_worker import Job, launched, numbers
from tests.support.effort import EFFORT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.launcher import Processes

STRIDE = 2 if EFFORT == 1 else 1
LONGEST_S = 60.0
KEPT_MS = 300
OPTIONS = {
    "spark.indextables.checkpoint.interval": "3",
    "spark.indextables.checkpoint.retention": "2",
    "spark.indextables.logRetention.duration": str(KEPT_MS),
    "spark.indextables.cleanup.enabled": "false",
}


def appends(table: Table) -> dict[int, list[int]]:
    return {table.append(numbers(number)).version: [number] for number in range(10, 13)}


def moves_beyond_what_is_kept(table: Table) -> dict[int, list[int]]:
    """The versions that the writer knows, and the one that it wants to write, are cleaned up while it sleeps."""
    versions = appends(table) | {table.append(numbers(13)).version: [13]}
    time.sleep(2 * KEPT_MS / 1000)  # real time must pass, by which all of them go
    versions |= {table.append(numbers(number)).version: [number] for number in range(14, 20)}
    table.checkpoint()
    assert table.cleanup().oldest_version > 6
    return versions


CLEANED = "the log is cleaned up"
MEANWHILE = {"others append": appends, CLEANED: moves_beyond_what_is_kept}


def is_stopped(pid: int) -> bool:
    """Wait until a process stands still, and tell whether it is stopped, not over."""
    deadline = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state in "TZ":
            return state == "T"
        time.sleep(0.002)
    raise TimeoutError(f"process {pid} neither stopped nor ended")


def suspended(
    writers: Processes[Job], place: Path, act: Literal["append", "overwrite"], step: int, meanwhile: str
) -> bool:
    """Let a writer sleep at a step while something else happens, and judge what came of it; False if it has no such step."""
    table = Table(place / "table", options=OPTIONS)
    versions = {table.append(numbers(number)).version: [number] for number in range(3)}
    job = Job(act=act, table=str(place / "table"), options=OPTIONS, history=str(place / "history"), stops_at=step)
    pid = writers.start(job)
    stopped = is_stopped(pid)
    if stopped:
        versions |= MEANWHILE[meanwhile](table)
        os.kill(pid, signal.SIGCONT)
    assert writers.wait(pid) == 0
    told = (place / "history").read_text().split()
    if told[0] == "done":
        assert int(told[1]) not in versions, "it was told the version of somebody else"
        versions[int(told[1])] = [1000]
    else:
        # Nobody can tell any more what came between; else an append is in nobody's way.
        assert act == "overwrite" or meanwhile == CLEANED
    if told[0] == CommitUnknownError.__name__:
        assert meanwhile == CLEANED, "it could have been told"
        versions |= {version: [1000] for version in range(1, max(versions)) if version not in versions}
    expected: list[int] = []
    for version in sorted(versions):
        own = versions[version] == [1000]
        expected = versions[version] if own and act == "overwrite" else expected + versions[version]
    seen = Table(place / "table")
    assert sorted(seen.to_arrow()["id"].to_pylist()) == sorted(expected)
    assert seen.version == max(versions) == len(versions), "a version came from nobody"
    shown = seen.log.versions()
    assert shown == list(range(shown[0], len(versions) + 1))
    assert seen.verify_stats().num_rows == 0
    return stopped


@pytest.mark.slow
@pytest.mark.parametrize("meanwhile", MEANWHILE)
@pytest.mark.parametrize("act", ["append", "overwrite"])
def test_a_writer_that_slept_finds_its_place_or_is_refused(
    act: Literal["append", "overwrite"],
    meanwhile: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    cases = 0
    with launched() as writers:
        for step in itertools.count(1, STRIDE):
            place = tmp_path / str(step)
            place.mkdir()
            if not suspended(writers, place, act, step, meanwhile):
                break
            cases += 1
    record_property("writers suspended by SIGSTOP", cases)
    assert cases >= 10 / STRIDE
