"""Virtual runtimes: everything follows from the seed, and time passes only in sleeps."""

from __future__ import annotations

import uuid

from indextables.testing.virtual import EPOCH_MS, dice, virtual_runtime


def test_time_stands_still_until_somebody_sleeps() -> None:
    runtime = virtual_runtime(0)
    assert [runtime.now_ms(), runtime.now_ms()] == [EPOCH_MS, EPOCH_MS]
    runtime.sleep(90)
    runtime.sleep(0.25)
    assert runtime.monotonic() == 90.25
    assert runtime.now_ms() == EPOCH_MS + 90_250


def test_time_never_goes_back() -> None:
    runtime = virtual_runtime(0)
    runtime.sleep(-5)
    assert runtime.monotonic() == 0


def test_ids_are_uuids_that_follow_from_the_seed() -> None:
    first, second, other = virtual_runtime(1), virtual_runtime(1), virtual_runtime(2)
    ids = [first.new_id() for _ in range(100)]
    assert ids == [second.new_id() for _ in range(100)]
    assert len({*ids, *(other.new_id() for _ in range(100))}) == 200
    assert all(str(uuid.UUID(text)) == text and uuid.UUID(text).version == 4 for text in ids)


def test_chance_follows_from_the_seed_and_keeps_to_its_bounds() -> None:
    drawn = [virtual_runtime(7).uniform(2, 3) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert 2 <= drawn[0] <= 3


def test_dice_with_different_seeds_differ() -> None:
    assert len({dice(first, second).random() for first in range(20) for second in range(20)}) == 400
