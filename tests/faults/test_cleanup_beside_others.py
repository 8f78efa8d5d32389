"""A cleanup of the log while others read it, or clean it up, in processes that know nothing of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from indextables.errors import LogCorruptionError
from indextables.log.layout import commit_path
from indextables.storage.retry import RetryingStore
from indextables.table import Table
from indextables.testing.models import S3Model
from tests.faults.upkeep_clock import DAY_MS, Clock, configured
from tests.support.logs import WatchedStore

if TYPE_CHECKING:
    from collections.abc import Callable

SETTINGS = configured(
    logRetention__duration=DAY_MS, checkpoint__retention=0, checkpoint__interval=1000, checkpoint__parallelism=1
)


class OldTable:
    """A table of which versions 0 to 3 are old, with checkpoints of versions 1 and 6."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.model = S3Model(now_ms=self.clock.now_ms)
        self.table = self.open(1)
        self.append(0, 1, 2)
        self.table.log.checkpoint(1)
        self.clock.forward(days=20)
        self.append(3, 4, 5)
        self.table.checkpoint()

    def open(self, seed: int, before: Callable[[str, str], None] | None = None) -> Table:
        runtime = self.clock.runtime(seed)
        store = RetryingStore(WatchedStore(self.model, None, before), runtime=runtime)
        return Table.at_store(store, settings=SETTINGS, runtime=runtime)

    def append(self, *numbers: int) -> None:
        for number in numbers:
            self.table.append(pa.table({"id": [number]}))

    def surprised(self, surprise: Callable[[], object]) -> Table:
        """Return the table for a client to whom something happens right before it reads commit 2."""
        waiting = [surprise]

        def before(op: str, path: str) -> None:
            if op == "get" and path == commit_path(2) and waiting:
                waiting.pop()()

        return self.open(2, before)

    def clean_up_further(self) -> None:
        self.clock.forward(days=20)
        self.append(6, 7)
        self.table.checkpoint()
        assert self.table.cleanup().oldest_version > 4


def ids(table: Table, version: int) -> list[int]:
    found: list[int] = sorted(table.log.snapshot(version).files["num_records"].to_pylist())
    return found


def test_a_version_that_is_kept_is_read_while_the_commits_before_it_are_cleaned_up() -> None:
    old = OldTable()
    reader = old.surprised(old.table.cleanup)
    assert ids(reader, 5) == [1] * 5
    assert not old.model.exists(commit_path(2)), "nothing was cleaned up"


def test_a_commit_that_is_lost_without_a_cleanup_is_damage() -> None:
    old = OldTable()
    reader = old.surprised(lambda: old.model.delete(commit_path(2)))
    with pytest.raises(LogCorruptionError, match="it is missing"):
        ids(reader, 5)


def test_a_cleanup_that_another_one_overtakes_goes_on_from_there() -> None:
    old = OldTable()
    result = old.surprised(old.clean_up_further).cleanup()
    assert result.oldest_version > 4
    assert old.open(3).count() == 8
