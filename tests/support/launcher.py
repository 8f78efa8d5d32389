"""Real processes that can be killed for real, and the launcher that makes a life cheap.

To import everything costs about a second; to fork a process that has done so costs milliseconds. So one process, the launcher,
imports and then forks on request. It opens no table and starts no thread itself: every child opens its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROOT = Path(__file__).parents[2]
_LATEST_EXIT_SECONDS = 15.0
_J = TypeVar("_J", bound=msgspec.Struct)


class Processes(Generic[_J]):
    """Starts processes, each with a job, kills them, and waits for them."""

    def __init__(self, launcher: subprocess.Popen[bytes]) -> None:
        self._launcher = launcher

    def start(self, job: _J) -> int:
        """Start a process and return its id."""
        return self._ask(msgspec.json.encode(job))

    def wait(self, pid: int) -> int:
        """Return how a process ended: its exit code, or minus the signal that killed it."""
        return self._ask(b"%d" % pid)

    def kill(self, pid: int) -> bool:
        """End a process by SIGKILL, and return whether that is what ended it."""
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
def launched(module: str, _job: type[_J]) -> Iterator[Processes[_J]]:
    """Run a module that calls `launch` for that kind of job; it and whatever it started end with the context."""
    launcher = subprocess.Popen(
        [sys.executable, "-m", module], cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        with launcher:
            yield Processes(launcher)
            assert launcher.stdin is not None
            launcher.stdin.close()
            launcher.wait(_LATEST_EXIT_SECONDS)
    finally:
        if launcher.poll() is None:
            os.killpg(launcher.pid, signal.SIGKILL)
            launcher.wait(_LATEST_EXIT_SECONDS)


def launch(kind: type[_J], work: Callable[[_J], None]) -> None:
    """Answer each line of input: a job with the id of its new process, an id with how that process ended.

    The end of the input, which is also the end of whoever wrote it, ends every process that was not waited for.
    """
    pa.scalar(0)  # with its first value pyarrow imports pandas, which no life should wait for
    alive: set[int] = set()
    for line in sys.stdin.buffer:
        if line.startswith(b"{"):
            answer = _fork(msgspec.json.decode(line, type=kind), work)
            alive.add(answer)
        else:
            pid, status = os.waitpid(int(line), 0)
            alive.discard(pid)
            answer = os.waitstatus_to_exitcode(status)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _fork(job: _J, work: Callable[[_J], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work(job)
        code = 0
    except BaseException:  # noqa: BLE001 - a child must never return into the launcher's loop
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
