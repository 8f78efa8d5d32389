"""What was read of a log, kept within limits of time and memory. A cache makes a read cheaper, never older.

Entries are keyed by the table's id and a version, and a version never changes, so an entry cannot become wrong; it can only be
one that nobody asks for any more. Whether a newer version exists is asked of the store, not of a cache.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from indextables.runtime import ForkSafeLock

if TYPE_CHECKING:
    from collections.abc import Hashable

    from indextables.runtime import Runtime

_V = TypeVar("_V")


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheStats:
    """How often each level had the answer, as a share of the questions, and what all of them hold."""

    protocol_hit_rate: float
    metadata_hit_rate: float
    version_hit_rate: float
    files_hit_rate: float
    versions_list_hit_rate: float
    entries: int
    bytes: int


class Level(Generic[_V]):
    """One kind of entry: the least recently used ones go when the bytes run out, all go when their time is over."""

    def __init__(self, *, expiration_s: float, max_bytes: int, runtime: Runtime) -> None:
        self._expiration_s = expiration_s
        self._max_bytes = max_bytes
        self._runtime = runtime
        self._lock = ForkSafeLock()
        self._entries: OrderedDict[Hashable, tuple[float, int, _V]] = OrderedDict()
        self._bytes = self._hits = self._questions = 0

    def get(self, key: Hashable) -> _V | None:
        """Return the entry, unless there is none or its time is over."""
        with self._lock:
            self._questions += 1
            found = self._entries.get(key)
            if found is None:
                return None
            stored, size, value = found
            if self._runtime.monotonic() - stored > self._expiration_s:
                del self._entries[key]
                self._bytes -= size
                return None
            self._entries.move_to_end(key)
            self._hits += 1
            return value

    def put(self, key: Hashable, value: _V, *, size: int) -> None:
        """Keep an entry; one that is larger than the whole level is not kept."""
        with self._lock:
            if (old := self._entries.pop(key, None)) is not None:
                self._bytes -= old[1]
            if size > self._max_bytes:
                return
            self._entries[key] = (self._runtime.monotonic(), size, value)
            self._bytes += size
            while self._bytes > self._max_bytes:
                _, (_, freed, _) = self._entries.popitem(last=False)
                self._bytes -= freed

    def discard(self, key: Hashable) -> None:
        """Forget one entry, if it is there."""
        with self._lock:
            if (old := self._entries.pop(key, None)) is not None:
                self._bytes -= old[1]

    def clear(self) -> None:
        """Forget every entry; the counts stay."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    @property
    def hit_rate(self) -> float:
        """The share of questions that had an answer; 0 before the first question."""
        return self._hits / self._questions if self._questions else 0.0

    @property
    def size(self) -> tuple[int, int]:
        """How many entries there are, and their bytes."""
        return len(self._entries), self._bytes
