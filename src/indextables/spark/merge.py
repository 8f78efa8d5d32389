"""Merging small splits: one Spark job for all groups, Arrow inside its tasks, no shuffle.

A group is a task, so however many partitions a table has, Spark is asked once. A merge that is small is done in threads of the
driver instead, where it takes less time than a job takes to start.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from indextables.config.quantities import MB
from indextables.errors import ConfigError, StorageError, UnsupportedStoreError
from indextables.predicate import Expression, bind
from indextables.runtime import SYSTEM, Runtime
from indextables.spark.job import described
from indextables.spark.maintained import has_context, open_maintained, zone_of
from indextables.spark.runs import RUN_LENGTH, naming_attempts
from indextables.storage.open import open_store
from indextables.storage.paths import partition_path
from indextables.table.merge_group import merge_group
from indextables.table.merge_run import MergeResult, MergeRun
from indextables.table.merging import MergePolicy, parse_size
from indextables.table.parallel import in_order
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from indextables.config import Settings
    from indextables.spark.opened import Opened
    from indextables.table.merge_group import MergeTask, Outcome
    from indextables.table.merging import Group

_LOCAL: Final = 64 * MB
"""Below, the rows of all groups together are merged in the driver."""


def merge_splits(
    spark: SparkSession | None,
    path: str,
    *,
    where: str | Expression | None = None,
    target_size: str | int = "5G",
    max_groups: int | None = None,
    dry_run: bool = False,
    options: Mapping[str, object] | None = None,
    runtime: Runtime = SYSTEM,
) -> MergeResult:
    """Make few large files of many small ones, partition by partition, until nothing is left to merge.

    Rows stay what they are; each new file is read back and compared before it is committed. Appends go on meanwhile. A file that
    cannot be read is noted in the log and left alone until its cooldown is over.

    Args:
        spark: The session; without one the work is done in this process.
        path: Where the table is.
        where: Merge only files that may hold rows for which this is true, as SQL or built with `col`.
        target_size: How large files are to become, at most. The rows of one file must also fit into memory, about 1 GB of them.
        max_groups: Write at most so many files, those first that replace the most for their size.
        dry_run: Only tell what would be merged.
        options: Settings under their full names (`spark.indextables.…`), which stand above the session's.
        runtime: Clock and ids.

    Raises:
        TableNotFoundError: There is no table.
        PredicateError: `where` cannot be understood.
        ConfigError: An argument has a value that is not allowed.
    """
    if max_groups is not None and max_groups < 1:
        raise ConfigError("max_groups", max_groups, "a number of groups, or leave it out")
    target = parse_size("target_size", target_size)
    opened = open_maintained(spark, path, options)
    with span("indextables.merge", table=opened.store.url, dry_run=dry_run) as noted:
        snapshot = opened.log.snapshot()
        zone = zone_of(spark)
        policy = MergePolicy(
            target_size=target,
            where=None if where is None else bind(where, snapshot.schema, timezone=zone),
            max_groups=max_groups,
        )
        executor = _Executor(spark, opened, runtime)
        merge = MergeRun(opened.log, opened.store, opened.settings, executor.run, runtime=runtime)
        result = merge.run(policy, dry_run=dry_run)
        noted.note(version=result.version, files=result.files_merged, files_added=result.files_added)
        return result


@dataclass(frozen=True, slots=True)
class _Work:
    """The work on a group as Spark's Python workers do it; the store's properties may be secrets, and are kept out of `repr`."""

    url: str
    settings: Settings
    properties: dict[str, str]
    task: MergeTask
    run: str

    def __repr__(self) -> str:
        return f"_Work({self.url!r}, run={self.run!r})"

    def __call__(self, group: Group) -> Outcome:
        store = open_store(self.url, settings=self.settings, properties=self.properties)
        return merge_group(store, group, self.task, runtime=naming_attempts(SYSTEM, self.run))


class _Executor:
    """Works on groups, in a Spark job or in threads."""

    def __init__(self, spark: SparkSession | None, opened: Opened, runtime: Runtime) -> None:
        self._spark = spark
        self._opened = opened
        self._runtime = runtime

    def run(self, groups: Sequence[Group], task: MergeTask) -> Iterable[Outcome]:
        small = sum(group.memory for group in groups) <= _LOCAL
        if self._spark is None or small or not has_context(self._spark) or not _opens_in_workers(self._opened):
            return self._here(groups, task)
        return self._there(self._spark, groups, task)

    def _here(self, groups: Sequence[Group], task: MergeTask) -> Iterable[Outcome]:
        store = self._opened.store
        workers = min(len(groups), os.cpu_count() or 1)
        with ThreadPoolExecutor(max_workers=workers) as pool:
            yield from in_order(
                pool,
                lambda group: merge_group(store, group, task, runtime=self._runtime),
                groups,
                ahead=workers,
            )

    def _there(self, spark: SparkSession, groups: Sequence[Group], task: MergeTask) -> list[Outcome]:
        run = self._runtime.new_id()
        work = _Work(self._opened.url, self._opened.settings, self._opened.properties, task, run)
        try:
            with described(spark, f"indextables: merge {len(groups)} groups of {self._opened.url}"):
                return spark.sparkContext.parallelize(groups, len(groups)).map(work).collect()
        except BaseException:
            self._clear(groups, task, run)
            raise

    def _clear(self, groups: Sequence[Group], task: MergeTask, run: str) -> None:
        """Delete what tasks of a failed job wrote, as far as the store lets us; none of it was committed."""
        store = self._opened.store
        names = task.partition_columns
        directories = {partition_path((name, group.partition_values.get(name)) for name in names) for group in groups}
        for directory in directories:
            try:
                for meta in list(store.list_from(directory)):
                    if meta.path.rpartition("/")[2].startswith(run[:RUN_LENGTH]):
                        store.delete(meta.path)
            except StorageError:
                continue  # a purge finds them


def _opens_in_workers(opened: Opened) -> bool:
    """Tell whether Spark's Python workers, which have no JVM of their own, can open the store."""
    try:
        open_store(opened.url, settings=opened.settings, properties=opened.properties)
    except UnsupportedStoreError:
        return False
    return True
