"""HDFS: a file is published by a rename that refuses an existing target, and the other rename has quirks worth testing.

Hadoop has two renames. `FileContext.rename` with `Options.Rename.NONE` raises when it cannot do exactly what was asked.
`FileSystem.rename` answers false instead, or moves the source *into* a directory that it finds at the target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import AlreadyExistsError, NotFoundError
from indextables.storage.paths import canonical, is_below
from indextables.testing.memory import Model, Step, WriteOp
from indextables.testing.namespace import DIRECTORY, File, parent

if TYPE_CHECKING:
    from collections.abc import Iterator


class HdfsModel(Model):
    """HDFS: temporary file, close, rename; what a name node has acknowledged no crash takes back."""

    @property
    def url(self) -> str:
        return "hdfs model"

    def make_directories(self, path: str) -> None:
        """Make a directory and every one above it that is missing.

        Raises:
            AlreadyExistsError: One of them is a file.
        """
        canonical(path)
        with self._lock:
            self._make_directories(path)

    def is_directory(self, path: str) -> bool:
        """Tell whether a directory is there."""
        with self._lock:
            return self._files.node(path) is DIRECTORY

    def rename(self, source: str, target: str) -> bool:
        """Rename a file or a directory as `FileSystem.rename` does on HDFS.

        A missing source, an existing file at the target and a missing parent of the target all answer False. A directory at
        the target takes the source in as its child, under the source's own name. A file renamed to itself answers True.
        """
        canonical(source)
        canonical(target)
        with self._lock:
            if self._files.node(target) is DIRECTORY:
                target = f"{target}/{source.rpartition('/')[2]}"
            if source == target:
                return self._files.file(source) is not None
            if self._why_not(source, target) is not None:
                return False
            self._move(source, target)
            return True

    def rename_or_raise(self, source: str, target: str) -> None:
        """Rename a file or a directory as `FileContext.rename` with `Options.Rename.NONE` does.

        Raises:
            NotFoundError: The source, or the parent of the target, is not there.
            AlreadyExistsError: Something is at the target, be it a directory, or the target lies inside the source.
        """
        canonical(source)
        canonical(target)
        with self._lock:
            if (error := self._why_not(source, target)) is not None:
                raise error
            self._move(source, target)

    def _steps(self, op: WriteOp, path: str, data: bytes) -> Iterator[Step]:
        if op == "delete":
            return self._delete(path)
        return self._publish(path, data, replace=op == "put")

    def _delete(self, path: str) -> Iterator[Step]:
        yield Step.PUBLISH
        if self._files.file(path) is not None:
            self._files.place(path, None)

    def _publish(self, path: str, data: bytes, *, replace: bool) -> Iterator[Step]:
        directory = parent(path)
        yield Step.PREPARE
        self._make_directories(directory)
        stamp, temporary = self._stamp(), self._temporary(directory)
        yield Step.PREPARE
        self._files.place(temporary, File(b"", stamp))
        yield Step.PREPARE
        self._files.place(temporary, File(data[: len(data) // 2], stamp))
        yield Step.PREPARE
        self._files.place(temporary, File(data, stamp))
        yield Step.PUBLISH
        there = self._files.node(path)
        if there is not None and (there is DIRECTORY or not replace):
            self._files.place(temporary, None)
            raise AlreadyExistsError(path, store=self.url)
        self._move(temporary, path)

    def _make_directories(self, path: str) -> None:
        try:
            missing = self._files.missing_directories(f"{path}/") if path else []
        except NotADirectoryError as error:
            raise AlreadyExistsError(path, store=self.url, detail="a directory of it is a file") from error
        for new in missing:
            self._files.place(new, DIRECTORY)

    def _why_not(self, source: str, target: str) -> NotFoundError | AlreadyExistsError | None:
        if self._files.node(source) is None:
            return NotFoundError(source, store=self.url)
        if self._files.node(target) is not None or is_below(target, source):
            return AlreadyExistsError(target, store=self.url)
        if self._files.node(parent(target)) is not DIRECTORY:
            return NotFoundError(parent(target), store=self.url)
        return None

    def _move(self, source: str, target: str) -> None:
        names = [source]
        if self._files.node(source) is DIRECTORY:
            names += [path for path in self._files.paths() if is_below(path, source)]
        for name in names:
            node = self._files.node(name)
            self._files.place(name, None)
            self._files.place(target + name[len(source) :], node)
