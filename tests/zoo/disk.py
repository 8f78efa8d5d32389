"""The local store watched at its system calls: each may fail, or come second, and after it the power may go.

The calls that a store really makes are repeated on the model of a disk that forgets what was not synced. So no word of the store
about its own syncs is taken for granted, and no power has to be cut.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from indextables.errors import AlreadyExistsError, StorageError
from indextables.storage.local import LocalStore
from indextables.testing.disk import Disk
from indextables.testing.namespace import Stamp
from indextables.testing.virtual import dice
from tests.faults.clients import Client
from tests.faults.invariants import violations
from tests.support.history import History
from tests.zoo.detectors import Detector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CALLS = ("open", "fsync", "link", "replace", "unlink", "mkdir")
_SEEDS = range(16)


class Watched:
    """The system calls of one process below one directory: counted, failed on demand, and repeated on a model of the disk.

    Args:
        root: The directory.
        fail_at: The number of the call that fails, counted from 1; none by default.
        before_publishing: Happens once, right before the first file gets its name.
    """

    def __init__(
        self, root: Path, *, fail_at: int | None = None, before_publishing: Callable[[], object] | None = None
    ) -> None:
        self._root = str(root)
        self._fail_at = fail_at
        self._before_publishing = before_publishing
        self._real = {name: getattr(os, name) for name in _CALLS}
        self.calls = 0
        self.disk = Disk()

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for name in _CALLS:
            patch.setattr(os, name, getattr(self, f"_{name}"))

    def survivors(self, seed: int) -> dict[str, bytes]:
        """Return the files that are there when the power comes back."""
        after = self.disk.copy()
        after.lose_cache(dice(seed))
        return {path: file.data for path, file in after.below("")}

    def _name(self, path: Any) -> str | None:
        text = os.fspath(path)
        return text[len(self._root) + 1 :] if text.startswith(f"{self._root}/") else None

    def _count(self, path: Any) -> None:
        if os.fspath(path).startswith(self._root):
            self.calls += 1
            if self.calls == self._fail_at:
                raise OSError(errno.EIO, "Input/output error")

    def _written(self, name: str) -> None:
        """Take over what a file holds by now; only a sync makes it last."""
        self.disk.write(name, (Path(self._root) / name).read_bytes())

    def _open(self, path: Any, flags: int, *rest: Any, **named: Any) -> int:
        name = self._name(path)
        if name is None or not flags & os.O_CREAT:
            return int(self._real["open"](path, flags, *rest, **named))
        self._count(path)
        descriptor = int(self._real["open"](path, flags, *rest, **named))
        self.disk.create(name, Stamp(0, ""))
        return descriptor

    def _fsync(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - a descriptor, not a path
        is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        name = "" if path == self._root else self._name(path)
        self._count(path)
        if name is not None and is_directory:
            self.disk.sync_directory(name)
        elif name is not None:
            self._written(name)
            self.disk.sync(name)

    def _publish(self, call: str, source: Any, target: Any) -> None:
        old, new = self._name(source), self._name(target)
        self._count(source)
        if self._before_publishing is not None:
            meddle, self._before_publishing = self._before_publishing, None
            meddle()
        self._real[call](source, target)
        if old is not None and new is not None:
            if self.disk.file(old).data != (Path(self._root) / new).read_bytes():  # type: ignore[union-attr]
                self._written(old)
            getattr(self.disk, call)(old, new)

    def _link(self, source: Any, target: Any, **_: Any) -> None:
        self._publish("link", source, target)

    def _replace(self, source: Any, target: Any, **_: Any) -> None:
        self._publish("replace", source, target)

    def _unlink(self, path: Any, **named: Any) -> None:
        self._real["unlink"](path, **named)
        if (name := self._name(path)) is not None:
            self.disk.unlink(name)

    def _mkdir(self, path: Any, *rest: Any, **named: Any) -> None:
        self._real["mkdir"](path, *rest, **named)
        if (name := self._name(path)) is not None:
            self.disk.make_directory(name)


def _power_cuts(directory: Path) -> Iterator[str]:
    """Let each call of a few writes fail in turn, and cut the power after every answer: what was acknowledged is there."""
    for fail_at in range(40):
        root = directory / str(fail_at)
        root.mkdir(parents=True)
        watched = Watched(root, fail_at=fail_at or None)
        store = LocalStore(root)
        done: dict[str, bytes] = {}
        writes = [(store.put_if_absent, "d/a", b"one" * 9), (store.put, "d/a", b"two" * 9), (store.put, "e/f/b", b"x")]
        with pytest.MonkeyPatch.context() as patch:
            watched.install(patch)
            for write, path, data in writes:
                try:
                    write(path, data)
                except (StorageError, AlreadyExistsError):
                    done.pop(path, None)  # old bytes or new ones: nobody was told
                else:
                    done[path] = data
                for seed in _SEEDS:
                    left = watched.survivors(seed)
                    lost = [path for path, data in done.items() if left.get(path) != data]
                    yield from (f"P1: {path} was acknowledged and is lost (call {fail_at} failed)" for path in lost)
        if fail_at > watched.calls:
            return


def _overtaken(directory: Path) -> Iterator[str]:
    """Let another process create the same object right before a store gives its own file that name."""
    store, other = LocalStore(directory), LocalStore(directory)
    with pytest.MonkeyPatch.context() as patch:
        Watched(directory, before_publishing=lambda: other.put_if_absent("d/a", b"theirs")).install(patch)
        try:
            store.put_if_absent("d/a", b"ours")
        except AlreadyExistsError:
            pass
        else:
            yield "I1: two creators of one object were both told that they won"
    if store.get("d/a") != b"theirs":
        yield "I1: an object that was there changed"


def _overtaken_commit(directory: Path) -> Iterator[str]:
    """Let another client append at the same moment of a commit, and let the judge of histories look at the table."""
    history = History()
    first, second = (Client(name, LocalStore(directory), history) for name in "ab")
    first.create()
    with pytest.MonkeyPatch.context() as patch:
        Watched(directory, before_publishing=second.append).install(patch)
        first.append()
    store = LocalStore(directory)
    yield from violations({meta.path: store.get(meta.path) for meta in store.list_from("")}, history)


POWER_CUTS = Detector("power cuts", "the local store's own system calls, each failing in turn", _power_cuts)
OVERTAKEN = Detector("overtaken at a system call", "two creators of an object on the local disk", _overtaken)
OVERTAKEN_COMMIT = Detector("history", "two appends on the local disk, one inside the other", _overtaken_commit)
