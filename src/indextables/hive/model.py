"""Tables and partitions as the Metastore holds them.

Each keeps the struct that the Metastore sent. What is changed is changed in a copy of that struct, so an `ALTER` sends back
every field that this code does not know about.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from indextables.hive.thrift import Kind, Struct, string_map

if TYPE_CHECKING:
    from collections.abc import Mapping

# Numbers of fields in hive_metastore.thrift.
_TABLE_NAME, _TABLE_DATABASE, _TABLE_CREATED, _TABLE_STORAGE = 1, 2, 4, 7
_TABLE_KEYS, _TABLE_PARAMETERS, _TABLE_TYPE, _TABLE_PRIVILEGES = 8, 9, 12, 13
_PARTITION_VALUES, _PARTITION_DATABASE, _PARTITION_TABLE, _PARTITION_CREATED = 1, 2, 3, 4
_PARTITION_STORAGE, _PARTITION_PARAMETERS = 6, 7
_COLUMNS, _LOCATION, _INPUT_FORMAT, _BUCKETS, _SERDE, _BUCKET_COLUMNS, _IN_SUBDIRECTORIES = 1, 2, 3, 6, 7, 8, 12
_SERDE_PARAMETERS = 3
_PATH = "path"  # Spark keeps the location of its own tables here, too, and believes this one


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a partition key: its name and Hive's name of its type."""

    name: str
    type: str


@dataclass(frozen=True)
class Storage:
    """What a table or a partition says about its files."""

    raw: Struct

    @property
    def location(self) -> str:
        """Where the files are, without a slash at the end."""
        location = str(self.raw.get(_LOCATION, ""))
        return location.rstrip("/") or location

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in the files, in order."""
        return _columns(self.raw, _COLUMNS)

    @property
    def input_format(self) -> str:
        """The Java class that reads the files."""
        return str(self.raw.get(_INPUT_FORMAT, ""))

    @property
    def is_bucketed(self) -> bool:
        """Whether rows are spread over files by a hash."""
        buckets = self.raw.get(_BUCKET_COLUMNS)
        return int(self.raw.get(_BUCKETS, -1)) > 0 or bool(buckets and buckets.items)

    @property
    def in_subdirectories(self) -> bool:
        """Whether skewed values have directories of their own."""
        return bool(self.raw.get(_IN_SUBDIRECTORIES, False))

    def at(self, location: str) -> Struct:
        """Return the same storage at another place."""
        raw = self.raw.copy()
        raw.set(_LOCATION, Kind.STRING, location)
        serde = raw.get(_SERDE)
        parameters = serde.get(_SERDE_PARAMETERS) if serde else None
        if parameters and _PATH in parameters.items:
            parameters.items[_PATH] = location
        return raw


@dataclass(frozen=True)
class HiveTable:
    """A table of the Metastore."""

    raw: Struct

    @property
    def name(self) -> str:
        """The table's name without its database."""
        return str(self.raw.get(_TABLE_NAME))

    @property
    def database(self) -> str:
        """The database's name."""
        return str(self.raw.get(_TABLE_DATABASE))

    @property
    def full_name(self) -> str:
        """`database.name`."""
        return f"{self.database}.{self.name}"

    @property
    def created(self) -> int:
        """When it was made, in seconds: with the name, what tells it from an earlier table of the same name."""
        return int(self.raw.get(_TABLE_CREATED, 0))

    @property
    def type(self) -> str:
        """MANAGED_TABLE, EXTERNAL_TABLE, VIRTUAL_VIEW or MATERIALIZED_VIEW."""
        return str(self.raw.get(_TABLE_TYPE, ""))

    @cached_property
    def storage(self) -> Storage:
        """Its storage descriptor."""
        return Storage(self.raw.get(_TABLE_STORAGE, Struct()))

    @property
    def location(self) -> str:
        """The table's root."""
        return self.storage.location

    @property
    def keys(self) -> tuple[Column, ...]:
        """The partition keys; none for a flat table."""
        return _columns(self.raw, _TABLE_KEYS)

    @property
    def parameters(self) -> dict[str, str]:
        """The table's properties."""
        return _parameters(self.raw, _TABLE_PARAMETERS)

    def changed(self, *, parameters: Mapping[str, str] | None = None, location: str | None = None) -> HiveTable:
        """Return this table with other properties, or at another place."""
        raw = self.raw.copy()
        if parameters is not None:
            raw.set(_TABLE_PARAMETERS, Kind.MAP, string_map(dict(parameters)))
        if location is not None:
            raw.set(_TABLE_STORAGE, Kind.STRUCT, self.storage.at(location))
        return HiveTable(raw)

    def as_external(self, name: str, parameters: Mapping[str, str], *, created: int) -> HiveTable:
        """Return an external table of another name over the same files."""
        raw = self.changed(parameters={**parameters, "EXTERNAL": "TRUE"}).raw
        raw.set(_TABLE_NAME, Kind.STRING, name)
        raw.set(_TABLE_TYPE, Kind.STRING, "EXTERNAL_TABLE")
        raw.set(_TABLE_CREATED, Kind.I32, created)
        raw.set(_TABLE_PRIVILEGES, Kind.STRUCT, None)
        return HiveTable(raw)


@dataclass(frozen=True)
class HivePartition:
    """A partition of the Metastore."""

    raw: Struct

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the keys, in the keys' order, as text."""
        return tuple(self.raw.get(_PARTITION_VALUES).items)

    @cached_property
    def storage(self) -> Storage:
        """Its storage descriptor."""
        return Storage(self.raw.get(_PARTITION_STORAGE, Struct()))

    @property
    def location(self) -> str:
        """Where its files are."""
        return self.storage.location

    @property
    def parameters(self) -> dict[str, str]:
        """The partition's properties."""
        return _parameters(self.raw, _PARTITION_PARAMETERS)

    def changed(self, *, parameters: Mapping[str, str] | None = None, location: str | None = None) -> HivePartition:
        """Return this partition with other properties, or at another place."""
        raw = self.raw.copy()
        if parameters is not None:
            raw.set(_PARTITION_PARAMETERS, Kind.MAP, string_map(dict(parameters)))
        if location is not None:
            raw.set(_PARTITION_STORAGE, Kind.STRUCT, self.storage.at(location))
        return HivePartition(raw)

    def in_table(self, table: HiveTable) -> HivePartition:
        """Return the same partition as one of another table."""
        raw = self.raw.copy()
        raw.set(_PARTITION_DATABASE, Kind.STRING, table.database)
        raw.set(_PARTITION_TABLE, Kind.STRING, table.name)
        return HivePartition(raw)


def _columns(raw: Struct, number: int) -> tuple[Column, ...]:
    held = raw.get(number)
    return tuple(Column(str(item.get(1)), str(item.get(2))) for item in held.items) if held else ()


def _parameters(raw: Struct, number: int) -> dict[str, str]:
    held = raw.get(number)
    return dict(held.items) if held else {}
