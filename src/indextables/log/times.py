"""Time travel: which version was the newest one at a moment."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

import numpy as np

from indextables.errors import ConfigError, VersionNotFoundError

if TYPE_CHECKING:
    from indextables.log.state import LogState

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND = dt.timedelta(milliseconds=1)
_NUMBER = re.compile(r"-?[0-9]{1,30}")
_ALLOWED = "an ISO 8601 time with a zone (2024-01-01T12:00:00Z), a date (2024-01-01, from 00:00 UTC), or milliseconds since 1970"


def as_milliseconds(moment: str | int | dt.date) -> int:
    """Return a moment in milliseconds since the epoch.

    Raises:
        ConfigError: It is none, or a time of day whose zone is not known.
    """
    if isinstance(moment, str):
        return _parse(moment.strip())
    if isinstance(moment, int) and not isinstance(moment, bool):
        return moment
    if not isinstance(moment, dt.date):
        raise ConfigError("timestamp", moment, _ALLOWED)
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day, tzinfo=dt.UTC)
    if moment.tzinfo is None:
        raise ConfigError("timestamp", moment.isoformat(), _ALLOWED)
    return (moment - _EPOCH) // _MILLISECOND


def _parse(text: str) -> int:
    if _NUMBER.fullmatch(text):
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
    within = min(max(moment_ms, -(2**63)), 2**63 - 1)
    index = int(np.searchsorted(state.timestamps, within, side="right")) - 1
    if index < 0:
        first: object = np.datetime64(int(state.timestamps[0]), "ms").item()
        shown = f"{first.isoformat()}+00:00" if isinstance(first, dt.datetime) else f"{first} ms since 1970"
        raise VersionNotFoundError(url, version=f"at {moment_ms} ms", available=f"from {shown} on")
    return state.first_version + index
