"""Growth is what loading every version one by one would show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.config import Settings
from indextables.report import growth as module
from indextables.report.growth import growth_of
from tests.support.logs import add, foreign_add, new_table

if TYPE_CHECKING:
    import pytest

    from indextables.log.log import TransactionLog
    from indextables.report.figures import Growth
    from tests.support.logs import Place


def _grown(place: Place, log: TransactionLog) -> Growth:
    newest = log.snapshot()
    found = growth_of(log, place.model, newest, oldest=log.versions()[0], settings=Settings())
    assert found is not None
    return found


def _checked(growth: Growth, log: TransactionLog) -> None:
    loaded = [log.snapshot(version) for version in growth.versions]
    assert list(growth.files) == [one.num_files for one in loaded]
    assert list(growth.bytes) == [one.size_in_bytes for one in loaded]
    assert growth.rows is not None
    assert list(growth.rows) == [one.num_records for one in loaded]
    assert [int(time.timestamp() * 1000) for time in growth.times] == [one.timestamp for one in loaded]


def _busy() -> tuple[Place, TransactionLog]:
    """Every kind of change: appends, removes, a merge, an overwrite, a file added anew with other figures."""
    place, log = new_table()
    for number in range(12):
        log.add_files([add(f"f{number}", size=100 + number, num_records=number)])
    log.remove_files(["f3", "f4"])
    log.merge_files(["f0", "f1"], [add("m1", size=203, num_records=1)])
    log.add_files([add("f5", size=1, num_records=99)])
    log.overwrite_files([add("o1", size=7, num_records=7), add("f3", size=3, num_records=3)])
    log.record_skipped_file("o1", reason="odd", operation="merge")
    log.add_files([add("f4", size=4, num_records=4)])
    return place, log


def test_every_version_has_the_figures_of_its_snapshot() -> None:
    place, log = _busy()
    growth = _grown(place, log)
    assert growth.versions == tuple(range(log.latest_version() + 1))
    _checked(growth, log)


def test_of_many_versions_the_newest_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_VERSIONS", 5)
    place, log = _busy()
    growth = _grown(place, log)
    assert growth.versions == tuple(range(log.latest_version() - 4, log.latest_version() + 1))
    _checked(growth, log)


def test_a_new_table_has_one_version() -> None:
    place, log = new_table()
    growth = _grown(place, log)
    assert (growth.versions, growth.files, growth.rows, growth.bytes) == ((0,), (0,), (0,), (0,))


def test_rows_are_unknown_where_a_file_does_not_say() -> None:
    place, log = new_table(files=1)
    place.write(log.latest_version() + 1, foreign_add("other"))
    growth = _grown(place, place.log())
    assert growth.rows is None
    assert growth.files == (0, 1, 2)


def test_a_past_that_cannot_be_loaded_is_no_error() -> None:
    place, log = new_table(files=3)
    newest = log.snapshot()
    place.write_bytes(1, b"{damaged\n")
    fresh = place.log()
    assert growth_of(fresh, place.model, newest, oldest=0, settings=Settings()) is None
