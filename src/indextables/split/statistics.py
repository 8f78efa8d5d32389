"""What is known about the rows of one file, as the log carries it.

Skipping a file on a wrong bound loses rows in silence, so every number here has three states: known, known to be approximate
(`inexact`: a bound that holds, though no row may have it), and absent, which means unknown and keeps the file. Whatever goes wrong
while statistics are made leaves them absent; it never fails a write.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.values import Leaf, format_scalar, leaves

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from indextables.config import Settings

_LOG = logging.getLogger(__name__)
_DEFAULT_COLUMNS = 32
_ZEROS = {"min": "-0.0", "max": "0.0"}


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitStatistics:
    """Statistics of one file, values in their text form, columns by path.

    Attributes:
        num_records: Rows.
        min_values: A value that none is below; NaN does not count.
        max_values: A value that none is above; NaN does not count.
        null_counts: How many rows are null; of columns without an entry nobody knows.
        nan_counts: How many rows are NaN, of columns of floating point.
        inexact: The columns of which some bound is not itself a value of the column.
    """

    num_records: int
    min_values: dict[str, str] = field(default_factory=dict)
    max_values: dict[str, str] = field(default_factory=dict)
    null_counts: dict[str, int] = field(default_factory=dict)
    nan_counts: dict[str, int] = field(default_factory=dict)
    inexact: tuple[str, ...] = ()

    def counts_json(self) -> str:
        """Return what `stats` of an add holds: everything but the bounds, which have fields of their own."""
        body: dict[str, object] = {
            "numRecords": self.num_records,
            "nullCount": self.null_counts,
            "tightBounds": not self.inexact,
        }
        if self.nan_counts:
            body["nanCount"] = self.nan_counts
        if self.inexact:
            body["inexact"] = self.inexact
        return msgspec.json.encode(body).decode()

    def to_json(self) -> str:
        """Return everything, as the footer of a split holds it."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> SplitStatistics:
        """Return the statistics that `to_json` wrote.

        Raises:
            msgspec.DecodeError: It did not write that.
        """
        return msgspec.json.decode(text, type=cls)


def statistics_columns(schema: pa.Schema, settings: Settings) -> list[Leaf]:
    """Return the columns of a data file that get statistics: those that are named, else the first 32, and the fast fields."""
    known = leaves(schema)
    named = settings.stats.columns
    chosen = _named(known, named) if named else list(known.values())[:_DEFAULT_COLUMNS]
    return list({leaf.path: leaf for leaf in (*chosen, *_named(known, settings.indexing.fast_fields))}.values())


def _named(known: Mapping[str, Leaf], names: Iterable[str]) -> list[Leaf]:
    """Return the leaves with these paths, and those inside structs with these paths; others do not matter."""
    return [leaf for name in names for leaf in known.values() if leaf.path == name or leaf.path.startswith(f"{name}.")]


def compute_statistics(table: pa.Table, columns: Iterable[Leaf]) -> SplitStatistics:
    """Return the exact statistics of rows that are at hand."""
    found: dict[str, dict[str, Any]] = {"min": {}, "max": {}, "null": {}, "nan": {}}
    for leaf in columns:
        try:
            for name, value in _column_statistics(values_of(table, leaf), leaf).items():
                found[name][leaf.path] = value
        except Exception:  # noqa: BLE001 - a statistic that cannot be had is absent, and the write goes on
            _LOG.warning("Column %s gets no statistics", leaf.path, exc_info=True)
    return SplitStatistics(
        num_records=table.num_rows,
        min_values=found["min"],
        max_values=found["max"],
        null_counts=found["null"],
        nan_counts=found["nan"],
    )


def values_of(table: pa.Table, leaf: Leaf) -> pa.ChunkedArray:
    """Return the values of a leaf; null where a struct around it is null."""
    column = table[leaf.names[0]]
    return pc.struct_field(column, list(leaf.names[1:])) if len(leaf.names) > 1 else column


def _column_statistics(values: pa.ChunkedArray, leaf: Leaf) -> dict[str, Any]:
    known: dict[str, Any] = {"null": values.null_count}
    if pa.types.is_floating(values.type):
        missing = pc.is_nan(values)
        known["nan"] = pc.sum(missing).as_py() or 0
        if known["nan"]:
            values = values.filter(pc.invert(missing))
    if leaf.ordered:
        known |= {name: text for name, text in bounds_of(values).items() if text is not None}
    return known


def bounds_of(values: pa.Array | pa.ChunkedArray) -> dict[str, str | None]:
    """Return the texts of the least and the greatest value, `min` and `max`."""
    if pa.types.is_duration(values.type):
        values = values.cast(pa.int64())
    extremes = pc.min_max(values)
    texts = {name: format_scalar(extremes[name]) for name in ("min", "max")}
    if pa.types.is_floating(values.type):
        # Zero has two forms that are equal; as bounds they lie on the outer side, also for readers that tell them apart.
        texts = {name: _ZEROS[name] if text in _ZEROS.values() else text for name, text in texts.items()}
    return texts
