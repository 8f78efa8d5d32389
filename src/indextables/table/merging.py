"""Which small files become one: groups within a partition, and for every file that is left alone the reason.

Files are put, in the order of the log, into the first group of their partition that has room. Of two groups neither fits into the
other then, so once they are merged nothing is left to do, and files that were written one after the other stay together, which
keeps statistics narrow. A merged split is built in memory, so a group is also limited by what its rows take there.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config.quantities import GB, Size
from indextables.errors import ConfigError
from indextables.log.skips import cooldowns
from indextables.table.adds import addresses
from indextables.table.pruning import prune

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    import numpy.typing as npt

    from indextables.log.snapshot import Snapshot
    from indextables.predicate import Predicate
    from indextables.split import SplitAddress

MOST_MEMORY: Final = GB
"""How much memory the rows of one merged file may take, about."""

LEFT_SCHEMA: Final = pa.schema([("path", pa.string()), ("size", pa.int64()), ("reason", pa.string())])

_ENOUGH: Final = 0.75
"""A file that has this part of the target is large enough: writing it again would gain little."""

_TEXT_BYTES: Final = 32
_NESTED_BYTES: Final = 64
_UNKNOWN_RATIO: Final = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Files of one partition that become one.

    Attributes:
        partition_values: Of all of them, as the log has them.
        sources: Where they are.
        sizes: How large each is, in the same order.
        merge_ops: How many merges the rows of the new file will have been through.
        memory: How much memory their rows take, about.
    """

    partition_values: Mapping[str, str | None]
    sources: tuple[SplitAddress, ...]
    sizes: tuple[int, ...]
    merge_ops: int
    memory: int

    @property
    def paths(self) -> tuple[str, ...]:
        """Their paths."""
        return tuple(source.path for source in self.sources)

    @property
    def bytes(self) -> int:
        """How large they are together."""
        return sum(self.sizes)


@dataclass(frozen=True, kw_only=True, eq=False)
class MergePlan:
    """What a merge would do.

    Attributes:
        groups: What becomes one file each, those first that save the most files for the bytes that they write.
        left: The other files, each with the reason: `path`, `size`, `reason`.
    """

    groups: tuple[Group, ...]
    left: pa.Table


def parse_size(name: str, value: str | int) -> int:
    """Return a number of bytes that people may write as `5G`.

    Raises:
        ConfigError: It is none, or not positive.
    """
    kind = Size(minimum=1)
    try:
        return kind.check(value) if isinstance(value, int) else kind.read(value.strip())
    except ValueError as error:
        raise ConfigError(name, value, kind.allowed) from error


@dataclass(frozen=True, kw_only=True)
class MergePolicy:
    """What a merge is asked for.

    Attributes:
        target_size: How large files are to become.
        where: Only files that may hold rows for which this is true.
        max_groups: At most so many groups.
        only: Consider no other files than these; None is all.
        refused: Files that were tried already, each with the reason why it stays.
        most_memory: The most memory that the rows of a group may take.
    """

    target_size: int
    where: Predicate | None = None
    max_groups: int | None = None
    only: Collection[str] | None = None
    refused: Mapping[str, str] = field(default_factory=dict)
    most_memory: int = MOST_MEMORY


def plan_merges(snapshot: Snapshot, policy: MergePolicy, *, now_ms: int) -> MergePlan:
    """Return what to merge in a version of a table."""
    files = snapshot.files
    sizes: npt.NDArray[np.int64] = files["size"].to_numpy()
    memory = _memory(snapshot, sizes)
    reasons = _Reasons(files["path"])
    if policy.where is not None:
        inside = np.zeros(files.num_rows, bool)
        inside[prune(snapshot, policy.where).rows.to_numpy()] = True
        reasons.give(~inside, "it holds no row that the condition is true for")
    if policy.only is not None:
        known = pc.is_in(files["path"], value_set=pa.array(list(policy.only), pa.string()))
        reasons.give(~_bools(known), "it was added while the merge ran")
    reasons.give(~_bools(snapshot.ours), "another implementation wrote it, in a form that is not Parquet")
    reasons.give_each(policy.refused)
    waiting = cooldowns(snapshot.skips, now_ms=now_ms)
    reasons.give_each({path: f"it is in cooldown until {_moment(when)}" for path, when in waiting.items()})
    reasons.give(sizes >= _ENOUGH * policy.target_size, "it is large enough")
    reasons.give(memory >= _ENOUGH * policy.most_memory, "its rows are as many as fit into the memory of one merge")
    bins = _packed(snapshot, reasons.free, sizes, memory, policy)
    several = [rows for rows in bins if len(rows) > 1]
    several.sort(key=lambda rows: (len(rows) - 1) / max(1, int(sizes[rows].sum())), reverse=True)
    chosen = several if policy.max_groups is None else several[: policy.max_groups]
    grouped = np.zeros(files.num_rows, bool)
    for rows in chosen:
        grouped[rows] = True
    for rows in several[len(chosen) :]:
        reasons.give(_only(rows, files.num_rows), "max_groups other groups came first")
    reasons.give(~grouped, "no other file of its partition fits beside it")
    return MergePlan(groups=_groups(snapshot, chosen, sizes, memory), left=reasons.table(files["size"]))


class _Reasons:
    """For each file the first reason that was given for leaving it alone."""

    def __init__(self, paths: pa.ChunkedArray) -> None:
        self._paths = paths
        self._numbers = np.zeros(len(paths), np.int32)
        self._texts = [""]

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        return np.equal(self._numbers, 0)

    def give(self, mask: npt.NDArray[np.bool_], reason: str) -> None:
        self._texts.append(reason)
        self._numbers[mask & self.free] = len(self._texts) - 1

    def give_each(self, reasons: Mapping[str, str]) -> None:
        if reasons:
            at = pc.index_in(self._paths, value_set=pa.array(list(reasons), pa.string()))
            places: npt.NDArray[np.int64] = pc.fill_null(at, -1).to_numpy()
            mask = (places >= 0) & self.free
            self._numbers[mask] = places[mask] + len(self._texts)
            self._texts.extend(reasons.values())

    def table(self, sizes: pa.ChunkedArray) -> pa.Table:
        left = pa.array(~self.free)
        texts = pa.array(self._texts).take(pa.array(self._numbers[~self.free]))
        return pa.Table.from_arrays([self._paths.filter(left), sizes.filter(left), texts], schema=LEFT_SCHEMA)


def _packed(
    snapshot: Snapshot,
    free: npt.NDArray[np.bool_],
    sizes: npt.NDArray[np.int64],
    memory: npt.NDArray[np.int64],
    policy: MergePolicy,
) -> list[list[int]]:
    """Return groups of row numbers, first fit in the order of the log."""
    rows = np.flatnonzero(free)
    texts = snapshot.files["partition_values"].take(pa.array(rows)).to_pylist()
    partitions: dict[tuple[Any, ...], list[int]] = {}
    for row, values in zip(rows.tolist(), texts, strict=True):
        key = tuple((values or {}).get(name) for name in snapshot.partition_columns)
        partitions.setdefault(key, []).append(row)
    return [bin_ for members in partitions.values() for bin_ in _first_fit(members, sizes, memory, policy)]


def _first_fit(
    rows: list[int], sizes: npt.NDArray[np.int64], memory: npt.NDArray[np.int64], policy: MergePolicy
) -> list[list[int]]:
    least = int(sizes[rows].min()), int(memory[rows].min())
    bins: list[tuple[list[int], list[int]]] = []
    full: list[list[int]] = []
    for row in rows:
        size, needed = int(sizes[row]), int(memory[row])
        for members, room in bins:
            if size <= room[0] and needed <= room[1]:
                members.append(row)
                room[:] = room[0] - size, room[1] - needed
                break
        else:
            bins.append(([row], [policy.target_size - size, policy.most_memory - needed]))
        # What no file fits into any more is not looked at again, so that many files do not cost their square.
        full += [members for members, room in bins if room[0] < least[0] or room[1] < least[1]]
        bins = [(members, room) for members, room in bins if room[0] >= least[0] and room[1] >= least[1]]
    return full + [members for members, _ in bins]


def _groups(
    snapshot: Snapshot, chosen: list[list[int]], sizes: npt.NDArray[np.int64], memory: npt.NDArray[np.int64]
) -> tuple[Group, ...]:
    every = pa.array([row for rows in chosen for row in rows], pa.int64())
    places = iter(addresses(snapshot, every))
    firsts = pa.array([rows[0] for rows in chosen], pa.int64())
    partitions = snapshot.files["partition_values"].take(firsts).to_pylist()
    ops = _optional(snapshot.files, "num_merge_ops")
    return tuple(
        Group(
            partition_values=values or {},
            sources=tuple(islice(places, len(rows))),
            sizes=tuple(sizes[rows].tolist()),
            merge_ops=int(ops[rows].max()) + 1,
            memory=int(memory[rows].sum()),
        )
        for rows, values in zip(chosen, partitions, strict=True)
    )


def _memory(snapshot: Snapshot, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return about how much memory the rows of each file take: by their number and width, or by what the columns decompress to."""
    width = sum(_width(kind) for kind in snapshot.schema.types)
    stated = _optional(snapshot.files, "uncompressed_size_bytes")
    by_size = np.where(stated > 0, stated, sizes * _UNKNOWN_RATIO)
    return np.maximum(by_size, _optional(snapshot.files, "num_records") * width)


def _width(kind: pa.DataType) -> int:
    if pa.types.is_nested(kind):
        return _NESTED_BYTES
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        return _TEXT_BYTES


def _optional(files: pa.Table, name: str) -> npt.NDArray[np.int64]:
    """Return a column of numbers, 0 where there is none."""
    if name not in files.column_names:
        return np.zeros(files.num_rows, np.int64)
    numbers: npt.NDArray[np.int64] = pc.fill_null(files[name].cast(pa.int64()), 0).to_numpy()
    return numbers


def _bools(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(
        column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy(), bool
    )


def _only(rows: Iterable[int], count: int) -> npt.NDArray[np.bool_]:
    mask = np.zeros(count, bool)
    mask[list(rows)] = True
    return mask


def _moment(when_ms: int) -> str:
    return dt.datetime.fromtimestamp(when_ms // 1000, dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
