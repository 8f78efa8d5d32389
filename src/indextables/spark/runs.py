"""Names that tell which run a file belongs to.

All files of a run share the first 24 characters of its id, so whatever a dead driver or a lost executor left behind is known by its
run, in whichever directory it lies.
"""

from __future__ import annotations

import dataclasses
import secrets
from typing import TYPE_CHECKING, Final

from indextables.split.writer import SUFFIX
from indextables.storage.paths import partition_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from indextables.runtime import Runtime

STAGING: Final = "_staging"
"""The directory inside a table that holds the files of runs before they have their places."""

RUN_LENGTH: Final = 24
"""How many characters of a file's name tell its run."""


def final_path(run: str, number: int, partition: Iterable[tuple[str, str | None]]) -> str:
    """Return where a run's file belongs in its table; the number replaces the last twelve digits of the run's id."""
    directory = partition_path(partition)
    name = f"{run[:RUN_LENGTH]}{number:012x}{SUFFIX}"
    return f"{directory}/{name}" if directory else name


def naming_attempts(runtime: Runtime, run: str) -> Runtime:
    """Return a runtime whose new ids are those of a run's files, different for each attempt at a task."""
    return dataclasses.replace(runtime, new_id=lambda: f"{run[:RUN_LENGTH]}{secrets.token_hex(6)}")
