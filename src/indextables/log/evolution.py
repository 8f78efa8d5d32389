"""How metadata may change. A schema gains columns that may be null: old files read as null there; nothing else is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from indextables.errors import SchemaError
from indextables.log.schema import format_schema, normal_schema, parse_schema, validate_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from indextables.log.actions import MetaData


def changed(
    metadata: MetaData,
    *,
    schema: pa.Schema | str | None = None,
    name: str | None = None,
    description: str | None = None,
    configuration: Mapping[str, str] | None = None,
) -> MetaData:
    """Return the metadata with what is given replaced; properties are added to those that are there.

    Raises:
        SchemaError: The new schema does anything but gain columns that may be null.
    """
    given: dict[str, object] = {}
    if schema is not None:
        given["schema_string"] = widened(metadata.schema_string, schema)
    if name is not None:
        given["name"] = name
    if description is not None:
        given["description"] = description
    if configuration is not None:
        given["configuration"] = {**(metadata.configuration or {}), **configuration}
    return msgspec.structs.replace(metadata, **given)


def widened(current: str, wanted: pa.Schema | str) -> str:
    """Return the text of the new schema if it is the current one with columns added behind or between, all nullable.

    Raises:
        SchemaError: A column is dropped, retyped, reordered, tightened, or added without allowing null.
    """
    validate_schema(parse_schema(wanted) if isinstance(wanted, str) else wanted)
    old, new = normal_schema(current), normal_schema(wanted)
    if dropped := [name for name in old if name not in new]:
        raise SchemaError(
            f"Columns {', '.join(dropped)} would be dropped",
            columns=dropped,
            way_out="Keep them; a table's columns stay",
        )
    if [name for name in new if name in old] != list(old):
        raise SchemaError("The order of existing columns would change", way_out="Keep it and add new columns behind")
    for name, before in old.items():
        after = new[name]
        if after["type"] != before["type"]:
            raise SchemaError(
                f"Column {name} would change from {before['type']} to {after['type']}",
                columns=[name],
                way_out="Add a new column instead",
            )
        if before["nullable"] and not after["nullable"]:
            raise SchemaError(f"Column {name} would no longer allow null", columns=[name], way_out="Leave it nullable")
    if strict := [name for name, field in new.items() if name not in old and not field["nullable"]]:
        raise SchemaError(
            f"New columns {', '.join(strict)} do not allow null, which old files have there",
            columns=strict,
            way_out="Make them nullable",
        )
    return wanted if isinstance(wanted, str) else format_schema(wanted)
