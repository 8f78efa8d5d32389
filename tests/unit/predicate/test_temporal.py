from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.predicate import temporal

DAYS = st.integers(-10_000_000, 10_000_000)


@given(DAYS)
def test_every_day_has_one_date_and_one_text(days: int) -> None:
    assert temporal.days_of(*temporal.date_of(days)) == days
    assert temporal.parse_date(temporal.format_date(days)) == days


@given(st.dates())
def test_days_count_as_python_counts_them(date: dt.date) -> None:
    days = (date - dt.date(1970, 1, 1)).days
    assert temporal.date_of(days) == (date.year, date.month, date.day)
    assert temporal.parse_date(date.isoformat()) == days


@given(st.integers(-(10**17), 10**17))
def test_every_microsecond_has_one_text(micros: int) -> None:
    assert temporal.parse_timestamp(temporal.format_timestamp(micros)) == (micros, None)
    assert temporal.parse_timestamp(f"{temporal.format_timestamp(micros)}Z") == (micros, "Z")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "24-01-01",
        "2024-13-01",
        "2024-02-30",
        "2023-02-29",
        "2024-1-",
        "x",
        "2024/01/01",
        "2024-01-01x",
        "12345678-01-01",
    ],
)
def test_text_that_spark_does_not_take_for_a_date_is_none(text: str) -> None:
    assert temporal.parse_date(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-01T",
        "2024-01-01 24:00:00",
        "2024-01-01 00:60:00",
        "2024-01-01 00:00:00 Mars/Olympus",
        "2024-01-01 00:00:00+19:00",
        "now",
        "12:00:00",
    ],
)
def test_text_that_spark_does_not_take_for_a_timestamp_is_none(text: str) -> None:
    assert temporal.parse_timestamp(text) is None


@pytest.mark.parametrize(
    ("zone", "seconds"),
    [
        ("Z", 0),
        ("UTC", 0),
        ("+1", 3600),
        ("+01:30", 5400),
        ("-0130", -5400),
        ("UTC+2", 7200),
        ("GMT-03:00", -10800),
        ("+01:00:01", 3601),
    ],
)
def test_an_offset_is_an_offset_at_any_time(zone: str, seconds: int) -> None:
    for wall in (-(10**17), 0, 10**17):
        assert temporal.to_instant(wall, zone) == wall - seconds * 1_000_000
        assert temporal.to_wall(wall, zone) == wall + seconds * 1_000_000


def instant(text: str) -> int:
    parsed = temporal.parse_timestamp(text)
    assert parsed is not None
    return temporal.to_instant(parsed[0], parsed[1] or "UTC")


@pytest.mark.parametrize(
    ("local", "utc"),
    [
        ("2024-03-31 02:30:00 Europe/Berlin", "2024-03-31 01:30:00"),
        ("2024-10-27 02:30:00 Europe/Berlin", "2024-10-27 00:30:00"),
        ("1850-01-01 00:00:00 Europe/Stockholm", "1849-12-31 22:47:48"),
        ("2011-12-30 12:00:00 Pacific/Apia", "2011-12-30 22:00:00"),
        ("+12024-07-01 00:00:00 Europe/Berlin", "+12024-06-30 22:00:00"),
        ("-0100-01-01 00:00:00 Europe/Stockholm", "-0101-12-31 22:47:48"),
    ],
)
def test_clocks_that_jump_and_clocks_of_old_are_read_as_java_reads_them(local: str, utc: str) -> None:
    assert instant(local) == instant(utc)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia", "-09:30"])
@given(st.integers(-(10**17), 10**17))
def test_an_instant_shows_on_the_clock_that_names_it(zone: str, moment: int) -> None:
    wall = temporal.to_wall(moment, zone)
    named = temporal.to_instant(wall, zone)
    assert temporal.to_wall(named, zone) == wall
    # Where a clock is set back, the wall clock names the first of two instants.
    assert named <= moment
