"""Dropping partitions: files leave by what their paths and the log say of them, and no data is read.

That is only right while the condition is about whole partitions. So a condition that looks at any other column is refused, instead of
being answered by statistics that know it for some files and not for others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from indextables.config import Settings
from indextables.errors import ConcurrentWriteError, PredicateError
from indextables.log.open import open_log
from indextables.log.removal import removes_of
from indextables.predicate import Expression, bind
from indextables.runtime import SYSTEM, Runtime
from indextables.table.pruning import prune

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.log.log import TransactionLog
    from indextables.log.snapshot import Snapshot
    from indextables.predicate import Predicate
    from indextables.table.pruning import Selection

OPERATION: Final = "drop partitions"
"""What history shows for such a commit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DropResult:
    """What left the table.

    Attributes:
        version: The version without them, or the newest one if nothing was dropped.
        committed: Whether a version was written.
        partitions: How many partitions were dropped.
        files: How many files they had.
        rows: How many rows; None where a file does not say.
        bytes: How large the files are. They stay on disk until a purge.
    """

    version: int
    committed: bool
    partitions: int
    files: int
    rows: int | None
    bytes: int


def drop_partitions(path: str, where: str | Expression, *, options: Mapping[str, object] | None = None) -> DropResult:
    """Take whole partitions out of a table in one commit, without reading or writing data.

    Rows that others append to such a partition meanwhile stay: they count as written later.

    Args:
        path: Where the table is.
        where: Which partitions, as SQL (`"day < DATE '2024-01-01'"`) or built with `col`; on partition columns alone.
        options: Settings under their full names, and credentials, as Spark options are given.

    Raises:
        PredicateError: It looks at a column that is no partition column, or cannot be understood; nothing was dropped.
        TableNotFoundError: There is no table.
        ConcurrentWriteError: Others kept changing the same files; nothing was dropped.
    """
    return drop(open_log(path, options), where, settings=Settings.resolve(options))


def drop(
    log: TransactionLog,
    where: str | Expression,
    *,
    settings: Settings,
    runtime: Runtime = SYSTEM,
    timezone: str = "UTC",
) -> DropResult:
    """Drop partitions of a table whose log is open; see `drop_partitions`.

    Args:
        log: Of the table.
        where: Which partitions.
        settings: How often to try again when a merge took a file away.
        runtime: Clock.
        timezone: The zone of timestamps in `where` that name none.
    """
    attempts = settings.retry.max_attempts
    while True:
        snapshot = log.snapshot()
        chosen = chosen_partitions(snapshot, where, timezone=timezone)
        rows = snapshot.files.take(chosen.rows)
        try:
            done = log.commit(
                removes_of(rows, now_ms=runtime.now_ms(), data_change=True),
                operation=OPERATION,
                read_version=snapshot.version,
                table=snapshot.metadata.id,
            )
        except ConcurrentWriteError:
            # A merge replaced files meanwhile. Nothing was read, so looking again costs nothing.
            attempts -= 1
            if not attempts:
                raise
            continue
        counts = rows["num_records"]
        names = snapshot.partition_columns
        return DropResult(
            version=done.version,
            committed=done.written,
            partitions=snapshot.partition_values.take(chosen.rows).group_by(names).aggregate([]).num_rows,
            files=rows.num_rows,
            rows=None if counts.null_count else int(pc.sum(counts).as_py() or 0),
            bytes=int(pc.sum(rows["size"]).as_py() or 0),
        )


def chosen_partitions(snapshot: Snapshot, where: str | Expression, *, timezone: str = "UTC") -> Selection:
    """Return the files of the partitions that a condition is true for.

    Raises:
        PredicateError: It looks at other columns than partition columns, or at none.
    """
    predicate = bind(where, snapshot.schema, timezone=timezone)
    _check_columns(predicate, snapshot, text=where if isinstance(where, str) else None)
    chosen = prune(snapshot, predicate)
    return chosen.filtered(chosen.whole)  # without files whose partition nobody can tell


def _check_columns(predicate: Predicate, snapshot: Snapshot, *, text: str | None) -> None:
    known = snapshot.partition_columns
    others = [name for name in predicate.columns if name not in known]
    if not others and predicate.columns:
        return
    way_out = f"Use its partition columns, {', '.join(known)}" if known else "It has no partitions: use delete instead"
    if not others:
        raise PredicateError("The condition looks at no partition column", text=text, position=None, way_out=way_out)
    position = text.casefold().find(others[0].casefold()) if text is not None else -1
    names = ", ".join(others)
    raise PredicateError(
        f"The condition looks at {names}, by which the table is not partitioned",
        text=text,
        position=position if position >= 0 else None,
        way_out=way_out,
    )
