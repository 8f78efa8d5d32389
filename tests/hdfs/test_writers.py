"""Writers in processes of their own, on one table on a real HDFS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.crowd import Table, append_and_die, append_together
from tests.support.effort import times

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.support.hdfs import MiniHdfs


def test_eight_writers_lose_and_double_nothing(
    cluster: MiniHdfs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = append_together(Table(cluster.table("together"), {}, tmp_path), appends=times(25))
    with capsys.disabled():
        print(f"\n{story.line('hdfs')}")
    verdict = story.verdict
    assert (verdict.commits, verdict.acknowledged, verdict.lost, verdict.doubled) == (times(200), times(200), 0, 0)


def test_sigkill_at_random_moments_takes_nothing_that_was_acknowledged(
    cluster: MiniHdfs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = append_and_die(Table(cluster.table("killed"), {}, tmp_path), rounds=2, kills=22, seed=1)
    with capsys.disabled():
        print(f"\n{story.line('hdfs')}")
    assert story.kills == 60
