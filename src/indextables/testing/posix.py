"""A local file system, published to with the steps of `storage.local`, on a disk that forgets what was not synced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import AlreadyExistsError
from indextables.testing.disk import Disk
from indextables.testing.memory import Model, Step, WriteOp
from indextables.testing.namespace import ancestors, parent

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator


class PosixModel(Model):
    """Local disk: temporary file, sync, link or rename, sync of the directory. `crash` cuts the power.

    Args:
        now_ms: The clock of the file system.
        sync_file: Whether a file is synced before it is published. False is a bug on purpose: tests must notice it.
        sync_directory: Whether a directory is synced before a write is acknowledged. False is a bug on purpose, too.
        sync_parents: Whether that goes for the directories above it as well, whoever made them. False leaves it to whoever made
            them, who may have died in between: a bug on purpose.
    """

    _files: Disk

    def __init__(
        self,
        *,
        now_ms: Callable[[], int] | None = None,
        sync_file: bool = True,
        sync_directory: bool = True,
        sync_parents: bool = True,
    ) -> None:
        super().__init__(now_ms=now_ms)
        self._files = Disk()
        self._sync_file = sync_file
        self._sync_directory = sync_directory
        self._sync_parents = sync_parents

    @property
    def url(self) -> str:
        return "posix model"

    def _lose(self, chance: random.Random) -> None:
        self._files.lose_cache(chance)

    def _steps(self, op: WriteOp, path: str, data: bytes) -> Iterator[Step]:
        if op == "delete":
            return self._delete(path)
        return self._publish(path, data, replace=op == "put")

    def _delete(self, path: str) -> Iterator[Step]:
        if self._files.file(path) is None:
            return
        yield Step.PUBLISH
        self._files.unlink(path)
        if self._sync_directory:
            yield Step.SYNC
            self._files.sync_directory(parent(path))

    def _publish(self, path: str, data: bytes, *, replace: bool) -> Iterator[Step]:
        disk, directory = self._files, parent(path)
        yield from self._make_directories(path)
        stamp, temporary = self._stamp(), self._temporary(directory)
        yield Step.PREPARE
        disk.create(temporary, stamp)
        yield Step.PREPARE
        disk.write(temporary, data[: len(data) // 2])
        yield Step.PREPARE
        disk.write(temporary, data)
        if self._sync_file:
            yield Step.PREPARE
            disk.sync(temporary)
        yield Step.PUBLISH
        try:
            if replace:
                disk.replace(temporary, path)
            else:
                disk.link(temporary, path)
                disk.unlink(temporary)
        except (FileExistsError, IsADirectoryError) as error:
            disk.unlink(temporary)
            if self._sync_directory:
                # What is there may be our own, unsynced since an earlier attempt: "exists" must mean that it stays.
                disk.sync_directory(directory)
            raise AlreadyExistsError(path, store=self.url) from error
        if self._sync_directory:
            yield Step.SYNC
            disk.sync_directory(directory)

    def _make_directories(self, path: str) -> Iterator[Step]:
        disk = self._files
        try:
            missing = disk.missing_directories(path)
        except NotADirectoryError as error:
            raise AlreadyExistsError(path, store=self.url, detail="a directory of it is a file") from error
        for directory in ancestors(path) if self._sync_parents else missing:
            if directory in missing:
                yield Step.PREPARE
                disk.make_directory(directory)
            if self._sync_directory and disk.is_unsynced(directory):
                yield Step.PREPARE
                disk.sync_directory(parent(directory))
