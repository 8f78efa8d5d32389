"""What to do about runs: finish or undo those that were cut off, take back a complete one, list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.errors import CompactionError, RecoveryError, RollbackRefusedError, UnfinishedRunError
from indextables.hive.cleanup import finish_cleanup
from indextables.hive.find import find_database, find_table, split_name
from indextables.hive.journal import UNFINISHED, Journal, Run, State
from indextables.hive.refresh import announce
from indextables.hive.swap import Sight
from indextables.hive.switch import swapper_of
from indextables.hive.undo import Recovery, assess_all, finish_run, is_swapped, undo_run
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.hive.connect import Lake
    from indextables.hive.directory import Directory


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """A run in short.

    Attributes:
        table: The table's full name.
        run: The run's name.
        state: How far it came.
        backup: The full name of its backup table.
        directories: How many directories it replaced.
        rows: How many rows were verified in them; -1 where it did not come so far.
    """

    table: str
    run: str
    state: str
    backup: str
    directories: int
    rows: int


def list_runs(lake: Lake, *, table: str | None = None, database: str | None = None) -> list[RunReport]:
    """Return the runs of a table, of a database, or of everything, oldest first."""
    journal = Journal(lake)
    found = []
    for run in _runs(lake, table=table, database=database):
        directories = journal.directories(run)
        rows = [directory.rows for directory in directories]
        found.append(
            RunReport(
                table=run.source,
                run=run.id,
                state=run.state,
                backup=run.backup.full_name,
                directories=len(directories),
                rows=-1 if not rows or min(rows) < 0 else sum(rows),
            )
        )
    return found


def recover(lake: Lake, *, table: str | None = None, database: str | None = None) -> list[Recovery]:
    """Bring every run that was cut off to an end: all of its directories new, or all of them old.

    A run whose directories are all swapped, and hold what was verified, is finished; any other is undone. What was being deleted
    is deleted. Running it again changes nothing.

    Raises:
        RecoveryError: Directories are as no run leaves them; nothing of that run was touched, and all others came to an end.
    """
    found = []
    stopped: list[RecoveryError] = []
    for run in _runs(lake, table=table, database=database):
        try:
            if _needs_recovery(lake, run):
                found.append(_recover_and_tell(lake, run))
        except RecoveryError as error:  # the others need not wait until somebody has looked at this one
            stopped.append(error)
    if len(stopped) > 1:
        reasons = "; ".join(f"{error.table}: {error.reason}" for error in stopped)
        raise RecoveryError(f"{len(stopped)} runs", reasons) from stopped[0]
    if stopped:
        raise stopped[0]
    return found


def rollback(lake: Lake, full_name: str, *, run: str | None = None, keep_newer: bool = False) -> Recovery:
    """Take the newest complete run of a table back.

    Args:
        lake: Metastore and file systems.
        full_name: `database.table`.
        run: The run, which must be the newest complete one; without it, that one.
        keep_newer: Carry files that were added since the run into the restored directories.

    Raises:
        RollbackRefusedError: There is no such run, newer files would be lost, or the originals are no longer there.
        UnfinishedRunError: A run was cut off and must be recovered first.
        RecoveryError: Directories are as no run leaves them; nothing was touched.
    """
    with span("lakekeeper.rollback", table=full_name) as noted:
        table = find_table(lake, full_name)
        journal = Journal(lake)
        runs = journal.runs(table.database, table.name)
        for one in runs:
            if one.state in UNFINISHED:
                raise UnfinishedRunError(table.full_name, run=one.id, state=one.state)
        complete = [one for one in runs if one.state is State.COMPLETE]
        newest = complete[-1] if complete else None
        if newest is None or (run is not None and run != newest.id):
            held = f"the newest is {newest.id}" if newest else "there is none"
            raise RollbackRefusedError(
                table.full_name,
                f"run {run} is not the newest complete run" if run else "it has no complete run",
                way_out=f"Runs are taken back newest first; {held}",
            )
        if not newest.belongs_to(table):
            raise RollbackRefusedError(
                table.full_name, f"run {newest.id} is of an earlier table of this name", way_out="Nothing was touched"
            )
        directories = journal.directories(newest)
        _refuse_loss(lake, newest, directories, keep_newer=keep_newer)
        undone = undo_run(lake, newest, directories)
        noted.note(run=undone.run, directories=undone.directories)
        announce(lake, table, directories)
        return undone


def _refuse_loss(lake: Lake, run: Run, directories: Sequence[Directory], *, keep_newer: bool) -> None:
    for directory, seen in zip(directories, assess_all(lake, run, directories), strict=True):
        if seen.sight is Sight.BETWEEN:
            raise RollbackRefusedError(
                run.source,
                f"{directory.location} is gone since, and its original files are at {directory.old}",
                way_out=f"Nothing was touched; to have them back, rename {directory.old} to {directory.location}",
            )
        if seen.sight is not Sight.SWAPPED:
            raise RollbackRefusedError(
                run.source,
                f"the original files of {directory.location} are no longer at {directory.old}",
                way_out="Nothing was touched",
            )
        if seen.extras and not keep_newer:
            raise RollbackRefusedError(
                run.source, f"{directory.location} has files newer than run {run.id}: {', '.join(seen.extras[:5])}"
            )


def _needs_recovery(lake: Lake, run: Run) -> bool:
    """Tell whether a run was cut off; also one that was undone, if a rename of its dead process arrived after that."""
    if run.state in UNFINISHED:
        return True
    if run.state is not State.UNDONE:
        return False
    journal = Journal(lake)
    swapper = swapper_of(lake, journal, run)
    return any(map(swapper.came_back, journal.directories(run)))


def _recover_and_tell(lake: Lake, run: Run) -> Recovery:
    """Recover a run, and tell engines that may have cached what was there before."""
    with span("lakekeeper.recover", table=run.source, run=run.id) as noted:
        directories = Journal(lake).directories(run)
        done = _recover(lake, run, directories)
        noted.note(directories=len(directories), state=done.state)
        if (held := lake.metastore.table(*split_name(run.source))) is not None:
            announce(lake, held, directories)
        return done


def _recover(lake: Lake, run: Run, directories: Sequence[Directory]) -> Recovery:
    found = run.state
    if found is State.CLEANING:
        finish_cleanup(lake, run, directories)
        return Recovery(table=run.source, run=run.id, found=found, state="cleaned", directories=len(directories))
    if found is State.SWAPPING and is_swapped(assess_all(lake, run, directories)):
        Journal(lake).repoint(run, {directory.name: directory.old for directory in directories})
        finish_run(lake, run, directories)
        return Recovery(table=run.source, run=run.id, found=found, state=run.state, directories=len(directories))
    return undo_run(lake, run, directories)


def _runs(lake: Lake, *, table: str | None, database: str | None) -> list[Run]:
    journal = Journal(lake)
    if table is not None and database is not None:
        raise CompactionError(table, "both a table and a database are named", way_out="Name one of them")
    if table is not None:
        return journal.runs(*split_name(table))
    databases = [find_database(lake, database)] if database is not None else lake.metastore.databases()
    return [run for name in databases for run in journal.runs(name)]
