"""Time travel: which version was the newest one at a moment."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import numpy as np

from indextables.errors import ConfigError, VersionNotFoundError

if TYPE_CHECKING:
    from indextables.log.state import LogState

_ALLOWED = "an ISO 8601 time with a zone (2024-01-01T12:00:00Z), a date (2024-01-01, from 00:00 UTC), or milliseconds since 1970"


def as_milliseconds(moment: str | int | dt.date) -> int:
    """Return a moment in milliseconds since the epoch.

    Raises:
        ConfigError: It is none, or a time of day whose zone is not known.
    """
    if isinstance(moment, bool):
        raise ConfigError("timestamp", moment, _ALLOWED)
    if isinstance(moment, int):
        return moment
    if isinstance(moment, str):
        return _parse(moment.strip())
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day, tzinfo=dt.UTC)
    if moment.tzinfo is None:
        raise ConfigError("timestamp", moment.isoformat(), _ALLOWED)
    return int(moment.timestamp() * 1000)


def _parse(text: str) -> int:
    if text.lstrip("-").isdecimal():
        return int(text)
    for parse in (dt.date.fromisoformat, dt.datetime.fromisoformat):
        try:
            return as_milliseconds(parse(text))
        except ConfigError:
            raise ConfigError("timestamp", text, _ALLOWED) from None
        except ValueError:
            continue
    raise ConfigError("timestamp", text, _ALLOWED)


def version_at(state: LogState, moment_ms: int, *, url: str) -> int:
    """Return the newest version that was committed at or before a moment; after the last commit that is the last version.

    Raises:
        VersionNotFoundError: The moment lies before the first version that is known.
    """
    index = int(np.searchsorted(state.timestamps, moment_ms, side="right")) - 1
    if index < 0:
        first = dt.datetime.fromtimestamp(int(state.timestamps[0]) / 1000, dt.UTC).isoformat()
        raise VersionNotFoundError(url, version=f"at {moment_ms} ms", available=f"from {first} on")
    return state.first_version + index
