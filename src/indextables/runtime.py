"""Time, identity and chance as values that are passed in, so that tests decide them and code that commits never guesses."""

from __future__ import annotations

import os
import random
import threading
import time
import uuid
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, kw_only=True, slots=True)
class Runtime:
    """What the outside world supplies besides storage.

    Attributes:
        now_ms: Wall clock in milliseconds since the epoch; may jump, so nothing depends on it for correctness.
        monotonic: Seconds that never go back, for budgets and timings.
        new_id: A fresh name with 128 random bits, in the usual hexadecimal form with dashes.
        sleep: Waits for that many seconds.
        uniform: A random number between its two arguments.
    """

    now_ms: Callable[[], int]
    monotonic: Callable[[], float]
    new_id: Callable[[], str]
    sleep: Callable[[float], None]
    uniform: Callable[[float, float], float]


SYSTEM = Runtime(
    now_ms=lambda: time.time_ns() // 1_000_000,
    monotonic=time.monotonic,
    new_id=lambda: str(uuid.uuid4()),
    sleep=time.sleep,
    uniform=random.SystemRandom().uniform,
)


class ForkSafeLock:
    """A lock that a forked child finds open: the thread that held it in the parent does not exist there."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Replace the lock, whoever holds it; only right in a new process."""
        self._lock = threading.RLock()


_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


def _renew_locks() -> None:
    for lock in _locks:
        lock.renew()


os.register_at_fork(after_in_child=_renew_locks)


class Stopwatch:
    """How long something has taken; a clock that stands still while the machine sleeps is not enough to tell."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._monotonic = runtime.monotonic()
        self._wall = runtime.now_ms()

    def elapsed_ms(self) -> float:
        """Return the milliseconds since it was made, by the clock that shows more of them."""
        return max((self._runtime.monotonic() - self._monotonic) * 1000, self._runtime.now_ms() - self._wall)
