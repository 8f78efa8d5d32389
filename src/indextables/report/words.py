"""Numbers as people read them, the same on a page and in a terminal."""

from __future__ import annotations

import datetime as dt
from typing import Final

_UNITS: Final = ("KB", "MB", "GB", "TB", "PB")
_STEP: Final = 1024
_SHORT: Final = ((1_000_000_000_000, "tn"), (1_000_000_000, "bn"), (1_000_000, "M"), (1_000, "k"))
_AS_IT_IS: Final = 10_000


def size(count: int) -> str:
    """Return a number of bytes in the unit that suits it."""
    if count < _STEP:
        return f"{count} B"
    value, power = count / _STEP, 0
    while value >= _STEP and power < len(_UNITS) - 1:
        value, power = value / _STEP, power + 1
    return f"{value:,.1f} {_UNITS[power]}"


def number(count: int | None) -> str:
    """Return a count with its thousands apart; nothing for one that is not known."""
    return "unknown" if count is None else f"{count:,}"


def short(count: int | None) -> str:
    """Return a count in few characters: `1,234`, `56.8 k`, `1.2 M`."""
    if count is None:
        return "unknown"
    if count < _AS_IT_IS:
        return f"{count:,}"
    value, unit = next((count / least, unit) for least, unit in _SHORT if count >= least)
    return f"{value:,.1f} {unit}".replace(".0 ", " ")


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 file`, `2 files`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def share(part: int, whole: int) -> str:
    """Return a part in percent; what is nearly nothing or nearly all is never rounded to that."""
    if whole == 0:
        return "0 %"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "< 0.1 %"
    if 99.9 < percent < 100:
        return "> 99.9 %"
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.1f} %"


def moment(value: dt.datetime) -> str:
    """Return a moment in UTC, to the second where it has one."""
    return value.astimezone(dt.UTC).replace(microsecond=0).strftime("%Y-%m-%d %H:%M:%S UTC")


def minute(value: dt.datetime) -> str:
    """Return a moment in UTC to the minute, for where it is said that it is UTC."""
    return value.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M")


def day(value: dt.datetime) -> str:
    """Return the day of a moment in UTC."""
    return value.astimezone(dt.UTC).strftime("%Y-%m-%d")
