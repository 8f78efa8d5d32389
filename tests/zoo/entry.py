"""What a zoo entry is: one mistake that somebody's product once had, and who must notice it in ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from tests.zoo.detectors import Detector


@dataclass(frozen=True)
class Entry:
    """A fault to switch on.

    Attributes:
        name: What goes wrong.
        lived: Why real systems had it.
        switch: Puts a faulty twin in the place of a function of the product.
        caught_by: The detectors that must report it, of two methods at least.
    """

    name: str
    lived: str
    switch: Callable[[pytest.MonkeyPatch], None]
    caught_by: tuple[Detector, ...]
