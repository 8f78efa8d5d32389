"""Where things are inside a table, and what their names mean. Nothing else builds or parses a name of the log."""

from __future__ import annotations

import re

LOG_DIRECTORY = "_transaction_log"
CHECKPOINT_DIRECTORY = f"{LOG_DIRECTORY}/_checkpoints"
FLOOR_DIRECTORY = f"{LOG_DIRECTORY}/_floor"
POINTER = f"{LOG_DIRECTORY}/_last_checkpoint"

MAX_VERSION = 2**63 - 1
_COMMIT = re.compile(rf"{LOG_DIRECTORY}/([0-9]{{20}})\.json\Z")
_JSON_CHECKPOINT = re.compile(rf"{LOG_DIRECTORY}/([0-9]{{20}})\.checkpoint\.json\Z")
_MANIFEST = re.compile(rf"{CHECKPOINT_DIRECTORY}/([0-9]{{20}})\.checkpoint\.json\Z")
_PART = re.compile(rf"{CHECKPOINT_DIRECTORY}/([0-9]{{20}})\.checkpoint(?:\.[0-9a-z-]+)*\.parquet\Z")
_FLOOR = re.compile(rf"{FLOOR_DIRECTORY}/([0-9]{{20}})\Z")


def commit_path(version: int) -> str:
    """Return the path of the file that holds the actions of one version."""
    return f"{LOG_DIRECTORY}/{version:020d}.json"


def commit_version(path: str) -> int | None:
    """Return the version whose actions a file holds, or None for any other file: checkpoints, pointers, `.crc` sidecars."""
    return _version(_COMMIT.match(path))


def json_checkpoint_path(version: int) -> str:
    """Return the path of a checkpoint in JSON, which stands beside the commits."""
    return f"{LOG_DIRECTORY}/{version:020d}.checkpoint.json"


def json_checkpoint_version(path: str) -> int | None:
    """Return the version of a checkpoint in JSON, or None for any other file."""
    return _version(_JSON_CHECKPOINT.match(path))


def manifest_path(version: int) -> str:
    """Return the path of the file that names the parts of a checkpoint in Parquet."""
    return f"{CHECKPOINT_DIRECTORY}/{version:020d}.checkpoint.json"


def manifest_version(path: str) -> int | None:
    """Return the version of a manifest, or None for any other file."""
    return _version(_MANIFEST.match(path))


def part_path(version: int, *, part: int = 1, of: int = 1, kind: str = "", unique: str = "") -> str:
    """Return the path of a part of a checkpoint in Parquet.

    Args:
        version: The version that it was written for first.
        part: Its number, from 1.
        of: How many there are; the only one needs no number.
        kind: What it holds, if not active files.
        unique: Tells it from another file that has the usual name already.
    """
    number = f".{part:010d}.{of:010d}" if of > 1 else ""
    return (
        f"{CHECKPOINT_DIRECTORY}/{version:020d}.checkpoint"
        f"{f'.{kind}' if kind else ''}{number}{f'.{unique}' if unique else ''}.parquet"
    )


def part_version(path: str) -> int | None:
    """Return the version that a part was written for first, or None for any other file."""
    return _version(_PART.match(path))


def floor_path(version: int) -> str:
    """Return the path of the mark that says: versions below this one are gone."""
    return f"{FLOOR_DIRECTORY}/{version:020d}"


def floor_version(path: str) -> int | None:
    """Return the version of such a mark, or None for any other file."""
    return _version(_FLOOR.match(path))


def _version(found: re.Match[str] | None) -> int | None:
    if not found:
        return None
    version = int(found[1])
    return version if version <= MAX_VERSION else None
