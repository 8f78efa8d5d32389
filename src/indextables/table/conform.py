"""Rows brought into the shape of a table's columns: on the way in strictly, on the way out with nulls for what a file lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError, SplitCorruptionError
from indextables.log.schema import format_schema, parse_schema

if TYPE_CHECKING:
    from collections.abc import Mapping


def table_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of a table made for such rows: Spark's types, of which Arrow has more spellings.

    Raises:
        SchemaError: Spark has no such type.
    """
    return parse_schema(format_schema(schema.remove_metadata()))


def check_names(given: pa.Schema, schema: pa.Schema) -> None:
    """Refuse rows with columns that the table does not have, or without those that must not be null.

    Raises:
        SchemaError: It names them.
    """
    if repeated := sorted({name for name in given.names if given.names.count(name) > 1}):
        raise SchemaError(f"The data has columns {', '.join(repeated)} more than once", columns=repeated)
    if extra := [name for name in given.names if name not in schema.names]:
        raise SchemaError(
            f"The data has columns {', '.join(extra)}, which the table does not have",
            columns=extra,
            way_out=f"Leave them out, or add them to the schema first; its columns are {', '.join(schema.names)}",
        )
    if missing := [field.name for field in schema if not field.nullable and field.name not in given.names]:
        raise SchemaError(f"The data lacks columns {', '.join(missing)}, which must not be null", columns=missing)


def conform(data: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with exactly the columns of a table; columns that may be null and are not given are null.

    Raises:
        SchemaError: A column has values that the table's type does not hold, or nulls where none may be.
    """
    columns = []
    for field in schema:
        if field.name not in data.schema.names:
            columns.append(pa.chunked_array([pa.nulls(data.num_rows, field.type)]))
            continue
        try:
            column = cast_column(data[field.name], field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise SchemaError(
                f"Column {field.name} is {data.schema.field(field.name).type} and does not fit {field.type}: {error}",
                columns=[field.name],
                way_out="Cast it before you write it",
            ) from error
        if not field.nullable and column.null_count:
            raise SchemaError(f"Column {field.name} has nulls, which the table does not allow", columns=[field.name])
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def cast_column(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column in another type; values stay what they are, or it raises Arrow's error."""
    if column.type.equals(kind):
        return column
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(kind) and bool(column.type.tz) != bool(kind.tz):
        raise pa.ArrowInvalid("a time with a zone and one without are not the same")
    return pc.cast(column, kind)


def complete(
    table: pa.Table, rows: int, schema: pa.Schema, constants: Mapping[str, pa.Scalar], *, path: str
) -> pa.Table:
    """Return what was read of a file with all columns that were asked for.

    Args:
        table: The columns that the file has.
        rows: How many rows they have, which a table without columns does not know.
        schema: The columns that are wanted.
        constants: The partition columns' values.
        path: Of the file, for errors.

    Raises:
        SplitCorruptionError: A column of the file is of a type that is not the table's.
    """
    columns: list[Any] = []
    stored = {name.casefold(): name for name in table.schema.names} | {name: name for name in table.schema.names}
    for field in schema:
        name = stored.get(field.name) or stored.get(field.name.casefold())
        if field.name in constants:
            columns.append(pa.chunked_array([pa.repeat(constants[field.name], rows)]))
        elif name is None:
            columns.append(pa.chunked_array([pa.nulls(rows, field.type)]))
        else:
            columns.append(_read_as(table[name], field, path))
    return pa.Table.from_arrays(columns, schema=schema)


def _read_as(column: pa.ChunkedArray, field: pa.Field, path: str) -> pa.ChunkedArray:
    if column.type.equals(field.type):
        return column
    try:
        return pc.cast(column, field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise SplitCorruptionError(
            path,
            f"its column {field.name} is {column.type}, which is not the table's {field.type}",
            way_out="Rewrite the file with the table's types",
        ) from error
