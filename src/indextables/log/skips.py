"""Files that an operation could not use: how often, since when, and when to try again.

A skip leaves the file in the table and readable. It ends when the file is removed or written anew, which replay sees to, so
everything here is a question to the columns of one snapshot.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.commit_info import plain_reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.log.actions import Skip

_LOG = logging.getLogger(__name__)
_HOUR_MS = 3_600_000
_END_OF_TIME_MS = 253_402_300_799_999  # the last moment of the year 9999
_MOST_DOUBLINGS = 10  # a day becomes three years


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


def counted(
    skips: Sequence[Skip], known: pa.Table, *, now_ms: int, cooldown_hours: float, doubling: bool
) -> list[Skip]:
    """Return skips as they are recorded now: counted on from what is known, dated, and with the time to try again.

    Args:
        skips: What to record; their times and counts do not matter.
        known: The skips of the snapshot.
        now_ms: The time.
        cooldown_hours: How long a file is left alone after its first skip.
        doubling: Whether each further skip doubles that.
    """
    earlier = known.filter(pc.is_in(known["path"], value_set=pa.array([skip.path for skip in skips], pa.string())))
    counts = dict(zip(earlier["path"].to_pylist(), pc.fill_null(earlier["skip_count"], 1).to_pylist(), strict=True))
    recorded = []
    for skip in skips:
        count = counts.get(skip.path, 0) + 1
        factor = 2 ** min(count - 1, _MOST_DOUBLINGS) if doubling else 1
        retry_after = int(min(now_ms + cooldown_hours * _HOUR_MS * factor, _END_OF_TIME_MS))
        recorded.append(msgspec.structs.replace(skip, skip_timestamp=now_ms, retry_after=retry_after, skip_count=count))
    return recorded
