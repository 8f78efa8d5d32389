"""Repair as one call: look, and tell; or look, do it, and tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from indextables.config import Settings
from indextables.errors import ConcurrentWriteError
from indextables.log.layout import LOG_DIRECTORY
from indextables.log.log import TransactionLog
from indextables.log.removal import removes_of, rows_of
from indextables.log.repair.backup import drop_leftovers
from indextables.log.repair.examine import examine, took_effect
from indextables.log.repair.findings import Way
from indextables.log.repair.in_place import InPlace, Outcome, OvertakenError
from indextables.log.repair.plan import foretell, make_plan
from indextables.log.repair.salvage import REPAIR
from indextables.log.repair.undo import UndoResult, undo
from indextables.log.repair.write import new_log, refuse_used, verify, write_log
from indextables.runtime import SYSTEM, Runtime
from indextables.storage.open import open_store
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from indextables.log.actions import Add
    from indextables.log.repair.backup import Backup
    from indextables.log.repair.examine import Diagnosis
    from indextables.log.repair.findings import RepairResult
    from indextables.log.repair.plan import Plan
    from indextables.log.state import LogState
    from indextables.storage.base import Store

_ATTEMPTS: Final = 5


def repair(
    source_log: str,
    target_log: str | None = None,
    *,
    options: Mapping[str, object] | None = None,
    dry_run: bool = True,
    drop_missing_files: bool = False,
    rebuild: Callable[[Store], list[Add]] | None = None,
    schema: pa.Schema | str | None = None,
    runtime: Runtime = SYSTEM,
) -> RepairResult:
    """Examine the log of a table, and mend it: in place, or as a new log elsewhere.

    Args:
        source_log: The table, or its `_transaction_log`.
        target_log: Another place for the repaired log, of the same form; None repairs in place, and keeps the old log aside.
        options: Settings and credentials under their full names.
        dry_run: Only tell what is wrong and what would be done.
        drop_missing_files: Take data files that are gone out of the table, instead of only naming them.
        rebuild: Finds the files of a table whose log is lost, from the files themselves.
        schema: The table's columns, where no surviving line tells them.
        runtime: Clock, ids and chance.

    Raises:
        TableExistsError: The target holds a log already.
        LogCorruptionError: Too little survives; it says what has to be given.
        ConcurrentWriteError: Others kept committing; nothing was changed.
        ProtocolError: The table was written by newer software, which has to repair it.
    """
    source = _opened(source_log, options, runtime)
    with span("indextables.repair", table=source.url, dry_run=dry_run) as noted:
        result = repair_store(
            source,
            None if target_log is None else _opened(target_log, options, runtime),
            settings=Settings.resolve(options),
            dry_run=dry_run,
            drop_missing_files=drop_missing_files,
            rebuild=rebuild,
            schema=schema,
            runtime=runtime,
        )
        noted.note(operation=result.way, version=result.version, files=result.files, rows=result.records)
        return result


def undo_repair(table: str, *, options: Mapping[str, object] | None = None, runtime: Runtime = SYSTEM) -> UndoResult:
    """Put the log back that the last repair in place replaced.

    Args:
        table: The table, or its `_transaction_log`.
        options: Settings and credentials under their full names.
        runtime: Clock, ids and chance.

    Raises:
        LogCorruptionError: There is nothing to undo, or a copy of the old log is damaged.
        ConcurrentWriteError: The table has been written to since, which an undo would lose.
    """
    return undo(_opened(table, options, runtime), settings=Settings.resolve(options), runtime=runtime)


def repair_store(
    store: Store,
    target: Store | None = None,
    *,
    settings: Settings,
    dry_run: bool = True,
    drop_missing_files: bool = False,
    rebuild: Callable[[Store], list[Add]] | None = None,
    schema: pa.Schema | str | None = None,
    runtime: Runtime = SYSTEM,
) -> RepairResult:
    """Do what `repair` does, for a table whose store is open."""
    if target is not None:
        refuse_used(target)
    for _ in range(_ATTEMPTS):
        found = examine(store, settings)
        plan = make_plan(
            store,
            found,
            rebuild=rebuild,
            schema=schema,
            drop=drop_missing_files,
            runtime=runtime,
            copy=target is not None,
        )
        result = foretell(store, target, found, plan)
        if dry_run or plan.way is Way.NOTHING:
            return result
        state = plan.checked(store)
        if target is not None:
            commits = new_log(state, runtime=runtime)
            verify(commits, state, runtime=runtime)
            write_log(target, commits, runtime=runtime)
            return replace(result, dry_run=False, changed=True, version=len(commits) - 1)
        try:
            outcome = _repaired(store, found, plan, state, settings, runtime)
        except OvertakenError:
            continue
        _tidy(store, outcome, settings, runtime)
        return replace(
            result,
            dry_run=False,
            changed=True,
            version=outcome.version,
            oldest_version=outcome.oldest,
            backup=outcome.backup,
        )
    raise ConcurrentWriteError(
        store.url,
        version=found.inventory.newest + 1,
        operation="others",
        cause=f"other writers committed during each of {_ATTEMPTS} repairs",
    )


def _repaired(
    store: Store, found: Diagnosis, plan: Plan, state: LogState, settings: Settings, runtime: Runtime
) -> Outcome:
    place = InPlace(store, settings, runtime)
    match plan.way:
        case Way.REWRITE:
            return place.rewrite(found, state)
        case Way.FINISH:
            assert found.restart is not None  # noqa: S101 - this is what makes it unfinished
            outcome = place.finish(found.restart, latest=found.inventory.newest)
        case Way.TRIM:
            outcome = place.trim(found)
        case Way.CHECKPOINTS:
            outcome = place.renew_checkpoints(found)
        case _:
            outcome = Outcome(version=found.inventory.newest, oldest=found.inventory.first, backup=None)
    if not plan.dropped:
        return outcome
    log = TransactionLog(store, settings=settings, runtime=runtime)
    snapshot = log.snapshot()
    removes = removes_of(rows_of(snapshot.files, plan.dropped), now_ms=runtime.now_ms(), data_change=True)
    committed = log.commit(removes, operation=REPAIR, read_version=snapshot.version, table=snapshot.metadata.id)
    return replace(outcome, version=committed.version)


def _tidy(store: Store, outcome: Outcome, settings: Settings, runtime: Runtime) -> None:
    """Take away what repairs that died have copied in vain; versions that were cleaned up tell nothing about theirs."""

    def is_void(backup: Backup) -> bool:
        return backup.version >= outcome.oldest and not took_effect(store, backup)

    drop_leftovers(store, is_void=is_void, settings=settings, runtime=runtime)


def _opened(address: str, options: Mapping[str, object] | None, runtime: Runtime) -> Store:
    """Return the store of a table, by its address or by that of its log."""
    table = address.rstrip("/").removesuffix(f"/{LOG_DIRECTORY}")
    properties = {key: str(value) for key, value in (options or {}).items() if value is not None}
    return open_store(table, settings=Settings.resolve(options), properties=properties, runtime=runtime)
