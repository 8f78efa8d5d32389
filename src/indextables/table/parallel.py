"""Work on many things at once, results in order, and never far ahead of who takes them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor, Future

_T = TypeVar("_T")
_R = TypeVar("_R")


def in_order(pool: Executor, work: Callable[[_T], _R], items: Iterable[_T], *, ahead: int) -> Iterator[_R]:
    """Yield the results of some work on items, in their order, with at most `ahead` of them under way or waiting.

    Whoever stops early, or meets an error, leaves no work behind that has not begun.
    """
    waiting: deque[Future[_R]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
