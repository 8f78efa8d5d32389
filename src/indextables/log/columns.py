"""Actions as Arrow columns: one row an action, one column a field, so that replay is arithmetic on columns.

A snapshot of a million files must not be a million objects. The columns carry the names of the action classes; the maps become
structs with one text child for each key that occurs. In a column absent and null are one state, empty is another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec
import msgspec.inspect
import pyarrow as pa
from msgspec import UNSET

from indextables.log.actions import Add, MetaData, Protocol, Remove, Skip, encode_extra

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Row: TypeAlias = Add | Remove | Skip
"""The actions that come in numbers; the other two are rare and stay values."""

_MAPS = {
    "partition_values": "partition",
    "min_values": "statistics",
    "max_values": "statistics",
    "tags": "tags",
}
_PLACE = (("version", pa.int64()), ("ordinal", pa.int32()), ("extra", pa.string()))


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionKeys:
    """What occurs in the lines of a log: the keys of the maps, which become the children of struct columns, and fields.

    Attributes:
        partition: Of `partition_values`.
        statistics: Of `min_values` and `max_values`.
        tags: Of `tags`.
        fields: The fields that an add may lack and some add has. Parsing the others for a million adds is not free.
    """

    partition: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    def widened(self, other: ActionKeys) -> ActionKeys:
        """Return these keys, followed by those that only `other` has, sorted."""
        return ActionKeys(
            partition=_widened(self.partition, other.partition),
            statistics=_widened(self.statistics, other.statistics),
            tags=_widened(self.tags, other.tags),
            fields=_widened(self.fields, other.fields),
        )

    def ordering(self, other: ActionKeys) -> ActionKeys:
        """Return the keys of `other`, in the order in which `widened` would put them."""
        return ActionKeys(
            partition=_common(self.partition, other.partition),
            statistics=_common(self.statistics, other.statistics),
            tags=_common(self.tags, other.tags),
            fields=_common(self.fields, other.fields),
        ).widened(other)

    def of(self, column: str) -> tuple[str, ...]:
        """Return the keys of a map column."""
        keys: tuple[str, ...] = getattr(self, _MAPS[column])
        return keys


def _widened(own: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return own + tuple(sorted(set(other).difference(own)))


def _common(own: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    others = set(other)
    return tuple(key for key in own if key in others)


_A_co = TypeVar("_A_co", bound=Protocol | MetaData, covariant=True)


class Versioned(NamedTuple, Generic[_A_co]):
    """Where in the log a protocol or a metadata stands."""

    version: int
    ordinal: int
    action: _A_co


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionColumns:
    """The actions of many commits, ordered by version and by line inside it.

    Every table has the fields of its action class as columns, and `version`, `ordinal` (the action's position in its commit,
    from 0) and `extra` (unknown fields as the text of a JSON object, null where there are none).
    """

    adds: pa.Table
    removes: pa.Table
    skips: pa.Table
    protocols: tuple[Versioned[Protocol], ...]
    metadatas: tuple[Versioned[MetaData], ...]
    keys: ActionKeys


class Column(NamedTuple):
    """A field of an action: its name in Python and in columns, its name on the wire, and its type unless it is a map."""

    name: str
    wire: str
    required: bool
    type: pa.DataType | None


@cache
def columns_of(kind: type[Row]) -> tuple[Column, ...]:
    """Return the fields of an action in the order of the wire."""
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)  # noqa: S101 - narrows the type for the checker
    return tuple(
        Column(field.name, field.encode_name, field.required, None if field.name in _MAPS else _scalar(field.type))
        for field in info.fields
        if field.name != "extra"
    )


def _scalar(info: msgspec.inspect.Type) -> pa.DataType:
    kinds = {type(member) for member in getattr(info, "types", (info,))}
    if msgspec.inspect.IntType in kinds:
        return pa.int64()
    if msgspec.inspect.BoolType in kinds:
        return pa.bool_()
    return pa.list_(pa.string()) if msgspec.inspect.ListType in kinds else pa.string()


def _column_type(column: Column, keys: ActionKeys) -> pa.DataType:
    return column.type or pa.struct([(key, pa.string()) for key in keys.of(column.name)])


def present_columns(kind: type[Row], keys: ActionKeys) -> list[Column]:
    """Return the fields that an action's lines may have, as far as is known."""
    return [column for column in columns_of(kind) if kind is not Add or column.required or column.name in keys.fields]


def wire_type(kind: type[Row], keys: ActionKeys) -> pa.DataType:
    """Return the type of an action's JSON object."""
    return pa.struct([(column.wire, _column_type(column, keys)) for column in present_columns(kind, keys)])


@lru_cache(maxsize=64)
def schema_of(kind: type[Row], keys: ActionKeys) -> pa.Schema:
    """Return the schema of an action's table."""
    fields = [(column.name, _column_type(column, keys)) for column in columns_of(kind)]
    return pa.schema([*fields, *_PLACE])


@lru_cache(maxsize=64)
def no_rows_of(kind: type[Row], keys: ActionKeys) -> pa.Table:
    """Return an action's table without rows; most commits lack most actions, and to make it takes longer than to read a line."""
    return schema_of(kind, keys).empty_table()


def width_of(kind: type[Row], keys: ActionKeys) -> int:
    """Return how many children the map columns of an action's table have."""
    return sum(len(keys.of(column.name)) for column in columns_of(kind) if column.type is None)


def table_of(kind: type[Row], rows: Sequence[tuple[int, int, Row]], keys: ActionKeys) -> pa.Table:
    """Return the table of actions that exist as values, each with its version and ordinal."""
    if not rows:
        return no_rows_of(kind, keys)
    schema = schema_of(kind, keys)
    columns: list[list[object]] = [
        [None if (value := getattr(action, column.name)) is UNSET else value for _, _, action in rows]
        for column in columns_of(kind)
    ]
    columns.append([version for version, _, _ in rows])
    columns.append([ordinal for _, ordinal, _ in rows])
    columns.append([encode_extra(action) for _, _, action in rows])
    arrays = [_array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: list[object], kind: pa.DataType) -> pa.Array:
    """Return values as an array; most fields of an action are optional, and to make nulls takes a fifth of the time."""
    return pa.nulls(len(values), kind) if all(value is None for value in values) else pa.array(values, type=kind)


def keys_of(actions: Iterable[object]) -> ActionKeys:
    """Return the keys and the fields that occur in actions."""
    found: dict[str, set[str]] = {name: set() for name in _MAPS}
    fields: set[str] = set()
    for action in actions:
        if isinstance(action, Add):
            optional = (column.name for column in columns_of(Add) if not column.required)
            fields.update(name for name in optional if getattr(action, name) is not UNSET)
        for name, keys in found.items():
            value = getattr(action, name, None)
            if isinstance(value, dict):
                keys.update(value)
    return ActionKeys(
        partition=tuple(sorted(found["partition_values"])),
        statistics=tuple(sorted(found["min_values"] | found["max_values"])),
        tags=tuple(sorted(found["tags"])),
        fields=tuple(sorted(fields)),
    )
