"""Damaged tables, what is done about them, and what a table must be whatever happens on the way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from indextables.config import Settings
from indextables.errors import IndexTablesError
from indextables.log.layout import LOG_DIRECTORY, POINTER, commit_path, floor_path, manifest_path
from indextables.log.log import TransactionLog
from indextables.log.repair import RepairResult, UndoResult, Way, repair_store
from indextables.log.repair.backup import BACKUP_DIRECTORY
from indextables.log.repair.undo import undo
from indextables.storage.retry import RetryingStore, RetryPolicy
from indextables.testing.virtual import virtual_runtime
from tests.support.logs import SCHEMA, add

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from indextables.storage.base import Store
    from indextables.testing.models import Model

FILES = 5
SETTINGS = Settings.resolve(
    {"spark.indextables.checkpoint.parallelism": 1, "spark.indextables.transaction.retry.maxAttempts": 4}
)
PLAIN = Settings.resolve(
    {"spark.indextables.checkpoint.parallelism": 1, "spark.indextables.transaction.useOptimized": False}
)

Seen = frozenset[str] | str
"""What a reader sees: the files of the table, or the kind of error that it gets."""


@dataclass(frozen=True, slots=True)
class Job:
    """Something that is disturbed.

    Attributes:
        name: What it is.
        damage: What happened to the table.
        run: What is done.
        prepare: What was done before, undisturbed.
        way: How a repair mends this damage.
    """

    name: str
    damage: Callable[[Model], object]
    way: Way
    run: Callable[[Store], object]
    prepare: Callable[[Store], object] = lambda _: None
    undoes: bool = False


def patient(store: Store, *, seed: int = 7) -> Store:
    """Return a store as clients use it: calls are repeated."""
    return RetryingStore(store, policy=RetryPolicy(attempts=4), runtime=virtual_runtime(seed))


def repaired(store: Store, *, seed: int = 7) -> RepairResult:
    return repair_store(patient(store), settings=SETTINGS, runtime=virtual_runtime(seed), dry_run=False)


def undone(store: Store, *, seed: int = 8) -> UndoResult:
    return undo(patient(store), settings=SETTINGS, runtime=virtual_runtime(seed))


def seen(store: Store, settings: Settings = SETTINGS) -> Seen:
    """Return what a reader that has just been started sees."""
    log = TransactionLog(patient(store), settings=settings, runtime=virtual_runtime(9))
    try:
        return frozenset(log.snapshot().files["path"].to_pylist())
    except IndexTablesError as error:
        return type(error).__name__


def appended(store: Store, path: str, *, seed: int = 10) -> int:
    log = TransactionLog(patient(store), settings=SETTINGS, runtime=virtual_runtime(seed))
    return log.add_files([add(path)]).version


def old_log(tree: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in tree.items() if path.startswith(f"{LOG_DIRECTORY}/")}


def has_backup(tree: Mapping[str, bytes]) -> bool:
    return any(path.startswith(BACKUP_DIRECTORY) for path in tree)


def _log(model: Model) -> TransactionLog:
    return TransactionLog(patient(model), settings=SETTINGS, runtime=virtual_runtime(2))


def _gap(model: Model) -> None:
    model.delete(commit_path(3))


def _torn(model: Model) -> None:
    model.put(commit_path(3), model.get(commit_path(3))[:40])


def _around_a_checkpoint(model: Model) -> None:
    _log(model).checkpoint(3)
    model.delete(commit_path(2))
    model.put(commit_path(4), b"")


def _ahead(model: Model) -> None:
    _log(model).checkpoint()
    model.delete(commit_path(4))
    model.delete(commit_path(5))


def _below_a_checkpoint(model: Model) -> None:
    _log(model).checkpoint(4)
    model.put(floor_path(1), b"{}\n")
    model.delete(commit_path(0))
    model.delete(commit_path(2))


def _bad_checkpoint(model: Model) -> None:
    _log(model).checkpoint(4)
    model.put(manifest_path(4), model.get(manifest_path(4))[:-9])
    model.put(POINTER, b"")


DAMAGES: dict[str, tuple[Callable[[Model], object], Way]] = {
    "a gap": (_gap, Way.REWRITE),
    "a torn commit": (_torn, Way.REWRITE),
    "damage around a checkpoint": (_around_a_checkpoint, Way.REWRITE),
    "a checkpoint ahead": (_ahead, Way.REWRITE),
    "damage below a checkpoint": (_below_a_checkpoint, Way.TRIM),
    "a damaged checkpoint": (_bad_checkpoint, Way.CHECKPOINTS),
}

REPAIRS = tuple(Job(f"repair of {name}", damage, way, repaired) for name, (damage, way) in DAMAGES.items())
UNDOS = tuple(
    Job(f"undo of the repair of {name}", damage, way, undone, prepare=repaired, undoes=True)
    for name, (damage, way) in DAMAGES.items()
)
JOBS = {job.name: job for job in (*REPAIRS, *UNDOS)}


@dataclass(frozen=True, slots=True)
class Start:
    """A damaged table: its store, what it was before any repair, what readers see in it, and what they see when it is repaired."""

    model: Model
    damaged: Mapping[str, bytes]
    before: Seen
    after: Seen


@lru_cache(maxsize=64)
def start(name: str, make: Callable[[], Model]) -> Start:
    """Return the table that a job starts from."""
    job, model = JOBS[name], make()
    log = _log(model)
    log.initialize(SCHEMA)
    for number in range(FILES):
        log.add_files([add(f"f{number}.split")])
        model.put(f"f{number}.split", b"x" * 100)
    job.damage(model)
    damaged, before = model.tree(), seen(model)
    twin = model.clone()
    result = repaired(twin)
    if result.way is not job.way or isinstance(seen(twin), str):
        raise AssertionError(f"{name} is not what it is meant to be: {result}")
    job.prepare(model)
    return Start(model, damaged, before, seen(twin))
