"""Giving back the space of original files, once people are sure that they need them no more.

A directory is deleted only if a finished run wrote it down, it is called as that run calls its directories, the live one is in
place, and no table or partition of any database points at it. The backup is dropped last: it is what proves that the directories
are the run's. Where a run has switched locations, its original files are in directories with names of their own; the rest holds for them, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.errors import RecoveryError
from indextables.hive.directory import SWITCHED
from indextables.hive.filesystem import data_files
from indextables.hive.find import split_name
from indextables.hive.journal import Journal, Run, State
from indextables.hive.names import HIDDEN_STAGING, is_staging
from indextables.hive.pointers import pointer_at
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.hive.connect import Lake
    from indextables.hive.directory import Directory

_FINISHED = frozenset({State.COMPLETE, State.UNDONE})


@dataclass(frozen=True, kw_only=True)
class CleanupResult:
    """What was deleted, or would be.

    Attributes:
        table: The table's full name.
        runs: The runs whose backups were dropped.
        directories: The directories that were deleted.
        files: How many files were in them.
        bytes: Their size.
        dry_run: Whether nothing was deleted in truth.
    """

    table: str
    runs: tuple[str, ...]
    directories: tuple[str, ...]
    files: int
    bytes: int
    dry_run: bool


def cleanup(lake: Lake, full_name: str, *, older_than_ms: int = 0, dry_run: bool = False) -> CleanupResult:
    """Drop the backups of finished runs of a table, and delete the directories that they keep.

    Args:
        lake: Metastore and file systems.
        full_name: `database.table`.
        older_than_ms: Only runs that began at least so long ago.
        dry_run: Only say what would be deleted.

    Raises:
        RecoveryError: A directory is not as the run left it; nothing of that run was deleted.
    """
    with span("lakekeeper.cleanup", table=full_name, dry_run=dry_run) as noted:
        database, name = split_name(full_name)
        journal = Journal(lake)
        now = lake.runtime.now_ms()
        runs = [
            run for run in journal.runs(database, name) if run.state in _FINISHED and _age(run, now) >= older_than_ms
        ]
        places: list[str] = []
        files = size = 0
        deletable = [_deletable(lake, run, journal.directories(run)) for run in runs]
        _refuse_used(lake, runs, deletable)
        for run, held in zip(runs, deletable, strict=True):
            for place in held:
                entries = data_files(lake.systems.at(place).files(place) or ())
                places.append(place)
                files += len(entries)
                size += sum(entry.length for entry in entries)
            if dry_run:
                continue
            if held:
                journal.set_state(run, State.CLEANING)
            _delete(lake, run, held)
        noted.note(runs=len(runs), directories=len(places), files=files, bytes=size)
        return CleanupResult(
            table=f"{database}.{name}",
            runs=tuple(run.id for run in runs),
            directories=tuple(places),
            files=files,
            bytes=size,
            dry_run=dry_run,
        )


def finish_cleanup(lake: Lake, run: Run, directories: Sequence[Directory]) -> None:
    """Delete the directories of a run that was being cleaned up, then its backup.

    Raises:
        RecoveryError: A directory is not as the run left it, or is in use; nothing was deleted.
    """
    places = _deletable(lake, run, directories)
    _refuse_used(lake, [run], [places])
    _delete(lake, run, places)


def _delete(lake: Lake, run: Run, places: Sequence[str]) -> None:
    for place in places:
        lake.on_step(f"delete: {place}")
        lake.systems.at(place).remove_tree(place)
        if run.staging == SWITCHED:
            _remove_empty_above(lake, run, place)
    if run.staging == "hidden":
        system = lake.systems.at(run.root)
        base = f"{run.root}/{HIDDEN_STAGING}"
        if all(entry.is_dir for entry in system.files(f"{base}/{run.id}") or ()):
            system.remove_tree(f"{base}/{run.id}")
            system.remove_empty(base)
    Journal(lake).forget(run)


def _age(run: Run, now: int) -> int:
    # The second of two runs within one second bears the name of the next one, and no run is younger than not at all.
    return max(0, now - int(run.id) * 1000)


def _deletable(lake: Lake, run: Run, directories: Sequence[Directory]) -> list[str]:
    """Return the directories that a run has left behind.

    Raises:
        RecoveryError: One of them may be all that is left of a live one.
    """
    if run.staging == SWITCHED:
        return _originals(lake, run, directories)
    found = []
    for directory in directories:
        system = lake.systems.at(directory.location)
        for place in (directory.old, directory.staging):
            if not is_staging(place.rpartition("/")[2]) or not place.endswith(f"_{run.id}"):
                raise _stop(run, f"{place} is not called as a run calls its directories")
            if not system.is_directory(place):
                continue
            if not system.is_directory(directory.location):
                raise _stop(run, f"{directory.location} is gone, and {place} may be all that is left of it")
            if run.state is State.UNDONE and place == directory.old:
                raise _stop(run, f"{place} came back after the run was undone, and may hold original files")
            found.append(place)
    return found


def _originals(lake: Lake, run: Run, directories: Sequence[Directory]) -> list[str]:
    """Return the original directories of a run that has switched locations; one that was undone has left none behind."""
    if run.state is State.UNDONE:
        return []
    found = []
    for directory in directories:
        system = lake.systems.at(directory.location)
        if not system.is_directory(directory.location):
            continue
        if not system.is_directory(directory.staging):
            raise _stop(run, f"{directory.staging} is gone, and {directory.location} may be all that is left of it")
        found.append(directory.location)
    return found


def _remove_empty_above(lake: Lake, run: Run, place: str) -> None:
    """Delete the directories of earlier runs that nothing is left in."""
    base = f"{run.root}/{HIDDEN_STAGING}"
    above = place.rpartition("/")[0]
    while f"{above}/".startswith(f"{base}/") and lake.systems.at(above).remove_empty(above):
        above = above.rpartition("/")[0]


def _refuse_used(lake: Lake, runs: Sequence[Run], deletable: Sequence[Sequence[str]]) -> None:
    """Raise if anything but the backups of these runs points at a directory, or into it.

    Raises:
        RecoveryError: It names both.
    """
    owners = {place: run for run, places in zip(runs, deletable, strict=True) for place in places}
    used = pointer_at(lake, owners, apart_from={run.backup.full_name for run in runs})
    if used is not None:
        place, who = used
        raise _stop(owners[place], f"{who} points at {place}, or into it")


def _stop(run: Run, reason: str) -> RecoveryError:
    return RecoveryError(run.source, f"run {run.id}: {reason}")
