"""Columns of a batch as a bound predicate wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError

if TYPE_CHECKING:
    from indextables.predicate.nodes import BoundColumn


class Rows:
    """One batch while one predicate is evaluated on it."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.length = batch.num_rows
        self._batch = batch
        self._found: dict[tuple[str, ...], pa.Array] = {}

    def values(self, column: BoundColumn) -> pa.Array:
        """Return a column's values in the type that it is compared in.

        A column that the batch lacks is null: it came to the table after the file was written.

        Raises:
            SchemaError: The batch holds values that the table's type cannot.
        """
        if column.path not in self._found:
            self._found[column.path] = self._read(column)
        return self._found[column.path]

    def _read(self, column: BoundColumn) -> pa.Array:
        values = self._walk(column.path)
        if values is None:
            return pa.nulls(self.length, column.type.arrow)
        if values.type.equals(column.type.arrow) or column.type.family == "other":
            return values
        try:
            return values.cast(column.type.arrow)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            name = ".".join(column.path)
            raise SchemaError(
                f"Column {name} is of type {values.type} in the data and {column.type.words} in the table",
                columns=[name],
            ) from error

    def _walk(self, path: tuple[str, ...]) -> pa.Array | None:
        index = self._batch.schema.get_field_index(path[0])
        if index < 0:
            return None
        values = self._batch.column(index)
        for name in path[1:]:
            if not pa.types.is_struct(values.type) or values.type.get_field_index(name) < 0:
                return None
            values = pc.struct_field(values, name)
        return values
