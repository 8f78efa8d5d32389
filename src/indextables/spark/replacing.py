"""Which files an overwrite replaces, and which of them must be read because some of their rows stay."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import ConfigError
from indextables.log.removal import removes_of
from indextables.spark.partitions import numbered
from indextables.table.pruning import prune

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.log.actions import Remove
    from indextables.log.snapshot import Snapshot
    from indextables.predicate import Predicate
    from indextables.split import SplitFile


@dataclass(frozen=True, kw_only=True, slots=True)
class Replacement:
    """What an overwrite takes out of the table.

    Attributes:
        files: Rows of the files that go; None if nothing goes, whatever is written.
        cut: The numbers of those of them that also hold rows which stay.
        dynamic: Only files in partitions that are written to go.
    """

    files: pa.Table | None = None
    cut: pa.Array | None = None
    dynamic: bool = False

    def removes(self, written: Sequence[SplitFile], *, now_ms: int) -> list[Remove]:
        """Return the actions that take the files out."""
        if self.files is None:
            return []
        files = self.files
        if self.dynamic:
            files = _in_partitions(files, [record.partition_values for record in written])
        return removes_of(files, now_ms=now_ms, data_change=True)


def is_dynamic(mode: object | None) -> bool:
    """Tell whether an overwrite replaces only the partitions that it writes to; `mode` is Spark's `partitionOverwriteMode`.

    Raises:
        ConfigError: It is neither `static` nor `dynamic`.
    """
    chosen = str(mode or "static").lower()
    if chosen not in {"static", "dynamic"}:
        raise ConfigError("partitionOverwriteMode", mode, "static or dynamic")
    return chosen == "dynamic"


def replacement_for(snapshot: Snapshot, *, where: Predicate | None = None, dynamic: bool = False) -> Replacement:
    """Return what an overwrite of this version replaces: all rows, those of a condition, or the partitions that it writes to."""
    if where is None:
        return Replacement(files=snapshot.files, dynamic=dynamic and bool(snapshot.partition_columns))
    chosen = prune(snapshot, where)
    cut = chosen.filtered(pc.invert(chosen.whole)).rows
    return Replacement(files=snapshot.files.take(chosen.rows), cut=cut if len(cut) else None)


def _in_partitions(files: pa.Table, partitions: Sequence[dict[str, str | None]]) -> pa.Table:
    """Return the files whose partition is one of these."""
    number, distinct = numbered(pa.Table.from_struct_array(files["partition_values"]), files.num_rows)
    wanted = {_key(values) for values in partitions}
    chosen = np.array([_key(values) in wanted for values in distinct.to_pylist()], bool)
    return files.filter(pa.array(chosen[number]))


def _key(values: dict[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(values.items(), key=itemgetter(0)))
