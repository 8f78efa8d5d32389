"""The storage port: bytes at paths, and an honest answer about what happened to them.

A store is rooted at one table. Paths are relative to that root in the canonical form of `storage.paths`, so no caller can
reach outside it. One call is one attempt: retries live in `storage.retry` alone, which is why every adapter says exactly one
of three things about a write:

*   done: the call returns;
*   not done: any `StorageError` except the next one;
*   unknown: `OutcomeUnknownError`. The write may have happened, or may still happen.

Objects are whole or absent. A half-written one is never visible, neither to `get` nor to `list_from`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from indextables.errors import NotFoundError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_WHOLE_BYTES: Final = 512 << 20
"""The most that is read in one piece. Whatever a table reads so is smaller, and a directory may hold anything."""


def whole(size: int, path: str, *, store: str) -> int:
    """Return the size of an object that is about to be read in one piece.

    Raises:
        StorageError: It is larger than any that a table reads so.
    """
    if size > MAX_WHOLE_BYTES:
        raise StorageError(
            path,
            store=store,
            detail=f"it has {size} bytes, and {MAX_WHOLE_BYTES} are the most that is read in one piece",
            way_out="Restore the file from a copy of the table, or move it away",
        )
    return size


@dataclass(frozen=True, slots=True)
class ObjectMeta:
    """What a listing knows about one object. Two objects under one path, one after the other, differ in some of it."""

    path: str
    size: int
    modified_ms: int
    etag: str = ""


class Store(ABC):
    """Bytes at paths below one root.

    Attributes:
        lists_whole_directories: Whether a listing costs as much as its directory is large, wherever it starts, so that few names
            are better asked for one by one.
        is_near: Whether to read an object as a rule means no waiting, so that to read several at once gains nothing.
    """

    lists_whole_directories: bool = True
    is_near: bool = False

    @property
    @abstractmethod
    def url(self) -> str:
        """Where the root is, as a person would write it, without secrets."""

    @abstractmethod
    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create an object that must not exist yet; of many racing callers exactly one succeeds.

        Raises:
            AlreadyExistsError: The store says that an object is there. Seen alone this is no proof that another writer won:
                a hidden retry may have met our own write, and S3 answers a mere collision (409) the same way.
                `RetryingStore` settles it by reading back.
            OutcomeUnknownError: The answer got lost.
        """

    @abstractmethod
    def put(self, path: str, data: bytes) -> None:
        """Create or replace an object; readers see the old bytes or the new ones, never a mixture.

        Raises:
            OutcomeUnknownError: The answer got lost.
        """

    @abstractmethod
    def get(self, path: str) -> bytes:
        """Return all bytes of an object.

        Raises:
            NotFoundError: Nothing is stored there (a directory counts as nothing).
            StorageError: It has more than `MAX_WHOLE_BYTES`.
        """

    @abstractmethod
    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Return up to `length` bytes from offset `start`, fewer where the object ends before, none beyond its end.

        Raises:
            NotFoundError: Nothing is stored there.
        """

    @abstractmethod
    def head(self, path: str) -> ObjectMeta:
        """Return size and modification time.

        Raises:
            NotFoundError: Nothing is stored there.
        """

    @abstractmethod
    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        """Yield every object below the directory `prefix`, however deep, in the order of their paths' UTF-8 bytes.

        `prefix` is a directory: `a` yields `a/b` and not `ab`, and the empty one is the root. With `start_after` (a path)
        only greater paths are yielded. A directory that does not exist holds nothing. The iterator is lazy: callers stop early.
        """

    def list_staged(self, prefix: str) -> Iterator[ObjectMeta]:  # noqa: ARG002 - for those that stage
        """Yield what writers left below a directory before they could publish it, and what `list_from` hides.

        A writer may still be at work on it: only its age tells. Stores that publish without staging have none.
        """
        return iter(())

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove an object; that none is there counts as done.

        Raises:
            OutcomeUnknownError: The answer got lost.
        """

    def exists(self, path: str) -> bool:
        """Tell whether an object is stored there."""
        try:
            self.head(path)
        except NotFoundError:
            return False
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"
