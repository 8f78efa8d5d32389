"""Runs a Lakekeeper command in a process of its own and kills it: at a given step, or after a given time.

Processes come from a fork server that has imported everything and done nothing, so each costs some milliseconds and none inherits
a lock, a thread or a connection.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.hive import Lake, Options, cleanup, compact, connect, recover, rollback

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_LONGEST_SECONDS = 120.0
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.hive.killing"])


@dataclass(frozen=True)
class Outcome:
    """How a process ended: whether it was killed, how many steps it had taken, and how long it had worked."""

    killed: bool
    steps: int
    seconds: float


def run_command(
    uri: str,
    command: str,
    table: str,
    *,
    swap: str = "rename",
    kill_at: int | None = None,
    after: float | None = None,
) -> Outcome:
    """Run `compact`, `rollback`, `recover` or `cleanup`, and kill it before its step `kill_at`, or after that many seconds."""
    reader, writer = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_work, args=(uri, command, table, swap, kill_at, writer))
    process.start()
    writer.close()
    assert reader.recv() == "ready"
    began = time.monotonic()
    process.join(_LONGEST_SECONDS if after is None else after)
    if process.is_alive():
        assert after is not None, f"{command} has not ended after {_LONGEST_SECONDS} s"
        process.kill()
        process.join()
    seconds = time.monotonic() - began
    steps = 0
    try:
        while True:
            steps = int(reader.recv())
    except EOFError:
        reader.close()
    assert process.exitcode in {0, -signal.SIGKILL}, f"{command} ended with {process.exitcode}"
    outcome = Outcome(process.exitcode != 0, steps, seconds)
    process.close()
    return outcome


def _work(uri: str, command: str, table: str, swap: str, kill_at: int | None, pipe: Connection) -> None:
    steps = 0

    def on_step(_: str) -> None:
        nonlocal steps
        steps += 1
        if steps == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        pipe.send(steps)

    lake = connect(uri)
    lake = Lake(metastore=lake.metastore, systems=lake.systems, threads=1 if kill_at else 4, on_step=on_step)
    pipe.send("ready")
    match command:
        case "compact":
            compact(lake, table, options=Options(swap=swap))
        case "rollback":
            rollback(lake, table)
        case "recover":
            recover(lake, table=table)
        case "cleanup":
            cleanup(lake, table)
    lake.close()
