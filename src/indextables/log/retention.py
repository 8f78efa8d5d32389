"""What may go: a file of the log is deleted only if every gate agrees, and only the oldest ones, without leaving a hole.

Nothing here touches a store. The gates are arithmetic on a listing, so that each can be tested alone, and so that a dry run
and a real one cannot differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from indextables.log.layout import (
    commit_version,
    floor_version,
    json_checkpoint_version,
    manifest_version,
    part_version,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from indextables.config import Settings
    from indextables.storage.base import ObjectMeta

NEWEST_CHECKPOINTS: Final = 2
"""How many checkpoints never expire, whatever their age."""

SETTLED_MS: Final = 3_600_000
"""What is younger may belong to a checkpoint that is being written or relied on by another cleaner at this moment."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LogFiles:
    """The files of a log, by what they are.

    Attributes:
        versions: The versions of the commits, in order.
        modified_ms: When each was written, by the store's clock.
        sizes: How large each is.
        checkpoints: The files that make checkpoints, with their versions.
        parts: The files that checkpoints consist of.
        marks: The marks that say which versions are gone.
    """

    versions: npt.NDArray[np.int64]
    modified_ms: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    checkpoints: tuple[tuple[int, ObjectMeta], ...]
    parts: tuple[ObjectMeta, ...]
    marks: tuple[int, ...] = ()

    @property
    def floor(self) -> int:
        """The version below which commits are gone, or will be; 0 where nothing was ever cleaned."""
        return max(self.marks, default=0)

    @property
    def oldest(self) -> int:
        """The oldest version that is not gone already; 0 where there is none."""
        return max(self.floor, int(self.versions[0])) if len(self.versions) else self.floor

    @property
    def tail(self) -> int:
        """Where the last versions without a hole begin, which is what readers go by where they see no mark."""
        holes = np.flatnonzero(np.diff(self.versions) > 1)
        return int(self.versions[holes[-1] + 1]) if len(holes) else int(self.versions.min(initial=self.oldest))

    @property
    def newest_ms(self) -> int:
        """When the newest file was written: the store's clock shows at least this."""
        others = [meta.modified_ms for _, meta in self.checkpoints] + [meta.modified_ms for meta in self.parts]
        return max([int(self.modified_ms.max(initial=0)), *others])


def sort_files(listing: Iterable[ObjectMeta]) -> LogFiles:
    """Return the files of a listing, by what they are."""
    commits: set[tuple[int, int, int]] = set()
    checkpoints, parts, marks = [], [], []
    for meta in listing:
        if (version := commit_version(meta.path)) is not None:
            commits.add((version, meta.modified_ms, meta.size))
        elif (version := json_checkpoint_version(meta.path)) is not None or (
            version := manifest_version(meta.path)
        ) is not None:
            checkpoints.append((version, meta))
        elif part_version(meta.path) is not None:
            parts.append(meta)
        elif (version := floor_version(meta.path)) is not None:
            marks.append(version)
    columns = np.array(sorted(commits), np.int64).reshape(-1, 3)
    return LogFiles(
        versions=columns[:, 0],
        modified_ms=columns[:, 1],
        sizes=columns[:, 2],
        checkpoints=tuple(sorted(checkpoints, key=lambda entry: (entry[0], entry[1].path))),
        parts=tuple(parts),
        marks=tuple(marks),
    )


def oldest_kept(files: LogFiles, *, now_ms: int, latest: int, checkpoint: int, settings: Settings) -> int:
    """Return the oldest version that stays.

    A commit goes only if it is older than the log is kept, is not among the newest versions that are kept by number, is part
    of a checkpoint that was verified, and is not the current one; and only if all before it go. A version that the listing
    does not show is not known to be old, so it ends the row, too.

    Args:
        files: The files of the log.
        now_ms: The time, by the most careful clock at hand.
        latest: The current version.
        checkpoint: The version of the newest checkpoint that was read back and verified; -1 for none.
        settings: How long what is kept.
    """
    old = now_ms - files.modified_ms > settings.retention.log_ms
    outnumbered = files.versions <= latest - settings.checkpoint.retention
    summed_up = files.versions < checkpoint
    past = files.versions < latest
    known = files.versions >= files.oldest
    going = (old & outnumbered & summed_up & past)[known]
    in_a_row = files.versions[known] == files.oldest + np.arange(known.sum())
    return files.oldest + int(np.append(going & in_a_row, False).argmin())


def aged_checkpoints(files: LogFiles, *, now_ms: int, settings: Settings) -> list[tuple[int, ObjectMeta]]:
    """Return the checkpoints that are old enough to go, unless they are among the newest or a version that stays needs them."""
    limit = max(settings.retention.checkpoint_ms, SETTLED_MS)
    return [(version, meta) for version, meta in files.checkpoints if now_ms - meta.modified_ms > limit]


def settled_parts(files: LogFiles, *, now_ms: int) -> list[ObjectMeta]:
    """Return the parts that no checkpoint which is being written can consist of without being known yet."""
    return [meta for meta in files.parts if now_ms - meta.modified_ms > SETTLED_MS]
