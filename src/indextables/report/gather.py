"""From a table to the figures of its report. Nothing is changed, and no data file is read.

What commands would do is found out by asking the code behind those commands, as a dry run, so a recommendation and the command
that it names cannot disagree.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

from indextables.config import Settings
from indextables.errors import IndexTablesError, StorageError
from indextables.log.checkpoint.finder import CheckpointFinder, Place
from indextables.log.layout import LOG_DIRECTORY, manifest_version
from indextables.log.log import TransactionLog
from indextables.log.retention import LogFiles, sort_files
from indextables.log.skips import in_cooldown, readable
from indextables.predicate import bind
from indextables.report.advice import advise
from indextables.report.figures import (
    Commit,
    LogHealth,
    Mergeable,
    Purgeable,
    Query,
    Skipped,
    SkippedFile,
    TableFigures,
)
from indextables.report.growth import growth_of
from indextables.report.spread import partitions_of, sizes_of
from indextables.runtime import SYSTEM, Runtime
from indextables.storage.open import open_store
from indextables.table.explain import explain_pruning
from indextables.table.merging import MergePolicy, parse_size, plan_merges
from indextables.table.purging import parse_age, purge_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.log.cleanup import CleanupResult
    from indextables.log.snapshot import Snapshot
    from indextables.storage.base import Store

TARGET_SIZE: Final = "5G"
"""How large `indextables merge` makes files unless it is told otherwise."""

OLDER_THAN: Final = "7d"
"""What `indextables purge` leaves alone unless it is told otherwise."""

_LATEST_COMMITS: Final = 10
_FIRST_SKIPS: Final = 20


def table_figures(
    path: str, *, where: Sequence[str] = (), options: Mapping[str, object] | None = None, runtime: Runtime = SYSTEM
) -> TableFigures:
    """Return the figures of a table.

    Args:
        path: A local path, or an address such as `s3://bucket/table`.
        where: Conditions as SQL, for each of which the report tells what pruning saves.
        options: Settings under their full names, and credentials.
        runtime: Clock.

    Raises:
        TableNotFoundError: There is no table.
        PredicateError: A condition cannot be understood.
        LogCorruptionError: The log is damaged.
    """
    settings = Settings.resolve(options)
    properties = {key: str(value) for key, value in (options or {}).items() if value is not None}
    store = open_store(path, settings=settings, properties=properties, runtime=runtime)
    log = TransactionLog(store, settings=settings, runtime=runtime)
    snapshot = log.snapshot()
    queries = tuple(_query(snapshot, text) for text in where)
    health = _health(log, store, snapshot, settings)
    mergeable = _mergeable(snapshot, runtime)
    purgeable = _purgeable(store, settings, runtime)
    skipped = _skipped(snapshot, runtime)
    metadata, protocol = snapshot.metadata, snapshot.protocol
    return TableFigures(
        path=snapshot.url,
        id=metadata.id,
        name=metadata.name or None,
        description=metadata.description or None,
        made=_moment(runtime.now_ms()),
        version=snapshot.version,
        committed=_moment(snapshot.timestamp),
        files=snapshot.num_files,
        rows=snapshot.num_records,
        bytes=snapshot.size_in_bytes,
        columns=len(snapshot.schema),
        min_reader_version=protocol.min_reader_version,
        min_writer_version=protocol.min_writer_version,
        properties=snapshot.configuration,
        growth=growth_of(log, store, snapshot, oldest=health.oldest_version, settings=settings),
        sizes=sizes_of(snapshot),
        partitions=partitions_of(snapshot),
        queries=queries,
        log=health,
        skipped=skipped,
        mergeable=mergeable,
        purgeable=purgeable,
        advice=advise(
            path,
            files=snapshot.num_files,
            health=health,
            mergeable=mergeable,
            purgeable=purgeable,
            skipped=skipped,
            queries=queries,
        ),
    )


def _query(snapshot: Snapshot, where: str) -> Query:
    found = explain_pruning(snapshot, bind(where, snapshot.schema))
    return Query(
        where=found.predicate,
        files=found.files,
        pruned_by_partition=found.pruned_by_partition,
        pruned_by_statistics=found.pruned_by_statistics,
        files_read=found.files_left,
        bytes_read=found.bytes_left,
        details=tuple(line.strip() for line in str(found).splitlines()[2:]),
        without_statistics=found.without_statistics,
    )


def _health(log: TransactionLog, store: Store, snapshot: Snapshot, settings: Settings) -> LogHealth:
    files = sort_files(store.list_from(LOG_DIRECTORY))
    usable, damaged = _usable_checkpoint(store, files, settings, latest=snapshot.version)
    problems = []
    commits: list[Commit] = []
    expired: CleanupResult | None = None
    try:
        commits = [_commit(row) for row in log.history(limit=_LATEST_COMMITS).to_pylist()]
    except IndexTablesError as error:  # the table can be read all the same, thanks to a checkpoint
        problems.append(error.problem)
    try:
        expired = log.cleanup(dry_run=True)
    except IndexTablesError as error:
        problems.append(error.problem)
    replayed = snapshot.version - usable if usable is not None else len(files.versions)
    return LogHealth(
        oldest_version=files.oldest,
        commits=len(files.versions),
        commit_bytes=int(files.sizes.sum()),
        checkpoints=tuple(sorted({version for version, _ in files.checkpoints})),
        damaged_checkpoints=tuple(sorted(damaged)),
        checkpoint_bytes=sum(meta.size for _, meta in files.checkpoints) + sum(meta.size for meta in files.parts),
        commits_since_checkpoint=replayed,
        interval=settings.checkpoint.interval,
        expired_commits=expired.commits if expired else 0,
        expired_checkpoints=expired.checkpoints if expired else 0,
        expired_bytes=expired.bytes_freed if expired else 0,
        latest=tuple(commits),
        problems=tuple(dict.fromkeys(problems)),
    )


def _usable_checkpoint(
    store: Store, files: LogFiles, settings: Settings, *, latest: int
) -> tuple[int | None, set[int]]:
    """Return the version of the newest checkpoint that passes its own checks, and those that did not."""
    finder = CheckpointFinder(store, settings)
    damaged: set[int] = set()
    for version, meta in reversed(files.checkpoints):
        place = Place(version=version, parquet=manifest_version(meta.path) is not None)
        if version <= latest and finder.verified(place):
            return version, damaged
        damaged.add(version)
    return None, damaged


def _commit(row: dict[str, Any]) -> Commit:
    return Commit(
        version=row["version"],
        time=row["timestamp"],
        operation=row["operation"],
        files_added=row["files_added"],
        files_removed=row["files_removed"],
        rows_added=row["rows_added"],
        bytes_added=row["bytes_added"],
    )


def _mergeable(snapshot: Snapshot, runtime: Runtime) -> Mergeable:
    policy = MergePolicy(target_size=parse_size("target_size", TARGET_SIZE))
    groups = plan_merges(snapshot, policy, now_ms=runtime.now_ms()).groups
    return Mergeable(
        files=sum(len(group.sources) for group in groups), into=len(groups), bytes=sum(group.bytes for group in groups)
    )


def _purgeable(store: Store, settings: Settings, runtime: Runtime) -> Purgeable:
    age = parse_age("older_than", OLDER_THAN, force=False)
    try:
        found = purge_files(store, settings=settings, runtime=runtime, older_than_ms=age, dry_run=True)
    except StorageError as error:
        return Purgeable(problem=error.detail.partition(";")[0] or error.problem)
    except IndexTablesError as error:
        return Purgeable(problem=error.problem)
    return Purgeable(
        files=found.files.num_rows,
        bytes=found.bytes,
        held_files=found.held_files,
        held_bytes=found.held_bytes,
    )


def _skipped(snapshot: Snapshot, runtime: Runtime) -> Skipped:
    skips = snapshot.skips
    rows = readable(skips.slice(0, _FIRST_SKIPS)).to_pylist()
    return Skipped(
        files=skips.num_rows,
        in_cooldown=in_cooldown(skips, now_ms=runtime.now_ms()).num_rows if skips.num_rows else 0,
        first=tuple(
            SkippedFile(
                path=row["path"],
                operation=row["operation"],
                reason=row["reason"],
                times=row["skip_count"] or 1,
                retry_after=None if row["retry_after"] is None else _moment(row["retry_after"]),
            )
            for row in rows
        ),
    )


def _moment(milliseconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(milliseconds // 1000, dt.UTC)
