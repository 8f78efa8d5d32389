"""The local disk as a file system of directories.

`rename(2)` refuses a target that holds anything, and replaces an empty directory, which loses nothing. Every change is synced
with the directories it touches before the call returns, so what the next step relies on survives a power cut.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

import pyarrow as pa

from indextables.errors import AlreadyExistsError, NotFoundError, PermissionDeniedError, StorageError
from indextables.hive.filesystem import Entry, FileSystem, Security, split_location

if TYPE_CHECKING:
    from collections.abc import Iterator

_STORE = "the local disk"


class LocalFileSystem(FileSystem):
    """Directories of this machine."""

    def entries(self, location: str, *, recursive: bool = True) -> list[Entry]:
        """List without following links."""
        root = _path(location)
        with _translated(location):
            found: list[Entry] = []
            _walk(str(root), "", recursive=recursive, found=found)
        return sorted(found)

    def is_directory(self, location: str) -> bool:
        """Tell whether a directory, and no link to one, is there."""
        path = _path(location)
        return path.is_dir() and not path.is_symlink()

    def rename(self, source: str, target: str) -> None:
        """Rename; a file goes by link and unlink, which never replace."""
        old, new = _path(source), _path(target)
        with _translated(target, source):
            if old.is_dir() and not old.is_symlink():
                old.rename(new)
            else:
                _move_file(old, new)
            _sync(new.parent)
            if old.parent != new.parent:
                _sync(old.parent)

    def make_directory(self, location: str, *, parents: bool = False) -> None:
        """Create a directory and sync the one above it."""
        path = _path(location)
        with _translated(location):
            path.mkdir(parents=parents, exist_ok=parents)
            _sync(path.parent)

    def remove_tree(self, location: str) -> None:
        """Delete; `shutil.rmtree` follows no link and works relative to open directories."""
        path = _path(location)
        with _translated(location), suppress(FileNotFoundError):
            shutil.rmtree(path)
            _sync(path.parent)

    def remove_empty(self, location: str) -> bool:
        """Delete a directory if it is empty."""
        try:
            _path(location).rmdir()
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
                return False
            raise StorageError(location, store=_STORE, detail=error.strerror or "") from error
        return True

    def open_input(self, location: str, length: int) -> Any:  # noqa: ARG002 - the disk knows the length itself
        """Open for pyarrow, which reads without holding the interpreter."""
        with _translated(location):
            return pa.OSFile(str(_path(location)), "rb")

    def create(self, location: str) -> BinaryIO:
        """Create a file that is synced when it is closed."""
        with _translated(location):
            return cast("BinaryIO", _SyncedFile(_path(location)))

    def security(self, location: str) -> Security:
        """Return numeric owner and group, mode, and what extended attributes there are (POSIX ACLs are some of them)."""
        path = _path(location)
        with _translated(location):
            info = path.lstat()
            names = os.listxattr(path, follow_symlinks=False) if hasattr(os, "listxattr") else []
            attributes = {
                name: os.getxattr(path, name, follow_symlinks=False)
                for name in names
                if not name.startswith("security.")
            }
        return Security(str(info.st_uid), str(info.st_gid), stat.S_IMODE(info.st_mode), attributes=attributes)

    def secure(self, location: str, wanted: Security) -> None:
        """Change only what differs, since most of it needs rights that most users lack."""
        path = _path(location)
        held = self.security(location)
        with _translated(location):
            if (held.owner, held.group) != (wanted.owner, wanted.group):
                os.chown(path, int(wanted.owner), int(wanted.group), follow_symlinks=False)
            if held.mode != wanted.mode:
                path.chmod(wanted.mode)
            for name in wanted.attributes:
                if held.attributes.get(name) != wanted.attributes[name]:
                    os.setxattr(path, name, wanted.attributes[name])

    def obstacles(self, location: str, *, added: int) -> list[str]:
        """Look at links, mount points, rights and free space."""
        path = _path(location)
        found = []
        if path.is_symlink():
            found.append(f"{location} is a symbolic link, and renaming it would move the link alone")
        elif path.is_mount():
            found.append(f"{location} is a mount point and cannot be renamed")
        elif not os.access(path.parent, os.W_OK | os.X_OK):
            found.append(f"we may not rename inside {path.parent}")
        elif (free := shutil.disk_usage(path.parent).free) < added:
            found.append(f"{added:,} bytes are needed beside {location}, and {free:,} are free")
        return found


class _SyncedFile:
    """A file for pyarrow to write, which is on the disk once it is closed."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._parent = path.parent

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        done = 0
        while done < len(view):
            done += self._file.write(view[done:]) or 0
        return done

    def close(self) -> None:
        if not self._file.closed:
            try:
                os.fsync(self._file.fileno())
            finally:
                self._file.close()
            _sync(self._parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _walk(directory: str, prefix: str, *, recursive: bool, found: list[Entry]) -> None:
    for item in os.scandir(directory):
        path = prefix + item.name
        if item.is_symlink():
            found.append(Entry(path, 0, 0, is_link=True))
        elif item.is_dir(follow_symlinks=False):
            found.append(Entry(path, 0, 0, is_dir=True))
            if recursive:
                _walk(item.path, path + "/", recursive=True, found=found)
        else:
            info = item.stat(follow_symlinks=False)
            found.append(Entry(path, info.st_size, info.st_mtime_ns))


def _move_file(old: Path, new: Path) -> None:
    try:
        new.hardlink_to(old)
    except FileExistsError:
        if not new.samefile(old):  # the same file: an earlier attempt died between the two steps
            raise
    old.unlink()


def _path(location: str) -> Path:
    return Path(split_location(location)[2])


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated(location: str, source: str = "") -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(source or location, store=_STORE) from error
    except FileExistsError as error:
        raise AlreadyExistsError(location, store=_STORE) from error
    except PermissionError as error:
        raise PermissionDeniedError(location, store=_STORE, detail=error.strerror or "") from error
    except OSError as error:
        kind = AlreadyExistsError if error.errno == errno.ENOTEMPTY else StorageError
        raise kind(location, store=_STORE, detail=error.strerror or str(error)) from error
