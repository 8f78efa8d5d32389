"""Why a query reads the files that it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from indextables.table.pruning import prune, statistics_of, without_bounds

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.log.snapshot import Snapshot
    from indextables.predicate import Effect, Predicate


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """How many files a predicate leaves, and why; `str()` tells it in words.

    Attributes:
        predicate: The predicate, as it was understood.
        files: All files of the table.
        pruned_by_partition: Files that the partition columns ruled out.
        pruned_by_statistics: Files that bounds and counts ruled out besides.
        files_left: Files that stay.
        bytes_left: Their size.
        whole_files: Those of them in which every row matches, so that no row has to be looked at.
        effects: What each of the conditions that must all hold did.
        without_statistics: By column, files that stay although nothing is known about that column.
        inexact: By column, files that stay and whose bounds of that column are rounded.
    """

    predicate: str
    files: int
    pruned_by_partition: int
    pruned_by_statistics: int
    files_left: int
    bytes_left: int
    whole_files: int
    effects: tuple[Effect, ...]
    without_statistics: dict[str, int]
    inexact: dict[str, int]

    def __str__(self) -> str:
        left = f"{self.files_left:,} of {self.files:,} files stay ({self.bytes_left:,} bytes)"
        pruned = f"partitions ruled out {self.pruned_by_partition:,}, statistics {self.pruned_by_statistics:,}"
        lines = [self.predicate, f"{left}; {pruned}", *(f"  {effect}" for effect in self.effects)]
        if self.whole_files:
            lines.append(f"  {self.whole_files:,} match in every row")
        lines += [f"  {count:,} have no statistics of {column}" for column, count in self.without_statistics.items()]
        lines += [f"  {count:,} have rounded statistics of {column}" for column, count in self.inexact.items()]
        if mixed := self.files_left - self.whole_files:
            lines.append(f"  {mixed:,} may hold both rows that match and rows that do not")
        return "\n".join(lines)


def explain_pruning(snapshot: Snapshot, predicate: Predicate) -> Explanation:
    """Return what pruning does with a predicate."""
    chosen = prune(snapshot, predicate)
    partition, _ = predicate.split_by(snapshot.partition_columns)
    in_partitions = len(prune(snapshot, partition)) if partition is not None else snapshot.num_files
    statistics = statistics_of(snapshot, predicate)
    counts = snapshot.counts(statistics.null_counts)
    missing = {
        path: _among(mask, chosen.rows) for path, mask in without_bounds(snapshot, predicate, statistics).items()
    }
    rounded = {path: _among(count.inexact, chosen.rows) for path, count in counts.items()}
    return Explanation(
        predicate=predicate.sql(),
        files=snapshot.num_files,
        pruned_by_partition=snapshot.num_files - in_partitions,
        pruned_by_statistics=in_partitions - len(chosen),
        files_left=len(chosen),
        bytes_left=int(pc.sum(snapshot.files["size"].take(chosen.rows)).as_py() or 0),
        whole_files=int(pc.sum(chosen.whole).as_py() or 0),
        effects=predicate.explain(statistics),
        without_statistics={path: count for path, count in missing.items() if count},
        inexact={path: count for path, count in rounded.items() if count},
    )


def _among(mask: pa.Array | pa.ChunkedArray, rows: pa.Array) -> int:
    return int(pc.sum(mask.take(rows)).as_py() or 0)
