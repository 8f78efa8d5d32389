"""Going back to the log as it was before a repair in place.

The version that a repair wrote is taken away again, and that must not take a writer's commit with it. So first the next version is
taken by a commit whose protocol no writer knows: whoever wants to write is refused from then on, and readers still see the repaired
table. Then the old files come back, then what the repair wrote goes. An undo that dies on the way is finished by the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from indextables.errors import AlreadyExistsError, ConcurrentWriteError, LogCorruptionError
from indextables.log.actions import MetaData, Protocol, encode_action
from indextables.log.codec import decode
from indextables.log.commit_info import CommitInfo
from indextables.log.floor import read_floor
from indextables.log.layout import (
    LOG_DIRECTORY,
    POINTER,
    commit_path,
    commit_version,
    floor_path,
    json_checkpoint_path,
    manifest_path,
    part_version,
)
from indextables.log.lines import parse_lines
from indextables.log.repair.backup import copies_of, drop_backup, list_backups
from indextables.log.repair.examine import UNDO, commit_facts, took_effect
from indextables.log.repair.findings import Way
from indextables.log.repair.steady import steady_list
from indextables.log.repair.write import compress, stamped

if TYPE_CHECKING:
    from indextables.config import Settings
    from indextables.log.repair.backup import Backup
    from indextables.runtime import Runtime
    from indextables.storage.base import Store

_NO_WRITER: Final = 2**31 - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class UndoResult:
    """What an undo did.

    Attributes:
        table: Which table.
        way: How the log had been repaired.
        backup: Where its old files were kept.
        files: How many of them were put back, or found to be there.
    """

    table: str
    way: Way
    backup: str
    files: int

    def __str__(self) -> str:
        return f"Undid the repair of {self.table} ({self.way}): {self.files} files of the old log are back"


def undo(store: Store, *, settings: Settings, runtime: Runtime) -> UndoResult:
    """Put the log back that the newest repair replaced.

    Raises:
        LogCorruptionError: There is no repair to undo, or a copy of the old log is damaged.
        ConcurrentWriteError: The table has been written to, or cleaned up, since.
    """
    backup = _newest(store)
    copies = copies_of(store, backup, settings)
    if read_floor(store) > backup.version:
        raise _later(store, read_floor(store), "cleanup", "the log was cleaned up after the repair")
    rewritten = backup.way == Way.REWRITE
    if rewritten:
        _fence(store, backup, runtime)
    for path, data in sorted(copies.items()):
        if path != POINTER:
            _put_back(store, path, data)
    if POINTER in copies:
        store.put(POINTER, copies[POINTER])
    elif rewritten:
        store.delete(POINTER)
    if rewritten:
        _take_away(store, backup, set(copies))
    elif backup.way == Way.TRIM and floor_path(backup.version) not in copies:
        store.delete(floor_path(backup.version))
    drop_backup(store, backup, settings)
    return UndoResult(table=store.url, way=Way(backup.way), backup=backup.directory, files=len(copies))


def _newest(store: Store) -> Backup:
    """Return the newest backup whose repair took effect."""
    for backup in list_backups(store):
        if took_effect(store, backup) or _is_fenced(store, backup):
            return backup
    raise LogCorruptionError(
        f"{store.url}/{LOG_DIRECTORY}",
        "no backup of a repair is there, so there is nothing to undo",
        way_out="Nothing has changed",
    )


def _is_fenced(store: Store, backup: Backup) -> bool:
    info = commit_facts(store, backup.version + 1)
    return info is not None and info.operation == UNDO


def _fence(store: Store, backup: Backup, runtime: Runtime) -> None:
    """Keep writers away: the version after the repair's is ours, and asks for a writer that does not exist."""
    if _is_fenced(store, backup):
        return
    path = commit_path(backup.version)
    actions = parse_lines(decode(store.get(path), path=path), path=path)
    metadata = next(action for action in actions if isinstance(action, MetaData))
    protocol = next(action for action in actions if isinstance(action, Protocol))
    version = backup.version + 1
    info = CommitInfo(version=version, id=runtime.new_id(), timestamp=runtime.now_ms(), operation=UNDO)
    fence = Protocol(min_reader_version=protocol.min_reader_version, min_writer_version=_NO_WRITER)
    lines = encode_action(fence) + b"\n" + encode_action(stamped(metadata, info)) + b"\n"
    try:
        store.put_if_absent(commit_path(version), compress(lines))
    except AlreadyExistsError as error:
        if not _is_fenced(store, backup):
            cause = "the table has been written to after the repair"
            raise _later(store, version, "others", cause) from error


def _put_back(store: Store, path: str, data: bytes) -> None:
    try:
        store.put_if_absent(path, data)
    except AlreadyExistsError:
        store.put(path, data)


def _take_away(store: Store, backup: Backup, old: set[str]) -> None:
    """Delete what the repair wrote. The checkpoint goes first, and from then on the old log is in force; the fence last."""
    version = backup.version
    for path in (manifest_path(version), json_checkpoint_path(version), floor_path(version)):
        if path not in old:
            store.delete(path)
    for path in sorted(steady_list(store, LOG_DIRECTORY).keys() - old):
        found = commit_version(path)
        if part_version(path) == version or (found is not None and found < version):
            store.delete(path)
    store.delete(commit_path(version))
    store.delete(commit_path(version + 1))


def _later(store: Store, version: int, operation: str, cause: str) -> ConcurrentWriteError:
    return ConcurrentWriteError(store.url, version=version, operation=operation, cause=cause, retryable=False)
