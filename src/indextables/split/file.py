"""The record of one split file: everything that the log wants to know about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from indextables.split.truncation import TruncationReport

if TYPE_CHECKING:
    from indextables.split.statistics import SplitStatistics

NO_TEXT_INDEX = "[]"
"""The mapping of documents of a split in which no field is indexed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitFile:
    """A file that is, or is about to be, in the store.

    Attributes:
        path: Where, relative to the table.
        size: Bytes.
        statistics: What is known about its rows.
        partition_values: The value of each partition column as text; None is null.
        footer_start: Where the Parquet footer begins; it ends with the file.
        footer_checksum: CRC-32 of those bytes.
        uncompressed_size: How large its columns are when decompressed.
        time_range: The bounds of its first column of timestamps, in microseconds since the epoch, as text.
        doc_mapping: Which fields are indexed how, as JSON.
        merge_ops: How many merges it went through.
        modified_ms: When it was written.
        truncation: What truncation did to its statistics.
    """

    path: str
    size: int
    statistics: SplitStatistics
    partition_values: dict[str, str | None]
    footer_start: int
    footer_checksum: int
    uncompressed_size: int
    time_range: tuple[str, str] | None = None
    doc_mapping: str = NO_TEXT_INDEX
    merge_ops: int = 0
    modified_ms: int = 0
    truncation: TruncationReport = field(default_factory=TruncationReport)

    @property
    def num_records(self) -> int:
        """Rows."""
        return self.statistics.num_records
