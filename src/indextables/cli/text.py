"""Values as people read them. What comes out of a table may be anything, so nothing of it reaches a terminal as a command."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def plain(text: str) -> str:
    """Return text with control characters spelled out, so that a terminal does not obey them."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def one_line(text: str) -> str:
    """Return text on one line, with control characters spelled out."""
    return plain(" ".join(text.split()))


def cell(value: object) -> str:
    """Return a value as a cell of a table."""
    if value is None:
        return ""
    if isinstance(value, dt.datetime):
        return moment(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{plain(str(name))}={cell(part) or 'null'}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(cell(part) or "null" for part in value)
    return plain(str(value))


def moment(value: dt.datetime) -> str:
    """Return a moment, in UTC where its zone is known, with as much of a second as it has."""
    zone = "Z" if value.tzinfo else ""
    if value.tzinfo:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    return f"{value.isoformat(' ')}{zone}"
