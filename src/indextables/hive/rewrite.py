"""A group of small files becomes one file: as a task of a local thread, or of one Spark job for all partitions of a table.

Groups are planned first and are plain data, so the same function runs anywhere. Small runs never start Spark: reading a file of
some kilobytes takes less time than a Spark task costs to schedule.
"""

from __future__ import annotations

from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING

from indextables.errors import ConcurrentChangeError, IndexTablesError, NotFoundError
from indextables.hive.connect import open_file_systems
from indextables.hive.orc import OrcRewriter
from indextables.hive.parquet import ParquetRewriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from indextables.hive.checksum import Check
    from indextables.hive.filesystem import Entry, FileSystems

_NAMES_PER_GROUP = 1000
_REWRITERS: dict[str, type[ParquetRewriter | OrcRewriter]] = {"parquet": ParquetRewriter, "orc": OrcRewriter}


@dataclass(frozen=True, slots=True)
class Group:
    """Files of one directory that become one file, or one for each shape among them.

    Attributes:
        table: The table's full name, for messages.
        source: The directory with the files.
        target: The directory for the result.
        index: The group's number within its directory.
        groups: How many groups the directory has.
        files: The files, by paths relative to `source`.
        format: `parquet` or `orc`.
        codec: Compression to write, or None for that of the sources.
        sort_by: Columns to sort the rows of each file by.
    """

    table: str
    source: str
    target: str
    index: int
    groups: int
    files: tuple[Entry, ...]
    format: str
    codec: str | None = None
    sort_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a group: the check of each file that was written."""

    target: str
    files: dict[str, Check]


def plan_groups(files: Sequence[Entry], target_size: int) -> list[tuple[Entry, ...]]:
    """Return files put together so that each group comes near the target size, in the order of their names.

    The number of groups is what the total size asks for; each group ends where the running total passes its share.
    """
    total = sum(entry.length for entry in files)
    wanted = max(1, -(-total // target_size))
    groups: list[list[Entry]] = [[] for _ in range(wanted)]
    running = 0
    for entry in files:
        # By the middle of the file, so that one large file does not push its neighbours out of their group.
        groups[min(wanted - 1, (2 * running + entry.length) * wanted // max(1, 2 * total))].append(entry)
        running += entry.length
    return [tuple(group) for group in groups if group]


def rewrite(group: Group, systems: FileSystems | None = None) -> Written:
    """Rewrite one group; the same on a driver and in a worker."""
    systems = systems or open_file_systems()
    # The first file takes the group's own number. Those of other shapes take numbers that no other group can reach.
    numbers = chain([group.index], count(group.groups + group.index * _NAMES_PER_GROUP))

    def next_name() -> str:
        return f"part-{next(numbers):05d}.{group.format}"

    try:
        files = _REWRITERS[group.format](systems.at(group.source), group, next_name).run()
    except NotFoundError as error:
        raise ConcurrentChangeError(group.table, f"{error.path} disappeared while it was to be read") from error
    return Written(group.target, files)


def rewrite_locally(
    groups: Sequence[Group], *, systems: FileSystems, threads: int, done: Callable[[Written], None]
) -> None:
    """Rewrite groups in threads; the first failure stops the rest."""
    with ThreadPoolExecutor(threads, thread_name_prefix="lakekeeper") as pool:
        futures = [pool.submit(rewrite, group, systems) for group in groups]
        try:
            for future in futures:
                done(future.result())
        finally:
            for future in futures:
                future.cancel()
            wait(futures, return_when=FIRST_EXCEPTION)


def rewrite_on_spark(groups: Sequence[Group], *, spark: SparkSession, done: Callable[[Written], None]) -> None:
    """Rewrite groups as tasks of one Spark job, results as they come.

    Our own errors come back as results: raised in a task they would be tried again, and arrive as text.
    """
    spread = spark.sparkContext.parallelize(groups, len(groups)).map(_attempt)
    for answer in spread.toLocalIterator(prefetchPartitions=True):
        if isinstance(answer, IndexTablesError):
            raise answer
        done(answer)


def _attempt(group: Group) -> Written | IndexTablesError:
    try:
        return rewrite(group)
    except IndexTablesError as error:
        return error
