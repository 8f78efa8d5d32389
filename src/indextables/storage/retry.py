"""The one place where storage calls are repeated, and where a lost answer to a conditional write is settled.

A conditional write that is repeated blindly meets its own first attempt and reports a conflict that never was; one that is
given up on leaves its caller guessing. So after any doubtful answer the object is read back: our bytes mean done, other bytes
mean that somebody else won, nothing means that the same bytes are sent to the same path again. A late first attempt then does
no harm: it carries the same bytes. This needs bytes that no other writer would produce, which is why every commit carries a
random id. It also needs that nobody deletes what is written, which a log does with what is old: so a doubt that lasted for long,
because the machine slept, is not settled any more.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from indextables.errors import (
    AlreadyExistsError,
    NotFoundError,
    OutcomeUnknownError,
    StorageError,
    StorageUnavailableError,
)
from indextables.runtime import SYSTEM, Runtime, Stopwatch
from indextables.storage.base import ObjectMeta, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_T = TypeVar("_T")
_LONGEST_DOUBT_MS = 600_000
"""Far more than all attempts take, and far less than anything stays before it may be deleted."""
_LOG = logging.getLogger(__name__)
_QUIET: Final = 2  # failures that are nothing unusual, and not worth a word


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """How often and how patiently a call is repeated: delays double from the base to the maximum, each drawn at random."""

    attempts: int = 10
    base_delay_s: float = 0.1
    max_delay_s: float = 5.0

    def delay(self, attempt: int, runtime: Runtime) -> float:
        """Return how long to wait after the attempt of that number (from 0), between half and all of the doubled delay."""
        ceiling = min(self.max_delay_s, self.base_delay_s * 2.0**attempt)
        return runtime.uniform(ceiling / 2, ceiling)


class RetryingStore(Store):
    """A store that repeats what is safe to repeat and settles what is in doubt."""

    def __init__(self, inner: Store, *, policy: RetryPolicy | None = None, runtime: Runtime = SYSTEM) -> None:
        self._inner = inner
        self.lists_whole_directories = inner.lists_whole_directories
        self.is_near = inner.is_near
        self._policy = policy or RetryPolicy()
        self._runtime = runtime

    @property
    def url(self) -> str:
        return self._inner.url

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create an object, or find out who did.

        Raises:
            AlreadyExistsError: Other bytes are there: another writer won, for certain.
            OutcomeUnknownError: The budget is used up and some attempt may still have happened, or happen.
            StorageUnavailableError: No attempt happened.
        """
        in_doubt = False
        doubted: Stopwatch | None = None
        readable_is_durable = True
        last: StorageError | None = None
        for attempt in range(self._policy.attempts):
            sent = Stopwatch(self._runtime)
            try:
                self._inner.put_if_absent(path, data)
            except OutcomeUnknownError as error:
                last, in_doubt = error, True
                doubted = doubted or sent
                readable_is_durable = readable_is_durable and error.readable_is_durable
            except AlreadyExistsError as error:
                # This is in doubt too: S3's 409 says it of an object that is not there, a hidden retry of our own.
                last, in_doubt = error, True
                doubted = doubted or Stopwatch(self._runtime)
                # A store whose syncs can fail syncs again before it says that something exists.
                readable_is_durable = True
            except StorageUnavailableError as error:
                last = error
            except StorageError as error:
                raise (self._unknown(path, error) if in_doubt else error) from error.__cause__
            else:
                self._refuse_old_doubt(path, doubted, last)
                return
            if not readable_is_durable:
                self._wait(attempt, last)
                continue
            try:
                found = self._read_back(path)
            except StorageError as error:
                raise (self._unknown(path, error) if in_doubt else error) from error.__cause__
            if found == data:
                return
            if found is not None:
                self._refuse_old_doubt(path, doubted, last)
                raise AlreadyExistsError(path, store=self.url) from last
            self._wait(attempt, last)
        if in_doubt:
            raise self._unknown(path, last) from last
        raise StorageUnavailableError(path, store=self.url, detail=f"{self._policy.attempts} attempts failed") from last

    def put(self, path: str, data: bytes) -> None:
        self._repeat(lambda: self._inner.put(path, data))

    def get(self, path: str) -> bytes:
        return self._repeat(lambda: self._inner.get(path))

    def get_range(self, path: str, start: int, length: int) -> bytes:
        return self._repeat(lambda: self._inner.get_range(path, start, length))

    def head(self, path: str) -> ObjectMeta:
        return self._repeat(lambda: self._inner.head(path))

    def delete(self, path: str) -> None:
        self._repeat(lambda: self._inner.delete(path))

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        """Yield as the inner store does; a listing that breaks off goes on after the last object that was seen."""
        failures = 0
        while True:
            try:
                for meta in self._inner.list_from(prefix, start_after):
                    yield meta
                    start_after, failures = meta.path, 0
                return
            except StorageUnavailableError as error:
                failures += 1
                if failures >= self._policy.attempts:
                    raise
                self._wait(failures - 1, error)

    def list_staged(self, prefix: str) -> Iterator[ObjectMeta]:
        return iter(self._repeat(lambda: list(self._inner.list_staged(prefix))))

    def _read_back(self, path: str) -> bytes | None:
        """Return what is there now, or None where nothing is there or nobody answers."""
        try:
            return self._inner.get(path)
        except (NotFoundError, StorageUnavailableError):
            return None

    def _repeat(self, call: Callable[[], _T]) -> _T:
        for attempt in range(self._policy.attempts - 1):
            try:
                return call()
            except (StorageUnavailableError, OutcomeUnknownError) as error:
                self._wait(attempt, error)
        return call()

    def _wait(self, attempt: int, error: StorageError) -> None:
        delay = self._policy.delay(attempt, self._runtime)
        if attempt >= _QUIET:
            tries = (attempt + 1, self._policy.attempts)
            _LOG.warning("%s: attempt %d of %d failed, the next follows in %.1f s: %s", self.url, *tries, delay, error)
        self._runtime.sleep(delay)

    def _refuse_old_doubt(self, path: str, doubted: Stopwatch | None, error: StorageError | None) -> None:
        """Raise where an earlier attempt may have happened so long ago that what it wrote may have been deleted since."""
        if doubted is not None and doubted.elapsed_ms() > _LONGEST_DOUBT_MS:
            raise self._unknown(path, error) from error

    def _unknown(self, path: str, error: StorageError | None) -> OutcomeUnknownError:
        return OutcomeUnknownError(path, store=self.url, detail=error.detail if error else "")
