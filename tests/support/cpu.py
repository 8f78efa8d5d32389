"""What a piece of work takes of the processor, as a limit may be set for it in a process that does other things, too."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def least_seconds(work: Callable[[], object], *, tries: int = 3) -> float:
    """Return what it takes at the least: what is slow is slow every time, and a collection of garbage is not its doing."""

    def once() -> float:
        started = time.process_time()
        work()
        return time.process_time() - started

    return min(once() for _ in range(tries))
