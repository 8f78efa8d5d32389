"""What a write did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.split.truncation import TruncationReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.split import SplitFile


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteResult:
    """What a write did.

    Attributes:
        files: How many files it added.
        rows: How many rows are in them.
        bytes: How large they are together.
        seconds: How long it took.
        columns_truncated: Columns with statistics that were too long to keep whole.
        version: The version of the table that holds the rows.
    """

    files: int
    rows: int
    bytes: int
    seconds: float
    columns_truncated: tuple[str, ...]
    version: int


def result_of(files: Sequence[SplitFile], *, seconds: float, version: int) -> WriteResult:
    """Return what a write of these files did."""
    report = sum((file.truncation for file in files), TruncationReport())
    return WriteResult(
        files=len(files),
        rows=sum(file.num_records for file in files),
        bytes=sum(file.size for file in files),
        seconds=seconds,
        columns_truncated=tuple(sorted(report.columns)),
        version=version,
    )
