"""Small Parquet files into large ones, with every value, type and rule of reading as it was.

One pass reads, hashes and writes; a second reads what was written and compares. Files of unlike shape go into files of their own.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from indextables.errors import TableRefusedError, VerificationError
from indextables.hive.checksum import Check, check_table
from indextables.hive.damage import whole_file
from indextables.hive.int96 import exact, in_one_unit
from indextables.hive.shape import Shape, codec_of, physical_schema, shape_of
from indextables.split.sound import check_chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from indextables.hive.filesystem import FileSystem
    from indextables.hive.rewrite import Group

_PIECE_BYTES = 256 << 20  # what is held in memory before a row group is written
_ROW_GROUP_BYTES = 128 << 20
_MOST_ROWS = 1 << 20
_INT96 = "INT96"


@dataclass(slots=True)
class _Output:
    """What is being gathered for one file of the result."""

    shape: Shape
    created_by: str
    pending: list[Any] = field(default_factory=list)
    pending_bytes: int = 0
    checks: list[Check] = field(default_factory=list)
    schema: Any = None
    writer: Any = None
    sink: Any = None
    name: str = ""


class ParquetRewriter:
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
        self._outputs: dict[Shape, _Output] = {}
        self._codec = group.codec

    def run(self) -> dict[str, Check]:
        """Write and verify; return the check of each file that was written.

        Raises:
            TableRefusedError: Something about the files would not come out as it went in.
            VerificationError: What was written differs from what was read.
        """
        with ExitStack() as stack:
            for shape, created_by, table in self._read():
                output = self._outputs.setdefault(shape, _Output(shape, created_by))
                output.pending.append(table)
                output.pending_bytes += table.nbytes
                if output.pending_bytes > _PIECE_BYTES and not self._group.sort_by:
                    self._flush(output, stack, last=False)
            for output in self._outputs.values():
                self._flush(output, stack, last=True)
                self._close(output)
        return {output.name: self._verified(output) for output in self._outputs.values()}

    def _read(self) -> Iterator[tuple[Shape, str, Any]]:
        for entry in self._group.files:
            place = f"{self._group.source}/{entry.path}"
            with self._system.open_input(place, entry.length) as source:
                with whole_file(self._group.table, place, "Parquet"):
                    file = _opened(source)
                    check_chunks(file.metadata, size=entry.length)
                    shape = shape_of(file)
                    created_by = str(file.metadata.created_by or "")
                if len(set(file.schema_arrow.names)) < len(file.schema_arrow.names):
                    raise TableRefusedError(self._group.table, f"{place} has two columns of one name")
                self._codec = self._codec or codec_of([file], self._group.table)
                for table in self._tables(file, source, place):
                    yield shape, created_by, table.replace_schema_metadata(None)

    def _flush(self, output: _Output, stack: ExitStack, *, last: bool) -> None:
        table = pa.concat_tables(in_one_unit(output.pending, self._group.table)) if output.pending else None
        output.pending, output.pending_bytes = [], 0
        if table is None:
            return
        output.checks.append(check_table(table))
        if self._group.sort_by:
            keys = [(_column(table, name, self._group.table), "ascending") for name in self._group.sort_by]
            table = table.sort_by(keys)
        if output.writer is None:
            self._open(output, table, stack, whole=last)
        rows = max(1, min(_MOST_ROWS, int(_ROW_GROUP_BYTES / max(1.0, table.nbytes / max(1, table.num_rows)))))
        output.writer.write_table(table, row_group_size=rows)

    def _open(self, output: _Output, table: Any, stack: ExitStack, *, whole: bool) -> None:
        output.name = self._next_name()
        file = stack.enter_context(self._system.create(f"{self._group.target}/{output.name}"))
        output.schema = table.schema
        output.sink = _Sink(file)
        output.writer = pq.ParquetWriter(
            output.sink,
            table.schema,
            compression=self._codec or "SNAPPY",
            write_statistics=_columns_with_statistics(table, whole=whole),
            write_page_checksum=True,  # as the writers of Spark and Hive do: what they protect stays protected
            **output.shape.writer_options(),
        )
        if output.shape.metadata:
            output.writer.add_key_value_metadata(dict(output.shape.metadata))

    def _close(self, output: _Output) -> None:
        created_by = output.created_by if output.shape.has_int96 else None
        output.sink.finish(output.writer.close, created_by, self._group.table)

    def _verified(self, output: _Output) -> Check:
        place = f"{self._group.target}/{output.name}"
        with self._system.open_input(place, output.sink.length) as source:
            with whole_file(self._group.table, place, "Parquet", is_ours=True):
                file = _opened(source)
            if not dict(output.shape.metadata).items() <= (file.metadata.metadata or {}).items():
                raise VerificationError(self._group.table, f"{place} lacks metadata of the files it replaces")
            if (held := physical_schema(file)) != output.shape.schema:
                raise TableRefusedError(
                    self._group.table,
                    f"its Parquet files have a form that would not be kept: {_first_difference(output.shape.schema, held)}",
                )
            tables = self._tables(file, source, place, is_ours=True)
            written = Check.total(
                check_table(table.replace_schema_metadata(None).cast(output.schema)) for table in tables
            )
        read = Check.total(output.checks)
        if difference := read.difference(written):
            raise VerificationError(self._group.table, f"{place}: {difference}")
        return read

    def _tables(self, file: Any, source: Any, place: str, *, is_ours: bool = False) -> Iterator[Any]:
        """Return a file's rows: whole, or a row group at a time where they are many."""
        coarse = None
        if _INT96 in {file.schema.column(index).physical_type for index in range(len(file.schema))}:
            coarse = _opened(source, coerce_int96_timestamp_unit="us")
        groups = file.metadata.num_row_groups
        size = sum(file.metadata.row_group(index).total_byte_size for index in range(groups))
        pieces = [list(range(groups))] if size <= _PIECE_BYTES else [[index] for index in range(groups)]
        for piece in pieces:
            with whole_file(self._group.table, place, "Parquet", is_ours=is_ours):
                table = file.read_row_groups(piece, use_threads=False)
                table.validate()
                if coarse:
                    table = exact(table, coarse.read_row_groups(piece, use_threads=False), self._group.table)
            yield table


class _Sink:
    """Passes bytes on, but holds the footer back so that it can name the program that wrote the sources.

    Hive and Spark shift INT96 timestamps, or do not, by the name in that place; pyarrow always writes its own.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._held: list[bytes] | None = None
        self.length = 0
        self.closed = False

    def write(self, data: Any) -> int:
        if self._held is not None:
            self._held.append(bytes(data))
        else:
            self._put(data)
        return len(data)

    def _put(self, data: Any) -> None:
        self._file.write(data)
        self.length += len(data)

    def tell(self) -> int:
        return self.length + (sum(map(len, self._held)) if self._held is not None else 0)

    def flush(self) -> None:
        """Nothing is kept here for long."""

    def finish(self, write_footer: Callable[[], None], created_by: str | None, table: str) -> None:
        self._held = []
        write_footer()
        footer = b"".join(self._held)
        self._put(_renamed(footer, created_by, table) if created_by else footer)
        self._file.close()


def _renamed(tail: bytes, created_by: str, table: str) -> bytes:
    """Return the end of a Parquet file with another `created_by` in its footer."""
    size = int.from_bytes(tail[-8:-4], "little")
    start = len(tail) - 8 - size
    before, footer, mark = tail[:start], tail[start:-8], tail[-4:]
    # A footer between two marks is all that reading the metadata of a Parquet file takes.
    held = str(pq.read_metadata(pa.BufferReader(mark + tail[start:])).created_by)
    old = _thrift_string(held)
    if footer.count(old) != 1:
        raise TableRefusedError(table, f"the writer's name {held!r} stands in the Parquet footer more than once")
    footer = footer.replace(old, _thrift_string(created_by))
    return before + footer + len(footer).to_bytes(4, "little") + mark


def _thrift_string(text: str) -> bytes:
    data = text.encode()
    length, prefix = len(data), bytearray()
    while length > 0x7F:
        prefix.append((length & 0x7F) | 0x80)
        length >>= 7
    prefix.append(length)
    return bytes(prefix) + data


def _opened(source: Any, **options: Any) -> Any:
    """Open a file so that pages with a checksum are held against it: a damaged value would come out as a sound one."""
    return pq.ParquetFile(source, pre_buffer=False, page_checksum_verification=True, **options)


def _columns_with_statistics(table: Any, *, whole: bool) -> bool | list[str]:
    """Return the columns whose minimum and maximum may be written.

    pyarrow leaves NaN out of them, and Spark then skips row groups in which NaN would match.
    """
    floats = [f.name for f in table.schema if pa.types.is_floating(f.type)]
    nested = any(pa.types.is_nested(f.type) for f in table.schema)
    if not floats and not nested:
        return True
    without = {name for name in floats if not whole or pc.any(pc.is_nan(table[name])).as_py()}
    return [f.name for f in table.schema if not pa.types.is_nested(f.type) and f.name not in without]


def _column(table: Any, name: str, full_name: str) -> str:
    for held in table.column_names:
        if held.lower() == name.lower():
            return cast("str", held)
    raise TableRefusedError(full_name, f"its files have no column {name} to sort by")


def _first_difference(read: str, written: str) -> str:
    ours, theirs = read.splitlines(), written.splitlines()
    pairs = (pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1])
    held, became = next(pairs, (ours[-1], theirs[-1]))
    return f"{held.strip()!r} would become {became.strip()!r}"
