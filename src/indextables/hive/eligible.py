"""Which tables are compacted, and why the others are not: every reason is found before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.hive.filesystem import Entry, split_location
from indextables.hive.journal import RUN
from indextables.hive.names import BACKUP_PREFIX
from indextables.hive.pointers import all_tables, with_parents

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from indextables.hive.connect import Lake
    from indextables.hive.model import HiveTable, Storage

_FORMATS = {
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat": "parquet",
    "parquet.hive.DeprecatedParquetInputFormat": "parquet",
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat": "orc",
}
_VIEWS = frozenset({"VIRTUAL_VIEW", "MATERIALIZED_VIEW", "INDEX_TABLE"})
_OWN_LOG = ("_delta_log", ".hoodie", "_transaction_log")
_ORC_LENGTHS = ("char(", "varchar(")


def format_of(storage: Storage) -> str | None:
    """Return `parquet`, `orc`, or None for anything else."""
    return _FORMATS.get(storage.input_format)


def refusals(lake: Lake, table: HiveTable, *, swap: str = "rename") -> list[str]:
    """Return why a table cannot be compacted, by what the Metastore says of it; nothing where it can."""
    parameters = {key.lower(): value.lower() for key, value in table.parameters.items()}
    return list(_refusals(lake, table, parameters, swap))


def _refusals(lake: Lake, table: HiveTable, parameters: dict[str, str], swap: str) -> Iterator[str]:
    if table.type in _VIEWS:
        yield f"it is a view ({table.type})"
        return
    if RUN in parameters:
        yield "it is a backup that Lakekeeper made"
    if parameters.get("transactional") == "true":
        yield "it is transactional: its base and delta directories belong to Hive's own compactor"
    yield from _format_refusals(table, parameters)
    if table.storage.is_bucketed or "spark.sql.sources.schema.numbuckets" in parameters:
        yield "it is bucketed: merging files would break the rule of one file a bucket"
    if table.storage.in_subdirectories:
        yield "it keeps skewed values in directories of their own"
    if table.location and (reason := place_refusal(lake, table.location, swap=swap)):
        yield reason


def place_refusal(lake: Lake, location: str, *, swap: str) -> str:
    """Return why directories at a location cannot be swapped in that way; nothing where they can."""
    scheme = split_location(location)[0]
    if not lake.systems.supports(location):
        return f"files on {scheme}:// are not read here"
    if swap == "rename" and not lake.systems.at(location).renames:
        return f"a directory on {scheme}:// cannot be renamed in one step; --swap location would point the Metastore at new ones"
    return ""


def _format_refusals(table: HiveTable, parameters: dict[str, str]) -> Iterator[str]:
    provider = parameters.get("spark.sql.sources.provider", "")
    kind = parameters.get("table_type", "")
    if "iceberg" in {provider, kind} or provider in {"delta", "hudi"} or "hoodie" in table.storage.input_format.lower():
        yield f"it is a table of {provider or kind or 'hudi'}, whose own log names its files"
    elif "storage_handler" in parameters:
        yield f"its files belong to the storage handler {parameters['storage_handler']}"
    elif format_of(table.storage) is None:
        yield f"its files are neither Parquet nor ORC ({table.storage.input_format or 'no format'})"
    if format_of(table.storage) == "orc":
        for column in table.storage.columns:
            if any(text in column.type.lower() for text in _ORC_LENGTHS):
                yield f"its ORC column {column.name} is a {column.type}, whose length pyarrow does not keep"


def layout_refusals(table: HiveTable, directories: Sequence[tuple[str, str]]) -> list[str]:
    """Return why partitions cannot be swapped because of where they are.

    Args:
        table: The table.
        directories: Name and location of each partition of the whole table.
    """
    found = []
    owners: dict[str, str] = {}
    for name, location in directories:
        if (other := owners.setdefault(location, name)) != name:
            found.append(f"the partitions {other} and {name} share the location {location}")
    if table.keys and table.location in owners:
        found.append(f"the partition {owners[table.location]} lies in the table's own root")
    for location, name in owners.items():
        parent = location.rpartition("/")[0]
        while parent and parent != table.location:
            if parent in owners:
                found.append(f"the partition {name} lies inside the partition {owners[parent]}")
            parent = parent.rpartition("/")[0]
    return found


def sharing_tables(lake: Lake, table: HiveTable, locations: Iterable[str]) -> list[str]:
    """Return the tables of all databases that lie in, or around, the directories that are to be swapped."""
    path = _path(table.location)
    swapped = {_path(location) for location in locations}
    around = {place for location in swapped for place in with_parents(location)}
    found = []
    for other in all_tables(lake):
        if other.full_name == table.full_name or not other.location or _is_backup_of(other, table):
            continue
        place = _path(other.location)
        if place == path or place in around or not swapped.isdisjoint(with_parents(place)):
            found.append(f"the table {other.full_name} at {other.location} shares its files")
    return found


def content_refusals(location: str, entries: Iterable[Entry]) -> list[str]:
    """Return why a directory cannot be swapped because of what is in it."""
    found = []
    for entry in entries:
        name = entry.path.partition("/")[0]
        if entry.is_link:
            found.append(f"{location}/{entry.path} is a symbolic link")
        elif name in _OWN_LOG:
            found.append(f"{location}/{name} is another table format's log")
        elif not entry.is_dir and not entry.is_hidden and "/" in entry.path:
            found.append(f"{location} has data in the subdirectory {name}, which engines do not agree to read")
        if found:
            break
    return found


def _is_backup_of(other: HiveTable, table: HiveTable) -> bool:
    return (
        other.name.startswith(BACKUP_PREFIX)
        and RUN in other.parameters
        and other.parameters.get("lakekeeper.source") == table.full_name
    )


def _path(location: str) -> str:
    scheme, authority, path = split_location(location)
    return f"{scheme or 'file'}:{authority}:{path.rstrip('/')}"
