"""What a write did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from indextables.split.truncation import TruncationReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.log.commit import CommitResult
    from indextables.split.file import SplitFile


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteResult:
    """What became of an append, an overwrite or a delete.

    Attributes:
        version: The version that holds it, or the newest one if there was nothing to commit.
        committed: Whether a version was written.
        files_added: New files.
        files_removed: Files that left the table.
        rows_added: Rows in the new files, copied ones included.
        bytes_added: Size of the new files.
        rows_deleted: Rows that left the table; None where a removed file does not say how many it had.
        truncation: Which columns have statistics too long for the log, and how much smaller the log is for it.
    """

    version: int
    committed: bool
    files_added: int = 0
    files_removed: int = 0
    rows_added: int = 0
    bytes_added: int = 0
    rows_deleted: int | None = 0
    truncation: TruncationReport = field(default_factory=TruncationReport)


def result_of(
    commit: CommitResult, files: Sequence[SplitFile], *, files_removed: int = 0, rows_deleted: int | None = 0
) -> WriteResult:
    """Return what a commit with these new files did."""
    return WriteResult(
        version=commit.version,
        committed=commit.written,
        files_added=len(files),
        files_removed=files_removed,
        rows_added=sum(file.num_records for file in files),
        bytes_added=sum(file.size for file in files),
        rows_deleted=rows_deleted,
        truncation=sum((file.truncation for file in files), TruncationReport()),
    )
