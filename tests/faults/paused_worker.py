"""Processes that stop in the middle of a file system's work until somebody lets them go on, or that lose their rights.

A step is a system call that changes the disk. A process that is to stop at step k sends itself SIGSTOP right before it, which is
as real as a machine that was suspended, or a container that was throttled, just there.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pyarrow as pa

from indextables.errors import CommitUnknownError, ConcurrentWriteError, PermissionDeniedError
from indextables.table import Table
from tests.support import launcher

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tests.support.launcher import Processes

_STEPS = ("link", "replace", "unlink", "fsync", "mkdir")
_NOBODY = 65534


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One process.

    Attributes:
        act: Change the table once, or append until it is told to stop.
        table: Where it is.
        options: How to open it.
        history: Where it writes down what it was told, a line each.
        stops_at: The step before which it stops; 0 for never.
        stop: The file whose existence ends the appending.
    """

    act: Literal["append", "overwrite", "append on"]
    table: str
    options: dict[str, str]
    history: str
    stops_at: int = 0
    stop: str = ""


def launched() -> AbstractContextManager[Processes[Job]]:
    """Run what starts such processes; it and whatever it started end with the context."""
    return launcher.launched("tests.faults.paused_worker", Job)


def numbers(*values: int) -> pa.Table:
    """Return rows."""
    return pa.table({"id": pa.array(values, pa.int64())})


def _work(job: Job) -> None:
    if job.act == "append on":
        _append_on(job)
        return
    table = Table(job.table, options=job.options)
    _stop_at(job.stops_at)
    try:
        change = table.append if job.act == "append" else table.overwrite
        told = f"done {change(numbers(1000)).version}"
    except (ConcurrentWriteError, CommitUnknownError) as error:
        told = type(error).__name__
    Path(job.history).write_text(told)


def _append_on(job: Job) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        Table(scratch).append(numbers(0))  # what is imported late is imported while everything may be read
    with Path(job.history).open("a") as history:
        if os.geteuid() == 0:  # whom no permission can stop
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
        table, number = Table(job.table, options=job.options), 0
        while not Path(job.stop).exists():
            number += 1
            try:
                told = f"done {table.append(numbers(number)).version}"
            except PermissionDeniedError:
                told = "denied"
            history.write(f"{number} {told}\n")
            history.flush()
            time.sleep(0.005)


def _stop_at(step: int) -> None:
    taken = 0

    def watched(call: Any) -> Any:
        def counted(*arguments: Any, **options: Any) -> Any:
            nonlocal taken
            taken += 1
            if taken == step:
                os.kill(os.getpid(), signal.SIGSTOP)
            return call(*arguments, **options)

        return counted

    for name in _STEPS:
        setattr(os, name, watched(getattr(os, name)))


if __name__ == "__main__":
    launcher.launch(Job, _work)
