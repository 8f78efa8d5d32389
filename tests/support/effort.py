"""How much the long suites do: what every change can wait for, or `INDEXTABLES_EFFORT` times as much.

Where a suite draws, it draws more often; where it takes a sample of all cases, the sample is larger, until it is all of them.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, Final, TypeVar

import pytest

from indextables.testing.virtual import dice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_Case = TypeVar("_Case")


def _asked() -> int:
    text = os.environ.get("INDEXTABLES_EFFORT", "1")
    if not text.isdigit() or int(text) < 1:  # with none the suites would try nothing, and pass
        raise pytest.UsageError(f"INDEXTABLES_EFFORT is {text!r}: set it to a whole number from 1 on.")
    return int(text)


EFFORT: Final = _asked()
"""1 for every change; a nightly run has hours, and takes what it can finish."""


def times(count: int) -> int:
    """Return how many there are of what a change has so many of."""
    return count * EFFORT


def sample(cases: Iterable[_Case], share: float, *, name: str) -> Iterator[_Case]:
    """Yield the share of the cases that a change has time for, the same ones every time; more effort adds to them.

    Args:
        cases: All of them, always in the same order.
        share: How large a part of them a change takes.
        name: Whose they are, so that not every suite takes the first and leaves the second.
    """
    chance = dice(zlib.crc32(name.encode()))
    return (case for case in cases if chance.random() < share * EFFORT)
