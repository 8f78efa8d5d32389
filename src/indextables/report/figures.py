"""What a report of a table says, as data: the page shows these figures and nothing else, and `--json` prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import datetime as dt


@dataclass(frozen=True, kw_only=True, slots=True)
class Growth:
    """The table version by version, oldest first.

    Attributes:
        versions: The versions, in steps of one.
        times: When each was committed.
        files: How many files each has.
        rows: How many rows each has; None where some file does not say.
        bytes: How large each is.
    """

    versions: tuple[int, ...]
    times: tuple[dt.datetime, ...]
    files: tuple[int, ...]
    rows: tuple[int, ...] | None
    bytes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SizeRange:
    """How many files have a size from `least` on and below `below`, which is None for the last range."""

    least: int
    below: int | None
    files: int
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionFigures:
    """One partition; rows are None where some file does not say."""

    name: str
    files: int
    rows: int | None
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """Partitions that stand next to each other in the order of their values: one, or several where there are many."""

    first: str
    last: str
    partitions: int
    files: int
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Partitions:
    """How the table is spread over its partitions.

    Attributes:
        columns: The partition columns.
        count: How many partitions there are.
        largest: The largest ones, by bytes.
        rest: The others together, None if all are shown.
        cells: All of them in the order of their values.
    """

    columns: tuple[str, ...]
    count: int
    largest: tuple[PartitionFigures, ...]
    rest: PartitionFigures | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """What pruning does for one condition.

    Attributes:
        where: The condition as it was understood.
        files: All files.
        pruned_by_partition: Files that partition columns rule out.
        pruned_by_statistics: Files that statistics rule out besides.
        files_read: Files that stay.
        bytes_read: Their size.
        details: Why, line by line.
        without_statistics: By column, files that stay since nothing is known about it.
    """

    where: str
    files: int
    pruned_by_partition: int
    pruned_by_statistics: int
    files_read: int
    bytes_read: int
    details: tuple[str, ...]
    without_statistics: dict[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """A commit, as history has it."""

    version: int
    time: dt.datetime
    operation: str | None
    files_added: int
    files_removed: int
    rows_added: int
    bytes_added: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LogHealth:
    """The log and its checkpoints.

    Attributes:
        oldest_version: The oldest version that can be loaded.
        commits: How many commits there are.
        commit_bytes: How large they are.
        checkpoints: The versions that have a checkpoint.
        damaged_checkpoints: Those of them that cannot be used.
        checkpoint_bytes: How large all checkpoints are, parts included.
        commits_since_checkpoint: How many commits a reader replays on top of the last usable checkpoint.
        interval: After how many commits a checkpoint is due.
        expired_commits: Commits that a cleanup would delete now.
        expired_checkpoints: Checkpoints that it would delete.
        expired_bytes: How large all that is.
        latest: The newest commits, newest first.
        problems: What could not be found out, and why.
    """

    oldest_version: int
    commits: int
    commit_bytes: int
    checkpoints: tuple[int, ...]
    damaged_checkpoints: tuple[int, ...]
    checkpoint_bytes: int
    commits_since_checkpoint: int
    interval: int
    expired_commits: int
    expired_checkpoints: int
    expired_bytes: int
    latest: tuple[Commit, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedFile:
    """A file that an operation could not use."""

    path: str
    operation: str
    reason: str
    times: int
    retry_after: dt.datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """The files that operations could not use: how many, how many of them are left alone for now, and the first ones."""

    files: int
    in_cooldown: int
    first: tuple[SkippedFile, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Mergeable:
    """What a merge would do: that many files into so many, which are so large."""

    files: int
    into: int
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Purgeable:
    """What lies in the store beside the table.

    Attributes:
        files: Files that a purge would delete now.
        bytes: Their size.
        held_files: Files that only older versions need.
        held_bytes: Their size.
        problem: Why nobody can tell, where that is so.
    """

    files: int = 0
    bytes: int = 0
    held_files: int = 0
    held_bytes: int = 0
    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """Something to do, and the command that does it.

    Attributes:
        kind: What it is about.
        urgent: Whether it harms now, or only costs.
        title: What to do.
        reason: The figures that speak for it.
        command: A command line to copy.
    """

    kind: Literal["merge", "checkpoint", "cleanup", "purge", "statistics", "skips", "verify", "compact", "recover"]
    urgent: bool
    title: str
    reason: str
    command: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFigures:
    """Everything that the report of a table says."""

    path: str
    id: str
    name: str | None
    description: str | None
    made: dt.datetime
    version: int
    committed: dt.datetime
    files: int
    rows: int | None
    bytes: int
    columns: int
    min_reader_version: int
    min_writer_version: int
    properties: dict[str, str]
    growth: Growth | None
    sizes: tuple[SizeRange, ...]
    partitions: Partitions | None
    queries: tuple[Query, ...]
    log: LogHealth
    skipped: Skipped
    mergeable: Mergeable
    purgeable: Purgeable
    advice: tuple[Advice, ...]
