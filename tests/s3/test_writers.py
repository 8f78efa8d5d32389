"""Writers in processes of their own, on one table on a real S3 server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.crowd import Table, append_and_die, append_together
from tests.support.effort import times

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.support.s3 import S3Endpoint


def test_eight_writers_lose_and_double_nothing(
    server: S3Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = append_together(Table(f"s3://{server.bucket}/together", server.options(), tmp_path), appends=times(25))
    with capsys.disabled():
        print(f"\n{story.line('s3')}")
    verdict = story.verdict
    assert (verdict.commits, verdict.acknowledged, verdict.lost, verdict.doubled) == (times(200), times(200), 0, 0)


def test_sigkill_at_random_moments_takes_nothing_that_was_acknowledged(
    server: S3Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table(f"s3://{server.bucket}/killed", server.options(), tmp_path)
    story = append_and_die(table, rounds=2, kills=22, seed=1)
    with capsys.disabled():
        print(f"\n{story.line('s3')}")
    assert story.kills == 60
