"""Schemas in Spark's JSON form, and the same schemas in Arrow's.

The log keeps Spark's form because Spark is who reads it. Arrow has no word for some of Spark's types (`varchar(10)`, intervals,
`variant`), so those travel in the Arrow field's metadata and come back unchanged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from indextables.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SPARK_TYPE: Final = b"spark.type"
"""Arrow field metadata: Spark's name of a type that Arrow cannot tell from another."""

_SIMPLE: Final[dict[str, pa.DataType]] = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_VARIANT: Final = pa.struct(
    [pa.field("value", pa.binary(), nullable=False), pa.field("metadata", pa.binary(), nullable=False)]
)
_PATTERNS: Final[Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], pa.DataType]]]] = (
    (re.compile(r"decimal\((\d{1,2}),\s*(-?\d{1,2})\)"), lambda found: _decimal(int(found[1]), int(found[2]))),
    (re.compile(r"(?:char|varchar)\(\d+\)"), lambda _: pa.string()),
    (re.compile(r"string collate \w+"), lambda _: pa.string()),
    (re.compile(r"interval (?:day|hour|minute|second)(?: to (?:hour|minute|second))?"), lambda _: pa.duration("us")),
    (re.compile(r"interval (?:year|month)(?: to month)?"), lambda _: pa.int32()),
    (re.compile(r"time\([0-6]\)"), lambda _: pa.time64("us")),
    (re.compile(r"variant"), lambda _: _VARIANT),
)


def _decimal(precision: int, scale: int) -> pa.DataType:
    if not 1 <= precision <= 38 or not 0 <= scale <= precision:
        raise SchemaError(f"decimal({precision},{scale}) is outside decimal(1,0) to decimal(38,38)")
    return pa.decimal128(precision, scale)


def parse_schema(text: str) -> pa.Schema:
    """Return the Arrow form of a schema in Spark's JSON form.

    Raises:
        SchemaError: The text is not such a schema, or a column has a type that a split cannot hold.
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise SchemaError("The schema text is not JSON, or nested too deeply") from error
    if not isinstance(value, dict) or value.get("type") != "struct":
        raise SchemaError('The schema text is not a Spark schema: it has no "type": "struct" at its top')
    return pa.schema(_fields_to_arrow(value, ""))


def format_schema(schema: pa.Schema) -> str:
    """Return the Spark JSON form of an Arrow schema.

    Raises:
        SchemaError: A column has a type that Spark does not have.
    """
    return msgspec.json.encode({"type": "struct", "fields": [_field_to_spark(field, "") for field in schema]}).decode()


def normal_schema(schema: pa.Schema | str) -> dict[str, Any]:
    """Return the fields of a schema by name, in Spark's words, however they were spelled."""
    text = format_schema(parse_schema(schema) if isinstance(schema, str) else schema)
    return {field["name"]: field for field in msgspec.json.decode(text)["fields"]}


def validate_schema(schema: pa.Schema, partition_columns: Sequence[str] = ()) -> None:
    """Check what a table's schema must be before anything is written.

    Raises:
        SchemaError: Two columns differ in nothing but case, a column has no name, partition columns are missing (all of them
            are named), repeated or nested, or no column is left beside them.
    """
    if not len(schema):
        raise SchemaError("The schema has no columns")
    _refuse_clashes(schema, "")
    names = set(schema.names)
    missing = [name for name in partition_columns if name not in names]
    if missing:
        raise SchemaError(
            f"Partition columns {', '.join(missing)} not found in schema",
            columns=missing,
            way_out=f"Its columns are {', '.join(schema.names)}",
        )
    if repeated := sorted({name for name in partition_columns if list(partition_columns).count(name) > 1}):
        raise SchemaError(f"Partition columns {', '.join(repeated)} are given more than once", columns=repeated)
    if nested := [name for name in partition_columns if pa.types.is_nested(schema.field(name).type)]:
        raise SchemaError(f"Partition columns {', '.join(nested)} are not of a simple type", columns=nested)
    if len(partition_columns) == len(names):
        raise SchemaError(
            "Every column is a partition column",
            columns=partition_columns,
            way_out="Leave at least one column for the data",
        )


def _refuse_clashes(fields: Iterable[pa.Field], place: str) -> None:
    seen: dict[str, str] = {}
    for field in fields:
        if not field.name:
            raise SchemaError(f"A column{f' in {place}' if place else ''} has no name")
        name = field.name
        if (other := seen.get(name.casefold())) is not None:
            same = "have the same name" if other == name else "differ in nothing but case"
            raise SchemaError(
                f"Columns {place}{other} and {place}{name} {same}", columns=[other, name], way_out="Rename one"
            )
        seen[name.casefold()] = name
        _refuse_nested_clashes(field.type, f"{place}{field.name}.")


def _refuse_nested_clashes(kind: pa.DataType, place: str) -> None:
    if pa.types.is_struct(kind):
        _refuse_clashes(kind, place)
    elif pa.types.is_map(kind):
        _refuse_nested_clashes(kind.key_type, place)
        _refuse_nested_clashes(kind.item_type, place)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        _refuse_nested_clashes(kind.value_type, place)


def _fields_to_arrow(value: dict[str, Any], place: str) -> list[pa.Field]:
    fields = value.get("fields")
    if not isinstance(fields, list):
        raise SchemaError(f"The schema text is not a Spark schema: {place or 'its top'} has no list of fields")
    return [_field_to_arrow(field, place) for field in fields]


def _field_to_arrow(value: Any, place: str) -> pa.Field:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or "type" not in value:
        raise SchemaError(
            f"The schema text is not a Spark schema: a field{f' in {place}' if place else ''} has no name or type"
        )
    name = value["name"]
    kind = _to_arrow(value["type"], f"{place}{name}")
    metadata = {}
    if own := value.get("metadata"):
        metadata[b"spark.metadata"] = msgspec.json.encode(own)
    if _ambiguous(value["type"]):
        metadata[SPARK_TYPE] = value["type"].encode()
    return pa.field(name, kind, nullable=bool(value.get("nullable", True)), metadata=metadata or None)


def _to_arrow(value: Any, place: str) -> pa.DataType:
    if isinstance(value, str):
        if value in _SIMPLE:
            return _SIMPLE[value]
        for pattern, build in _PATTERNS:
            if found := pattern.fullmatch(value):
                return build(found)
    elif isinstance(value, dict):
        kind = value.get("type")
        if kind == "struct":
            return pa.struct(_fields_to_arrow(value, f"{place}."))
        if kind == "array" and "elementType" in value:
            element = _inner_field(
                "element", value["elementType"], f"{place}.element", nullable=value.get("containsNull", True)
            )
            return pa.list_(element)
        if kind == "map" and {"keyType", "valueType"} <= value.keys():
            key = _inner_field("key", value["keyType"], f"{place}.key", nullable=False)
            item = _inner_field(
                "value", value["valueType"], f"{place}.value", nullable=value.get("valueContainsNull", True)
            )
            return pa.map_(key, item)
        if kind == "udt" and "sqlType" in value:
            return _to_arrow(value["sqlType"], place)
    shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    raise SchemaError(
        f"Column {place} has type {shown[:100]}, which a table cannot hold",
        columns=[place],
        way_out="Cast it to another type first",
    )


def _inner_field(name: str, value: Any, place: str, *, nullable: bool) -> pa.Field:
    metadata = {SPARK_TYPE: value.encode()} if _ambiguous(value) else None
    return pa.field(name, _to_arrow(value, place), nullable=nullable, metadata=metadata)


def _ambiguous(value: Any) -> bool:
    return isinstance(value, str) and value not in _SIMPLE and not value.startswith("decimal")


def _field_to_spark(field: pa.Field, place: str) -> dict[str, Any]:
    metadata = field.metadata or {}
    own = metadata.get(b"spark.metadata")
    return {
        "name": field.name,
        "type": _to_spark(field, f"{place}{field.name}"),
        "nullable": field.nullable,
        "metadata": msgspec.json.decode(own) if own else {},
    }


def _to_spark(field: pa.Field, place: str) -> Any:
    if named := (field.metadata or {}).get(SPARK_TYPE):
        return named.decode()
    kind = field.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    for test, build in _FROM_ARROW:
        if test(kind):
            return build(kind, place)
    raise SchemaError(
        f"Column {place} has type {kind}, which Spark does not have",
        columns=[place],
        way_out="Cast it to another type first",
    )


def _array_to_spark(kind: pa.DataType, place: str) -> dict[str, Any]:
    return {
        "type": "array",
        "elementType": _to_spark(kind.value_field, f"{place}.element"),
        "containsNull": kind.value_field.nullable,
    }


def _map_to_spark(kind: pa.DataType, place: str) -> dict[str, Any]:
    return {
        "type": "map",
        "keyType": _to_spark(kind.key_field, f"{place}.key"),
        "valueType": _to_spark(kind.item_field, f"{place}.value"),
        "valueContainsNull": kind.item_field.nullable,
    }


_FROM_ARROW: Final[Sequence[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, str], Any]]]] = (
    (
        lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind),
        lambda *_: "string",
    ),
    (
        lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind),
        lambda *_: "binary",
    ),
    (pa.types.is_boolean, lambda *_: "boolean"),
    (pa.types.is_int8, lambda *_: "byte"),
    (lambda kind: pa.types.is_int16(kind) or pa.types.is_uint8(kind), lambda *_: "short"),
    (lambda kind: pa.types.is_int32(kind) or pa.types.is_uint16(kind), lambda *_: "integer"),
    (lambda kind: pa.types.is_int64(kind) or pa.types.is_uint32(kind), lambda *_: "long"),
    (pa.types.is_uint64, lambda *_: "decimal(20,0)"),
    (lambda kind: pa.types.is_float16(kind) or pa.types.is_float32(kind), lambda *_: "float"),
    (pa.types.is_float64, lambda *_: "double"),
    (pa.types.is_date, lambda *_: "date"),
    (pa.types.is_timestamp, lambda kind, _: "timestamp" if kind.tz else "timestamp_ntz"),
    (
        lambda kind: pa.types.is_decimal(kind) and kind.precision <= 38 and kind.scale >= 0,
        lambda kind, _: f"decimal({kind.precision},{kind.scale})",
    ),
    (pa.types.is_time, lambda *_: "time(6)"),
    (pa.types.is_duration, lambda *_: "interval day to second"),
    (
        pa.types.is_struct,
        lambda kind, place: {"type": "struct", "fields": [_field_to_spark(field, f"{place}.") for field in kind]},
    ),
    (pa.types.is_map, _map_to_spark),
    (
        lambda kind: pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind),
        _array_to_spark,
    ),
)
