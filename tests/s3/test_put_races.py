"""Processes race to create the same objects on a real S3 server."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from indextables.storage.object_store import open_object_store
from tests.support.race import race

if TYPE_CHECKING:
    import pytest

    from tests.support.s3 import S3Endpoint


def test_of_racing_processes_exactly_one_wins_each_round(
    server: S3Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    open_store = partial(open_object_store, f"s3://{server.bucket}/race", options=server.options())
    result = race(open_store, rounds=300, processes=3)
    with capsys.disabled():
        print(f"\n{result.line('s3')}")
    assert result.is_fair, result
