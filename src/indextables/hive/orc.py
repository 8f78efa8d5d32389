"""Small ORC files into large ones, for the types that come out of pyarrow as they went in.

ORC keeps the writer's time zone and calendar beside timestamps and dates, and lengths beside char and varchar; pyarrow shows
none of these. Rather than guess, columns of such types are refused, and so are dates before the calendar changed.
"""

from __future__ import annotations

import datetime as dt
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from indextables.errors import TableRefusedError, VerificationError
from indextables.hive.checksum import Check, check_table
from indextables.hive.damage import whole_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from indextables.hive.filesystem import FileSystem
    from indextables.hive.rewrite import Group

_CALENDAR_CHANGE = dt.date(1582, 10, 15)
_CODECS = {"zlib", "snappy", "zstd", "lz4", "uncompressed"}


class OrcRewriter:
    """Rewrites one group of files.

    Args:
        system: Where the files are.
        group: Which files, and where to.
        next_name: Gives the name of each file of the result.
    """

    def __init__(self, system: FileSystem, group: Group, next_name: Callable[[], str]) -> None:
        self._system = system
        self._group = group
        self._next_name = next_name

    def run(self) -> dict[str, Check]:
        """Write and verify; return the check of each file that was written.

        Raises:
            TableRefusedError: Something about the files would not come out as it went in.
            VerificationError: What was written differs from what was read.
        """
        by_schema: dict[str, list[Any]] = {}
        codec = self._group.codec
        for table, found in self._read():
            codec = codec or found
            by_schema.setdefault(str(table.schema), []).append(table)
        return dict(self._write(pa.concat_tables(tables), codec) for tables in by_schema.values())

    def _read(self) -> Iterator[tuple[Any, str]]:
        for entry in self._group.files:
            place = f"{self._group.source}/{entry.path}"
            with self._system.open_input(place, entry.length) as source:
                with whole_file(self._group.table, place, "ORC"):
                    file = orc.ORCFile(source)
                    for column in file.schema:
                        _refuse_unfaithful(column.name, column.type, self._group.table)
                    table = file.read()
                    table.validate()
                _refuse_old_dates(table, self._group.table)
                yield table.replace_schema_metadata(None), str(file.compression).lower()

    def _write(self, table: Any, codec: str | None) -> tuple[str, Check]:
        name = self._next_name()
        place = f"{self._group.target}/{name}"
        check = check_table(table)
        if self._group.sort_by:
            table = table.sort_by([(column, "ascending") for column in self._group.sort_by])
        compression = codec.lower() if codec else "zlib"
        if compression not in _CODECS:
            raise TableRefusedError(
                self._group.table,
                f"its files are compressed with {compression}",
                way_out="Name another codec with --codec, for example zlib",
            )
        buffer = pa.BufferOutputStream()
        with closing(orc.ORCWriter(buffer, compression=compression)) as writer:
            writer.write(table)
        data = buffer.getvalue()
        with self._system.create(place) as sink:
            sink.write(data)
        with (
            self._system.open_input(place, len(data)) as source,
            whole_file(self._group.table, place, "ORC", is_ours=True),
        ):
            written = orc.ORCFile(source).read().replace_schema_metadata(None)
        if str(written.schema) != str(table.schema):
            raise TableRefusedError(self._group.table, "its ORC files have types that would not be kept")
        if difference := check.difference(check_table(written)):
            raise VerificationError(self._group.table, f"{place}: {difference}")
        return name, check


def _refuse_unfaithful(name: str, kind: Any, table: str) -> None:
    if pa.types.is_timestamp(kind):
        raise TableRefusedError(
            table,
            f"its ORC column {name} is a timestamp, whose time zone and calendar pyarrow does not show",
            way_out="Rewrite such a table with Spark or Hive themselves",
        )
    if pa.types.is_union(kind):
        raise TableRefusedError(table, f"its ORC column {name} is a union")
    for index in range(kind.num_fields):
        _refuse_unfaithful(f"{name}.{kind.field(index).name}", kind.field(index).type, table)


def _refuse_old_dates(table: Any, name: str) -> None:
    for field, column in zip(table.schema, table.columns, strict=True):
        if "date32" not in str(field.type):
            continue
        if pa.types.is_nested(field.type):
            raise TableRefusedError(name, f"its ORC column {field.name} has dates inside a nested type")
        least = pc.min(column).as_py()
        if least is not None and least < _CALENDAR_CHANGE:
            raise TableRefusedError(name, f"its ORC column {field.name} has dates before {_CALENDAR_CHANGE}")
