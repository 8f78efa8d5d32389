"""What to do about a table, from its figures. Each piece of advice says why in numbers, and which command does it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from indextables.config.quantities import MB
from indextables.report.figures import Advice
from indextables.report.words import counted, share, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from indextables.report.figures import LogHealth, Mergeable, Purgeable, Query, Skipped

_WORTH_MERGING: Final = 10  # files fewer; less is not worth a command
_MANY_SMALL: Final = 0.5
_WORTH_FREEING: Final = MB


def advise(
    path: str,
    *,
    files: int,
    health: LogHealth,
    mergeable: Mergeable,
    purgeable: Purgeable,
    skipped: Skipped,
    queries: Sequence[Query],
) -> tuple[Advice, ...]:
    """Return what to do, what harms now first.

    Args:
        path: The table, as the person who asks names it.
        files: How many files it has.
        health: Of its log.
        mergeable: What a merge would do.
        purgeable: What a purge would do.
        skipped: Files that operations could not use.
        queries: What pruning does for the queries that somebody cares about.
    """
    table = shlex.quote(path)
    found = [
        *_verify(table, health, purgeable),
        *_merge(table, files, mergeable),
        *_checkpoint(table, health),
        *_cleanup(table, health),
        *_purge(table, purgeable),
        *_statistics(table, queries),
        *_skips(table, skipped),
    ]
    return tuple(sorted(found, key=lambda one: not one.urgent))


def _verify(table: str, health: LogHealth, purgeable: Purgeable) -> Iterator[Advice]:
    problems = [f"the checkpoint of version {version} cannot be used" for version in health.damaged_checkpoints]
    problems += health.problems
    if purgeable.problem is not None:
        problems.append(purgeable.problem)
    if problems:
        told = "; ".join(dict.fromkeys(problems))
        yield Advice(
            kind="verify",
            urgent=True,
            title="Find out what is wrong",
            reason=f"{told[0].upper()}{told[1:]}.",
            command=f"indextables verify {table}",
        )


def _merge(table: str, files: int, mergeable: Mergeable) -> Iterator[Advice]:
    fewer = mergeable.files - mergeable.into
    if fewer >= _WORTH_MERGING:
        average = size(mergeable.bytes // mergeable.files)
        yield Advice(
            kind="merge",
            urgent=fewer > _MANY_SMALL * files,
            title="Merge small files",
            reason=(
                f"{mergeable.files:,} of {counted(files, 'file')} are small ({average} on average) and can become "
                f"{counted(mergeable.into, 'file')}: {share(fewer, files)} fewer to open, {size(mergeable.bytes)} to rewrite."
            ),
            command=f"indextables merge {table}",
        )


def _checkpoint(table: str, health: LogHealth) -> Iterator[Advice]:
    if health.commits_since_checkpoint >= max(2, health.interval):
        since = "since the last usable checkpoint" if health.checkpoints else "and there is no checkpoint"
        yield Advice(
            kind="checkpoint",
            urgent=health.commits_since_checkpoint >= 10 * health.interval,
            title="Write a checkpoint",
            reason=(
                f"Whoever opens the table replays {counted(health.commits_since_checkpoint, 'commit')} {since}; "
                f"one is due every {health.interval}."
            ),
            command=f"indextables checkpoint {table}",
        )


def _cleanup(table: str, health: LogHealth) -> Iterator[Advice]:
    if health.expired_commits or health.expired_bytes >= _WORTH_FREEING:
        yield Advice(
            kind="cleanup",
            urgent=False,
            title="Clean the log up",
            reason=(
                f"{counted(health.expired_commits, 'commit')} and {counted(health.expired_checkpoints, 'checkpoint')} are "
                f"older than they are kept: {size(health.expired_bytes)}."
            ),
            command=f"indextables cleanup {table}",
        )


def _purge(table: str, purgeable: Purgeable) -> Iterator[Advice]:
    if purgeable.files:
        yield Advice(
            kind="purge",
            urgent=False,
            title="Delete files that no version needs",
            reason=(
                f"{counted(purgeable.files, 'file')} in the table's directory belong to no version: {size(purgeable.bytes)}. "
                "Without --no-dry-run the command only lists them."
            ),
            command=f"indextables purge {table} --no-dry-run",
        )


def _statistics(table: str, queries: Sequence[Query]) -> Iterator[Advice]:
    worst: dict[str, tuple[int, int]] = {}
    for query in queries:
        for column, files in query.without_statistics.items():
            if files > worst.get(column, (0, 0))[0]:
                worst[column] = (files, query.files)
    if worst:
        told = ", ".join(f"{column} in {files:,} of {counted(of, 'file')}" for column, (files, of) in worst.items())
        setting = shlex.quote(f"spark.indextables.indexing.fastfields={','.join(worst)}")
        yield Advice(
            kind="statistics",
            urgent=False,
            title="Keep statistics of the columns that are filtered",
            reason=(
                f"These have none, so that the files are read for nothing: {told}. Files that are merged or written with "
                "this setting get them."
            ),
            command=f"indextables merge {table} --option {setting}",
        )


def _skips(table: str, skipped: Skipped) -> Iterator[Advice]:
    if skipped.files:
        yield Advice(
            kind="skips",
            urgent=False,
            title="Look at the files that merges leave out",
            reason=(
                f"{counted(skipped.files, 'file')} could not be used by an operation; {skipped.in_cooldown:,} of them are left "
                "alone for now. They may be damaged."
            ),
            command=f"indextables skips {table}",
        )
