"""Who in the Metastore points at a directory, or into it: nothing that somebody points at is deleted.

The Metastore finds nothing by its place, so every table and partition is asked for, some hundred at a time. It keeps the places
of partitions as they were written, with or without a scheme and a host; what is left out could be any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import MetastoreError
from indextables.hive.filesystem import split_location

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from indextables.hive.connect import Lake
    from indextables.hive.model import HiveTable

_ONE_STORE = {"s3a": "s3", "s3n": "s3"}


def pointer_at(lake: Lake, places: Collection[str], *, apart_from: Collection[str] = ()) -> tuple[str, str] | None:
    """Return one of some places with what points at it or into it; None if nothing does.

    Args:
        lake: Metastore and file systems.
        places: Directories.
        apart_from: The full names of tables that do not count.
    """
    wanted: dict[str, list[tuple[str, str, str]]] = {}
    for place in places:
        scheme, authority, path = _split(place)
        wanted.setdefault(path, []).append((scheme, authority, place))
    for table in all_tables(lake) if wanted else ():
        if table.full_name in apart_from:
            continue
        for who, location in _locations(lake, table):
            scheme, authority, path = _split(location)
            for above in with_parents(path):
                for other_scheme, other_authority, place in wanted.get(above, ()):
                    if _may_be_one(scheme, other_scheme) and _may_be_one(authority, other_authority):
                        return place, who
    return None


def all_tables(lake: Lake) -> Iterator[HiveTable]:
    """Return the tables of all databases, some hundred at a time."""
    for database in lake.metastore.databases():
        yield from lake.metastore.tables(database, lake.metastore.table_names(database))


def _locations(lake: Lake, table: HiveTable) -> Iterator[tuple[str, str]]:
    if table.location:
        yield f"the table {table.full_name}", table.location
    if not table.keys:
        return
    try:
        for partition in lake.metastore.partitions(table, lake.metastore.partition_names(table)):
            yield f"the partition {'/'.join(partition.values)} of {table.full_name}", partition.location
    except MetastoreError:
        if lake.metastore.table(table.database, table.name) is not None:
            raise
        # It was dropped while it was asked for.


def _split(location: str) -> tuple[str, str, str]:
    scheme, authority, path = split_location(location)
    return _ONE_STORE.get(scheme, scheme), authority, path.rstrip("/")


def _may_be_one(name: str, other: str) -> bool:
    return name == other or not name or not other


def with_parents(path: str) -> Iterator[str]:
    """Return a path, and every directory that it lies in."""
    while path:
        yield path
        path = path.rpartition("/")[0]
