"""Time, identity and chance for tests: all of it follows from a seed, and no test ever waits for a real second."""

from __future__ import annotations

import random
import threading
import uuid

from indextables.runtime import Runtime

EPOCH_MS = 1_704_067_200_000
"""Where virtual wall clocks start: 2024-01-01T00:00:00Z."""


def dice(*seed: int) -> random.Random:
    """Return a source of chance that depends on nothing but the seed."""
    mixed = 0
    for part in seed:
        mixed = mixed * 1_000_003 + part
    return random.Random(mixed)  # noqa: S311 - repeatable on purpose


def virtual_runtime(seed: int) -> Runtime:
    """Return a runtime in which time passes only while somebody sleeps, and a sleep returns at once.

    Both clocks stand still between sleeps, so equal time stamps, which real clocks produce now and then, are the rule here.
    """
    chance = dice(seed)
    lock = threading.Lock()
    elapsed = 0.0

    def sleep(seconds: float) -> None:
        nonlocal elapsed
        with lock:
            elapsed += max(seconds, 0.0)

    return Runtime(
        now_ms=lambda: EPOCH_MS + int(elapsed * 1000),
        monotonic=lambda: elapsed,
        new_id=lambda: str(uuid.UUID(int=chance.getrandbits(128), version=4)),
        sleep=sleep,
        uniform=chance.uniform,
    )
