"""A minute of mixed work by real processes, with kills; and that its checker sees what it is there to see.

With an effort of 30 it lasts for half an hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.soak.histories import Done, Event, Looked, Refused, Saw, Wants, check
from tests.soak.soak import SURVIVORS, Soak
from tests.support.effort import times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECONDS = times(60)


@pytest.mark.slow
@pytest.mark.timeout(SECONDS * 3 + 120)
def test_mixed_work_under_kills_loses_nothing_and_grows_nothing(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    report = Soak(tmp_path, SECONDS).run()
    verdict = report.verdict
    print(report)
    record_property("soak: seconds", round(report.seconds))
    record_property("soak: versions", report.versions)
    record_property("soak: rows", verdict.rows)
    record_property("soak: SIGKILLs", report.kills)
    record_property("soak: reads", verdict.reads)
    record_property(
        "soak: MB that memory grew by after the warm-up", round(max(t.growth for t in report.rss_mb.values()))
    )
    record_property("soak: handles gained after the warm-up", round(max(t.growth for t in report.handles.values())))
    assert verdict.problems == []
    assert report.oldest_version > 0, "nothing was cleaned up"
    assert report.kills > SECONDS / 4
    assert min(verdict.commits, verdict.reads) > SECONDS / 6
    assert set(report.rss_mb) == set(SURVIVORS)


APPENDED = Wants(at=1, act="append", rows=(1, 2))


def problems(
    events: list[Event], final: tuple[int, ...], *, looks: list[Event] | None = None, more: list[Event] | None = None
) -> list[str]:
    readers = {"reader": looks or [], "other": more or []}
    return check({"writer": events}, readers, {"writer": final}).problems


def look(at: int, version: int, digest: str = "x", *, rows: int = 2, again: bool = False) -> Looked:
    return Looked(at=at, version=version, rows=rows, distinct=2, digest=digest, again=again)


def test_an_honest_history_is_clean() -> None:
    history: list[Event] = [
        Saw(at=0, rows=()),
        APPENDED,
        Done(at=2, version=1),
        Wants(at=3, act="replace", rows=(3, 4)),
        Refused(at=4),
        Wants(at=5, act="delete", below=2),
        Done(at=6, version=2),
    ]
    assert problems(history, (2,), looks=[look(3, 1), look(7, 2, "y"), look(8, 1, again=True)]) == []


def test_a_death_in_the_middle_allows_either_outcome_and_nothing_else() -> None:
    assert problems([APPENDED], ()) == []
    assert problems([APPENDED], (1, 2)) == []
    assert "I4" in problems([APPENDED], (1,))[0]
    assert "I4" in problems([APPENDED, Saw(at=2, rows=()), Saw(at=3, rows=(1, 2))], (1, 2))[0]


@pytest.mark.parametrize("final", [(), (1,), (1, 2, 2), (1, 2, 3)], ids=["lost", "half", "double", "foreign"])
def test_rows_that_nobody_was_told_of_or_that_are_gone_are_noticed(final: tuple[int, ...]) -> None:
    assert "I4" in problems([APPENDED, Done(at=2, version=1)], final)[0]


def test_a_refused_change_that_landed_is_noticed() -> None:
    assert "I4" in problems([APPENDED, Refused(at=2)], (1, 2))[0]


def test_readers_that_disagree_or_go_back_or_miss_what_was_told_are_noticed() -> None:
    told: list[Event] = [APPENDED, Done(at=2, version=5)]
    assert "I2" in problems(told, (1, 2), looks=[look(3, 4)])[0]
    assert "I6" in problems(told, (1, 2), looks=[look(3, 6), look(4, 5)])[0]
    assert "I6" in problems(told, (1, 2), looks=[look(3, 6)], more=[look(4, 6, "y")])[0]
    assert "I3" in problems(told, (1, 2), looks=[look(3, 6, rows=3)])[0]


def test_one_version_told_twice_is_noticed() -> None:
    twice: list[Event] = [APPENDED, Done(at=2, version=1), Wants(at=3, act="append"), Done(at=4, version=1)]
    assert "I1" in problems(twice, (1, 2))[0]
