"""Time, identity and chance as values that are passed in, so that tests decide them and code that commits never guesses."""

from __future__ import annotations

import random
import time
import uuid
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
