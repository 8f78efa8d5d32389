"""Damage to commits that a checkpoint sums up, or that a checkpoint gives away."""

from __future__ import annotations

import pytest

from indextables.config import Checkpoint, Settings
from indextables.errors import LogCorruptionError
from indextables.log.layout import commit_path
from indextables.log.log import TransactionLog
from tests.support.logs import SCHEMA, Place, add

SETTINGS = Settings(checkpoint=Checkpoint(interval=10**6))


@pytest.fixture
def place() -> Place:
    place = Place(checkpoints=True)
    log = place.log(SETTINGS)
    log.initialize(SCHEMA)
    for number in range(9):
        log.add_files([add(f"f{number}")], app="a", batch=number)
    log.checkpoint(7)
    return place


def opened(place: Place) -> TransactionLog:
    return place.log(SETTINGS)


@pytest.mark.parametrize("version", [0, 3, 7])
def test_a_damaged_commit_below_a_checkpoint_is_not_missed(place: Place, version: int) -> None:
    place.write_bytes(version, b"\x01\x01damaged")
    assert opened(place).snapshot().num_files == 9
    assert opened(place).metadata.partition_columns == []
    assert opened(place).add_files([add("more")]).version == 10


@pytest.mark.parametrize("version", [8, 9])
def test_a_damaged_commit_above_it_is_an_error(place: Place, version: int) -> None:
    place.write_bytes(version, b"\x01\x01damaged")
    with pytest.raises(LogCorruptionError, match=f"{version:020d}"):
        opened(place).snapshot()


def test_newest_commits_that_are_gone_are_given_away_by_a_checkpoint(place: Place) -> None:
    opened(place).checkpoint()
    for version in (7, 8, 9):
        place.model.delete(commit_path(version))
    for ask in (TransactionLog.snapshot, TransactionLog.latest_version, lambda log: log.add_files([add("more")])):
        with pytest.raises(LogCorruptionError, match="there is a checkpoint of version 9") as caught:
            ask(opened(place))
        assert caught.value.versions == (7, 8, 9)
