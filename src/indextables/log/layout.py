"""Where things are inside a table, and what their names mean. Nothing else builds or parses a name of the log."""

from __future__ import annotations

import re

LOG_DIRECTORY = "_transaction_log"
CHECKPOINT_DIRECTORY = f"{LOG_DIRECTORY}/_checkpoints"
POINTER = f"{LOG_DIRECTORY}/_last_checkpoint"

MAX_VERSION = 2**63 - 1
_COMMIT = re.compile(rf"{LOG_DIRECTORY}/([0-9]{{20}})\.json\Z")


def commit_path(version: int) -> str:
    """Return the path of the file that holds the actions of one version."""
    return f"{LOG_DIRECTORY}/{version:020d}.json"


def commit_version(path: str) -> int | None:
    """Return the version whose actions a file holds, or None for any other file: checkpoints, pointers, `.crc` sidecars."""
    found = _COMMIT.match(path)
    if not found:
        return None
    version = int(found[1])
    return version if version <= MAX_VERSION else None
