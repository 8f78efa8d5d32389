from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from indextables.errors import ConfigError, VersionNotFoundError
from indextables.log.times import as_milliseconds
from tests.support.logs import add, foreign_add, new_table

NEW_YEAR_MS = 1_704_067_200_000


class TestMoments:
    @pytest.mark.parametrize(
        "moment",
        [
            NEW_YEAR_MS,
            str(NEW_YEAR_MS),
            "2024-01-01T00:00:00Z",
            "2024-01-01T01:00:00+01:00",
            " 2023-12-31T19:00:00-05:00 ",
            "2024-01-01 00:00:00+00:00",
            "2024-01-01",
            dt.date(2024, 1, 1),
            dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
            dt.datetime(2024, 1, 1, 5, 30, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
        ],
        ids=str,
    )
    def test_have_many_spellings(self, moment: Any) -> None:
        assert as_milliseconds(moment) == NEW_YEAR_MS

    def test_are_exact_to_the_millisecond(self) -> None:
        start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
        for millisecond in range(1000):
            moment = start + dt.timedelta(milliseconds=millisecond)
            assert as_milliseconds(moment.isoformat()) == as_milliseconds(moment) == NEW_YEAR_MS + millisecond

    def test_below_a_millisecond_belong_to_the_one_that_has_begun(self) -> None:
        assert as_milliseconds("2024-01-01T00:00:00.000999Z") == NEW_YEAR_MS
        assert as_milliseconds("1969-12-31T23:59:59.999999Z") == -1

    def test_before_1970_are_negative(self) -> None:
        assert as_milliseconds("1969-12-31") == as_milliseconds("-86400000") == as_milliseconds(-86_400_000)

    @pytest.mark.parametrize(
        "moment",
        [
            "2024-01-01T00:00:00",
            "2024-01-01 12:00",
            dt.datetime(2024, 1, 1),  # noqa: DTZ001 - the missing zone is the point
            "yesterday",
            "",
            "2024-13-01",
            "2024-01-32",
            "12:00:00Z",
            "1.5",
            "--5",
            "-",
            "9" * 5000,
            "2024-01-01T00:00:00Z; drop table",
            True,
            1.5,
        ],
        ids=lambda moment: repr(moment)[:40],
    )
    def test_that_mean_nothing_certain_are_refused_with_what_is_allowed(self, moment: Any) -> None:
        with pytest.raises(ConfigError) as caught:
            as_milliseconds(moment)
        assert caught.value.key == "timestamp"
        assert "an ISO 8601 time with a zone (2024-01-01T12:00:00Z), a date" in str(caught.value)


class TestTimeTravel:
    """Version 0 is made at the start of 2024, versions 1 and 2 an hour later each."""

    @pytest.fixture
    def log(self) -> Any:
        place, log = new_table()
        for number in (1, 2):
            place.runtime.sleep(3600)
            log.add_files([add(f"f{number}")])
        return log

    @pytest.mark.parametrize(
        ("moment", "version"),
        [
            ("2024-01-01T00:00:00Z", 0),
            ("2024-01-01T00:59:59.999Z", 0),
            ("2024-01-01T01:00:00Z", 1),
            ("2024-01-01T02:00:00Z", 2),
            ("2024-01-02", 2),
            (2**62, 2),
            (10**30, 2),
        ],
    )
    def test_finds_what_was_newest_then(self, log: Any, moment: Any, version: int) -> None:
        assert log.snapshot(timestamp=moment).version == version

    @pytest.mark.parametrize("moment", ["2023-12-31T23:59:59.999Z", "2023-12-31", 0, -(2**62), -(10**30)])
    def test_before_the_first_version_there_is_nothing(self, log: Any, moment: Any) -> None:
        with pytest.raises(VersionNotFoundError, match=r"Available: from 2024-01-01T00:00:00\+00:00 on"):
            log.snapshot(timestamp=moment)

    def test_goes_by_the_commits_own_word_not_by_the_times_of_files(self) -> None:
        place, log = new_table()
        place.runtime.sleep(3600)
        log.add_files([add("f", modification_time=99)])
        assert log.snapshot(1).timestamp == NEW_YEAR_MS + 3_600_000

    def test_a_copied_table_has_the_same_history(self) -> None:
        place, log = new_table(files=3)
        twin = type(place)()
        for path, data in place.model.tree().items():
            twin.model.put(path, data)
        assert twin.log().history().equals(log.history())

    def test_times_of_others_that_go_back_count_as_the_latest_before(self) -> None:
        place, log = new_table()
        for version, time in enumerate([NEW_YEAR_MS + 5000, NEW_YEAR_MS + 1000, NEW_YEAR_MS + 6000], start=1):
            place.write(version, foreign_add(f"f{version}", modificationTime=time))
        assert log.snapshot().state.timestamps.tolist() == [NEW_YEAR_MS + s * 1000 for s in (0, 5, 5, 6)]
        assert log.snapshot(timestamp=NEW_YEAR_MS + 5000).version == 2
        assert log.snapshot(timestamp=NEW_YEAR_MS + 1000).version == 0

    @pytest.mark.parametrize("time", [2**53 + 1, 2**62, 2**63 - 1])
    def test_absurd_times_of_others_neither_break_the_table_nor_change_with_the_way_it_is_read(self, time: int) -> None:
        place, warm = new_table()
        warm.list_files()
        place.write(1, foreign_add("f", modificationTime=time))
        assert warm.snapshot().timestamp == place.log().snapshot().timestamp > NEW_YEAR_MS
        warm.add_files([add("g")])
        assert sorted(place.log().list_files()["path"].to_pylist()) == ["f", "g"]
        assert place.log().snapshot().timestamp >= place.log().snapshot(1).timestamp

    def test_a_version_and_a_time_at_once_are_refused(self) -> None:
        _, log = new_table(files=2)
        with pytest.raises(ConfigError):
            log.snapshot(1, timestamp=NEW_YEAR_MS)
