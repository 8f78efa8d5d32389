"""Processes that commit, write checkpoints and clean up, and that die by SIGKILL at a step of a file system's work.

A life is one commit with everything that follows it. Its steps are the system calls that change the disk: a process that is to
die at step k kills itself right before it, as real as any other kill -9. What it was told it has written down before.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from indextables.log import open as open_log
from indextables.log.actions import Add
from tests.support.writers import Writers

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = Path(__file__).parents[2]
_LATEST_EXIT_SECONDS = 15.0
_STEPS = ("link", "replace", "unlink", "fsync", "mkdir")


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """One life of a process.

    Attributes:
        table: Where the table is.
        options: How to open it.
        file: The file that it appends.
        history: Where it writes down the version that it was told.
        dies_at: The step before which it dies; 0 for never.
        steps: Where it writes down how many steps it took.
    """

    table: str
    options: dict[str, str]
    file: str
    history: str
    dies_at: int = 0
    steps: str = ""


class Keepers(Writers):
    """Starts such processes, kills them, and waits for them."""

    def live(self, life: Life) -> int:
        """Start a process and return its id."""
        return self._ask(msgspec.json.encode(life))


@contextmanager
def launched() -> Iterator[Keepers]:
    """Run a launcher, which has imported everything; it and whatever it started end with the context."""
    launcher = subprocess.Popen(
        [sys.executable, "-m", "tests.races.upkeep_worker"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        with launcher:
            yield Keepers(launcher)
            assert launcher.stdin is not None
            launcher.stdin.close()
            launcher.wait(_LATEST_EXIT_SECONDS)
    finally:
        if launcher.poll() is None:
            os.killpg(launcher.pid, signal.SIGKILL)
            launcher.wait(_LATEST_EXIT_SECONDS)


def _launch() -> None:
    """Answer each line of input: a life with the id of its process, an id with how that process ended."""
    pa.scalar(0)  # with its first value pyarrow imports pandas, which no life should wait for
    for line in sys.stdin.buffer:
        if line.startswith(b"{"):
            answer = _fork(msgspec.json.decode(line, type=Life))
        else:
            _, status = os.waitpid(int(line), 0)
            answer = os.waitstatus_to_exitcode(status)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def _fork(life: Life) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _live(life)
        code = 0
    except BaseException:  # noqa: BLE001 - a child must never return into the launcher's loop
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _live(life: Life) -> None:
    log = open_log(life.table, life.options)
    # The caller is told before upkeep begins; here that is written down first of all that happens after a commit.
    log._after_commit.insert(0, lambda version: _note(life.history, f"{version} {life.file}\n"))
    steps = _count_steps(life.dies_at)
    log.add_files([Add(path=life.file, partition_values={}, size=1, modification_time=1, data_change=True)])
    if life.steps:
        _note(life.steps, f"{steps['taken']}\n")


def _note(path: str, text: str) -> None:
    with Path(path).open("a") as file:
        file.write(text)
        file.flush()


def _count_steps(dies_at: int) -> dict[str, int]:
    """Count the system calls that change the disk from now on, and die right before one of them."""
    counted = {"taken": 0}

    def watched(call: Any) -> Any:
        def step(*arguments: Any, **options: Any) -> Any:
            counted["taken"] += 1
            if counted["taken"] == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return step

    for name in _STEPS:
        setattr(os, name, watched(getattr(os, name)))
    return counted


if __name__ == "__main__":
    _launch()
