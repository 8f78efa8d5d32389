"""Writers that are real processes, which can be killed for real.

A writer appends, and keeps a history: a line before each attempt and a line with its outcome, on the disk before it goes on.
What is in no history was never tried; what is acknowledged there must be in the table for ever. A writer that is refused
because others were faster tries again, as the error tells it to.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

import msgspec

from indextables.errors import CommitUnknownError, ConcurrentWriteError
from indextables.log import open as open_log
from indextables.log.actions import Add
from tests.support import launcher

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from indextables.log import TransactionLog
    from tests.support.launcher import Processes


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One life of a writer.

    Attributes:
        url: The table.
        options: How to open it.
        name: The writer; no two lives in one test share it.
        history: The file that the history goes to.
        appends: How many commits to make; what is refused or unknown does not count.
    """

    url: str
    options: dict[str, str]
    name: str
    history: str
    appends: int


class Attempt(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A writer is about to commit these files; `at` is on the clock that all processes of a machine share."""

    number: int
    at: int
    paths: list[str]


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The attempt of that number is committed."""

    number: int
    at: int
    version: int
    commit_id: str
    tries: int


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The attempt of that number is not committed, and never will be: others were faster too often."""

    number: int
    at: int


class Unknown(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The attempt of that number may be committed."""

    number: int
    at: int


Event: TypeAlias = Attempt | Acknowledged | Refused | Unknown


def launched() -> AbstractContextManager[Processes[Job]]:
    """Run what starts writers; it and whatever it started end with the context."""
    return launcher.launched("tests.support.writers", Job)


def _write(job: Job) -> None:
    chance = random.Random(job.name)
    log = open_log(job.url, job.options)
    done = 0
    with Path(job.history).open("ab") as history:
        for number in itertools.count():
            if done == job.appends:
                return
            paths = [f"{job.name}-{number}-{part}.split" for part in range(chance.randint(1, 3))]
            _note(history, Attempt(number=number, at=time.monotonic_ns(), paths=paths))
            event = _append(log, paths, number)
            _note(history, event)
            done += isinstance(event, Acknowledged)


def _append(log: TransactionLog, paths: list[str], number: int) -> Event:
    try:
        result = log.add_files([_add(path) for path in paths])
    except ConcurrentWriteError:
        return Refused(number=number, at=time.monotonic_ns())
    except CommitUnknownError:
        return Unknown(number=number, at=time.monotonic_ns())
    return Acknowledged(
        number=number,
        at=time.monotonic_ns(),
        version=result.version,
        commit_id=result.commit_id,
        tries=result.attempts,
    )


def _add(path: str) -> Add:
    return Add(path=path, partition_values={}, size=1, modification_time=1, data_change=True)


def _note(history: IO[bytes], event: Event) -> None:
    history.write(msgspec.json.encode(event) + b"\n")
    history.flush()
    os.fsync(history.fileno())


if __name__ == "__main__":
    launcher.launch(Job, _write)
