"""Repairing a log where it is, so that at every moment readers see the old log or the repaired one, and writers lose nothing.

Nothing of the old log changes before its copy is complete. What survives becomes one new version, created like any commit under
the condition that nobody else has it; so a writer that was faster is noticed, and its commit is taken into account. Readers go
on seeing the old log until the checkpoint of that version is there, which is one object. Only then old files leave. A repair that
dies on the way is finished by the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from indextables.errors import AlreadyExistsError, CommitUnknownError, LogCorruptionError, OutcomeUnknownError
from indextables.log.actions import encode_action
from indextables.log.bulk_decode import decode_commits
from indextables.log.checkpoint.finder import CheckpointFinder, Place
from indextables.log.checkpoint.pointer import read_pointer
from indextables.log.checkpoint.writer import CheckpointWriter
from indextables.log.commit_info import CommitInfo
from indextables.log.floor import drop_old_marks, raise_floor
from indextables.log.layout import (
    FLOOR_DIRECTORY,
    LOG_DIRECTORY,
    POINTER,
    commit_path,
    commit_version,
    floor_path,
    json_checkpoint_version,
    manifest_version,
)
from indextables.log.repair.backup import drop_backup, make_backup
from indextables.log.repair.examine import commit_facts
from indextables.log.repair.findings import Way
from indextables.log.repair.salvage import FILLER, REPAIR, check_commit, filler_line
from indextables.log.repair.steady import readable, steady_get
from indextables.log.repair.survivors import find_survivors
from indextables.log.repair.write import compress, head_lines, new_log, stamped, state_at, verify, whole_commit
from indextables.log.snapshot import Snapshot
from indextables.log.state import apply_commits

if TYPE_CHECKING:
    from indextables.config import Settings
    from indextables.log.repair.backup import Backup
    from indextables.log.repair.examine import Diagnosis
    from indextables.log.repair.inventory import Inventory
    from indextables.log.state import LogState
    from indextables.runtime import Runtime
    from indextables.storage.base import Store


class OvertakenError(Exception):
    """Somebody else committed meanwhile; the log has to be examined again. Never leaves this package."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a repair in place came to: the newest version, the oldest one, and where the old log is."""

    version: int
    oldest: int
    backup: str | None


class InPlace:
    """Repairs the log of one table."""

    def __init__(self, store: Store, settings: Settings, runtime: Runtime) -> None:
        self._store = store
        self._settings = settings
        self._runtime = runtime

    def rewrite(self, found: Diagnosis, state: LogState) -> Outcome:
        """Write what survives as a new version, and let the log begin there.

        Raises:
            OvertakenError: Somebody else committed meanwhile.
            CommitUnknownError: The new version may be there; the next repair finds out.
        """
        inventory = found.inventory
        version = next_version(found)
        info = self._info(version, state, read=inventory.newest)
        lines = whole_commit(state, info)
        if lines is not None:
            verify({0: compress(lines)}, state, runtime=self._runtime)
        else:
            verify(new_log(state, runtime=self._runtime), state, runtime=self._runtime)
            version = max(version, 1)  # a table that is not in its commits must not begin where commits are enough
            info = self._info(version, state, read=inventory.newest)
        backup = make_backup(
            self._store,
            set(inventory.objects) - _fillers(found),
            way=Way.REWRITE,
            version=version,
            commit_id=info.id,
            whole=lines is not None,
            # A batch that is asked for again is looked for where it says, and the version that it became goes.
            transactions={app: batch._replace(version=version) for app, batch in state.transactions.items()},
            settings=self._settings,
            runtime=self._runtime,
        )
        try:
            self._fill(inventory, version, state)
            self._store.put_if_absent(commit_path(version), compress(lines or head_lines(state, info)))
        except AlreadyExistsError as error:
            drop_backup(self._store, backup, self._settings)
            raise OvertakenError from error
        except OutcomeUnknownError as error:
            raise CommitUnknownError(
                self._store.url, version=version, commit_id=info.id, detail=error.detail
            ) from error
        held = None if lines is not None else replace(state_at(state, info), transactions=backup.transactions)
        return self.finish(backup, state=held)

    def finish(self, backup: Backup, *, state: LogState | None = None, latest: int = -1) -> Outcome:
        """Do what follows the commit of a repair: its checkpoint, the mark that the log begins there, and deletions.

        Args:
            backup: The repair.
            state: The state of its version, where the commit does not hold it.
            latest: The newest version of the table, if others have committed since.
        """
        version = backup.version
        latest = max(version, latest)
        if version > 0:
            finder = CheckpointFinder(self._store, self._settings)
            hint = read_pointer(self._store)
            known = hint is not None and version <= hint.version <= latest
            if not known or not any(finder.verified(Place(version=version, parquet=form)) for form in (True, False)):
                self._write_checkpoint(state or self._state_of(backup), latest=latest)
            raise_floor(self._store, version)
        kept = {commit_path(version), floor_path(version)} | ({POINTER} if version else set())
        old = {copy.path for copy in backup.copies} - kept
        self._delete(old, below=version)
        return Outcome(version=latest, oldest=version, backup=backup.directory)

    def trim(self, found: Diagnosis) -> Outcome:
        """Let the log begin after the damage, at a version that a verified checkpoint holds; later versions all stay."""
        inventory, oldest = found.inventory, found.exact_from or 0
        doomed = {path for path in inventory.objects if _is_below(version_of(path), oldest) or _is_mark(path)}
        doomed = (doomed | self._unusable(inventory)) - _fillers(found)
        backup = self._backup(doomed, Way.TRIM, oldest, found)
        self._fill(inventory, inventory.newest + 1, found.survivors.state)
        self._renew_checkpoints(inventory, {oldest, inventory.newest} if inventory.pointer else {oldest})
        raise_floor(self._store, oldest)
        self._delete({path for path in doomed if not _is_mark(path)} - self._rewritten(inventory, oldest), below=oldest)
        return Outcome(version=inventory.newest, oldest=oldest, backup=backup.directory)

    def renew_checkpoints(self, found: Diagnosis) -> Outcome:
        """Take unusable checkpoints and a bad pointer away, and write a checkpoint of the newest version."""
        inventory = found.inventory
        backup = self._backup(self._unusable(inventory), Way.CHECKPOINTS, inventory.newest, found)
        self._renew_checkpoints(inventory, {inventory.newest})
        return Outcome(version=inventory.newest, oldest=inventory.first, backup=backup.directory)

    def _renew_checkpoints(self, inventory: Inventory, versions: set[int]) -> None:
        for path in sorted(self._unusable(inventory)):
            self._store.delete(path)
        sound = {found.place.version for found in inventory.usable(ours=True)}
        for version in sorted(versions if inventory.pointer else versions - sound):
            until = replace(
                inventory,
                commits=tuple(found for found in inventory.commits if found <= version),
                checkpoints=tuple(found for found in inventory.checkpoints if found.place.version <= version),
            )
            state = find_survivors(self._store, self._settings, until).state
            assert state is not None  # noqa: S101 - the version was found to be exact
            self._write_checkpoint(state, latest=inventory.newest)

    def _write_checkpoint(self, state: LogState, *, latest: int) -> None:
        writer = CheckpointWriter(self._store, self._settings, self._runtime)
        writer.write(Snapshot(self._store.url, state), latest=latest)

    def _unusable(self, inventory: Inventory) -> set[str]:
        paths = {found.place.path for found in inventory.checkpoints if not found.usable}
        return paths | ({POINTER} if inventory.pointer else set())

    def _rewritten(self, inventory: Inventory, oldest: int) -> set[str]:
        """Return what was bad and is good now, under the same name."""
        again = {oldest, inventory.newest}
        return {path for path in self._unusable(inventory) if path == POINTER or checkpoint_version(path) in again}

    def _backup(self, paths: set[str], way: Way, version: int, found: Diagnosis) -> Backup:
        state = found.survivors.state
        return make_backup(
            self._store,
            paths,
            way=way,
            version=version,
            commit_id="",
            whole=False,
            transactions=state.transactions if state else {},
            settings=self._settings,
            runtime=self._runtime,
        )

    def _info(self, version: int, state: LogState, *, read: int) -> CommitInfo:
        last = state.timestamp if len(state.timestamps) else 0
        return CommitInfo(
            version=version,
            id=self._runtime.new_id(),
            timestamp=max(self._runtime.now_ms(), last + 1),
            operation=REPAIR,
            metadata=version,
            protocol=version,
            read=read,
        )

    def _fill(self, inventory: Inventory, end: int, state: LogState | None) -> None:
        """Take every free version, so that no writer who knows an old one can be acknowledged where nobody will look.

        What stands between commits keeps the log unreadable, as it was. What stands behind the newest one keeps it readable.
        """
        lowest = inventory.commits[0] if inventory.commits else end
        for version in (*inventory.missing, *range(inventory.newest + 1, end)):
            if version > lowest:
                try:
                    self._store.put_if_absent(commit_path(version), self._filler(inventory, version, state))
                except AlreadyExistsError as error:
                    raise OvertakenError from error

    def _filler(self, inventory: Inventory, version: int, state: LogState | None) -> bytes:
        if version < inventory.newest or state is None or state.metadata is None:
            return filler_line(version)
        info = CommitInfo(
            version=version,
            id=self._runtime.new_id(),
            timestamp=max(self._runtime.now_ms(), state.timestamp + 1),
            operation=REPAIR,
            user=FILLER,
        )
        return compress(encode_action(stamped(state.metadata, info)) + b"\n")

    def _state_of(self, backup: Backup) -> LogState:
        path = commit_path(backup.version)
        named = f"{self._store.url}/{path}"
        data = readable(self._store, path, lambda found: check_commit(found, path=named))
        if data is None:
            raise LogCorruptionError(named, "the commit of a repair is missing", versions=[backup.version])
        columns = decode_commits([(backup.version, data)], path_of=lambda _: named)
        state = apply_commits(None, columns, first=backup.version, last=backup.version)
        return replace(state, transactions={**backup.transactions, **state.transactions})

    def _delete(self, paths: set[str], *, below: int) -> None:
        """Take old files away: commits first, the oldest first, with what stands in for lost ones."""
        listed = {meta.path: commit_version(meta.path) for meta in self._store.list_from(LOG_DIRECTORY)}
        fillers = {
            path
            for path, version in listed.items()
            if version is not None and version < below and path not in paths and self._is_filler(path, version)
        }
        commits = {path for path in paths if commit_version(path) is not None} | fillers
        for path in [*sorted(commits), *sorted(paths - commits)]:
            self._store.delete(path)
        drop_old_marks(self._store, below=below)

    def _is_filler(self, path: str, version: int) -> bool:
        """Tell whether a file stands in for a lost commit; whatever else nobody copied is not ours to delete."""
        data = steady_get(self._store, path)
        if data is None or data == filler_line(version):
            return data is not None
        info = commit_facts(self._store, version)
        return info is not None and info.operation == REPAIR and info.user == FILLER


def next_version(found: Diagnosis) -> int:
    """Return the version that a rewritten log begins at: above everything that the old one ever had."""
    base = found.survivors.base
    return max(found.inventory.newest + 1, found.inventory.floor, base.place.version + 1 if base else 0)


def checkpoint_version(path: str) -> int | None:
    """Return the version of a file that makes a checkpoint, in either form; None for any other file."""
    version = manifest_version(path)
    return json_checkpoint_version(path) if version is None else version


def version_of(path: str) -> int | None:
    """Return the version of a commit or a checkpoint; None for any other file."""
    version = commit_version(path)
    return checkpoint_version(path) if version is None else version


def _fillers(found: Diagnosis) -> set[str]:
    """Return what an earlier repair put in the place of lost commits: no part of the old log."""
    return {commit_path(version) for version, left in found.survivors.damaged.items() if left.filler}


def _is_below(version: int | None, limit: int) -> bool:
    return version is not None and version < limit


def _is_mark(path: str) -> bool:
    return path.startswith(f"{FLOOR_DIRECTORY}/")
