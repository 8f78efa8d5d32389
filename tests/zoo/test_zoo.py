"""The bug zoo: mistakes that trusted systems made, switched on in ours one at a time. Each must be caught, in more than one way.

An entry that gets through is a hole in the suites, to be closed there. The canary is a mistake that nobody can miss: it shows
that what reports the others is switched on itself.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest

from tests.zoo.data_faults import DATA_FAULTS
from tests.zoo.detectors import fresh_judges
from tests.zoo.log_faults import LOG_FAULTS
from tests.zoo.storage_faults import CANARY, STORAGE_FAULTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.zoo.detectors import Detector
    from tests.zoo.entry import Entry

ZOO = (*STORAGE_FAULTS, *LOG_FAULTS, *DATA_FAULTS)
LEAST_ENTRIES = 25
LEAST_METHODS = 2
DETECTORS = tuple({str(detector): detector for entry in (*ZOO, CANARY) for detector in entry.caught_by}.values())


def findings(detector: Detector, directory: Path, *, fault: Entry | None = None, most: int | None = None) -> list[str]:
    """Run a detector, with a fault switched on in the product or without one, and return what it finds."""
    directory.mkdir()
    with fresh_judges(), pytest.MonkeyPatch.context() as patch:
        if fault is not None:
            fault.switch(patch)
        return list(islice(detector.find(directory), most))


@pytest.mark.parametrize("fault", ZOO, ids=lambda entry: entry.name)
def test_the_fault_is_caught_by_every_detector_that_is_to_catch_it(
    fault: Entry, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    for number, detector in enumerate(fault.caught_by):
        assert findings(detector, tmp_path / str(number), fault=fault, most=1), f"{detector} does not notice"
    record_property("bug zoo: seeded faults caught", 1)
    record_property("bug zoo: detections", len(fault.caught_by))


@pytest.mark.parametrize("detector", DETECTORS, ids=str)
def test_a_detector_is_silent_about_the_product_as_it_is(detector: Detector, tmp_path: Path) -> None:
    assert findings(detector, tmp_path / "sound") == []


def test_the_canary_makes_its_detector_fail(tmp_path: Path) -> None:
    (detector,) = CANARY.caught_by
    with pytest.raises(AssertionError):
        assert findings(detector, tmp_path / "canary", fault=CANARY) == []


def test_the_zoo_is_as_large_as_promised_and_each_entry_has_two_ways_to_be_caught() -> None:
    assert len({entry.name for entry in ZOO}) == len(ZOO) >= LEAST_ENTRIES
    lonely = [entry.name for entry in ZOO if len({one.method for one in entry.caught_by}) < LEAST_METHODS]
    assert not lonely, "an entry that one method alone can catch gets through when that method goes blind"
