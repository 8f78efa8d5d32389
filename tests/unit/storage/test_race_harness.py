"""The referee of races is itself tested: it must see a store that lets two writers win."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from indextables.errors import PermissionDeniedError
from indextables.storage.local import LocalStore
from tests.support.race import race

if TYPE_CHECKING:
    from pathlib import Path


class OverwritingStore(LocalStore):
    """Everybody wins."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        self.put(path, data)


class MisreportingStore(LocalStore):
    """Stores other bytes than the winner's."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        super().put_if_absent(path, data[::-1])


class RefusingStore(LocalStore):
    """Nobody wins."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        raise PermissionDeniedError(path, store=self.url, detail=f"{len(data)} bytes")


def test_a_fair_store_has_one_winner_a_round(tmp_path: Path) -> None:
    result = race(partial(LocalStore, tmp_path), rounds=10, processes=2)
    assert result.is_fair
    assert result.line("local") == "local race: 10 rounds, 10 single winners, 0 double, 0 none"


def test_two_winners_are_noticed(tmp_path: Path) -> None:
    result = race(partial(OverwritingStore, tmp_path), rounds=5, processes=2)
    assert (result.single, result.double, result.none) == (0, 5, 0)
    assert not result.is_fair


def test_bytes_that_are_not_the_winners_are_noticed(tmp_path: Path) -> None:
    result = race(partial(MisreportingStore, tmp_path), rounds=5, processes=2)
    assert (result.single, result.foreign) == (5, 5)
    assert not result.is_fair
    assert "5 with foreign bytes" in result.line("local")


def test_errors_and_rounds_without_a_winner_are_noticed(tmp_path: Path) -> None:
    result = race(partial(RefusingStore, tmp_path), rounds=5, processes=2)
    assert (result.single, result.none, len(result.failures)) == (0, 5, 10)
    assert not result.is_fair
