"""The names that a run leaves behind, and Hive's way to write partition values into paths.

The names are a contract: people look for them, and cleanup deletes nothing that is called otherwise.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

BACKUP_PREFIX = "__bkp_"
DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
HIDDEN_STAGING = "_lakekeeper"
"""Directory below a table's root that holds what would otherwise lie beside partitions; no engine looks into it."""

PROBE = "_lakekeeper_probe"
"""An empty file that is renamed to and fro before a run begins its work."""

_SWITCHED = re.compile(r"__compacted_([0-9]{1,19})$")
_HIDDEN_RUN = re.compile(rf"^{HIDDEN_STAGING}/([0-9]{{1,19}})/")
_STAGING = re.compile(r".+__(?:old|compact_tmp)_[0-9]{1,19}")
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f") | {chr(code) for code in range(1, 32)}
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")


def backup_name(table: str, run: str) -> str:
    """Return the name of the table that keeps the original files of a run: `__bkp_events_20260225_143000`."""
    return f"{BACKUP_PREFIX}{table}_{datetime.fromtimestamp(int(run), tz=UTC):%Y%m%d_%H%M%S}"


def old_suffix(run: str) -> str:
    """Return what is added to the name of a directory when its original files are put aside."""
    return f"__old_{run}"


def staging_suffix(run: str) -> str:
    """Return what is added to the name of a directory for its replacement."""
    return f"__compact_tmp_{run}"


def switched_location(location: str, *, root: str, run: str) -> str:
    """Return a fresh directory for the files at a location, where the Metastore is to be pointed at it.

    Inside the table's root it is out of sight of `MSCK REPAIR`. What an earlier run has added to the location goes.
    """
    if location.startswith(f"{root}/"):
        inner = _HIDDEN_RUN.sub("", location[len(root) + 1 :])
        return f"{root}/{HIDDEN_STAGING}/{run}/{inner}"
    return f"{_SWITCHED.sub('', location)}__compacted_{run}"


def switching_run(location: str, *, root: str) -> str | None:
    """Return the run whose switch made a location; it may be forgotten otherwise."""
    found = _HIDDEN_RUN.match(location[len(root) + 1 :]) if location.startswith(f"{root}/") else None
    found = found or _SWITCHED.search(location)
    return found[1] if found else None


def is_staging(name: str) -> bool:
    """Tell whether a directory's name is one that a run gives."""
    return _STAGING.fullmatch(name) is not None


def is_hidden(name: str) -> bool:
    """Tell whether engines pass over a file or directory of this name."""
    return name.startswith(("_", "."))


def escape(value: str) -> str:
    """Return a partition value as Hive writes it into a path."""
    if not value:
        return DEFAULT_PARTITION
    return "".join(f"%{ord(character):02X}" if character in _ESCAPED else character for character in value)


def unescape(text: str) -> str:
    """Return the value that Hive wrote into a path."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def partition_name(keys: Iterable[str], values: Iterable[str]) -> str:
    """Return a partition's name: `date=2026-02-23/ref=A`."""
    return "/".join(f"{escape(key.lower())}={escape(value)}" for key, value in zip(keys, values, strict=True))


def parse_partition(text: str) -> tuple[tuple[str, str], ...]:
    """Return the keys and values of a whole or partial partition name, unescaped.

    Raises:
        ValueError: A part has no `=`.
    """
    pairs = []
    for part in text.strip("/").split("/"):
        key, separator, value = part.partition("=")
        if not separator or not key:
            raise ValueError(f"{part!r} is not key=value")
        pairs.append((unescape(key).lower(), unescape(value)))
    return tuple(pairs)
