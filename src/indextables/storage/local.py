"""Local disk: an object is published by a link or a rename, and acknowledged only when file and directory are on the disk.

obstore serves every other store, but its local one never syncs, so a power cut could take back an acknowledged commit.
`os.link` refuses an existing target in one step of the kernel, which makes creation safe between processes.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from io import BufferedReader, FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from indextables.errors import (
    AlreadyExistsError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    StorageError,
    StorageUnavailableError,
    UnsafePathError,
    UnsupportedStoreError,
)
from indextables.runtime import SYSTEM, Runtime
from indextables.storage.base import ObjectMeta, Store, whole
from indextables.storage.paths import canonical
from indextables.storage.temporary import is_temporary, temporary_name

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
_TO_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class LocalStore(Store):
    """A directory of the local file system; it comes into being with the first write."""

    is_near = True

    def __init__(self, root: str | Path, *, runtime: Runtime = SYSTEM) -> None:
        if "\0" in str(root):
            raise UnsafePathError(str(root), "it holds a NUL character")
        self._root = Path(os.path.abspath(root))  # noqa: PTH100 - resolve() would follow links, which the user may have meant
        self._runtime = runtime
        self._inside: set[str] = set()
        self._durable: set[Path] = set()

    @property
    def url(self) -> str:
        return str(self._root)

    def put_if_absent(self, path: str, data: bytes) -> None:
        with self._staged(path, data) as (temporary, target):
            try:
                target.hardlink_to(temporary)
            except FileExistsError:
                # What is there may be our own earlier attempt, whose directory could not be synced: now it must be.
                self._sync(path, target.parent)
                raise
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                raise UnsupportedStoreError(path, store=self.url, detail="its file system has no hard links") from error

    def put(self, path: str, data: bytes) -> None:
        with self._staged(path, data) as (temporary, target):
            try:
                temporary.replace(target)
            except IsADirectoryError as error:
                raise AlreadyExistsError(path, store=self.url, detail="a directory has that name") from error

    def get(self, path: str) -> bytes:
        # A log is thousands of small files, so this is done without any object around the descriptor.
        with self._translated(path):
            descriptor, size = self._open(path)
            try:
                whole(size, path, store=self.url)
                data = os.read(descriptor, size + 1)
                if len(data) != size:  # it is large, or grows
                    with FileIO(descriptor, closefd=False) as file:
                        data += file.readall()
                return data
            finally:
                os.close(descriptor)

    def get_range(self, path: str, start: int, length: int) -> bytes:
        with self._translated(path), BufferedReader(FileIO(self._open(path)[0])) as file:
            file.seek(start)
            return file.read(length)

    def head(self, path: str) -> ObjectMeta:
        target = self._to_read(path)
        with self._translated(path):
            info = os.lstat(target)
            if stat.S_ISLNK(info.st_mode):
                info = self._followed(path).stat()
        if not stat.S_ISREG(info.st_mode):
            raise NotFoundError(path, store=self.url)
        return _meta(path, info)

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        directory = self._resolve(prefix) if prefix else self._root
        return self._walk(directory, f"{prefix}/" if prefix else "", (start_after or "").encode())

    def list_staged(self, prefix: str) -> Iterator[ObjectMeta]:
        directory = self._resolve(prefix) if prefix else self._root
        return self._walk(directory, f"{prefix}/" if prefix else "", b"", staged=True)

    def delete(self, path: str) -> None:
        target = self._resolve(path)
        with self._translated(path), suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            target.unlink()
            self._sync(path, target.parent)

    def _walk(self, directory: Path, prefix: str, after: bytes, *, staged: bool = False) -> Iterator[ObjectMeta]:
        try:
            with self._translated(prefix):
                entries = [
                    (entry.name + "/" * entry.is_dir(follow_symlinks=False), entry) for entry in os.scandir(directory)
                ]
        except NotFoundError:
            return
        keyed = sorted((os.fsencode(prefix + name), name, entry) for name, entry in entries)
        for key, name, entry in keyed:
            if name.endswith("/"):
                # Everything below sorts between `key` and `key` with its slash raised, so most directories are passed over whole.
                if key[:-1] + b"0" > after:
                    yield from self._walk(Path(entry.path), prefix + name, after, staged=staged)
            elif key > after and is_temporary(name) == staged:
                with suppress(FileNotFoundError):  # deleted since the directory was read
                    info = entry.stat(follow_symlinks=False)
                    if stat.S_ISLNK(info.st_mode):
                        info = self._led_to(prefix + name) or info
                    if stat.S_ISREG(info.st_mode):
                        yield _meta(prefix + name, info)

    def _led_to(self, path: str) -> os.stat_result | None:
        """Return what a link leads to; None where that is outside the table, or nothing: no reader would follow it."""
        with suppress(OSError, UnsafePathError):
            return self._followed(path).lstat()
        return None

    def _resolve(self, path: str) -> Path:
        """Return the file behind a path, refusing one that a symbolic link below the root leads outside."""
        target = self._root / canonical(path)
        if not Path(os.path.realpath(target.parent)).is_relative_to(os.path.realpath(self._root)):
            raise UnsafePathError(path, "a symbolic link leads outside the table")
        return target

    def _to_read(self, path: str) -> str:
        """Return the file behind a path. Reads remember which directories are inside, for to resolve links costs more than they."""
        canonical(path)
        directory = path.rpartition("/")[0]
        if directory not in self._inside:
            self._resolve(path)
            self._inside.add(directory)
        return f"{self.url}/{path}"

    def _open(self, path: str) -> tuple[int, int]:
        """Open a file, and nothing else: a pipe would be waited for, a device never ends, and a link may lead outside.

        Returns:
            Its descriptor and its size.
        """
        target = self._to_read(path)
        try:
            descriptor = os.open(target, _TO_READ)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            descriptor = os.open(self._followed(path), _TO_READ)
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            os.close(descriptor)
            raise NotFoundError(path, store=self.url, detail="it is no file")
        return descriptor, info.st_size

    def _followed(self, path: str) -> Path:
        """Return the file that a symbolic link leads to, if that is inside the table."""
        target = Path(os.path.realpath(self._root / path))
        if not target.is_relative_to(os.path.realpath(self._root)):
            raise UnsafePathError(path, "a symbolic link leads outside the table")
        return target

    @contextmanager
    def _staged(self, path: str, data: bytes) -> Iterator[tuple[Path, Path]]:
        """Write and sync `data` beside its target; the caller publishes it; then sync the directory."""
        target = self._resolve(path)
        temporary = target.parent / temporary_name(self._runtime)
        with self._translated(path):
            self._make_directory(target.parent)
            # Before the `try`: what is there already is not ours to remove.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                yield temporary, target
            finally:
                with suppress(OSError):
                    temporary.unlink(missing_ok=True)
            self._sync(path, target.parent)

    def _sync(self, path: str, directory: Path) -> None:
        """Make a change of a directory survive a power cut, or say that it may not."""
        try:
            _sync_directory(directory)
        except OSError as error:
            raise OutcomeUnknownError(
                path, store=self.url, detail=error.strerror or str(error), readable_is_durable=False
            ) from error

    def _make_directory(self, directory: Path) -> None:
        """Create a directory, and sync its parents once: also where it exists, for its maker may have died before syncing."""
        if directory in self._durable and directory.is_dir():
            return
        parent = directory.parent
        if parent.is_relative_to(self._root) or not parent.is_dir():
            self._make_directory(parent)
        try:
            directory.mkdir(exist_ok=True)
        except FileExistsError as error:
            raise StorageUnavailableError(
                str(directory),
                store=self.url,
                detail="a file is where a directory must be",
                way_out="Move that file away",
            ) from error
        _sync_directory(parent)
        self._durable.add(directory)

    @contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        try:
            yield
        except StorageError:
            raise
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise NotFoundError(path, store=self.url) from error
        except FileExistsError as error:
            raise AlreadyExistsError(path, store=self.url) from error
        except PermissionError as error:
            raise PermissionDeniedError(path, store=self.url, detail=error.strerror or "") from error
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
                raise NotFoundError(path, store=self.url, detail=error.strerror or "") from error
            raise StorageUnavailableError(
                path,
                store=self.url,
                detail=error.strerror or str(error),
                way_out="Check the disk's space and health, then try again",
            ) from error


def _meta(path: str, info: os.stat_result) -> ObjectMeta:
    return ObjectMeta(path, info.st_size, info.st_mtime_ns // 1_000_000, f"{info.st_ino:x}-{info.st_mtime_ns:x}")


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
