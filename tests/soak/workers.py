"""The processes of a soak: writers, readers, a merger and a cleaner, each until it is told to stop, or dies."""

from __future__ import annotations

import hashlib
import itertools
import random
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Settings
from indextables.errors import ConcurrentWriteError, NotFoundError, VersionNotFoundError
from indextables.runtime import SYSTEM
from indextables.storage.open import open_store
from indextables.table import Table
from indextables.table.merge_group import merge_group
from indextables.table.merge_run import MergeRun
from indextables.table.merging import MergePolicy
from indextables.table.purging import purge_files
from tests.soak.histories import Done, Looked, Refused, Saw, Wants, note
from tests.support import launcher

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from indextables.storage.base import Store
    from tests.support.launcher import Processes

SCHEMA = pa.schema([("who", pa.string()), ("n", pa.int64()), ("text", pa.string())])
_MOST_ROWS = 300
_PACE_S = {"writer": 0.1, "reader": 0.3, "merger": 1.0, "cleaner": 1.5}
"""How long each rests between two pieces of work, so that a soak leaves room for others on the machine."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One life of a process.

    Attributes:
        role: What it does.
        name: Who it is; a writer keeps its name, and so its rows, over all its lives.
        life: The number of its life.
        table: Where the table is.
        options: How to open it.
        history: The file that its history goes to.
        stop: The file whose existence says that it is over.
        purge_ms: How old files must be before the cleaner purges them.
    """

    role: Literal["writer", "reader", "merger", "cleaner"]
    name: str
    life: int
    table: str
    options: dict[str, str]
    history: str
    stop: str
    purge_ms: int


def launched() -> AbstractContextManager[Processes[Job]]:
    """Run what starts such processes; it and whatever it started end with the context."""
    return launcher.launched("tests.soak.workers", Job)


def rows_of(table: Table, who: str) -> tuple[int, ...]:
    """Return the rows of one writer, by number."""
    return tuple(sorted(table.to_arrow(columns=["n"], where=f"who = '{who}'")["n"].to_pylist()))


def _live(job: Job) -> None:
    work = {"writer": _writer, "reader": _reader, "merger": _merger, "cleaner": _cleaner}[job.role]
    with Path(job.history).open("ab") as history:
        step = work(job, history)
        while not Path(job.stop).exists():
            step()
            time.sleep(_PACE_S[job.role])


def _writer(job: Job, history: IO[bytes]) -> Callable[[], None]:
    table, chance = Table(job.table, options=job.options), random.Random(f"{job.name} {job.life}")
    numbers = itertools.count(job.life * 1_000_000)
    rows = rows_of(table, job.name)
    note(history, Saw(at=time.monotonic_ns(), rows=rows))

    def step() -> None:
        nonlocal rows
        new = tuple(itertools.islice(numbers, chance.randint(1, 20)))
        lot, now = chance.random(), time.monotonic_ns()
        if len(rows) > _MOST_ROWS or lot < 0.1:
            wants = Wants(at=now, act="replace", rows=new)
        elif rows and lot < 0.2:
            wants = Wants(at=now, act="delete", below=chance.choice(rows))
        else:
            wants = Wants(at=now, act="append", rows=new)
        note(history, wants)
        try:
            version = _change(table, job.name, wants)
        except ConcurrentWriteError:
            note(history, Refused(at=time.monotonic_ns()))
            return
        rows = wants.applied(rows)
        if version is not None:
            note(history, Done(at=time.monotonic_ns(), version=version))

    return step


def _change(table: Table, who: str, wants: Wants) -> int | None:
    """Make a change and return its version; None where there was nothing to change."""
    mine = f"who = '{who}'"
    if wants.act == "delete":
        result = table.delete(f"{mine} AND n < {wants.below}")
    else:
        columns = [[who] * len(wants.rows), list(wants.rows), [f"row {n}" for n in wants.rows]]
        data = pa.table(columns, schema=SCHEMA)
        result = table.append(data) if wants.act == "append" else table.overwrite(data, where=mine)
    return result.version if result.committed else None


def _reader(job: Job, history: IO[bytes]) -> Callable[[], None]:
    table, chance = Table(job.table, options=job.options), random.Random(f"{job.name} {job.life}")
    seen: list[int] = []

    def step() -> None:
        again = bool(seen) and chance.random() < 0.2
        started = time.monotonic_ns()
        version = chance.choice(seen[-50:]) if again else table.version
        try:
            rows = Table(job.table, version=version, options=job.options).to_arrow()
        except (VersionNotFoundError, NotFoundError):
            if version in table.log.versions():
                raise
            return  # it was cleaned up, before or while it was read
        seen.append(version)
        keys = pc.binary_join_element_wise(rows["who"], rows["n"].cast(pa.string()), rows["text"], "|").to_pylist()
        digest = hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest()
        look = Looked(at=started, version=version, rows=len(keys), distinct=len(set(keys)), digest=digest, again=again)
        note(history, look)

    return step


def _merger(job: Job, _: IO[bytes]) -> Callable[[], None]:
    table, store, settings = _opened(job)

    def step() -> None:
        run = MergeRun(
            table.log, store, settings, lambda groups, task: (merge_group(store, group, task) for group in groups)
        )
        run.run(MergePolicy(target_size=1_000_000))

    return step


def _cleaner(job: Job, _: IO[bytes]) -> Callable[[], None]:
    table, store, settings = _opened(job)

    def step() -> None:
        table.checkpoint()
        table.cleanup()
        purge_files(store, settings=settings, runtime=SYSTEM, older_than_ms=job.purge_ms, dry_run=False)

    return step


def _opened(job: Job) -> tuple[Table, Store, Settings]:
    settings = Settings.resolve(job.options)
    table = Table(job.table, options=job.options)
    return table, open_store(job.table, settings=settings, properties=job.options), settings


if __name__ == "__main__":
    launcher.launch(Job, _live)
