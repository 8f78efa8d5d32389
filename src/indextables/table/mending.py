"""Repair of a table: that of its log, with the split files as the last witnesses where the log itself is lost."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from indextables.config import Settings
from indextables.log import repair as logs
from indextables.table.rebuild import rebuild_adds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.log.repair import RepairResult


def repair(
    source_log: str,
    target_log: str | None = None,
    *,
    options: Mapping[str, object] | None = None,
    dry_run: bool = True,
    drop_missing_files: bool = False,
) -> RepairResult:
    """Examine the log of a table, and mend it: in place, or as a new log elsewhere.

    Args:
        source_log: The table, or its `_transaction_log`.
        target_log: Another place for the repaired log, of the same form; None repairs in place, and keeps the old log aside.
        options: Settings and credentials under their full names.
        dry_run: Only tell what is wrong and what would be done; `print` the result.
        drop_missing_files: Take data files that are gone out of the table, instead of only naming them.

    Raises:
        TableExistsError: The target holds a log already.
        LogCorruptionError: Too little survives.
        ConcurrentWriteError: Others kept committing; nothing was changed.
    """
    return logs.repair(
        source_log,
        target_log,
        options=options,
        dry_run=dry_run,
        drop_missing_files=drop_missing_files,
        rebuild=partial(rebuild_adds, settings=Settings.resolve(options)),
    )
