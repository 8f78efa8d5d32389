"""Why files were removed and why the rest stayed, in numbers that a person can act on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicate.masks import Mask, both, either, known, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.predicate.statistics import FileStatistics


@dataclass(frozen=True, slots=True)
class Effect:
    """What one condition did.

    Attributes:
        condition: The condition as SQL.
        removed: Files that it rules out and no condition before it did.
        stayed: Files that are left after it.
        unknown: Those of them for which it had too few statistics to say anything.
        by_partition: Whether it looks at nothing but the values of partitions.
    """

    condition: str
    removed: int
    stayed: int
    unknown: int
    by_partition: bool

    def __str__(self) -> str:
        source = "partition values" if self.by_partition else "statistics"
        missing = f", {self.unknown:,} of them for lack of statistics" if self.unknown else ""
        return f"{self.condition}: removed {self.removed:,} by {source}, {self.stayed:,} stayed{missing}"


def effects(
    parts: Sequence[tuple[str, tuple[str, ...], pa.BooleanArray]], statistics: FileStatistics
) -> tuple[Effect, ...]:
    """Return what each condition did, of conditions given as SQL, columns and the files that they keep."""
    left: Mask = True
    answer = []
    before = statistics.num_files
    for condition, columns, kept in parts:
        left = both(left, kept)
        stayed = pc.sum(whole(left, statistics.num_files)).as_py() or 0
        unknown = whole(both(left, _lacking(columns, statistics)), statistics.num_files)
        by_partition = bool(columns) and all(column in statistics.exact_values for column in columns)
        answer.append(Effect(condition, before - stayed, stayed, pc.sum(unknown).as_py() or 0, by_partition))
        before = stayed
    return tuple(answer)


def _lacking(columns: tuple[str, ...], statistics: FileStatistics) -> Mask:
    """Return the files that have neither bounds nor counts of nulls for one of the columns."""
    lacking: Mask = False
    for column in columns:
        if column in statistics.exact_values:
            continue
        missing: Mask = True
        for group in (statistics.min_values, statistics.max_values, statistics.null_counts):
            if column in group:
                missing = both(missing, known(pc.is_null(group[column]), unknown=True))
        lacking = either(lacking, missing)
    return lacking
