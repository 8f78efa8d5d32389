"""Dates and times as the numbers that Spark compares, for every year that Spark knows.

Python's own classes end at the years 1 and 9999 and Spark's do not, so days and microseconds since 1970 are what a literal
holds. What text is a date, a timestamp or a zone follows Spark's casts, because a predicate must mean here what it means there.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DAY: Final = 86_400_000_000
"""Microseconds in a day."""

_SECOND: Final = 1_000_000
_EPOCH_ORDINAL: Final = dt.date(1970, 1, 1).toordinal()
_DAYS_IN_400_YEARS: Final = 146_097
_DATE: Final = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_TIMESTAMP: Final = re.compile(
    r"([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?)?\s*([A-Za-z+-][\w/+:-]*)?)?)?)?",
    re.ASCII,
)
_TIME: Final = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,6}))?)?", re.ASCII)
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2})(?::?(\d{2}))?)?", re.ASCII)


def days_of(year: int, month: int, day: int) -> int | None:
    """Return the days from 1970-01-01 to a date of the Gregorian calendar, None where there is no such date."""
    cycle, year_in_cycle = divmod(year - 1, 400)
    try:
        ordinal = dt.date(year_in_cycle + 1, month, day).toordinal()
    except ValueError:
        return None
    return cycle * _DAYS_IN_400_YEARS + ordinal - _EPOCH_ORDINAL


def date_of(days: int) -> tuple[int, int, int]:
    """Return year, month and day."""
    cycle, rest = divmod(days + _EPOCH_ORDINAL - 1, _DAYS_IN_400_YEARS)
    date = dt.date.fromordinal(rest + 1)
    return date.year + 400 * cycle, date.month, date.day


def parse_date(text: str) -> int | None:
    """Return the days since 1970 that Spark's cast of this text to a date gives, None where it refuses."""
    found = _DATE.fullmatch(text.strip())
    return days_of(int(found[1]), int(found[2] or 1), int(found[3] or 1)) if found else None


def parse_timestamp(text: str) -> tuple[int, str | None] | None:
    """Return the wall clock in microseconds and the zone that the text names, None where Spark's cast refuses it."""
    if not (found := _TIMESTAMP.fullmatch(text.strip())):
        return None
    days = days_of(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    clock = _clock(int(found[4] or 0), int(found[5] or 0), int(found[6] or 0), found[7])
    if days is None or clock is None or (found[8] is not None and not is_zone(found[8])):
        return None
    return days * DAY + clock, found[8]


def parse_time(text: str) -> int | None:
    """Return the microseconds since midnight, None where the text is no time of day."""
    found = _TIME.fullmatch(text.strip())
    return _clock(int(found[1]), int(found[2]), int(found[3] or 0), found[4]) if found else None


def _clock(hour: int, minute: int, second: int, fraction: str | None) -> int | None:
    if hour > 23 or minute > 59 or second > 59:
        return None
    return ((hour * 60 + minute) * 60 + second) * _SECOND + int((fraction or "").ljust(6, "0")[:6])


def format_date(days: int) -> str:
    """Return the text of a date as Spark reads it."""
    year, month, day = date_of(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def format_timestamp(micros: int) -> str:
    """Return the text of a wall clock as Spark reads it."""
    days, clock = divmod(micros, DAY)
    return f"{format_date(days)} {format_time(clock)}"


def format_time(micros: int) -> str:
    """Return the text of a time of day."""
    seconds, fraction = divmod(micros, _SECOND)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:06d}".rstrip("0") if fraction else text


def is_zone(name: str) -> bool:
    """Tell whether Spark and the time zone database know this zone."""
    return _fixed(name) is not None or _region(name) is not None


def to_instant(wall: int, zone: str) -> int:
    """Return the instant at which clocks in a zone show this; the earlier one if there are two, later if there is none."""
    return wall - _offset(wall, zone, local=True)


def to_wall(instant: int, zone: str) -> int:
    """Return what clocks in a zone show at an instant."""
    return instant + _offset(instant, zone, local=False)


def _offset(micros: int, zone: str, *, local: bool) -> int:
    fixed = _fixed(zone)
    if fixed is not None:
        return fixed
    region = _region(zone)
    if region is None:
        raise ValueError(zone)
    days, clock = divmod(micros, DAY)
    year, month, day = date_of(days)
    # Rules of zones repeat with the calendar, and before the first rule nothing changes: far years borrow a near one's.
    near = 2 + year % 400 if year < 2 else 9598 + (year - 9598) % 400 if year > 9997 else year
    moment = dt.datetime(near, month, day, tzinfo=region if local else dt.UTC) + dt.timedelta(microseconds=clock)
    offset = (moment if local else moment.astimezone(region)).utcoffset() or dt.timedelta()
    return offset // dt.timedelta(microseconds=1)


def _fixed(zone: str) -> int | None:
    if zone in ("Z", "UTC", "GMT", "UT"):
        return 0
    if not (found := _OFFSET.fullmatch(zone)):
        return None
    hours, minutes, seconds = int(found[2]), int(found[3] or 0), int(found[4] or 0)
    if hours > 18 or minutes > 59 or seconds > 59:
        return None
    return (-1 if found[1] == "-" else 1) * ((hours * 60 + minutes) * 60 + seconds) * _SECOND


@lru_cache(maxsize=64)
def _region(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
