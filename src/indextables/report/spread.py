"""How files are spread, over sizes and over partitions, in figures that stay few however many files there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config.quantities import KB
from indextables.report.figures import Cell, PartitionFigures, Partitions, SizeRange

if TYPE_CHECKING:
    import numpy.typing as npt

    from indextables.log.snapshot import Snapshot

LARGEST: Final = 20
"""How many partitions are shown one by one."""

_CELLS: Final = 288
_EDGES: Final = tuple(16 * KB * 4**power for power in range(10))


def sizes_of(snapshot: Snapshot) -> tuple[SizeRange, ...]:
    """Return how many files there are in each range of sizes, from small to large; each range is four times the one before."""
    sizes: npt.NDArray[np.int64] = snapshot.files["size"].to_numpy()
    at = np.digitize(sizes, _EDGES)
    files = np.bincount(at, minlength=len(_EDGES) + 1)
    held = np.bincount(at, weights=sizes, minlength=len(_EDGES) + 1)
    return tuple(
        SizeRange(least=least, below=below, files=int(count), bytes=int(total))
        for least, below, count, total in zip((0, *_EDGES), (*_EDGES, None), files, held, strict=True)
    )


def partitions_of(snapshot: Snapshot) -> Partitions | None:
    """Return how the table is spread over its partitions; None for one that has none."""
    columns = snapshot.partition_columns
    if not columns:
        return None
    groups = _grouped(snapshot, columns)
    names, files, sizes = groups["name"], groups["files"].to_numpy(), groups["bytes"].to_numpy()
    order = np.argsort(-sizes, kind="stable")
    shown, others = order[:LARGEST], order[LARGEST:]
    largest = [
        PartitionFigures(name=row["name"], files=row["files"], rows=row["rows"], bytes=row["bytes"])
        for row in groups.take(pa.array(shown, pa.int64())).to_pylist()
    ]
    return Partitions(
        columns=tuple(columns),
        count=groups.num_rows,
        largest=tuple(largest),
        rest=_rest(groups.take(pa.array(others, pa.int64()))) if len(others) else None,
        cells=_cells(names, files, sizes),
    )


def _grouped(snapshot: Snapshot, columns: list[str]) -> pa.Table:
    """Return a row a partition, in the order of their values: name, files, rows, bytes."""
    values = snapshot.files["partition_values"]
    nothing = pa.nulls(len(values), pa.string())
    texts = {
        f"text{index}": pc.struct_field(values, name) if values.type.get_field_index(name) >= 0 else nothing
        for index, name in enumerate(columns)
    }
    records = snapshot.files["num_records"].cast(pa.int64())
    held = pa.table({**texts, "size": snapshot.files["size"], "rows": records, "row": pa.array(range(len(values)))})
    groups = held.group_by(list(texts)).aggregate(
        [("size", "sum"), ("size", "count"), ("rows", "sum"), ("rows", "count"), ("row", "min")]
    )
    typed = snapshot.partition_values.take(groups["row_min"])
    numbered = pa.Table.from_arrays(typed.columns, names=list(texts))
    groups = groups.take(pc.sort_indices(numbered, sort_keys=[(name, "ascending") for name in texts]))
    parts = [
        pc.binary_join_element_wise(f"{name}=", pc.fill_null(groups[text], "null"), "")
        for name, text in zip(columns, texts, strict=True)
    ]
    names = parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "/")
    whole = pc.equal(groups["rows_count"], groups["size_count"])
    rows = pc.if_else(whole, pc.fill_null(groups["rows_sum"], 0), pa.scalar(None, pa.int64()))
    return pa.table({"name": names, "files": groups["size_count"], "rows": rows, "bytes": groups["size_sum"]})


def _rest(groups: pa.Table) -> PartitionFigures:
    rows = groups["rows"]
    return PartitionFigures(
        name="",
        files=int(pc.sum(groups["files"]).as_py()),
        rows=None if rows.null_count else int(pc.sum(rows).as_py()),
        bytes=int(pc.sum(groups["bytes"]).as_py()),
    )


def _cells(names: pa.ChunkedArray, files: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> tuple[Cell, ...]:
    """Return the partitions in their order, so many to a cell that there are never too many cells to look at."""
    count = len(files)
    if not count:
        return ()
    step = -(-count // _CELLS)
    firsts = np.arange(0, count, step)
    lasts = np.minimum(firsts + step, count) - 1
    return tuple(
        Cell(first=first, last=last, partitions=int(end - begin + 1), files=int(number), bytes=int(total))
        for first, last, begin, end, number, total in zip(
            names.take(pa.array(firsts)).to_pylist(),
            names.take(pa.array(lasts)).to_pylist(),
            firsts,
            lasts,
            np.add.reduceat(files, firsts),
            np.add.reduceat(sizes, firsts),
            strict=True,
        )
    )
