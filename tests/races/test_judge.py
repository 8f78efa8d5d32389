"""The judge of the races must find what they are there to find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from indextables.log import open as open_log
from indextables.log.actions import Add
from tests.support.crowd import Table, judge
from tests.support.writers import Acknowledged, Attempt, Event, Refused

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = Table(str(tmp_path / "table"), {}, tmp_path)
    made.create()
    return made


def _append(table: Table, path: str) -> str:
    add = Add(path=path, partition_values={}, size=1, modification_time=1, data_change=True)
    return open_log(table.url, table.options).add_files([add]).commit_id


def _tell(table: Table, *events: Event) -> None:
    lines = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
    (table.work / "writer.history").write_bytes(lines)


def _acknowledged(number: int, version: int, commit_id: str, *, at: int) -> Acknowledged:
    return Acknowledged(number=number, at=at, version=version, commit_id=commit_id, tries=1)


def test_an_honest_history_is_clean(table: Table) -> None:
    commit_id = _append(table, "a")
    _tell(table, Attempt(number=0, at=1, paths=["a"]), _acknowledged(0, 1, commit_id, at=2))
    verdict = judge(table)
    assert (verdict.commits, verdict.lost, verdict.doubled, verdict.silent) == (1, 0, 0, 0)


def test_an_acknowledged_commit_that_is_not_there_is_lost(table: Table) -> None:
    _tell(table, Attempt(number=0, at=1, paths=["a"]), _acknowledged(0, 1, "some id", at=2))
    assert judge(table).lost == 1


def test_an_acknowledged_commit_that_is_somebody_elses_is_lost(table: Table) -> None:
    _append(table, "a")
    _tell(table, Attempt(number=0, at=1, paths=["a"]), _acknowledged(0, 1, "another id", at=2))
    assert judge(table).lost == 1


def test_an_attempt_without_an_answer_may_have_landed(table: Table) -> None:
    _append(table, "a")
    _tell(table, Attempt(number=0, at=1, paths=["a"]), Attempt(number=1, at=2, paths=["b"]))
    verdict = judge(table)
    assert (verdict.silent, verdict.silent_commits, verdict.lost) == (2, 1, 0)


def test_a_commit_that_nobody_tried_is_noticed(table: Table) -> None:
    _append(table, "a")
    with pytest.raises(AssertionError, match="nobody tried"):
        judge(table)


def test_half_an_attempt_is_noticed(table: Table) -> None:
    _append(table, "a")
    _tell(table, Attempt(number=0, at=1, paths=["a", "b"]))
    with pytest.raises(AssertionError, match="nobody tried"):
        judge(table)


def test_a_refused_attempt_that_landed_is_noticed(table: Table) -> None:
    _append(table, "a")
    _tell(table, Attempt(number=0, at=1, paths=["a"]), Refused(number=0, at=2))
    with pytest.raises(AssertionError, match="refused"):
        judge(table)


def test_a_later_commit_with_an_earlier_version_is_noticed(table: Table) -> None:
    first, second = _append(table, "a"), _append(table, "b")
    _tell(
        table,
        Attempt(number=0, at=1, paths=["b"]),
        _acknowledged(0, 2, second, at=2),
        Attempt(number=1, at=3, paths=["a"]),
        _acknowledged(1, 1, first, at=4),
    )
    with pytest.raises(AssertionError, match="began after"):
        judge(table)


def test_one_attempt_in_two_versions_is_doubled(table: Table) -> None:
    _append(table, "a")
    source = table.work / "table" / "_transaction_log"
    (source / f"{2:020d}.json").write_bytes((source / f"{1:020d}.json").read_bytes())
    _tell(table, Attempt(number=0, at=1, paths=["a"]))
    assert judge(table).doubled == 1
