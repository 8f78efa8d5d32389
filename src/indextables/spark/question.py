"""What the JVM asks when Spark plans a scan, and what it is told: two blocks of bytes, so that a call carries any number of files.

A question holds the number of a source, one byte for each of its partitions (whether Spark's evaluation of the partition filters
keeps it), and the data filters as text. An answer holds runs of files that share a partition, in big-endian form as Java reads it.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import numpy.typing as npt

_NUMBER = struct.Struct(">qi")
_LENGTH = struct.Struct(">i")


class Question(NamedTuple):
    """Which files may hold rows in these partitions that satisfy these filters."""

    partitions: npt.NDArray[np.bool_]
    filters: tuple[str, ...]


def parse_question(request: bytes) -> tuple[int, Question]:
    """Return the number of the source that is asked, and the question."""
    number, count = _NUMBER.unpack_from(request)
    position = _NUMBER.size + count
    partitions = np.frombuffer(request, np.uint8, count, _NUMBER.size).astype(bool)
    filters = []
    while position < len(request):
        (length,) = _LENGTH.unpack_from(request, position)
        position += _LENGTH.size
        filters.append(request[position : position + length].decode())
        position += length
    return number, Question(partitions, tuple(filters))


def pack_files(files: pa.Table, partition: npt.NDArray[np.int32]) -> bytes:
    """Return files, with the number of each one's partition, as the answer to a question: a zero, runs, then files."""
    if not files.num_rows:
        return b"\0" + _LENGTH.pack(0)
    if len(partition) > 1 and np.any(partition[1:] < partition[:-1]):
        order = np.argsort(partition, kind="stable")
        files, partition = files.take(pa.array(order)), partition[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(partition)) + 1])
    lengths = np.diff(np.append(starts, len(partition)))
    return b"".join(
        [
            b"\0",
            _LENGTH.pack(len(starts)),
            partition[starts].astype(">i4").tobytes(),
            lengths.astype(">i4").tobytes(),
            *_records(files),
        ]
    )


def _records(files: pa.Table) -> list[memoryview]:
    """Return length and bytes of the path, size and time of every file, one after the other, a block a chunk."""
    blocks = []
    for batch in files.select(["path", "size", "modification_time"]).combine_chunks().to_batches():
        path = batch.column(0).cast(pa.large_binary())
        head = _column(pc.binary_length(path).to_numpy(zero_copy_only=False).astype(">i4"))
        size = _column(batch.column(1).to_numpy(zero_copy_only=False).astype(">i8"))
        time = _column(batch.column(2).to_numpy(zero_copy_only=False).astype(">i8"))
        joined = pc.binary_join_element_wise(head, path, size, time, pa.scalar(b"", pa.large_binary()))
        first, last = (joined.offset, joined.offset + len(joined))
        offsets = np.frombuffer(joined.buffers()[1], np.int64)
        blocks.append(memoryview(joined.buffers()[2])[offsets[first] : offsets[last]])
    return blocks


def _column(numbers: npt.NDArray[np.generic]) -> pa.Array:
    """Return the bytes of numbers as a binary column."""
    width = numbers.dtype.itemsize
    offsets = np.arange(len(numbers) + 1, dtype=np.int64) * width
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(numbers), [None, pa.py_buffer(offsets), pa.py_buffer(numbers.tobytes())]
    )


def pack_partitions(values: pa.Table) -> bytes:
    """Return the distinct partitions, a row each, as the JVM reads them: a list of texts and a code a row for each column."""
    blocks = [struct.pack(">ii", values.num_columns, values.num_rows if values.num_columns else 1)]
    for name in values.column_names:
        encoded = values[name].combine_chunks().dictionary_encode()
        texts = [_text(value, encoded.type.value_type) for value in encoded.dictionary]
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(">i4")
        blocks += [_prefixed(name), _LENGTH.pack(len(texts)), *map(_prefixed, texts), codes.tobytes()]
    return b"".join(blocks)


def _prefixed(text: str) -> bytes:
    encoded = text.encode()
    return _LENGTH.pack(len(encoded)) + encoded


def _text(value: pa.Scalar, kind: pa.DataType) -> str:
    """Return a value as Java parses it into Spark's internal form: days for dates, microseconds for moments."""
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return str(value.value)
    if pa.types.is_time(kind):
        return str(value.value * 1000)  # Spark counts nanoseconds there
    if pa.types.is_boolean(kind):
        return "true" if value.as_py() else "false"
    if pa.types.is_floating(kind):
        return _float(value.as_py())
    return str(value.as_py())


def _float(value: float) -> str:
    return "NaN" if math.isnan(value) else str(value).replace("inf", "Infinity")
