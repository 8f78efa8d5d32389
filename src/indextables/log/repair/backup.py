"""The old log, kept aside: copies of what a repair is going to change, and a list of them that makes them a backup.

The list is written last and says which commit the repair is going to make. So a commit of a repair always has a complete backup,
and a backup whose commit is not there belongs to a repair that never took effect.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from indextables.errors import LogCorruptionError
from indextables.log.layout import LOG_DIRECTORY
from indextables.log.repair.steady import steady_get
from indextables.log.state import Batch  # noqa: TC001 - a field's type is looked up while reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from indextables.config import Settings
    from indextables.runtime import Runtime
    from indextables.storage.base import Store

_T = TypeVar("_T")
_R = TypeVar("_R")

BACKUP_DIRECTORY: Final = "_transaction_log_backup"
_LIST: Final = "backup.json"
_SETTLED_MS: Final = 3_600_000  # what is younger may be a backup that is being made


class Copy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A file of the old log: where it was, how large it is, and its checksum."""

    path: str
    bytes: int
    sha256: str


class Backup(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A backup.

    Attributes:
        directory: Where it is, relative to the table.
        way: How the log was repaired.
        version: The version that the repair wrote, or let the log begin at.
        commit_id: The id of the commit that the repair wrote; empty if it needed none.
        whole: Whether that commit holds the whole table, so that nothing before it matters.
        created_time: When it was made.
        transactions: The last batch of each application, which one commit cannot hold.
        copies: What it holds.
    """

    directory: str
    way: str
    version: int
    commit_id: str
    whole: bool
    created_time: int
    transactions: dict[str, Batch] = {}
    copies: list[Copy]

    def path_of(self, path: str) -> str:
        """Return where the copy of a file of the log is."""
        return f"{self.directory}/{path}"


def make_backup(
    store: Store,
    paths: Iterable[str],
    *,
    way: str,
    version: int,
    commit_id: str,
    whole: bool,
    transactions: Mapping[str, Batch],
    settings: Settings,
    runtime: Runtime,
) -> Backup:
    """Copy files of the log aside; those that vanish meanwhile are left out."""
    now = runtime.now_ms()
    stamp = dt.datetime.fromtimestamp(now / 1000, dt.UTC).strftime("%Y%m%dT%H%M%SZ")
    directory = f"{BACKUP_DIRECTORY}/{stamp}-{runtime.new_id()[:8]}"

    def copy(path: str) -> Copy | None:
        data = steady_get(store, path)
        if data is None:
            return None
        store.put_if_absent(f"{directory}/{path}", data)
        return Copy(path=path, bytes=len(data), sha256=_digest(data))

    copies = [found for found in each(copy, sorted(paths), settings) if found is not None]
    backup = Backup(
        directory=directory,
        way=way,
        version=version,
        commit_id=commit_id,
        whole=whole,
        created_time=now,
        transactions=dict(transactions),
        copies=copies,
    )
    store.put_if_absent(f"{directory}/{_LIST}", msgspec.json.encode(backup))
    return backup


def list_backups(store: Store) -> list[Backup]:
    """Return the complete backups of a table, newest first."""
    found = []
    for meta in store.list_from(BACKUP_DIRECTORY):
        if meta.path.count("/") == 2 and meta.path.endswith(f"/{_LIST}"):
            data = steady_get(store, meta.path)
            if data is not None:
                found.append(_decoded(data, store, meta.path))
    return sorted(found, key=lambda backup: (backup.created_time, backup.version, backup.directory), reverse=True)


def copies_of(store: Store, backup: Backup, settings: Settings) -> dict[str, bytes]:
    """Return what a backup holds, checked.

    Raises:
        LogCorruptionError: A copy is missing or damaged.
    """

    def read(copy: Copy) -> tuple[str, bytes]:
        path = backup.path_of(copy.path)
        for _ in range(2):
            data = steady_get(store, path)
            if data is not None and len(data) == copy.bytes and _digest(data) == copy.sha256:
                return copy.path, data
        raise LogCorruptionError(f"{store.url}/{path}", "this copy of the old log is missing or changed")

    return dict(each(read, backup.copies, settings))


def drop_backup(store: Store, backup: Backup, settings: Settings) -> None:
    """Delete a backup, the list first, so that what a crash leaves is no backup any more."""
    store.delete(f"{backup.directory}/{_LIST}")
    each(lambda copy: store.delete(backup.path_of(copy.path)), backup.copies, settings)


def drop_leftovers(store: Store, *, is_void: Callable[[Backup], bool], settings: Settings, runtime: Runtime) -> None:
    """Delete copies that never became a backup, or are one of a repair that never took effect, unless they are very young.

    Args:
        store: Where the table is.
        is_void: Tells whether the repair that made a backup never took effect.
        settings: How many files are deleted at once.
        runtime: The clock; a backup that was made within the hour may be one that is about to be used.
    """
    metas = list(store.list_from(BACKUP_DIRECTORY))
    whole = {meta.path.removesuffix(f"/{_LIST}") for meta in metas if meta.path.endswith(f"/{_LIST}")}
    oldest = min(runtime.now_ms(), max((meta.modified_ms for meta in metas), default=0)) - _SETTLED_MS
    stray = [
        meta.path for meta in metas if "/".join(meta.path.split("/")[:2]) not in whole and meta.modified_ms < oldest
    ]
    each(store.delete, stray, settings)
    for backup in list_backups(store):
        if backup.created_time < runtime.now_ms() - _SETTLED_MS and is_void(backup):
            drop_backup(store, backup, settings)


def each(work: Callable[[_T], _R], items: Sequence[_T], settings: Settings) -> list[_R]:
    """Return what some work on each of these gives, done a few at a time."""
    workers = max(1, min(settings.checkpoint.parallelism, len(items)))
    if workers == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers, thread_name_prefix="indextables-repair") as pool:
        return list(pool.map(work, items))


def _decoded(data: bytes, store: Store, path: str) -> Backup:
    try:
        backup = msgspec.json.decode(data, type=Backup)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise LogCorruptionError(f"{store.url}/{path}", "this list of a backup cannot be read") from error
    inside = f"{LOG_DIRECTORY}/"
    if path != f"{backup.directory}/{_LIST}" or not all(copy.path.startswith(inside) for copy in backup.copies):
        raise LogCorruptionError(f"{store.url}/{path}", "this list of a backup names files elsewhere")
    return backup


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
