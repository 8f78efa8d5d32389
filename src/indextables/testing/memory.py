"""What the models of stores have in common, and the simplest of them, S3.

A model is a store in memory with the exact semantics of a real one, so that tests can ask what happens at any call and after
any crash, thousands of times a second. Servers that imitate S3 are no substitute: the usual one checks and then writes, so
two racing writers can both win there.

A write is a sequence of steps, of which one publishes. Stopping between two steps is what a crash or a full disk does.
"""

from __future__ import annotations

import copy
import threading
from abc import abstractmethod
from collections import deque
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from indextables.errors import AlreadyExistsError, NotFoundError, StorageError
from indextables.storage.base import ObjectMeta, Store
from indextables.storage.paths import canonical
from indextables.storage.temporary import is_temporary
from indextables.testing.namespace import File, Namespace, Stamp
from indextables.testing.virtual import EPOCH_MS, dice

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from typing import Self

WriteOp = Literal["put_if_absent", "put", "delete"]

# Sweeps use the same few paths a million times over.
_checked = lru_cache(maxsize=4096)(canonical)


class Step(Enum):
    """What the next step of a write does."""

    PREPARE = "nothing that a reader sees"
    PUBLISH = "makes the write visible, whole"
    SYNC = "makes what is visible survive a power cut"


class _Late(NamedTuple):
    """A write that is still on its way; it lands before the call that makes `calls` zero, or when everything settles."""

    op: WriteOp
    path: str
    data: bytes
    calls: int | None


class Model(Store):
    """A store in memory that can be cloned, compared, crashed, and asked to do things late or by halves.

    Args:
        now_ms: The store's own clock, from which modification times come. By default every write is one millisecond later.
    """

    is_near = True
    _files: Namespace

    def __init__(self, *, now_ms: Callable[[], int] | None = None) -> None:
        self._files = Namespace()
        self._now_ms = now_ms
        self._writes = 0
        self._late: list[_Late] = []
        self._lock = threading.Lock()

    @abstractmethod
    def _steps(self, op: WriteOp, path: str, data: bytes) -> Iterator[Step]:
        """Do a write, announcing each step before it is done."""

    def _lose(self, chance: random.Random) -> None:
        """Lose what a crash may take; by default nothing that was written."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        self._write("put_if_absent", _checked(path), data)

    def put(self, path: str, data: bytes) -> None:
        self._write("put", _checked(path), data)

    def delete(self, path: str) -> None:
        self._write("delete", _checked(path), b"")

    def get(self, path: str) -> bytes:
        return self._existing(path).data

    def get_range(self, path: str, start: int, length: int) -> bytes:
        return self._existing(path).data[start : start + length]

    def head(self, path: str) -> ObjectMeta:
        return self._existing(path).meta(path)

    def exists(self, path: str) -> bool:
        return self._look(path) is not None

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        return self._list(_checked(prefix) if prefix else "", start_after)

    def list_staged(self, prefix: str) -> Iterator[ObjectMeta]:
        with self._lock:
            files = list(self._files.below(_checked(prefix) if prefix else ""))
        return iter([file.meta(path) for path, file in files if _is_hidden(path)])

    def tree(self) -> dict[str, bytes]:
        """Return what a reader can see: the bytes of every object by path."""
        return {path: data for path, data in self.raw_tree().items() if not _is_hidden(path)}

    def raw_tree(self) -> dict[str, bytes]:
        """Return the bytes of every file by path, those that are not published yet included."""
        with self._lock:
            return {path: file.data for path, file in self._files.below("")}

    def clone(self) -> Self:
        """Return a store in the same state, late writes included, that goes its own way from here."""
        with self._lock:
            twin = copy.copy(self)
            twin.__dict__.update(_lock=threading.Lock(), _files=self._files.copy(), _late=self._late.copy())
        return twin

    def crash(self, seed: int) -> None:
        """Let every client die, and the power with them: unsynced data is lost, late writes land or are lost, by chance."""
        with self._lock:
            chance = dice(seed)
            self._lose(chance)
            self._settle(chance)

    def settle(self, seed: int) -> None:
        """Let every late write land or be lost, by chance and in any order, without a crash."""
        with self._lock:
            self._settle(dice(seed))

    def postpone(self, op: WriteOp, path: str, data: bytes, *, calls: int | None) -> None:
        """Take a write that lands later, under the conditions of that later moment; if they refuse it nobody is told.

        Args:
            op: The write.
            path: Its path.
            data: Its bytes; none for a delete.
            calls: It lands right before the call that is this many calls away, whoever makes it; None means that it
                stays on its way until `settle` or `crash`.
        """
        with self._lock:
            self._late.append(_Late(op, _checked(path), data, calls))

    def interrupt(self, op: WriteOp, path: str, data: bytes, *, steps: int) -> None:
        """Do at most so many steps of a write, none that publishes, and leave everything as it then is."""
        with self._lock:
            for done, step in enumerate(self._steps(op, _checked(path), data)):
                if done >= steps or step is not Step.PREPARE:
                    break

    def leave_unsynced(self, op: WriteOp, path: str, data: bytes) -> None:
        """Do a write up to its publication and leave out the sync that would let it survive a power cut."""
        with self._lock:
            for step in self._steps(op, _checked(path), data):
                if step is Step.SYNC:
                    break

    def _write(self, op: WriteOp, path: str, data: bytes) -> None:
        with self._lock:
            if self._late:
                self._land()
            deque(self._steps(op, path, data), maxlen=0)

    def _look(self, path: str) -> File | None:
        _checked(path)
        with self._lock:
            if self._late:
                self._land()
            return self._files.file(path)

    def _existing(self, path: str) -> File:
        file = self._look(path)
        if file is None:
            raise NotFoundError(path, store=self.url)
        return file

    def _list(self, prefix: str, start_after: str | None) -> Iterator[ObjectMeta]:
        with self._lock:
            if self._late:
                self._land()
            found = self._files.below(prefix, start_after)
        for path, file in found:
            if not _is_hidden(path):
                yield file.meta(path)

    def _land(self) -> None:
        """Count one call, and do what was due before it."""
        waiting, self._late = self._late, []
        for late in waiting:
            if late.calls is None:
                self._late.append(late)
            elif late.calls > 1:
                self._late.append(late._replace(calls=late.calls - 1))
            else:
                self._do_late(late)

    def _settle(self, chance: random.Random) -> None:
        waiting, self._late = self._late, []
        chance.shuffle(waiting)
        for late in waiting:
            if chance.random() < 0.5:
                self._do_late(late)

    def _do_late(self, late: _Late) -> None:
        with suppress(StorageError):
            deque(self._steps(late.op, late.path, late.data), maxlen=0)

    def _stamp(self) -> Stamp:
        """Return what marks the next write."""
        self._writes += 1
        return Stamp(self._now_ms() if self._now_ms else EPOCH_MS + self._writes, f"{self._writes:x}")

    def _temporary(self, directory: str) -> str:
        """Return the path to stage the current write at; the numbers of writes stand in for random bits."""
        return f"{directory}/" * bool(directory) + f".it-tmp-{self._writes:032x}"


class S3Model(Model):
    """S3: a flat space of objects, each put atomic, `If-None-Match: *` decided in one step, listings strongly consistent."""

    lists_whole_directories = False

    @property
    def url(self) -> str:
        return "s3 model"

    def _steps(self, op: WriteOp, path: str, data: bytes) -> Iterator[Step]:
        yield Step.PUBLISH
        if op == "delete":
            self._files.place(path, None)
        elif op == "put_if_absent" and self._files.file(path) is not None:
            raise AlreadyExistsError(path, store=self.url)
        else:
            self._files.place(path, File(data, self._stamp()))


def _is_hidden(path: str) -> bool:
    return is_temporary(path.rpartition("/")[2])
