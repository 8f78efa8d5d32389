"""A purge and a cleanup of the log at the same time, in processes that know nothing of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from indextables.errors import NotFoundError
from indextables.log.layout import commit_path, commit_version
from indextables.storage.retry import RetryingStore
from indextables.table import Table
from indextables.table.purging import purge_files
from indextables.testing.models import S3Model
from tests.faults.upkeep_clock import DAY_MS, Clock, configured
from tests.support.logs import WatchedStore

if TYPE_CHECKING:
    from collections.abc import Callable

SETTINGS = configured(
    logRetention__duration=DAY_MS, checkpoint__retention=0, checkpoint__interval=1000, checkpoint__parallelism=1
)


class OldTable:
    """A table whose first four commits are old enough to be cleaned up, with a checkpoint behind them."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.model = S3Model(now_ms=self.clock.now_ms)
        runtime = self.clock.runtime(1)
        store = RetryingStore(self.model, runtime=runtime)
        self.table = Table.at_store(store, settings=SETTINGS, runtime=runtime)
        for number in range(3):
            self.table.append(pa.table({"id": [number]}))
        self.clock.forward(days=20)
        for number in range(3, 6):
            self.table.append(pa.table({"id": [number]}))
        self.table.checkpoint()

    def purge_while(self, first_read: Callable[[], object]) -> None:
        """Purge; right before the purge reads its first old commit, something else happens."""
        waiting = [first_read]

        def before(op: str, path: str) -> None:
            if op == "get" and path == commit_path(1) and waiting:
                waiting.pop()()

        runtime = self.clock.runtime(2)
        store = RetryingStore(WatchedStore(self.model, None, before), runtime=runtime)
        purge_files(store, settings=SETTINGS, runtime=runtime, older_than_ms=DAY_MS, dry_run=False)
        assert not waiting, "the purge read no old commit"


def test_commits_that_a_cleanup_takes_away_meanwhile_do_not_fail_a_purge() -> None:
    old = OldTable()
    old.purge_while(old.table.cleanup)
    assert min(version for path in old.model.tree() if (version := commit_version(path)) is not None) == 4
    assert sorted(Table.at_store(old.model).to_arrow()["id"].to_pylist()) == list(range(6))


def test_a_commit_that_is_lost_without_a_cleanup_still_fails_a_purge() -> None:
    old = OldTable()
    with pytest.raises(NotFoundError):
        old.purge_while(lambda: old.model.delete(commit_path(1)))
    assert sorted(Table.at_store(old.model).to_arrow()["id"].to_pylist()) == list(range(6))
