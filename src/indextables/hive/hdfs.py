"""HDFS as a file system of directories, through `hdfs-native`: no JVM, and the same in Spark's Python workers.

Renames are the NameNode's `rename2` without options, which refuses an existing target and never nests. They are given no
deadline: a rename that was given up could still happen later, when everybody believes that it did not.
"""

from __future__ import annotations

import io
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import pyarrow as pa
from hdfs_native import Client, WriteOptions

from indextables.errors import AlreadyExistsError, NotFoundError, PermissionDeniedError, StorageError
from indextables.hive.filesystem import Entry, FileSystem, Security, split_location
from indextables.hive.names import PROBE
from indextables.hive.remote_files import CHUNK, HdfsWriter, RangeReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hdfs_native._internal import RawFileReader

_WHOLE = 64 << 20  # files up to this size are fetched in one piece
_REPORT_SECONDS = 30.0
_POLL_SECONDS = 0.01
_SETTINGS = {
    "dfs.client.failover.max.attempts": "8",
    "dfs.client.failover.sleep.base.millis": "100",
    "dfs.client.failover.sleep.max.millis": "2000",
}
# What the text of a NameNode's exception begins with after its class; the library passes the rest on as a RuntimeError.
_REFUSED = ("AccessControlException", "SafeModeException")
_FULL = ("QuotaExceededException", "NSQuotaExceededException", "DSQuotaExceededException")


class HdfsFileSystem(FileSystem):
    """A cluster.

    Args:
        authority: `host:port`, a name service of the configuration, or nothing for the default one.
    """

    def __init__(self, authority: str) -> None:
        self._store = f"hdfs://{authority}"
        with self._translated(""):
            self._client = Client(self._store if authority else None, _SETTINGS)

    def entries(self, location: str, *, recursive: bool = True) -> list[Entry]:
        """List in one conversation with the NameNode."""
        root = _path(location).rstrip("/")
        with self._translated(location):
            held = list(self._client.list_status(root or "/", recursive))
        if any(status.path == root for status in held):  # a file lists itself, a directory never does
            raise NotFoundError(location, store=self._store, detail="it is a file")
        cut = len(root) + 1
        return sorted(
            Entry(
                status.path[cut:],
                0 if status.isdir else status.length,
                0 if status.isdir else status.modification_time,
                status.isdir,
            )
            for status in held
        )

    def is_directory(self, location: str) -> bool:
        """Ask the NameNode."""
        try:
            with self._translated(location):
                return bool(self._client.get_file_info(_path(location)).isdir)
        except NotFoundError:
            return False

    def rename(self, source: str, target: str) -> None:
        """Rename in one step of the NameNode."""
        with self._translated(target):
            self._client.rename(_path(source), _path(target), overwrite=False)

    def make_directory(self, location: str, *, parents: bool = False) -> None:
        """Create a directory; HDFS itself does not mind one that exists."""
        if not parents and self.is_directory(location):
            raise AlreadyExistsError(location, store=self._store)
        with self._translated(location):
            self._client.mkdirs(_path(location), create_parent=parents)

    def remove_tree(self, location: str) -> None:
        """Delete; HDFS follows no links."""
        try:
            with self._translated(location):
                self._client.delete(_path(location), recursive=True)
        except NotFoundError:
            return

    def remove_empty(self, location: str) -> bool:
        """Delete a directory if it is empty, which the NameNode decides in the same step."""
        try:
            with self._translated(location):
                self._client.delete(_path(location), recursive=False)
        except NotFoundError:
            return True
        except StorageError:
            return not self.is_directory(location)
        return True

    def open_input(self, location: str, length: int) -> Any:
        """Fetch a small file whole; read a large one piece by piece."""
        with self._translated(location):
            reader = self._open(location, length)
            if length <= _WHOLE:
                return pa.BufferReader(reader.read_range(0, length))
            return io.BufferedReader(RangeReader(reader, lambda: self._translated(location)), CHUNK)

    def _open(self, location: str, length: int) -> RawFileReader:
        """Open a file to its true end, which a new file has only once a DataNode has reported its last block."""
        deadline = time.monotonic() + _REPORT_SECONDS
        while True:
            reader = self._client.inner.read(_path(location))
            if reader.file_length() == length:
                return reader
            if time.monotonic() > deadline:
                raise StorageError(
                    location, store=self._store, detail=f"{reader.file_length()} of {length} bytes can be read"
                )
            time.sleep(_POLL_SECONDS)

    def create(self, location: str) -> BinaryIO:
        """Create a file; it is whole on every DataNode of its pipeline once it is closed."""
        with self._translated(location):
            writer = self._client.inner.create(_path(location), WriteOptions(create_parent=False, overwrite=False))
        return cast("BinaryIO", HdfsWriter(writer, lambda: self._translated(location)))

    def security(self, location: str) -> Security:
        """Return owner, group, mode, the access control list with its default entries, and how often a file is kept."""
        with self._translated(location):
            status = self._client.get_file_info(_path(location))
            acl = self._client.get_acl_status(_path(location))
        entries = tuple(sorted((e.scope, e.type, e.name or "", e.permissions) for e in acl.entries))
        mode = status.permission & 0o7777
        return Security(status.owner, status.group, mode, acl=entries, replication=status.replication or 0)

    def secure(self, location: str, wanted: Security) -> None:
        """Change only what differs, since giving a file away takes a superuser."""
        held = self.security(location)
        path = _path(location)
        with self._translated(location):
            if (held.owner, held.group) != (wanted.owner, wanted.group):
                self._client.set_owner(
                    path,
                    wanted.owner if held.owner != wanted.owner else None,
                    wanted.group if held.group != wanted.group else None,
                )
            if held.acl != wanted.acl:
                self._client.remove_acl(path)
            if held.mode != wanted.mode:
                self._client.set_permission(path, wanted.mode)
            if wanted.acl and held.acl != wanted.acl:
                self._client.set_acl(path, _acl_entries(wanted))
            if held.replication != wanted.replication:
                self._client.set_replication(path, wanted.replication)

    def obstacles(self, location: str, *, added: int) -> list[str]:
        """Look for snapshots of the directory and at the quota of the one above it."""
        path = _path(location)
        found = []
        try:
            with self._translated(location):
                snapshots = [status.path for status in self._client.list_status(f"{path}/.snapshot")]
        except StorageError:
            snapshots = []  # not a directory of which snapshots may be taken
        if snapshots:
            found.append(f"{location} has HDFS snapshots, and HDFS does not rename a directory that has some")
        # Only the directory above: to sum up what lies below a higher one can keep a NameNode busy for minutes. A quota further
        # up stops the run while it writes, before anything has moved.
        parent = path.rpartition("/")[0] or "/"
        with self._translated(location):
            summary = self._client.get_content_summary(parent)
        return found + _quota_obstacles(parent, summary, added)

    def probe(self, staging: str, live: str) -> str:
        """Rename an empty file from one directory into the other and back: the border of an encryption zone lets none pass."""
        there, here = f"{staging}/{PROBE}", f"{live}/{PROBE}"
        try:
            self.write(there, b"")
            self.rename(there, here)
            self.rename(here, there)
        except StorageError as error:
            return f"no file can be written beside {live} and renamed into it ({error.detail})"
        self.remove_empty(there)
        return ""

    @contextmanager
    def _translated(self, location: str) -> Iterator[None]:
        try:
            yield
        except StorageError:
            raise
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFoundError(location, store=self._store) from error
        except FileExistsError as error:
            raise AlreadyExistsError(location, store=self._store) from error
        except PermissionError as error:
            raise PermissionDeniedError(location, store=self._store, detail=str(error)) from error
        except (OSError, RuntimeError) as error:
            text = str(error).split(r"\n", 1)[0]
            kind = PermissionDeniedError if any(name in text for name in _REFUSED) else StorageError
            way_out = "Raise the quota or free space, then run it again" if any(n in text for n in _FULL) else ""
            raise kind(location, store=self._store, detail=text, way_out=way_out) from error


def _acl_entries(wanted: Security) -> list[Any]:
    from hdfs_native import AclEntry  # noqa: PLC0415 - needed by few

    # HDFS lists only what the permission bits do not say; the bits must be in a list that replaces all others.
    names: tuple[Any, ...] = ("user", "group", "other")
    bits = [(wanted.mode >> shift) & 7 for shift in (6, 3, 0)]
    access = {(kind, name) for scope, kind, name, _ in wanted.acl if scope == "access"}
    entries = [AclEntry(kind, scope, action, name or None) for scope, kind, name, action in wanted.acl]
    for kind, value in zip(names, bits, strict=True):
        if (kind, "") not in access:
            entries.append(AclEntry(kind, "access", _action(value)))
    if access and ("mask", "") not in access:
        entries.append(AclEntry("mask", "access", _action(bits[1])))
    return entries


def _action(value: int) -> Any:
    return "".join(letter if value & bit else "-" for letter, bit in (("r", 4), ("w", 2), ("x", 1)))


def _quota_obstacles(path: str, summary: Any, added: int) -> list[str]:
    found = []
    if _limited(summary.space_quota) and (left := summary.space_quota - summary.space_consumed) < added:
        found.append(f"the space quota of {path} has {max(left, 0):,} bytes left, and {added:,} are needed")
    used = summary.file_count + summary.directory_count
    if _limited(summary.quota) and summary.quota - used < 2:  # at least a directory and a file
        found.append(f"the name quota of {path} ({summary.quota:,}) has no room for another directory and file")
    return found


def _limited(quota: int) -> bool:
    return 0 <= quota < (1 << 62)


def _path(location: str) -> str:
    return split_location(location)[2] or "/"
