"""Writers that are real processes, which can be killed for real, and the launcher that makes a life cheap.

To import everything costs about a second; to fork a process that has done so costs milliseconds. So one process, the launcher,
imports and then forks writers on request. It opens no table and starts no thread itself: every writer opens its own.

A writer appends, and keeps a history: a line before each attempt and a line with its outcome, on the disk before it goes on.
What is in no history was never tried; what is acknowledged there must be in the table for ever. A writer that is refused
because others were faster tries again, as the error tells it to.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

import msgspec
import pyarrow as pa

from indextables.errors import CommitUnknownError, ConcurrentWriteError
from indextables.log import open as open_log
from indextables.log.actions import Add

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.log import TransactionLog

_ROOT = Path(__file__).parents[2]
_LATEST_EXIT_SECONDS = 15.0


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


class Writers:
    """Starts writers, kills them, and waits for them."""

    def __init__(self, launcher: subprocess.Popen[bytes]) -> None:
        self._launcher = launcher

    def start(self, job: Job) -> int:
        """Start a writer and return its process id."""
        return self._ask(msgspec.json.encode(job))

    def wait(self, pid: int) -> int:
        """Return how a writer ended: its exit code, or minus the signal that killed it."""
        return self._ask(b"%d" % pid)

    def kill(self, pid: int) -> bool:
        """End a writer by SIGKILL, and return whether that is what ended it."""
        os.kill(pid, signal.SIGKILL)  # until it is waited for, the id cannot belong to another process
        return self.wait(pid) == -signal.SIGKILL

    def _ask(self, question: bytes) -> int:
        stdin, stdout = self._launcher.stdin, self._launcher.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(question + b"\n")
        stdin.flush()
        answer = stdout.readline()
        assert answer, "the launcher is gone; what it said is above"
        return int(answer)


@contextmanager
def launched() -> Iterator[Writers]:
    """Run a launcher; it and whatever it started end with the context."""
    launcher = subprocess.Popen(
        [sys.executable, "-m", "tests.support.writers"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        with launcher:
            yield Writers(launcher)
            assert launcher.stdin is not None
            launcher.stdin.close()
            launcher.wait(_LATEST_EXIT_SECONDS)
    finally:
        if launcher.poll() is None:
            os.killpg(launcher.pid, signal.SIGKILL)
            launcher.wait(_LATEST_EXIT_SECONDS)


def _launch() -> None:
    """Answer each line of input: a job with the id of its new process, an id with how that process ended."""
    pa.scalar(0)  # with its first value pyarrow imports pandas, which no life should wait for
    for line in sys.stdin.buffer:
        if line.startswith(b"{"):
            answer = _fork(msgspec.json.decode(line, type=Job))
        else:
            _, status = os.waitpid(int(line), 0)
            answer = os.waitstatus_to_exitcode(status)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def _fork(job: Job) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _write(job)
        code = 0
    except BaseException:  # noqa: BLE001 - a child must never return into the launcher's loop
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


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
    _launch()
