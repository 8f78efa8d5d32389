"""Parts of a checkpoint as Parquet: written a row group at a time, checked by their checksum before anybody sees a row.

The columns are those of the action, under the names of the log; a column that holds nothing is left out. Statistics and
partition values are structs with a text child a column, as in memory, so that loading a part is reading its columns.
"""

from __future__ import annotations

import io
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from indextables.errors import CheckpointCorruptionError
from indextables.log.checkpoint.manifest import digest
from indextables.log.codec import MAX_RATIO
from indextables.log.columns import ActionKeys, Row, columns_of, no_rows_of, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from indextables.log.checkpoint.manifest import Part

ROW_GROUP: Final = 50_000
"""How many rows are in memory at once, in Arrow's form, while a part is written."""

_DICTIONARY_BYTES: Final = 128 << 10
_WORTHWHILE: Final = 2.0
_ROWS_A_BYTE: Final = 4
_WORTH_A_THREAD: Final = 1 << 20
_BOMB: Final = "it expands as only a decompression bomb does"
_NO_KEYS: Final = pa.struct([("_", pa.bool_())])
"""How a map without any key is stored, because Parquet has no struct without children; keys of maps have texts, not this."""


def stored_schema(table: pa.Table) -> pa.Schema:
    """Return the columns of a table that have anything to store."""
    return pa.schema([field for field in table.schema if table[field.name].null_count < table.num_rows])


class Coding(NamedTuple):
    """How the columns of a part are written: what compresses each of them, and which ones have a dictionary."""

    codecs: str | dict[str, str]
    dictionaries: bool | list[str] = True


def worthwhile(sample: Sequence[pa.Table], kind: type[Row], schema: pa.Schema, *, codec: str) -> Coding:
    """Return how to write parts, judged by a few rows: where little is saved, a column that is plain is read faster."""

    def sizes(coding: Coding) -> dict[str, tuple[int, int]]:
        group = pq.read_metadata(pa.BufferReader(encode_part(sample, kind, schema, coding=coding))).row_group(0)
        columns = [group.column(index) for index in range(group.num_columns)]
        return {
            column.path_in_schema: (column.total_uncompressed_size, column.total_compressed_size) for column in columns
        }

    plain, shared = sizes(Coding("none", dictionaries=False)), sizes(Coding("none"))
    dictionaries = [name for name, (size, _) in plain.items() if size >= _WORTHWHILE * shared[name][0]]
    packed = sizes(Coding(codec, dictionaries))
    codecs = {name: codec if size >= _WORTHWHILE * less else "none" for name, (size, less) in packed.items()}
    return Coding(codecs, dictionaries)


def encode_part(batches: Iterable[pa.Table], kind: type[Row], schema: pa.Schema, *, coding: Coding) -> bytes:
    """Return the bytes of a Parquet file with these rows, which come a batch at a time.

    Args:
        batches: The rows, with at least the columns of `schema`.
        kind: What they are.
        schema: The columns to store.
        coding: How to write them.
    """
    wire = {column.name: column.wire for column in columns_of(kind)}
    target = pa.schema(
        [
            field.with_name(wire.get(field.name, field.name)).with_type(
                _NO_KEYS if _keyless(field.type) else field.type
            )
            for field in schema
        ]
    )
    sink = io.BytesIO()  # hands its bytes over without a copy
    # Not as a context manager: that would close the file on an error, too, and leave a short one that looks whole.
    writer = pq.ParquetWriter(
        sink,
        target,
        compression=coding.codecs,
        use_dictionary=coding.dictionaries,
        write_statistics=False,
        dictionary_pagesize_limit=_DICTIONARY_BYTES,
    )
    for batch in batches:
        columns = [_with_child(batch[field.name]) if _keyless(field.type) else batch[field.name] for field in schema]
        writer.write_table(pa.Table.from_arrays(columns, schema=target), row_group_size=ROW_GROUP)
    writer.close()
    return sink.getvalue()


def decode_part(data: bytes, part: Part, kind: type[Row], *, version: int) -> pa.Table:
    """Return the rows of a part, with every column that an action of this kind has.

    Raises:
        CheckpointCorruptionError: The bytes are not those that were written, or not such a Parquet file.
    """
    if len(data) < _WORTH_A_THREAD:
        check_part(data, part, version=version, quickly=True)
        return _read(data, part, kind, version=version)
    with ThreadPoolExecutor(1, thread_name_prefix="indextables-checksum") as pool:
        checked = pool.submit(check_part, data, part, version=version, quickly=True)
        try:
            return _read(data, part, kind, version=version)
        finally:
            checked.result()  # whose error comes first


def _read(data: bytes, part: Part, kind: type[Row], *, version: int) -> pa.Table:
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        expands = _expands(file.metadata, len(data))
        rows = None if expands else _complete(file.read(use_threads=len(data) >= _WORTH_A_THREAD), kind)
    except Exception as error:  # types that others registered read the file's notes, and raise what they like
        raise CheckpointCorruptionError(version, path=part.path, reason="it is not such a Parquet file") from error
    if rows is None:
        raise CheckpointCorruptionError(version, path=part.path, reason=_BOMB)
    return rows


def check_part(data: bytes, part: Part, *, version: int, quickly: bool = False) -> None:
    """Check that the bytes of a part are those that were written, without reading its rows.

    Args:
        data: The bytes.
        part: What is known of them.
        version: Of the checkpoint.
        quickly: Take the quicker of the two checksums, which is enough to read it, and not to delete what it sums up.

    Raises:
        CheckpointCorruptionError: They are not.
    """
    matches = zlib.crc32(data) == part.crc32 if quickly and part.crc32 is not None else digest(data) == part.sha256
    if len(data) != part.bytes or not matches:
        raise CheckpointCorruptionError(version, path=part.path, reason="its bytes do not match the manifest")
    try:
        metadata = pq.read_metadata(pa.BufferReader(data))
    except Exception as error:  # as above
        raise CheckpointCorruptionError(version, path=part.path, reason="it is not a Parquet file") from error
    if metadata.num_rows != part.rows:
        raise CheckpointCorruptionError(
            version, path=part.path, reason=f"it has {metadata.num_rows} rows, and {part.rows} were written"
        )
    if _expands(metadata, len(data)):
        raise CheckpointCorruptionError(version, path=part.path, reason=_BOMB)


def _expands(metadata: pq.FileMetaData, size: int) -> bool:
    """Tell whether a file says that it holds far more than its size: each row has a path of its own, which takes some bytes."""
    content = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    return bool(content > MAX_RATIO * size or metadata.num_rows > _ROWS_A_BYTE * size)


def no_rows(kind: type[Row]) -> pa.Table:
    """Return a table of no actions."""
    return no_rows_of(kind, ActionKeys())


def _complete(table: pa.Table, kind: type[Row]) -> pa.Table:
    """Return the table with every column of the action, under our names."""
    wire = {column.name: column.wire for column in columns_of(kind)}
    columns = {}

    @cache
    def nothing(of: pa.DataType) -> pa.ChunkedArray:
        return pa.chunked_array([pa.nulls(table.num_rows, of)], of)

    for field in schema_of(kind, ActionKeys()):
        name = wire.get(field.name, field.name)
        if name not in table.schema.names:
            columns[field.name] = nothing(field.type)
        elif table.schema.field(name).type == _NO_KEYS:
            columns[field.name] = _without_child(table[name])
        else:
            columns[field.name] = table[name].cast(field.type) if pa.types.is_list(field.type) else table[name]
            _check_type(columns[field.name].type, field.type)
    if any(columns[column.name].null_count for column in columns_of(kind) if column.required):
        raise pa.ArrowInvalid("a field is missing that every action has")
    return pa.table(columns)


def _check_type(found: pa.DataType, expected: pa.DataType) -> None:
    if pa.types.is_struct(expected):
        fits = pa.types.is_struct(found) and all(pa.types.is_string(child.type) for child in found)
    else:
        fits = found == expected
    if not fits:
        raise pa.ArrowTypeError(f"a column is {found} where {expected} belongs")


def _keyless(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind)) and kind.num_fields == 0


def _with_child(column: pa.ChunkedArray) -> pa.Array:
    child = pa.nulls(len(column), pa.bool_())
    return pa.StructArray.from_arrays([child], fields=list(_NO_KEYS), mask=pc.is_null(column).combine_chunks())


def _without_child(column: pa.ChunkedArray) -> pa.ChunkedArray:
    empty = pa.struct([])
    chunks = [pa.Array.from_buffers(empty, len(chunk), [_validity(chunk)]) for chunk in column.chunks]
    return pa.chunked_array(chunks, empty)


def _validity(chunk: pa.Array) -> pa.Buffer | None:
    # A boolean array stores its values as the same kind of bits, from offset 0.
    return pc.is_valid(chunk).buffers()[1] if chunk.null_count else None
