"""Files that an operation could not use: how often, since when, and when to try again.

A skip leaves the file in the table and readable. It ends when the file is removed or written anew, which replay sees to, so
everything here is a question to the columns of one snapshot.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Skip
from indextables.log.commit_info import plain_reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LOG = logging.getLogger(__name__)
_HOUR_MS = 3_600_000


def in_cooldown(skips: pa.Table, *, now_ms: int) -> pa.Table:
    """Return the rows whose time to try again has not come."""
    return skips.filter(pc.fill_null(pc.greater(skips["retry_after"], now_ms), fill_value=False))


def cooldowns(skips: pa.Table, *, now_ms: int) -> dict[str, int]:
    """Return the files that are in cooldown, each with the time in milliseconds at which to try it again."""
    waiting = in_cooldown(skips, now_ms=now_ms)
    return dict(zip(waiting["path"].to_pylist(), waiting["retry_after"].to_pylist(), strict=True))


def without_cooldown(files: pa.Table, skips: pa.Table, *, now_ms: int) -> pa.Table:
    """Return the files that an operation may try now."""
    waiting = in_cooldown(skips, now_ms=now_ms)
    if not waiting.num_rows:
        return files
    kept = files.filter(pc.invert(pc.is_in(files["path"], value_set=waiting["path"].combine_chunks())))
    if dropped := files.num_rows - kept.num_rows:
        _LOG.info("Filtered out %d files currently in cooldown period", dropped)
        for path, retry_after in zip(waiting["path"].to_pylist(), waiting["retry_after"].to_pylist(), strict=True):
            _LOG.debug("File in cooldown: %s (retry after: %d)", path, retry_after)
    return kept


def readable(skips: pa.Table) -> pa.Table:
    """Return the skips without what commits wrote into their reasons."""
    reasons = pa.array([plain_reason(reason) for reason in skips["reason"].to_pylist()], pa.string())
    return skips.set_column(skips.schema.get_field_index("reason"), "reason", reasons)


def counts(skips: pa.Table, paths: Sequence[str]) -> Mapping[str, int]:
    """Return how often each of these files was skipped so far."""
    known = skips.filter(pc.is_in(skips["path"], value_set=pa.array(paths, pa.string())))
    return dict(zip(known["path"].to_pylist(), pc.fill_null(known["skip_count"], 1).to_pylist(), strict=True))


def next_skip(skip: Skip, *, count: int, now_ms: int, cooldown_hours: float, doubling: bool) -> Skip:
    """Return the skip as it is recorded now: counted, dated, and with the time to try again."""
    factor = 2 ** min(count - 1, 30) if doubling else 1
    return Skip(
        path=skip.path,
        skip_timestamp=now_ms,
        reason=skip.reason,
        operation=skip.operation,
        partition_values=skip.partition_values,
        size=skip.size,
        retry_after=now_ms + int(cooldown_hours * _HOUR_MS * factor),
        skip_count=count,
        extra=skip.extra,
    )
