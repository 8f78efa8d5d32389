"""Statistics held against the data that they are about, file by file.

A wrong bound is found by nobody: the rows that it hides are simply not there. So this reads everything, prunes nothing, and
reports each statistic that could lose a row.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import NotFoundError, SplitCorruptionError
from indextables.split.reader import open_split
from indextables.split.statistics import values_of
from indextables.table.adds import addresses
from indextables.table.conform import complete
from indextables.table.parallel import in_order
from indextables.values import Leaf, format_scalar, leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.log.snapshot import Snapshot
    from indextables.split.reader import SplitAddress
    from indextables.storage.base import Store

FINDINGS: Final = pa.schema([(name, pa.string()) for name in ("path", "column", "problem", "stated", "found")])
"""What `verify_statistics` returns."""

_THREADS: Final = 4


class _Stated(NamedTuple):
    """What the log says about one column, a value a file."""

    leaf: Leaf
    least: pa.ChunkedArray | None
    greatest: pa.ChunkedArray | None
    nulls: pa.ChunkedArray
    nans: pa.ChunkedArray


def verify_statistics(store: Store, snapshot: Snapshot) -> pa.Table:
    """Return every statistic that does not hold, a row each; an empty table is what should come out."""
    partitions = set(snapshot.partition_columns)
    known = {path: leaf for path, leaf in leaves(snapshot.schema).items() if leaf.names[0] not in partitions}
    counts = snapshot.counts(known)
    stated = [
        _Stated(leaf, *snapshot.bounds(path), counts[path].nulls, counts[path].nans) for path, leaf in known.items()
    ]
    every = pa.array(range(snapshot.num_files), pa.int64())

    def verify(item: tuple[int, SplitAddress]) -> list[dict[str, str | None]]:
        number, address = item
        return list(_findings(store, snapshot, stated, number, address))

    with ThreadPoolExecutor(max_workers=_THREADS) as pool:
        work = in_order(pool, verify, enumerate(addresses(snapshot, every)), ahead=2 * _THREADS)
        return pa.Table.from_pylist([row for rows in work for row in rows], schema=FINDINGS)


def _findings(
    store: Store, snapshot: Snapshot, stated: list[_Stated], number: int, address: SplitAddress
) -> Iterator[dict[str, str | None]]:
    def finding(problem: str, column: str | None = None, said: Any = None, found: Any = None) -> dict[str, str | None]:
        texts = (None if value is None else str(value) for value in (said, found))
        return dict(zip(FINDINGS.names, (address.path, column, problem, *texts), strict=True))

    schema = pa.schema([field for field in snapshot.schema if field.name not in snapshot.partition_columns])
    try:
        split = open_split(store, address)
        data = split.read(range(split.num_row_groups), schema.names)
        rows = complete(data, split.num_records, schema, {}, path=address.path)
    except (SplitCorruptionError, NotFoundError) as error:
        yield finding(f"it cannot be read: {error}")
        return
    records = snapshot.files["num_records"][number].as_py()
    if records is not None and records != rows.num_rows:
        yield finding("another number of rows", said=records, found=rows.num_rows)
    for column in stated:
        for problem, said, found in _column_findings(column, number, values_of(rows, column.leaf)):
            yield finding(problem, column.leaf.path, said, found)


def _column_findings(stated: _Stated, number: int, values: pa.ChunkedArray) -> Iterator[tuple[str, Any, Any]]:
    nulls, nans = stated.nulls[number].as_py(), stated.nans[number].as_py()
    if nulls is not None and nulls != values.null_count:
        yield "another number of nulls", nulls, values.null_count
    if pa.types.is_floating(values.type):
        missing = pc.is_nan(values)
        count = pc.sum(missing).as_py() or 0
        if nans is not None and nans != count:
            yield "another number of NaN", nans, count
        values = values.filter(pc.fill_null(pc.invert(missing), fill_value=False))
    extremes = {} if pa.types.is_duration(values.type) else pc.min_max(values)
    for name, bounds, beyond in (("min", stated.least, pc.less), ("max", stated.greatest, pc.greater)):
        if bounds is None or not bounds[number].is_valid or name not in extremes or not extremes[name].is_valid:
            continue
        if beyond(extremes[name], bounds[number]).as_py():
            yield f"rows beyond the {name}imum", format_scalar(bounds[number]), format_scalar(extremes[name])
