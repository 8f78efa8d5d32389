"""Processes race to create the same objects on the local disk."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from indextables.storage.local import LocalStore
from tests.support.race import race

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_of_racing_processes_exactly_one_wins_each_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = race(partial(LocalStore, tmp_path), rounds=1000, processes=2)
    with capsys.disabled():
        print(f"\n{result.line('local')}")
    assert result.is_fair, result
