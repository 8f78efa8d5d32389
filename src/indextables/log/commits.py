"""Commits as they are needed: as actions where there are few, as columns where there are many."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar

from indextables.errors import LogCorruptionError, NotFoundError
from indextables.log.bulk_decode import decode_commits, decode_few
from indextables.log.checkpoint.finder import CheckpointFinder
from indextables.log.codec import decode
from indextables.log.columns import ActionKeys
from indextables.log.floor import read_floor
from indextables.log.layout import commit_path
from indextables.log.lines import parse_lines
from indextables.log.reader import stream_commits
from indextables.runtime import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from indextables.config import Settings
    from indextables.log.actions import Action
    from indextables.log.cache import Level
    from indextables.log.columns import ActionColumns
    from indextables.runtime import Runtime
    from indextables.storage.base import Store

_KEPT: Final = 16
_FEW: Final = 64
_SMALL: Final = 320  # what a commit of one or two files takes, most of it to say who made it
_FEW_BYTES: Final = 4 << 10  # beyond what small commits take: with more, the quick reader makes up for its beginning
_T = TypeVar("_T")


class CommitReader:
    """Reads commits of one log; a few at a time they are kept, many at a time they are not worth the memory."""

    def __init__(
        self, store: Store, settings: Settings, cache: Level[bytes] | None = None, *, runtime: Runtime = SYSTEM
    ) -> None:
        self.store = store
        self.checkpoints = CheckpointFinder(store, settings)
        self._settings = settings
        self._cache = cache
        self._runtime = runtime
        self._keys = ActionKeys()
        self._generation = 0

    def forget(self) -> None:
        """Forget what was read: the log in this place is another one now."""
        self._generation += 1
        self._keys = ActionKeys()
        self.checkpoints.forget()

    def actions(self, versions: Sequence[int]) -> list[tuple[int, list[Action]]]:
        """Return the actions of some versions, in the order given."""
        return self._read_twice(
            versions, lambda files: [(version, self._parse(version, data)) for version, data in files]
        )

    def columns(self, versions: Sequence[int]) -> ActionColumns:
        """Return the actions of many versions as columns."""
        columns = self._read_twice(versions, self._decode_few if len(versions) <= _FEW else self._decode)
        self._keys = columns.keys
        return columns

    def _decode(self, files: Iterable[tuple[int, bytes]]) -> ActionColumns:
        return decode_commits(files, path_of=self.path_of, keys=self._keys)

    def _decode_few(self, files: Iterable[tuple[int, bytes]]) -> ActionColumns:
        held, beyond, rest = [], 0, iter(files)
        for version, data in rest:
            held.append((version, data))
            beyond += max(0, len(data) - _SMALL)
            if beyond > _FEW_BYTES:
                return self._decode(chain(held, rest))
        return decode_few(held, path_of=self.path_of, keys=self._keys)

    def _read_twice(self, versions: Sequence[int], parse: Callable[[Iterable[tuple[int, bytes]]], _T]) -> _T:
        """Parse commits, and if one is damaged ask for the bytes once more: damage on the way must not stay in the cache."""
        try:
            return parse(self._bytes(versions))
        except LogCorruptionError:
            self._discard(versions)
        try:
            return parse(self._bytes(versions))
        except LogCorruptionError:
            self._discard(versions)
            raise

    def _discard(self, versions: Sequence[int]) -> None:
        if self._cache is not None:
            for version in versions:
                self._cache.discard((self._generation, version))

    def _parse(self, version: int, data: bytes) -> list[Action]:
        path = self.path_of(version)
        return parse_lines(decode(data, path=path), path=path)

    def keep(self, version: int) -> None:
        """Make sure that a commit which is there stays there: asked to create it again, a store that could lose it syncs."""
        path = commit_path(version)
        try:
            self.store.put_if_absent(path, self.store.get(path))
        except NotFoundError:
            if version >= read_floor(self.store):  # else cleanup took it, long after it was safe
                raise

    def path_of(self, version: int) -> str:
        """Return how errors name the file of a version."""
        return f"{self.store.url}/{commit_path(version)}"

    def _bytes(self, versions: Sequence[int]) -> Iterable[tuple[int, bytes]]:
        if self._cache is None or len(versions) > _KEPT:
            return self._stream(versions)
        generation = self._generation
        held = {version: self._cache.get((generation, version)) for version in versions}
        for version, data in self._stream([version for version, data in held.items() if data is None]):
            held[version] = data
            self._cache.put((generation, version), data, size=len(data))
        return [(version, data) for version, data in held.items() if data is not None]

    def _stream(self, versions: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        checkpoint = self._settings.checkpoint
        parallelism = checkpoint.parallelism if self._settings.transaction.use_optimized else 1
        return stream_commits(
            self.store,
            versions,
            parallelism=parallelism,
            timeout_s=checkpoint.read_timeout_s,
            runtime=self._runtime,
        )
