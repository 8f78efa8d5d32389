"""A writer that loses its rights in the middle of its work, and gets them back."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indextables.table import Table
from tests.faults.paused_worker import Job, launched, numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST_S = 60.0
ROUNDS = 5
NOBODY = 65534


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that a process without rights can reach, which those of pytest are not for other users."""
    with tempfile.TemporaryDirectory(prefix="indextables-") as name:
        place = Path(name)
        place.chmod(0o755)
        yield place


def wait_for(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LONGEST_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.002)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["", "_transaction_log"], ids=["of the data", "of the log"])
def test_what_was_denied_is_not_there_and_the_writer_goes_on_when_it_may(
    where: str, open_place: Path, record_property: Callable[[str, object], None]
) -> None:
    table, history, stop = open_place / "table", open_place / "history", open_place / "stop"
    Table(table).append(numbers(0))
    if os.geteuid() == 0:
        for path in [table, *table.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)
    history.touch()
    job = Job(act="append on", table=str(table), options={}, history=str(history), stop=str(stop))

    def count(told: str) -> int:
        return sum(told in line for line in history.read_text().splitlines())

    with launched() as writers:
        pid = writers.start(job)
        for _ in range(ROUNDS):
            done = count("done")
            wait_for(lambda before=done: count("done") > before + 1, "nothing was appended")  # type: ignore[misc]
            (table / where).chmod(0o555)
            denied = count("denied")
            wait_for(lambda before=denied: count("denied") > before + 1, "nothing was denied")  # type: ignore[misc]
            (table / where).chmod(0o755)
        done = count("done")
        wait_for(lambda: count("done") > done, "nothing was appended in the end")
        stop.touch()
        assert writers.wait(pid) == 0
    told = [line.split() for line in history.read_text().splitlines()]
    acknowledged = {int(line[0]): int(line[2]) for line in told if line[1] == "done"}
    seen = Table(table)
    assert sorted(seen.to_arrow()["id"].to_pylist()) == [0, *sorted(acknowledged)]
    assert seen.version == max(acknowledged.values()) == 1 + len(acknowledged)
    record_property("writes denied in mid-run", len(told) - len(acknowledged))
