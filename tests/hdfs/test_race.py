"""Processes race on a real HDFS, whose rename is what makes a commit atomic there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from indextables.storage.hdfs import HdfsStore
from tests.support.race import race

if TYPE_CHECKING:
    import pytest

    from tests.support.hdfs import MiniHdfs


def test_of_racing_processes_exactly_one_wins_each_round(cluster: MiniHdfs, capsys: pytest.CaptureFixture[str]) -> None:
    open_store = partial(HdfsStore, cluster.table("race"))
    result = race(open_store, rounds=200, processes=3)
    with capsys.disabled():
        print(f"\n{result.line('hdfs')}")
    assert result.is_fair, result
    assert [meta.path for meta in open_store().list_from("")] == [f"race/{number:06d}.json" for number in range(200)]
