"""Processes that commit, write checkpoints and clean up, and that die by SIGKILL at a step of a file system's work.

A life is one commit with everything that follows it. Its steps are the system calls that change the disk: a process that is to
die at step k kills itself right before it, as real as any other kill -9. What it was told it has written down before.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from indextables.log import open as open_log
from indextables.log.actions import Add
from tests.support import launcher

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tests.support.launcher import Processes

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


def launched() -> AbstractContextManager[Processes[Life]]:
    """Run what starts such processes; it and whatever it started end with the context."""
    return launcher.launched("tests.races.upkeep_worker", Life)


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
    launcher.launch(Life, _live)
