"""One split file: a plain Parquet file that carries its own statistics and checksums."""

from __future__ import annotations

from indextables.split.describe import describe_file, describe_files
from indextables.split.file import SplitFile
from indextables.split.reader import Split, SplitAddress, open_split
from indextables.split.statistics import SplitStatistics
from indextables.split.truncation import TruncationReport
from indextables.split.writer import new_split_path, write_split

__all__ = [
    "Split",
    "SplitAddress",
    "SplitFile",
    "SplitStatistics",
    "TruncationReport",
    "describe_file",
    "describe_files",
    "new_split_path",
    "open_split",
    "write_split",
]
