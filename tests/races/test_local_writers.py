"""Writers in processes of their own, on one table on the local disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.crowd import Table, append_and_die, append_together
from tests.support.effort import times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.slow
def test_eight_writers_lose_and_double_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]
) -> None:
    story = append_together(Table(str(tmp_path / "table"), {}, tmp_path), appends=times(100))
    with capsys.disabled():
        print(f"\n{story.line('local')}")
    verdict = story.verdict
    assert (verdict.commits, verdict.acknowledged, verdict.lost, verdict.doubled) == (times(800), times(800), 0, 0)
    record_property("commits of racing writers", verdict.commits)


@pytest.mark.slow
def test_sigkill_at_random_moments_takes_nothing_that_was_acknowledged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]
) -> None:
    kills = 0
    for seed in range(times(2)):
        work = tmp_path / str(seed)
        work.mkdir()
        story = append_and_die(Table(str(work / "table"), {}, work), rounds=3, kills=20, seed=seed)
        kills += story.kills
        with capsys.disabled():
            print(f"\n{story.line(f'local, seed {seed}')}")
    with capsys.disabled():
        print(f"\nlocal: {kills} SIGKILLs in all")
    assert kills >= times(150)
    record_property("SIGKILLs of writers", kills)
