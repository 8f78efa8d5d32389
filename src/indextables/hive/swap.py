"""Two renames put a replacement into a directory's place; a third and a fourth take it back. This module decides which are due.

What happened to a directory is read from what exists, never from memory, so the same code answers an exception and a crash:

    live  old  staging   meaning                                undo
    yes   no   any       not swapped, or put back               drop staging
    no    yes  any       between the renames                    rename old to live, drop staging
    yes   yes  no        swapped                                rename live to staging, old to live, drop staging
    yes   yes  yes       a writer made live anew in between     move its files into old, rename old to live, drop staging
    no    no   any       somebody else's doing                  stop and report

Files that are not the run's own are never dropped: they are carried into the directory that stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from indextables.errors import AlreadyExistsError, ConcurrentChangeError, RecoveryError, StorageError
from indextables.hive.filesystem import Entry, FileSystem, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from indextables.hive.connect import Lake
    from indextables.hive.directory import Directory
    from indextables.hive.journal import Journal, Run

_MOST_ROUNDS = 50


class Sight(Enum):
    """What happened to a directory, by what exists."""

    UNTOUCHED = auto()
    BETWEEN = auto()
    SWAPPED = auto()
    REMADE = auto()


@dataclass(frozen=True, slots=True)
class Assessment:
    """What was seen of a directory.

    Attributes:
        sight: What happened to it.
        extras: Entries in the live directory, or in its staging, that no run put there.
    """

    sight: Sight
    extras: tuple[str, ...] = ()


class Swapper:
    """Swaps the directories of one run, and puts them back."""

    def __init__(self, lake: Lake, journal: Journal, run: Run) -> None:
        self._lake = lake
        self._journal = journal
        self._run = run

    def swap(self, directory: Directory) -> float:
        """Put a verified replacement into a directory's place; return for how many seconds there was none.

        Raises:
            ConcurrentChangeError: Its files are not those that were read; at most the first rename has happened.
        """
        self.require_unchanged(directory)
        with self._lake.metastore.one_writer:  # or between the renames it would wait for the turns of all others
            return self._rename_twice(directory)

    def _rename_twice(self, directory: Directory) -> float:
        system = self._system(directory)
        self._lake.on_step(f"rename to old: {directory.name}")
        began = self._lake.runtime.monotonic()
        system.rename(directory.location, directory.old)
        self._require_unchanged(directory, system.files(directory.old), "during the swap")
        self._lake.on_step(f"point backup at old: {directory.name}")
        self._journal.follow(self._run, directory)
        self._lake.on_step(f"rename to live: {directory.name}")
        try:
            system.rename(directory.staging, directory.location)
        except AlreadyExistsError as error:
            raise ConcurrentChangeError(
                self._run.source, f"a writer made {directory.location} anew during the swap"
            ) from error
        return self._lake.runtime.monotonic() - began

    def require_unchanged(self, directory: Directory) -> None:
        """Raise if a directory's files are not those that were read.

        Raises:
            ConcurrentChangeError: They are not.
        """
        self._require_unchanged(directory, self._system(directory).files(directory.location), "before the swap")

    def assess(self, directory: Directory) -> Assessment:
        """Return what happened to a directory.

        Raises:
            RecoveryError: No run leaves it like this.
        """
        system = self._system(directory)
        live = system.files(directory.location)
        old = system.files(directory.old)
        staging = system.files(directory.staging)
        if live is None and old is None:
            raise self._stop(directory, "neither the directory nor its original files are there")
        if live is not None and old is None:
            return Assessment(Sight.UNTOUCHED, self._extras(directory, staging or (), live))
        if live is None:
            return Assessment(Sight.BETWEEN, self._extras(directory, staging or (), old or ()))
        nested = {_base(directory.old), _base(directory.staging)} & {entry.path for entry in live}
        if nested:
            raise self._stop(directory, f"{nested.pop()} lies inside it")
        holder = live if staging is None else staging
        if not directory.after or fingerprint(_own(directory, holder)) != directory.after:
            raise self._stop(directory, "its compacted files were removed or rewritten since")
        if staging is None:
            return Assessment(Sight.SWAPPED, self._extras(directory, live, old or ()))
        return Assessment(Sight.REMADE, tuple(sorted(_top(live))))

    def undo(self, directory: Directory) -> tuple[str, ...]:
        """Put a directory's original files back; return the names of files that were carried over.

        Raises:
            RecoveryError: No run leaves it like this; nothing was touched.
        """
        system = self._system(directory)
        seen = self.assess(directory)
        carried: tuple[str, ...] = ()
        if seen.sight is Sight.SWAPPED:
            self._lake.on_step(f"rename live to staging: {directory.name}")
            system.rename(directory.location, directory.staging)
        if seen.sight is not Sight.UNTOUCHED:
            carried += self._restore(system, directory)
        if seen.extras and seen.sight is not Sight.REMADE:
            self._lake.on_step(f"carry over: {directory.name}")
            carried += _move(system, directory.staging, directory.location, seen.extras, self._run.id)
        return carried

    def came_back(self, directory: Directory) -> bool:
        """Tell whether a step of a dead process arrived after its run was undone."""
        return self._system(directory).is_directory(directory.old)

    def drop_staging(self, directory: Directory) -> tuple[str, ...]:
        """Delete the replacement of a directory whose original files are in place; what is not the run's own is carried over."""
        system = self._system(directory)
        if not directory.after:  # it died before anything was verified: maybe inside the probe
            system.clear_probe(directory.location)
        staging = system.files(directory.staging)
        if staging is None:
            return ()
        live = system.files(directory.location)
        if live is None:
            raise self._stop(directory, "the directory is gone, so its replacement is kept")
        extras = self._extras(directory, staging, live)
        carried = _move(system, directory.staging, directory.location, extras, self._run.id) if extras else ()
        self._lake.on_step(f"delete staging: {directory.name}")
        system.remove_tree(directory.staging)
        return carried

    def _restore(self, system: FileSystem, directory: Directory) -> tuple[str, ...]:
        """Rename old to live; a directory that a writer made in between is emptied into old first."""
        carried: tuple[str, ...] = ()
        for _ in range(_MOST_ROUNDS):
            live = system.files(directory.location)
            if live is not None:
                self._lake.on_step(f"carry over: {directory.name}")
                carried += _move(system, directory.location, directory.old, sorted(_top(live)), self._run.id)
                if not system.remove_empty(directory.location):
                    continue
            self._lake.on_step(f"rename old to live: {directory.name}")
            try:
                system.rename(directory.old, directory.location)
            except AlreadyExistsError:
                continue
            return carried
        raise self._stop(directory, "a writer makes it anew again and again")

    def _extras(self, directory: Directory, held: Iterable[Entry], originals: Iterable[Entry]) -> tuple[str, ...]:
        """Return the top entries of a replacement that are neither its own files nor copies of hidden ones."""
        if not directory.after:
            return ()  # never verified, so never live: nobody but the run has written there
        known = directory.new_names() | {entry.path for entry in originals if entry.is_hidden}
        return tuple(sorted(name for name in _top(held) if name not in known and not _is_checksum(name)))

    def _require_unchanged(self, directory: Directory, entries: list[Entry] | None, when: str) -> None:
        if entries is None:
            raise ConcurrentChangeError(self._run.source, f"{directory.location} disappeared {when}")
        if fingerprint(entries) != directory.before:
            raise ConcurrentChangeError(
                self._run.source, f"files in {directory.location} were added, removed or rewritten {when}"
            )

    def _system(self, directory: Directory) -> FileSystem:
        return self._lake.systems.at(directory.location)

    def _stop(self, directory: Directory, reason: str) -> RecoveryError:
        return RecoveryError(self._run.source, f"run {self._run.id}, {directory.location}: {reason}")


def _move(system: FileSystem, source: str, target: str, names: Iterable[str], run: str) -> tuple[str, ...]:
    """Move entries from one directory to another, under another name where theirs is taken."""
    moved = []
    for name in names:
        goal = name
        for attempt in range(_MOST_ROUNDS):
            try:
                system.rename(f"{source}/{name}", f"{target}/{goal}")
            except AlreadyExistsError:
                hidden = name[0] if name[0] in "._" else ""  # what engines do not see must not become rows
                goal = f"{hidden}carried-{run}-{attempt}-{name}"
            else:
                moved.append(goal)
                break
        else:
            raise StorageError(f"{source}/{name}", detail=f"it cannot be moved to {target}")
    return tuple(moved)


def _own(directory: Directory, entries: Iterable[Entry]) -> list[Entry]:
    names = directory.new_names()
    return [entry for entry in entries if entry.path in names]


def _top(entries: Iterable[Entry]) -> set[str]:
    return {entry.path.partition("/")[0] for entry in entries}


def _base(location: str) -> str:
    return location.rpartition("/")[2]


def _is_checksum(name: str) -> bool:
    return name.startswith(".") and name.endswith(".crc")
