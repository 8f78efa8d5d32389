"""Hive tables for tests, made through the Metastore's own protocol and pyarrow: no Spark has to start for them."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.hive import Lake, connect
from indextables.hive.channel import SocketChannel
from indextables.hive.filesystem import data_files
from indextables.hive.find import find_table
from indextables.hive.model import HivePartition, HiveTable
from indextables.hive.names import partition_name
from indextables.hive.thrift import Kind, Mapping, Struct, string_map, strings, structs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tests.support.metastore import MetastoreService

PARQUET = (
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
)
ORC = (
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
)
TEXT = (
    "org.apache.hadoop.mapred.TextInputFormat",
    "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
)
EVENTS = (("id", "bigint"), ("name", "string"), ("amount", "double"))


def lake_of(service: MetastoreService, *, threads: int = 4, on_step: Callable[[str], None] = lambda _: None) -> Lake:
    lake = connect(service.uri)
    return Lake(metastore=lake.metastore, systems=lake.systems, threads=threads, on_step=on_step)


@contextmanager
def opened(service: MetastoreService) -> Iterator[Lake]:
    """A lake for one test."""
    lake = lake_of(service)
    try:
        yield lake
    finally:
        lake.close()


@contextmanager
def new_database(service: MetastoreService, place: Path) -> Iterator[str]:
    """Create a database for one test; what is left behind would have to be looked at by every test after it."""
    name = f"db_{abs(hash(str(place))):x}"
    create_database(service.uri, name, str(place / "database"))
    try:
        yield name
    finally:
        drop_database(service.uri, name)


def create_database(uri: str, name: str, location: str) -> None:
    database = Struct()
    database.set(1, Kind.STRING, name)
    database.set(3, Kind.STRING, location)
    channel = SocketChannel(uri)
    channel.call("create_database", Struct({1: (Kind.STRUCT, database)}))
    channel.close()


def drop_database(uri: str, name: str) -> None:
    """Drop a database with its tables, but none of their files."""
    channel = SocketChannel(uri)
    channel.call("drop_database", Struct({1: (Kind.STRING, name), 2: (Kind.BOOL, False), 3: (Kind.BOOL, True)}))
    channel.close()


def storage(location: str, columns: Iterable[tuple[str, str]], formats: tuple[str, str, str], **more: Any) -> Struct:
    raw = Struct()
    raw.set(1, Kind.LIST, structs(_field(*column) for column in columns))
    raw.set(2, Kind.STRING, location)
    raw.set(3, Kind.STRING, formats[0])
    raw.set(4, Kind.STRING, formats[1])
    raw.set(5, Kind.BOOL, False)
    raw.set(6, Kind.I32, more.get("buckets", -1))
    serde = Struct()
    serde.set(2, Kind.STRING, formats[2])
    serde.set(3, Kind.MAP, string_map({"serialization.format": "1"}))
    raw.set(7, Kind.STRUCT, serde)
    raw.set(8, Kind.LIST, strings(more.get("bucket_columns", ())))
    raw.set(9, Kind.LIST, structs(()))
    raw.set(10, Kind.MAP, string_map({}))
    return raw


def create_table(
    lake: Lake,
    full_name: str,
    location: str,
    *,
    columns: Sequence[tuple[str, str]] = EVENTS,
    keys: Sequence[tuple[str, str]] = (),
    formats: tuple[str, str, str] = PARQUET,
    parameters: dict[str, str] | None = None,
    kind: str = "EXTERNAL_TABLE",
    **more: Any,
) -> HiveTable:
    database, _, name = full_name.partition(".")
    raw = Struct()
    raw.set(1, Kind.STRING, name)
    raw.set(2, Kind.STRING, database)
    raw.set(3, Kind.STRING, "tester")
    raw.set(7, Kind.STRUCT, storage(location, columns, formats, **more))
    raw.set(8, Kind.LIST, structs(_field(*key) for key in keys))
    external = {"EXTERNAL": "TRUE"} if kind == "EXTERNAL_TABLE" else {}
    raw.set(9, Kind.MAP, string_map({**external, **(parameters or {})}))
    raw.set(12, Kind.STRING, kind)
    assert lake.metastore.create(HiveTable(raw))
    return find_table(lake, full_name)


def add_partition(
    lake: Lake, table: HiveTable, values: Sequence[str], *, location: str | None = None, **parameters: str
) -> str:
    """Register a partition and return its location; its directory comes into being with it."""
    added = partition_of(table, values, location=location, **parameters)
    lake.metastore.add_partitions(table, [added])
    return added.location


def partition_of(
    table: HiveTable, values: Sequence[str], *, location: str | None = None, **parameters: str
) -> HivePartition:
    """Return a partition as it is registered."""
    place = location or f"{table.location}/{partition_name([key.name for key in table.keys], values)}"
    raw = Struct()
    raw.set(1, Kind.LIST, strings(values))
    raw.set(2, Kind.STRING, table.database)
    raw.set(3, Kind.STRING, table.name)
    raw.set(6, Kind.STRUCT, table.storage.at(place))
    raw.set(7, Kind.MAP, Mapping(Kind.STRING, Kind.STRING, dict(parameters)))
    return HivePartition(raw)


def events(start: int, count: int) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array([None if one % 7 == 0 else f"name-{one}" for one in ids], pa.string()),
            "amount": pa.array([one / 3 for one in ids], pa.float64()),
        }
    )


def write_parquet(lake: Lake, location: str, table: pa.Table, **options: Any) -> None:
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, store_schema=False, **options)
    system = lake.systems.at(location)
    with suppress(FileExistsError):
        system.make_directory(location.rpartition("/")[0], parents=True)
    system.write(location, buffer.getvalue().to_pybytes())


def fill(lake: Lake, location: str, *, files: int, rows: int, start: int = 0) -> None:
    """Write that many files with that many rows each, named as Spark's old writer did."""
    for index in range(files):
        write_parquet(lake, f"{location}/part-{index:05d}.parquet", events(start + index * rows, rows))


def flat(lake: Lake, database: str, tmp_path: Path, tables: Sequence[pa.Table], **options: Any) -> tuple[str, str]:
    """Make a flat table with a file for each of these, and return its name and place."""
    place = f"{tmp_path}/t"
    create_table(lake, f"{database}.t", place)
    for index, table in enumerate(tables):
        write_parquet(lake, f"{place}/f{index}.parquet", table, **options)
    return f"{database}.t", place


def values(place: str, **options: Any) -> list[str]:
    """Return every row of the Parquet files in a local directory, sorted."""
    found = []
    for path in sorted(Path(place).glob("*.parquet")):
        found += [repr(row) for row in pq.ParquetFile(path, **options).read().to_pylist()]
    return sorted(found)


@dataclass(frozen=True)
class Snapshot:
    """What an engine sees of a table: the sorted rows of each partition, by the Metastore's locations."""

    rows: dict[str, list[tuple[Any, ...]]]

    @property
    def count(self) -> int:
        return sum(map(len, self.rows.values()))


def read_rows(lake: Lake, location: str) -> list[tuple[Any, ...]]:
    system = lake.systems.at(location)
    rows: list[tuple[Any, ...]] = []
    for entry in data_files(system.entries(location)):
        with system.open_input(f"{location}/{entry.path}", entry.length) as source:
            table = pq.ParquetFile(source).read()
        rows += [tuple(row.values()) for row in table.to_pylist()]
    return sorted(rows, key=repr)


def read_table(lake: Lake, full_name: str) -> Snapshot:
    table = find_table(lake, full_name)
    if not table.keys:
        return Snapshot({"": read_rows(lake, table.location)})
    keys = [key.name for key in table.keys]
    held = lake.metastore.partitions(table, lake.metastore.partition_names(table))
    return Snapshot({partition_name(keys, one.values): read_rows(lake, one.location) for one in held})


def _field(name: str, kind: str) -> Struct:
    raw = Struct()
    raw.set(1, Kind.STRING, name)
    raw.set(2, Kind.STRING, kind)
    return raw
