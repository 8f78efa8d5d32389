"""What was committed, version by version, as a table that people read. It begins where the log does, after cleanup too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import NotFoundError
from indextables.log.floor import read_floor
from indextables.log.state import commit_infos, commit_times
from indextables.log.versions import list_versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from indextables.log.columns import ActionColumns
    from indextables.log.commits import CommitReader

SCHEMA = pa.schema(
    [
        ("version", pa.int64()),
        ("timestamp", pa.timestamp("ms", "UTC")),
        ("operation", pa.string()),
        ("commit_id", pa.string()),
        ("read_version", pa.int64()),
        ("files_added", pa.int64()),
        ("files_removed", pa.int64()),
        ("files_skipped", pa.int64()),
        ("rows_added", pa.int64()),
        ("bytes_added", pa.int64()),
        ("app", pa.string()),
        ("batch", pa.int64()),
        ("user_metadata", pa.string()),
    ]
)


def describe_commits(reader: CommitReader, latest: int, *, limit: int | None = None) -> pa.Table:
    """Return a row a commit up to the latest one, newest first, of the newest `limit` ones."""
    if limit is not None and limit <= 0:
        return SCHEMA.empty_table()
    chosen, columns = _kept_commits(reader, 0 if limit is None else max(0, latest - limit + 1), latest)
    infos = commit_infos(columns)
    times = np.maximum.accumulate(commit_times(columns, infos, first=chosen[0], last=latest))
    counted = {
        "files_added": _totals(columns.adds, None, chosen),
        "files_removed": _totals(columns.removes, None, chosen),
        "files_skipped": _totals(columns.skips, None, chosen),
        "rows_added": _totals(columns.adds, "num_records", chosen),
        "bytes_added": _totals(columns.adds, "size", chosen),
    }
    rows = [
        {
            "version": version,
            "timestamp": int(times[index]),
            "operation": info.operation if info else None,
            "commit_id": info.id if info else None,
            "read_version": info.read if info else None,
            **{name: int(values[index]) for name, values in counted.items()},
            "app": info.app if info else None,
            "batch": info.batch if info else None,
            "user_metadata": info.user if info else None,
        }
        for index, version in enumerate(chosen)
        for info in [infos.get(version)]
    ]
    return pa.Table.from_pylist(rows[::-1], schema=SCHEMA)


def _kept_commits(reader: CommitReader, first: int, latest: int) -> tuple[range, ActionColumns]:
    """Return the versions from the first one on that can still be loaded, and what they hold."""
    chosen = range(max(first, read_floor(reader.store)), latest + 1)
    try:
        return chosen, reader.columns(chosen)
    except NotFoundError:
        # Others clean up without a mark, and a cleanup may have gone past what we saw of it.
        chosen = range(max(first, list_versions(reader.store)[0]), latest + 1)
        return chosen, reader.columns(chosen)


def _totals(actions: pa.Table, column: str | None, versions: Sequence[int]) -> npt.NDArray[np.int64]:
    weights = None if column is None else pc.fill_null(actions[column], 0).to_numpy()
    totals = np.bincount(actions["version"].to_numpy() - versions[0], weights=weights, minlength=len(versions))
    return totals.astype(np.int64)
