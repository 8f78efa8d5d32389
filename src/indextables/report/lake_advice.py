"""What to do about the tables of a database, from their figures."""

from __future__ import annotations

import datetime as dt
import shlex
from typing import TYPE_CHECKING, Final

from indextables.report.figures import Advice
from indextables.report.words import counted, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from indextables.report.lake_figures import HiveTableFigures, RunFigures

_MOST_TABLES: Final = 5
_OLD: Final = dt.timedelta(days=7)
_MANY: Final = 1_000


def advise_lake(
    tables: Sequence[HiveTableFigures], runs: Sequence[RunFigures], *, now: dt.datetime, command: str
) -> tuple[Advice, ...]:
    """Return what to do, what harms now first.

    Args:
        tables: Those that save the most files first.
        runs: All runs.
        now: The time.
        command: How commands begin.
    """
    found = [*_recover(runs, command), *_compact(tables, command), *_cleanup(runs, now, command)]
    return tuple(sorted(found, key=lambda one: not one.urgent))


def _recover(runs: Sequence[RunFigures], command: str) -> Iterator[Advice]:
    for run in runs:
        if not run.finished:
            yield Advice(
                kind="recover",
                urgent=True,
                title=f"Bring run {run.run} of {run.table} to an end",
                reason=(
                    f"It is {run.state} since {run.began:%Y-%m-%d %H:%M} UTC. If it is not at work any more, it was cut off; "
                    "until it is recovered the table cannot be compacted."
                ),
                command=f"{command} recover --table {shlex.quote(run.table)}",
            )


def _compact(tables: Sequence[HiveTableFigures], command: str) -> Iterator[Advice]:
    for one in [one for one in tables if one.files_saved > 0][:_MOST_TABLES]:
        yield Advice(
            kind="compact",
            urgent=one.files_saved >= _MANY,
            title=f"Compact {one.table}",
            reason=(
                f"{counted(one.files, 'file')} of {size(one.bytes // one.files)} on average can become "
                f"{one.target_files:,}: {one.objects_saved:,} objects fewer in the memory of the NameNode."
            ),
            command=f"{command} compact --table {shlex.quote(one.table)}",
        )


def _cleanup(runs: Sequence[RunFigures], now: dt.datetime, command: str) -> Iterator[Advice]:
    held: dict[str, tuple[int, int]] = {}
    for run in runs:
        if run.finished and run.files_held and now - run.began >= _OLD:
            files, size_held = held.get(run.table, (0, 0))
            held[run.table] = (files + run.files_held, size_held + run.bytes_held)
    for table, (files, size_held) in held.items():
        yield Advice(
            kind="cleanup",
            urgent=False,
            title=f"Give back the original files of {table}",
            reason=(
                f"Backups that are older than a week keep {counted(files, 'file')}, {size(size_held)}. Without them the run "
                "cannot be rolled back any more."
            ),
            command=f"{command} cleanup --table {shlex.quote(table)} --older-than 7d",
        )
