"""Which rows go into which part: sorted by partition and path, cut where the previous checkpoint was cut.

A part whose range holds the same rows as before is not written again. Whether it does is a matter of counting: the rows of a
range that are not newer than the previous checkpoint can only be those that it had there, or fewer.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.values import format_value, parse_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from indextables.log.checkpoint.manifest import Manifest, Part, PartitionBounds
    from indextables.log.snapshot import Snapshot

_MOST_FRAGMENTED: Final = 2
_PATH: Final = "\0path"  # no column of a table is called so


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Rows of a part to be.

    Attributes:
        rows: Their positions in the snapshot's files, sorted.
        reused: The part that holds them already, if one does.
    """

    rows: npt.NDArray[np.int64]
    reused: Part | None = None


class Arrangement:
    """The files of a snapshot in the order of a checkpoint."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._partitions = snapshot.partition_values
        self._types = {name: snapshot.schema.field(name).type for name in snapshot.partition_columns}
        self._doubtful = {name: snapshot.doubtful_partition(name) for name in snapshot.partition_columns}
        self._paths = snapshot.files["path"]
        self._versions: npt.NDArray[np.int64] = snapshot.files["version"].to_numpy()
        self._order = self._sorted()

    def slices(self, *, rows_per_part: int, previous: Manifest | None = None) -> list[Slice]:
        """Return the parts to be, in order."""
        total = len(self._order)
        if not total:
            return []
        whole = [Slice(rows=self._order)]
        if previous is None or not previous.files:
            return _cut(whole, rows_per_part)
        starts = [bisect_left(_Keys(self), _comparable(self._parsed(part.first))) for part in previous.files[1:]]
        edges = [0, *starts, total]
        slices = []
        for part, start, end in zip(previous.files, edges, edges[1:], strict=False):
            rows = self._order[start:end]
            same = len(rows) == part.rows and int(self._versions[rows].max(initial=-1)) <= previous.version
            if len(rows):
                slices.append(Slice(rows=rows, reused=part if same else None))
        slices = _cut(_joined(slices), rows_per_part)
        ideal = -(-total // rows_per_part)
        return slices if len(slices) <= _MOST_FRAGMENTED * ideal else _cut(whole, rows_per_part)

    def first(self, rows: npt.NDArray[np.int64]) -> tuple[str | None, ...]:
        """Return the key of the first row, as text."""
        values = self._key(int(rows[0]))
        kinds = [*self._types.values(), pa.string()]
        return tuple(format_value(value, kind) for value, kind in zip(values, kinds, strict=True))

    def bounds(self, rows: npt.NDArray[np.int64]) -> PartitionBounds:
        """Return what partition values occur in some rows."""
        bounds: PartitionBounds = {}
        for name, kind in self._types.items():
            values = self._partitions[name].take(pa.array(rows))
            doubtful = self._doubtful[name]
            if doubtful is not None and pc.any(doubtful.take(pa.array(rows))).as_py():
                continue  # a text that is no value of the column may be any of them
            if pa.types.is_floating(kind) and pc.any(pc.is_nan(values)).as_py():
                continue
            least, greatest = pc.min_max(values)["min"].as_py(), pc.min_max(values)["max"].as_py()
            bounds[name] = (format_value(least, kind), format_value(greatest, kind), values.null_count > 0)
        return bounds

    def key_at(self, place: int) -> tuple[tuple[Any, ...], ...]:
        """Return what the row at a place of the order is sorted by."""
        return _comparable(self._key(int(self._order[place])))

    def __len__(self) -> int:
        return len(self._order)

    def _key(self, row: int) -> list[Any]:
        return [*(self._partitions[name][row].as_py() for name in self._types), self._paths[row].as_py()]

    def _parsed(self, first: Sequence[str | None]) -> list[Any]:
        kinds = [*self._types.values(), pa.string()]
        return [
            parse_values(pa.chunked_array([pa.array([text], pa.string())]), kind)[0].as_py()
            for text, kind in zip(first, kinds, strict=True)
        ]

    def _sorted(self) -> npt.NDArray[np.int64]:
        columns = {**{name: self._partitions[name] for name in self._types}, _PATH: self._paths}
        keys = [(name, "ascending") for name in columns]
        order = pc.sort_indices(pa.table(columns), sort_keys=keys)
        return np.asarray(order.to_numpy(zero_copy_only=False), np.int64)


class _Keys:
    """The keys of an arrangement as a sequence, made when asked for: a search looks at few of them."""

    def __init__(self, arrangement: Arrangement) -> None:
        self._arrangement = arrangement

    def __len__(self) -> int:
        return len(self._arrangement)

    def __getitem__(self, place: int) -> tuple[tuple[Any, ...], ...]:
        return self._arrangement.key_at(place)


def _comparable(values: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    """Return a key that Python orders as Arrow orders the columns: values, then NaN, then null."""
    return tuple((2,) if value is None else (1,) if value != value else (0, value) for value in values)


def _joined(slices: list[Slice]) -> list[Slice]:
    """Put neighbours that have to be written anyway together, so that parts do not become ever smaller."""
    joined: list[Slice] = []
    for piece in slices:
        if joined and piece.reused is None and joined[-1].reused is None:
            joined[-1] = Slice(rows=np.concatenate([joined[-1].rows, piece.rows]))
        else:
            joined.append(piece)
    return joined


def _cut(slices: list[Slice], rows_per_part: int) -> list[Slice]:
    """Cut what is too large into equal pieces."""
    pieces: list[Slice] = []
    for piece in slices:
        if piece.reused is not None:
            pieces.append(piece)
            continue
        count = -(-len(piece.rows) // rows_per_part)
        pieces.extend(Slice(rows=rows) for rows in np.array_split(piece.rows, count))
    return pieces
