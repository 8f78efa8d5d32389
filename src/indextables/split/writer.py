"""Writes a split: a plain Parquet file that any reader opens, made so that readers can skip most of it.

Row groups are small, since they are what every reader can skip. Columns of floating point that hold NaN get no Parquet statistics:
they would leave it out, and Spark, for which NaN is greater than all numbers, would skip rows that match.
"""

from __future__ import annotations

import uuid
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from indextables.errors import SchemaError
from indextables.runtime import SYSTEM
from indextables.split.chunks import bloom_ranges, chunk_range
from indextables.split.file import SplitFile
from indextables.split.footer import (
    CHECKSUMS_KEY,
    FORMAT,
    FORMAT_KEY,
    NOTES_KEY,
    PARTITION_KEY,
    STATISTICS_KEY,
    TABLE_KEY,
    WRITER_KEY,
    notes_checksum,
    parse_footer,
)
from indextables.split.statistics import SplitStatistics, compute_statistics, statistics_columns
from indextables.split.truncation import TruncationReport, column_rules, truncate_statistics
from indextables.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from indextables.config import Settings
    from indextables.runtime import Runtime
    from indextables.storage.base import Store
    from indextables.values import Leaf

SUFFIX: Final = ".split"
"""How the names of split files end."""

_ROW_GROUP_ROWS: Final = 128 * 1024
_ROW_GROUP_BYTES: Final = 32 * 1024 * 1024
_BLOOM_FALSE_POSITIVES: Final = 0.01
_SAMPLE: Final = 8192
_MARK: Final = 32  # digits of an id, which nothing in a footer repeats by chance
_MANY_BYTES: Final = 4 * 1024 * 1024

_Notes: TypeAlias = tuple[SplitStatistics, TruncationReport, dict[bytes, bytes]]


def new_split_path(directory: str = "", *, runtime: Runtime = SYSTEM) -> str:
    """Return a path for a new split in a directory of the table, its root if none is given."""
    name = f"{runtime.new_id()}{SUFFIX}"
    return f"{directory}/{name}" if directory else name


def write_split(
    store: Store,
    path: str,
    table: pa.Table,
    *,
    settings: Settings,
    table_id: str = "",
    partition_values: Mapping[str, str | None] | None = None,
    merge_ops: int = 0,
    runtime: Runtime = SYSTEM,
) -> SplitFile:
    """Write rows as one new file.

    Args:
        store: Where the table is.
        path: Of the file, as `new_split_path` makes them.
        table: The rows, without the partition columns.
        settings: Which columns get statistics and how long they may be.
        table_id: The id of the table, noted in the footer.
        partition_values: The values of the partition columns, noted in the footer.
        merge_ops: How many merges the rows went through.
        runtime: Tells the time.

    Raises:
        SchemaError: Parquet cannot hold the rows.
        StorageError: The file could not be written; part of it is never visible.
    """
    data, file = encode_split(
        table, path=path, settings=settings, table_id=table_id, partition_values=partition_values, merge_ops=merge_ops
    )
    store.put(path, data)
    return replace(file, modified_ms=runtime.now_ms())


def encode_split(
    table: pa.Table,
    *,
    path: str,
    settings: Settings,
    table_id: str = "",
    partition_values: Mapping[str, str | None] | None = None,
    merge_ops: int = 0,
) -> tuple[bytes, SplitFile]:
    """Return the bytes of a split and its record; see `write_split`."""
    columns = statistics_columns(table.schema, settings)
    values = dict(partition_values or {})

    def notes() -> _Notes:
        rules = column_rules(columns, settings.truncation)
        binary = frozenset(leaf.path for leaf in columns if pa.types.is_binary(leaf.field.type))
        statistics, report = truncate_statistics(compute_statistics(table, columns), rules, binary=binary)
        return (
            statistics,
            report,
            {
                FORMAT_KEY: FORMAT,
                WRITER_KEY: VERSION.encode(),
                TABLE_KEY: table_id.encode(),
                PARTITION_KEY: msgspec.json.encode(values),
                STATISTICS_KEY: statistics.to_json().encode(),
            },
        )

    fast = [leaf for leaf in columns if leaf.path in settings.indexing.fast_fields]
    try:
        # Statistics are wanted when the last row group is written, so of many rows they are made meanwhile.
        with ThreadPoolExecutor(max_workers=1) if table.nbytes > _MANY_BYTES else nullcontext() as pool:
            future = None if pool is None else pool.submit(notes)
            statistics, report, data = _encode(table, notes if future is None else future.result, fast=fast)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise SchemaError(
            f"Parquet cannot hold these rows: {error}", way_out="Cast the column to another type"
        ) from error
    length = int.from_bytes(data[-8:-4], "little") + 8
    end = data[-length:]
    footer = parse_footer(path, end, size=len(data), checksum=zlib.crc32(end))  # by nobody else's hand
    return data, SplitFile(
        path=path,
        size=len(data),
        statistics=statistics,
        partition_values=values,
        footer_start=footer.start,
        footer_checksum=footer.checksum,
        uncompressed_size=uncompressed_size(footer.metadata),
        time_range=time_range(statistics, columns),
        merge_ops=merge_ops,
        truncation=report,
    )


def uncompressed_size(metadata: Any) -> int:
    """Return how large the columns of a file are when decompressed."""
    return sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))


def time_range(statistics: SplitStatistics, columns: Iterable[Leaf]) -> tuple[str, str] | None:
    """Return the bounds of the first column of timestamps that has them."""
    for leaf in columns:
        if pa.types.is_timestamp(leaf.field.type) and leaf.path in statistics.max_values:
            return statistics.min_values[leaf.path], statistics.max_values[leaf.path]
    return None


def _encode(
    table: pa.Table, notes: Callable[[], _Notes], *, fast: list[Leaf]
) -> tuple[SplitStatistics, TruncationReport, bytes]:
    sink = pa.BufferOutputStream()
    columns = list(_parquet_columns(table))
    rows = _row_group_rows(table)
    starts = range(0, table.num_rows, rows)
    names = [path for path, _ in columns]
    with_nan = {path for path, column in columns if _has_nan(column)}
    # Where a name with a dot and a way through a struct read the same, Parquet's options would be about both.
    wanted = [".".join(leaf.names) for leaf in fast if _can_bloom(leaf.field.type)]
    filtered = [path for path in wanted if names.count(path) == 1]
    writer = pq.ParquetWriter(
        sink,
        table.schema,
        compression="zstd",
        use_dictionary=[path for path, column in columns if _repeats(column)],
        write_statistics=[path for path in names if path not in with_nan],
        write_page_index=True,
        write_page_checksum=True,
        bloom_filter_options={
            name: {"ndv": min(rows, table.num_rows), "fpp": _BLOOM_FALSE_POSITIVES} for name in filtered
        },
    )
    with writer:
        for start in starts:
            writer.write_table(table.slice(start, rows), row_group_size=rows)
        statistics, report, noted = notes()
        # The checksums are known only when the footer stands, so it is written with their room and filled in place.
        digits = 8 * len(starts) * (len(columns) + len(filtered))
        room = (uuid.uuid4().hex * (digits // _MARK + 1)).encode()
        writer.add_key_value_metadata({**noted, NOTES_KEY: notes_checksum(noted), CHECKSUMS_KEY: room})
    data = memoryview(sink.getvalue()).cast("B")
    if data.readonly:
        data = memoryview(bytearray(data))
    start = len(data) - int.from_bytes(data[-8:-4], "little") - 8
    footer = data[start:].tobytes()
    place = start + footer.index(room)
    data[place : place + len(room)] = _checksums(data, footer)[: len(room)].ljust(len(room))
    return statistics, report, data.tobytes()


def _checksums(data: memoryview, footer: bytes) -> bytes:
    """Return a checksum of each column chunk, row group by row group, then of each bloom filter."""
    metadata = pq.read_metadata(pa.BufferReader(footer))
    groups = (metadata.row_group(index) for index in range(metadata.num_row_groups))
    ranges = [chunk_range(group.column(index)) for group in groups for index in range(metadata.num_columns)]
    ranges += bloom_ranges(metadata).values()
    return b"".join(b"%08x" % zlib.crc32(data[begin:end]) for begin, end in ranges)


def _row_group_rows(table: pa.Table) -> int:
    width = max(1, table.nbytes // max(1, table.num_rows))
    return int(max(1, min(_ROW_GROUP_ROWS, _ROW_GROUP_BYTES // width)))


def _can_bloom(kind: pa.DataType) -> bool:
    """Tell whether equal values have equal bytes, which those of floating point have not: zero has two forms."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_binary(kind)
    )


def _parquet_columns(table: pa.Table) -> Iterator[tuple[str, Any]]:
    """Yield each column that Parquet makes of a table, with the name that Parquet gives it."""
    for field, column in zip(table.schema, table.columns, strict=True):
        yield from _inside(field.name, field.type, column)


def _inside(path: str, kind: pa.DataType, column: Any) -> Iterator[tuple[str, Any]]:
    if pa.types.is_struct(kind):
        for index, child in enumerate(kind):
            yield from _inside(f"{path}.{child.name}", child.type, pc.struct_field(column, index))
    elif pa.types.is_map(kind):
        entries = pa.chunked_array(
            [pa.StructArray.from_arrays([part.keys, part.items], ["key", "value"]) for part in _parts(column)],
            pa.struct([("key", kind.key_type), ("value", kind.item_type)]),
        )
        yield from _inside(f"{path}.key_value", entries.type, entries)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _inside(f"{path}.list.element", kind.value_type, pc.list_flatten(column))
    else:
        yield path, column


def _parts(column: Any) -> list[Any]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _repeats(column: Any) -> bool:
    """Tell whether values repeat often enough for a dictionary; without that it costs time and space."""
    sample = column.slice(0, _SAMPLE)
    if pa.types.is_boolean(column.type) or not len(sample):
        return False
    try:
        return bool(pc.count_distinct(sample, mode="all").as_py() <= len(sample) // 2)
    except pa.ArrowNotImplementedError:
        return True


def _has_nan(column: Any) -> bool:
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())
