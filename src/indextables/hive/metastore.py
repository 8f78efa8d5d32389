"""The few calls of a Hive Metastore that Lakekeeper needs, each of which may be sent twice without harm.

Changes carry `DO_NOT_UPDATE_STATS`: without it, the Metastore lists every directory that a statement names and writes what it
finds over the statistics.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from indextables.errors import MetastoreError
from indextables.hive.model import HivePartition, HiveTable
from indextables.hive.thrift import Kind, MessageType, Struct, string_map, strings, structs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from indextables.hive.channel import Channel

BATCH = 500
"""How many partitions or tables one call carries, so that ten thousand of them never stand in memory or in one answer."""

T = TypeVar("T")

_EVERYTHING = -1
# The exceptions that each method declares, in the order of their numbers.
_DECLARED: dict[str, tuple[str, ...]] = {
    "get_table": ("MetaException", "NoSuchObjectException"),
    "get_all_databases": ("MetaException",),
    "get_all_tables": ("MetaException",),
    "get_tables": ("MetaException",),
    "get_table_objects_by_name": ("MetaException", "InvalidOperationException", "UnknownDBException"),
    "get_partition_names": ("MetaException",),
    "get_partitions_by_names": ("MetaException", "NoSuchObjectException"),
    "create_table": ("AlreadyExistsException", "InvalidObjectException", "MetaException", "NoSuchObjectException"),
    "drop_table": ("NoSuchObjectException", "MetaException"),
    "add_partitions_req": ("InvalidObjectException", "AlreadyExistsException", "MetaException"),
    "alter_table_with_environment_context": ("InvalidOperationException", "MetaException"),
    "alter_partitions_with_environment_context": ("InvalidOperationException", "MetaException"),
}
_CHANGES = frozenset(name for name in _DECLARED if not name.startswith("get_"))


class Metastore:
    """A Metastore; there are as many connections as there were ever calls at a time, and a thread takes any that is idle.

    To open one costs a Metastore as much as some calls do, and it serves only so many at a time.

    Args:
        connect: Opens a connection.
    """

    def __init__(self, connect: Callable[[], Channel]) -> None:
        self._connect = connect
        self._open: list[Channel] = []
        self._idle: list[Channel] = []
        self._lock = threading.Lock()
        self.one_writer = threading.RLock()
        """Held while something is changed: Metastores run into deadlocks of their database when one table is altered twice at a time."""

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for channel in self._open:
                channel.close()
            self._open.clear()
            self._idle.clear()

    def databases(self) -> list[str]:
        """Return the names of all databases."""
        return list(self._call("get_all_databases").items)

    def table_names(self, database: str, *, like: str = "*") -> list[str]:
        """Return the names of a database's tables; `*` in `like` stands for anything."""
        return sorted(self._call("get_tables", (Kind.STRING, database), (Kind.STRING, like)).items)

    def table(self, database: str, name: str) -> HiveTable | None:
        """Return a table, or None where there is none of that name."""
        try:
            return HiveTable(self._call("get_table", (Kind.STRING, database), (Kind.STRING, name)))
        except MetastoreError as error:
            if error.kind == "NoSuchObjectException":
                return None
            raise

    def tables(self, database: str, names: Sequence[str]) -> Iterator[HiveTable]:
        """Return those tables that exist, some hundred at a time."""
        for batch in _batches(names):
            found = self._call("get_table_objects_by_name", (Kind.STRING, database), (Kind.LIST, strings(batch)))
            yield from map(HiveTable, found.items)

    def partition_names(self, table: HiveTable) -> list[str]:
        """Return the names of all partitions, as in `date=2026-02-23/ref=A`, escaped as Hive escapes them."""
        arguments = ((Kind.STRING, table.database), (Kind.STRING, table.name), (Kind.I16, _EVERYTHING))
        return list(self._call("get_partition_names", *arguments).items)

    def partitions(self, table: HiveTable, names: Sequence[str]) -> Iterator[HivePartition]:
        """Return the partitions of these names, some hundred at a time."""
        for batch in _batches(names):
            arguments = ((Kind.STRING, table.database), (Kind.STRING, table.name), (Kind.LIST, strings(batch)))
            yield from map(HivePartition, self._call("get_partitions_by_names", *arguments).items)

    def create(self, table: HiveTable) -> bool:
        """Create a table; return False where one of that name exists, which may be our own earlier attempt."""
        try:
            self._call("create_table", (Kind.STRUCT, table.raw))
        except MetastoreError as error:
            if error.kind == "AlreadyExistsException":
                return False
            raise
        return True

    def drop(self, table: HiveTable) -> None:
        """Drop a table and none of its files; it may be gone already."""
        try:
            arguments = ((Kind.STRING, table.database), (Kind.STRING, table.name), (Kind.BOOL, False))
            self._call("drop_table", *arguments)
        except MetastoreError as error:
            if error.kind != "NoSuchObjectException":
                raise

    def add_partitions(self, table: HiveTable, partitions: Sequence[HivePartition]) -> None:
        """Register partitions at their locations; those that exist already stay as they are."""
        for batch in _batches(partitions):
            request = Struct()
            request.set(1, Kind.STRING, table.database)
            request.set(2, Kind.STRING, table.name)
            request.set(3, Kind.LIST, structs(partition.raw for partition in batch))
            request.set(4, Kind.BOOL, True)  # if not exists
            request.set(5, Kind.BOOL, False)  # do not send them back
            self._call("add_partitions_req", (Kind.STRUCT, request))

    def alter(self, table: HiveTable) -> None:
        """Make a table what this one says."""
        arguments = ((Kind.STRING, table.database), (Kind.STRING, table.name), (Kind.STRUCT, table.raw))
        self._call("alter_table_with_environment_context", *arguments, (Kind.STRUCT, _context()))

    def alter_partitions(self, table: HiveTable, partitions: Iterable[HivePartition]) -> None:
        """Make partitions what these say."""
        for batch in _batches(list(partitions)):
            raw = structs(partition.raw for partition in batch)
            arguments = ((Kind.STRING, table.database), (Kind.STRING, table.name), (Kind.LIST, raw))
            self._call("alter_partitions_with_environment_context", *arguments, (Kind.STRUCT, _context()))

    def _call(self, name: str, *arguments: tuple[Kind, Any]) -> Any:
        message = Struct(dict(enumerate(arguments, start=1)))
        with self.one_writer if name in _CHANGES else nullcontext(), self._channel() as channel:
            kind, answer = channel.call(name, message)
        if kind is MessageType.EXCEPTION:
            raise MetastoreError(
                name,
                kind="TApplicationException",
                detail=str(answer.get(1, "")),
                way_out="This Metastore may be older than Hive 2.3 or newer than Hive 4",
            )
        for number, declared in enumerate(_DECLARED[name], start=1):
            if number in answer.fields:
                raise MetastoreError(name, kind=declared, detail=str(answer.get(number).get(1, "")))
        return answer.get(0)

    @contextmanager
    def _channel(self) -> Iterator[Channel]:
        with self._lock:
            channel = self._idle.pop() if self._idle else None
        if channel is None:
            channel = self._connect()
            with self._lock:
                self._open.append(channel)
        try:
            yield channel
        except BaseException:
            channel.close()  # whoever was interrupted has left an answer behind, which is nobody's
            raise
        finally:
            with self._lock:
                self._idle.append(channel)


def _context() -> Struct:
    context = Struct()
    context.set(1, Kind.MAP, string_map({"DO_NOT_UPDATE_STATS": "true"}))
    return context


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
