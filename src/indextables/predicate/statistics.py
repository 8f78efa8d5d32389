"""What the log knows of files, in the form in which predicates are held against it: columns, one row a file.

Unknown is a state of its own. A bound, a count or a whole column that is missing can only ever keep a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import PredicateError
from indextables.predicate.cuts import Bounds, Values
from indextables.predicate.masks import Mask, known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from indextables.predicate.kinds import ColumnType


@dataclass(frozen=True, kw_only=True)
class FileStatistics:
    """Statistics of files, column by column. Every array has one value a file, and null means unknown.

    Columns are named as in the table, fields of structs by their dotted path.

    Attributes:
        num_files: How many files there are.
        num_records: The rows in each file.
        min_values: For a column, a value that no value in the file is less than. NaN and null do not count. It need not occur.
        max_values: The same for values that are not more.
        null_counts: For a column, the rows without a value.
        exact_values: For a partition column, the value of every row of the file. Here null is a value: SQL's NULL.
        may_have_nan: For a float column, whether NaN may occur; a column that is not named may have it.
    """

    num_files: int
    num_records: Values | None = None
    min_values: Mapping[str, Values] = field(default_factory=dict)
    max_values: Mapping[str, Values] = field(default_factory=dict)
    null_counts: Mapping[str, Values] = field(default_factory=dict)
    exact_values: Mapping[str, Values] = field(default_factory=dict)
    may_have_nan: Mapping[str, Values] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.num_records is not None:
            self._check("num_records", self.num_records)
        for group in ("min_values", "max_values", "null_counts", "exact_values", "may_have_nan"):
            for name, values in getattr(self, group).items():
                self._check(f"{group}[{name!r}]", values)

    def _check(self, what: str, values: Values) -> None:
        if len(values) != self.num_files:
            raise PredicateError(
                f"{what} has {len(values)} values for {self.num_files} files", way_out="Give one value for each file"
            )


class View:
    """Statistics while one predicate is held against them, of all files or of those that are left; remembers what it computed."""

    def __init__(self, statistics: FileStatistics, chosen: pa.Array | None = None) -> None:
        self.statistics = statistics
        self._chosen = chosen
        self._memory: dict[tuple[Any, ...], Any] = {}

    def once(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """Return what is computed, and compute it once."""
        if key not in self._memory:
            self._memory[key] = compute()
        return self._memory[key]

    def _read(self, group: str, name: str) -> Values | None:
        values = getattr(self.statistics, group).get(name)
        if values is None or self._chosen is None:
            return values
        return self.once((group, name), lambda: values.take(self._chosen))

    def exact(self, name: str, column: ColumnType) -> Values | None:
        """Return the value that all rows of a file share, where files have that."""
        values = self._read("exact_values", name)
        return None if values is None else self.once(("exact", name), lambda: _typed(values, column))

    def bounds(self, name: str, column: ColumnType) -> Bounds:
        """Return what bounds a column's values."""
        return self.once(("bounds", name), lambda: self._bounds(name, column))  # type: ignore[no-any-return]

    def _bounds(self, name: str, column: ColumnType) -> Bounds:
        minimum, maximum = (
            None if values is None else _typed(values, column)
            for values in (self._read("min_values", name), self._read("max_values", name))
        )
        if column.family != "float":
            return Bounds(minimum, maximum)
        nan = self._read("may_have_nan", name)
        return Bounds(_numbers(minimum), _numbers(maximum), True if nan is None else known(nan, unknown=True))

    def may_be_null(self, name: str) -> Mask:
        """Return the files that may have a row without a value."""
        exact, counts = self._read("exact_values", name), self._read("null_counts", name)
        if exact is not None:
            return known(pc.is_null(exact), unknown=True)
        return True if counts is None else self.once(("null", name), lambda: known(pc.greater(counts, 0), unknown=True))

    def may_have_value(self, name: str) -> Mask:
        """Return the files that may have a row with a value."""
        exact, counts = self._read("exact_values", name), self._read("null_counts", name)
        if exact is not None:
            return known(pc.is_valid(exact), unknown=True)
        records = self._records()
        if counts is None or records is None:
            return True
        return self.once(("value", name), lambda: known(pc.less(counts, records), unknown=True))

    def may_have_rows(self) -> Mask:
        """Return the files that may have any row."""
        records = self._records()
        return True if records is None else known(pc.not_equal(records, 0), unknown=True)

    def _records(self) -> Values | None:
        records = self.statistics.num_records
        if records is None or self._chosen is None:
            return records
        return self.once(("records",), lambda: records.take(self._chosen))


def _typed(values: Values, column: ColumnType) -> Values | None:
    """Return values in the column's type; None, which is unknown, where they are of another that does not convert."""
    if values.type.equals(column.arrow):
        return values
    try:
        return values.cast(column.arrow)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _numbers(bound: Values | None) -> Values | None:
    """Leave NaN out of bounds: it compares with nothing, and a file would be lost."""
    if bound is None or not pc.any(pc.is_nan(bound)).as_py():
        return bound
    return pc.if_else(pc.is_nan(bound), pa.scalar(None, bound.type), bound)
