"""Object stores as a file system, as far as they are one: what is there, bytes in and out, and nothing that renames a directory.

A directory is there if an object lies below it. Owners, modes and access control lists belong to the store's own policies.
"""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

import pyarrow as pa

from indextables.errors import NotFoundError, StorageError
from indextables.hive.filesystem import Entry, FileSystem, Security, split_location
from indextables.hive.remote_files import CHUNK, RangeReader

if TYPE_CHECKING:
    from indextables.storage.base import ObjectMeta, Store

_WHOLE = 64 << 20  # objects up to this size are fetched in one piece


class ObjectFileSystem(FileSystem):
    """The objects of one bucket.

    Args:
        store: The bucket, from its root on.
    """

    renames = False

    def __init__(self, store: Store) -> None:
        self._store = store

    def entries(self, location: str, *, recursive: bool = True) -> list[Entry]:
        """List all objects below a directory."""
        prefix = _key(location)
        found: dict[str, Entry] = {}
        for meta in self._store.list_from(prefix):
            path = meta.path[len(prefix) + 1 if prefix else 0 :]
            head, below, _ = path.partition("/")
            entry = Entry(path, meta.size, _version(meta))
            found.setdefault(head if below and not recursive else path, entry)
            if below and not recursive:
                found[head] = Entry(head, 0, 0, is_dir=True)
        if not found:
            raise NotFoundError(location, store=self._store.url)
        return sorted(found.values())

    def is_directory(self, location: str) -> bool:
        """Tell whether an object lies below it."""
        return next(self._store.list_from(_key(location)), None) is not None

    def rename(self, source: str, target: str) -> None:
        """Copy one object and delete it where it was; directories stay where they are."""
        if self.is_directory(source):
            raise StorageError(source, store=self._store.url, detail="a directory cannot be renamed in one step")
        self._store.put_if_absent(_key(target), self._store.get(_key(source)))
        self._store.delete(_key(source))

    def make_directory(self, location: str, *, parents: bool = False) -> None:
        """Do nothing: a directory comes into being with its first object."""

    def remove_tree(self, location: str) -> None:
        """Delete all objects below a directory."""
        for meta in list(self._store.list_from(_key(location))):
            self._store.delete(meta.path)

    def remove_empty(self, location: str) -> bool:
        """Tell whether nothing lies below it, so that it is not there."""
        return not self.is_directory(location)

    def open_input(self, location: str, length: int) -> Any:
        """Fetch a small object whole; read a large one piece by piece."""
        if length <= _WHOLE:
            return pa.BufferReader(self._store.get(_key(location)))
        return io.BufferedReader(RangeReader(_Ranges(self._store, _key(location), length)), CHUNK)

    def create(self, location: str) -> BinaryIO:
        """Gather a new object and send it when it is closed: it is whole, or not there."""
        return cast("BinaryIO", _Upload(self._store, _key(location)))

    def security(self, location: str) -> Security:  # noqa: ARG002 - the same for all
        """Return nothing: rights are the bucket's."""
        return Security("", "", 0)

    def secure(self, location: str, wanted: Security) -> None:
        """Do nothing: rights are the bucket's."""

    def obstacles(self, location: str, *, added: int) -> list[str]:  # noqa: ARG002 - a bucket has neither links nor quotas
        """Return nothing: nothing is renamed, and there is always room."""
        return []


class _Ranges:
    """An object, piece by piece."""

    def __init__(self, store: Store, key: str, length: int) -> None:
        self._store = store
        self._key = key
        self._length = length

    def file_length(self) -> int:
        return self._length

    def read_range(self, offset: int, len: int) -> bytes:  # noqa: A002 - as the protocol has it
        return self._store.get_range(self._key, offset, len)


class _Upload:
    """A new object; one whose writing failed, or was given up, is never sent."""

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key
        self._held = bytearray()
        self._closed = False

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._held += view
        return len(view)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._store.put_if_absent(self._key, bytes(self._held))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()


def _version(meta: ObjectMeta) -> int:
    """Return what changes whenever an object is written anew: clocks of stores count seconds, so its tag goes in, too."""
    digest = hashlib.sha256(f"{meta.modified_ms},{meta.etag}".encode()).digest()
    return int.from_bytes(digest[:8])


def _key(location: str) -> str:
    return split_location(location)[2].strip("/")
