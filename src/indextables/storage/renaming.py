"""What HDFS and its kin have in common: an object is staged beside its target and published by one rename.

The NameNode carries out a rename in one step and, asked to, refuses an existing target. Both adapters (`hdfs` without a JVM,
`hadoop` inside Spark's) supply a handful of primitives; staging, settling, listing and the meaning of Java's exceptions
live here, so the two cannot drift apart.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import contextmanager
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from indextables.errors import (
    AlreadyExistsError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    StorageError,
    StorageUnavailableError,
    UnsupportedStoreError,
)
from indextables.storage.base import ObjectMeta, Store
from indextables.storage.paths import canonical
from indextables.storage.temporary import is_temporary, temporary_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from indextables.runtime import Runtime

# An exception's class is a code that the NameNode sends; its message is prose. What is missing here falls to the caller's
# default. Connection errors are missing on purpose: Hadoop's client may have sent the request before it met one.
_MEANING: dict[str, type[StorageError]] = {
    "java.io.FileNotFoundException": NotFoundError,
    "java.nio.file.NoSuchFileException": NotFoundError,
    "org.apache.hadoop.fs.ParentNotDirectoryException": NotFoundError,
    "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException": NotFoundError,
    "org.apache.hadoop.fs.FileAlreadyExistsException": AlreadyExistsError,
    "java.nio.file.FileAlreadyExistsException": AlreadyExistsError,
    "java.nio.file.AccessDeniedException": PermissionDeniedError,
    "org.apache.hadoop.fs.PathPermissionException": PermissionDeniedError,
    "org.apache.hadoop.security.AccessControlException": PermissionDeniedError,
    "org.apache.hadoop.security.authorize.AuthorizationException": PermissionDeniedError,
    "org.apache.hadoop.security.token.SecretManager$InvalidToken": PermissionDeniedError,
    "org.apache.hadoop.hdfs.protocol.ClusterStorageCapacityExceededException": StorageUnavailableError,
    "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException": StorageUnavailableError,
    "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException": StorageUnavailableError,
    "org.apache.hadoop.hdfs.server.namenode.SafeModeException": StorageUnavailableError,
    "org.apache.hadoop.ipc.RetriableException": StorageUnavailableError,
    "org.apache.hadoop.ipc.StandbyException": StorageUnavailableError,
    "org.apache.hadoop.fs.UnsupportedFileSystemException": UnsupportedStoreError,
    # The store's own rules about names, beyond those of `storage.paths`: no colon, no `.snapshot`, at most 255 bytes.
    "java.lang.IllegalArgumentException": StorageError,
    "org.apache.hadoop.HadoopIllegalArgumentException": StorageError,
    "org.apache.hadoop.fs.InvalidPathException": StorageError,
    "org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException": StorageError,
}


def meaning_of(java_classes: Iterable[str]) -> type[StorageError] | None:
    """Return what the first known one of an exception's classes means, given from the class itself upwards."""
    return next((_MEANING[name] for name in java_classes if name in _MEANING), None)


def failure(kind: type[StorageError], path: str, *, store: str, detail: str) -> StorageError:
    """Return the error to raise for a foreign one of that meaning."""
    way_out = "Choose a name that this store allows" if kind is StorageError else ""
    return kind(path, store=store, detail=detail, way_out=way_out)


class Entry(NamedTuple):
    """One line of a directory."""

    name: str
    is_directory: bool
    size: int
    modified_ms: int


class RenamingStore(Store):
    """A directory of a file system whose rename is atomic; it comes into being with the first write.

    The primitives take canonical paths, the empty one being the root. They raise whatever their library raises, which
    `_translated` turns into our errors.
    """

    def __init__(self, url: str, *, runtime: Runtime) -> None:
        self._url = url.rstrip("/")
        self._runtime = runtime

    @property
    def url(self) -> str:
        return self._url

    @abstractmethod
    def _translated(self, path: str, otherwise: type[StorageError]) -> AbstractContextManager[None]:
        """Turn the library's errors into ours, `otherwise` being the verdict on those that say nothing certain."""

    @abstractmethod
    def _create(self, path: str, data: bytes) -> None:
        """Write a new file and its missing parents, and return once it is closed without an error."""

    @abstractmethod
    def _rename(self, source: str, target: str, *, overwrite: bool) -> None:
        """Move a file in one step, refusing an existing target unless told to replace it."""

    @abstractmethod
    def _remove(self, path: str) -> bool:
        """Delete a file and tell whether it was there."""

    @abstractmethod
    def _read(self, path: str, start: int, length: int | None) -> bytes:
        """Return bytes of a file, all from `start` on if `length` is None."""

    @abstractmethod
    def _status(self, path: str) -> Entry:
        """Describe a file or a directory."""

    @abstractmethod
    def _entries(self, directory: str) -> list[Entry]:
        """Return what a directory holds, in any order; nothing if it is a file."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        self._publish(canonical(path), data, overwrite=False)

    def put(self, path: str, data: bytes) -> None:
        self._publish(canonical(path), data, overwrite=True)

    def get(self, path: str) -> bytes:
        with self._asking_about(canonical(path), StorageUnavailableError):
            return self._read(path, 0, None)

    def get_range(self, path: str, start: int, length: int) -> bytes:
        with self._asking_about(canonical(path), StorageUnavailableError):
            return self._read(path, start, length)

    def head(self, path: str) -> ObjectMeta:
        with self._translated(canonical(path), StorageUnavailableError):
            entry = self._status(path)
        if entry.is_directory:
            raise NotFoundError(path, store=self.url)
        return ObjectMeta(path, entry.size, entry.modified_ms)

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        return self._walk(canonical(prefix) if prefix else "", (start_after or "").encode())

    def list_staged(self, prefix: str) -> Iterator[ObjectMeta]:
        return self._walk(canonical(prefix) if prefix else "", b"", staged=True)

    def delete(self, path: str) -> None:
        try:
            with self._asking_about(canonical(path), OutcomeUnknownError):
                self._remove(path)
        except NotFoundError:
            return

    def _publish(self, path: str, data: bytes, *, overwrite: bool) -> None:
        parent, slash, _ = path.rpartition("/")
        temporary = parent + slash + temporary_name(self._runtime)
        try:
            # Nothing has been published while this fails, whatever the reason.
            with self._translated(path, StorageUnavailableError):
                self._create(temporary, data)
        except NotFoundError as error:  # a file stands where a directory must be; to a writer that is no missing object
            self._discard(temporary)
            raise StorageUnavailableError(path, store=self.url, detail=error.detail) from (error.__cause__ or error)
        except BaseException:
            self._discard(temporary)
            raise
        try:
            with self._translated(path, OutcomeUnknownError):
                self._rename(temporary, path, overwrite=overwrite)
        except StorageError as error:
            raise self._settled(error, temporary) from (error.__cause__ or error)
        except BaseException:
            self._discard(temporary)
            raise

    def _settled(self, error: StorageError, temporary: str) -> StorageError:
        """Return what a failed rename really means.

        A client that repeats a lost request may report an error although the first one succeeded. The staged file knows
        better: as long as it was there to be deleted, it had not been renamed, and from then on it cannot be.
        """
        certain = self._discard(temporary)
        if certain and isinstance(error, OutcomeUnknownError | NotFoundError):
            return StorageUnavailableError(error.path, store=self.url, detail=error.detail)
        if certain or isinstance(error, OutcomeUnknownError):
            return error
        return OutcomeUnknownError(error.path, store=self.url, detail=error.detail)

    def _discard(self, temporary: str) -> bool:
        """Delete a staged file if possible and tell whether that surely happened."""
        try:
            with self._translated(temporary, OutcomeUnknownError):
                return self._remove(temporary)
        except StorageError:
            return False

    @contextmanager
    def _asking_about(self, path: str, otherwise: type[StorageError]) -> Iterator[None]:
        try:
            with self._translated(path, otherwise):
                yield
        except PermissionDeniedError:
            # HDFS also says this of a path that leads through a file, where its status call says that nothing is there.
            with self._translated(path, otherwise):
                self._status(path)
            raise

    def _walk(self, directory: str, after: bytes, *, staged: bool = False) -> Iterator[ObjectMeta]:
        try:
            with self._asking_about(directory, StorageUnavailableError):
                entries = self._entries(directory)
        except NotFoundError:
            return
        prefix = f"{directory}/" if directory else ""
        keyed = [((prefix + entry.name + "/" * entry.is_directory).encode(), entry) for entry in entries]
        for key, entry in sorted(keyed, key=itemgetter(0)):
            path = prefix + entry.name
            if entry.is_directory:
                # Everything below sorts between `key` and `key` with its slash raised, so most directories are passed over whole.
                if key[:-1] + b"0" > after:
                    yield from self._walk(path, after, staged=staged)
            elif key > after and is_temporary(entry.name) == staged:
                yield ObjectMeta(path, entry.size, entry.modified_ms)
