"""An order-free content hash of every column: what was read and what was written must agree in it.

Each value is hashed with its bits as they are (so -0.0 differs from 0.0, and one NaN from another), and a column's hash is the
sum over its rows. Rows may change their order, which sorting does, but not a value may change, go missing or come twice.
Everything is Arrow buffers seen as NumPy arrays: no loop over rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

_NULL = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(0x9FB21C651E98DF25)
_ODD_INVERSE = np.uint64(pow(0x9FB21C651E98DF25, -1, 1 << 64))
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """What is compared of a column: how many nulls, and the sum of its values' hashes."""

    nulls: int
    hash: int


@dataclass(frozen=True, slots=True)
class Check:
    """What is compared of a set of rows."""

    rows: int
    columns: dict[str, ColumnCheck]

    @staticmethod
    def total(parts: Iterable[Check]) -> Check:
        """Return the check of all rows of these parts together."""
        rows = 0
        columns: dict[str, ColumnCheck] = {}
        for part in parts:
            rows += part.rows
            for name, one in part.columns.items():
                held = columns.get(name, ColumnCheck(0, 0))
                columns[name] = ColumnCheck(held.nulls + one.nulls, (held.hash + one.hash) % (1 << 64))
        return Check(rows, columns)

    def difference(self, other: Check) -> str:
        """Return the first thing in which two checks differ, in words; nothing where they agree."""
        if self.rows != other.rows:
            return f"{self.rows:,} rows were read and {other.rows:,} written"
        if self.columns.keys() != other.columns.keys():
            return f"the columns {sorted(self.columns.keys() ^ other.columns.keys())} are on one side only"
        for name, one in self.columns.items():
            held = other.columns[name]
            if one.nulls != held.nulls:
                return f"column {name} had {one.nulls:,} nulls and has {held.nulls:,}"
            if one.hash != held.hash:
                return f"the values of column {name} differ"
        return ""


def check_table(table: pa.Table) -> Check:
    """Return the check of a table's rows."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        total = sum(_sum(_hash(chunk)) for chunk in column.chunks)
        columns[name] = ColumnCheck(column.null_count, total % (1 << 64))
    return Check(table.num_rows, columns)


def _sum(hashes: Hashes) -> int:
    return int(np.add.reduce(hashes, dtype=np.uint64))


def _mix(values: Hashes) -> Hashes:
    """Spread each value's bits over all 64 (the finaliser of splitmix64), in place."""
    values = values + _NULL
    values ^= values >> np.uint64(30)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def _hash(array: Any) -> Hashes:
    """Return one hash a row."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _hash(array.storage)
    if pa.types.is_dictionary(kind):
        return _hash(array.dictionary_decode())
    if pa.types.is_null(kind):
        return np.full(len(array), _NULL, np.uint64)
    hashes = _hash_present(array, kind)
    if array.null_count:
        hashes[np.asarray(array.is_null())] = _NULL
    return hashes


def _hash_present(array: Any, kind: Any) -> Hashes:
    """Return one hash a row; a null's is anything."""
    if pa.types.is_struct(kind):
        hashes = np.zeros(len(array), np.uint64)
        for child in array.flatten():
            hashes = _mix(hashes * _ODD + _hash(child))
        return hashes
    if pa.types.is_map(kind):
        entries = pa.StructArray.from_arrays([array.keys, array.items], names=["k", "v"])
        return _hash_runs(_hash(entries), _offsets(array))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _hash_runs(_hash(array.values), _offsets(array))
    if pa.types.is_fixed_size_list(kind):
        starts = np.arange(len(array) + 1, dtype=np.int64) + array.offset
        return _hash_runs(_hash(array.values), starts * kind.list_size)
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_decimal(kind):
        return _hash_fixed(array, kind.byte_width)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        array = array.cast(pa.large_binary())
        kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _hash_bytes(array, np.int32)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _hash_bytes(array, np.int64)
    if pa.types.is_boolean(kind):
        return _mix(np.asarray(pc.fill_null(array, False).cast(pa.uint8())).astype(np.uint64))
    return _hash_words(array, kind)


def _hash_words(array: Any, kind: Any) -> Hashes:
    width = kind.bit_width // 8
    data = np.frombuffer(array.buffers()[1], np.dtype(f"<u{width}"), len(array), array.offset * width)
    return _mix(data.astype(np.uint64))


def _hash_fixed(array: Any, width: int) -> Hashes:
    raw = np.frombuffer(array.buffers()[1], np.uint8, len(array) * width, array.offset * width)
    hashes = np.zeros(len(array), np.uint64)
    for start in range(0, width, 8):
        piece = raw.reshape(len(array), width)[:, start : start + 8]
        word = np.zeros((len(array), 8), np.uint8)
        word[:, : piece.shape[1]] = piece
        hashes = _mix(hashes * _ODD + word.view("<u8").ravel())
    return hashes


def _hash_bytes(array: Any, dtype: Any) -> Hashes:
    if not len(array):
        return np.zeros(0, np.uint64)
    _, offsets_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype, len(array) + 1, array.offset * np.dtype(dtype).itemsize)
    offsets = offsets.astype(np.int64)
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.zeros(0, np.uint8)
    return _hash_runs(data, offsets)


def _hash_runs(values: NDArray[Any], offsets: NDArray[np.int64]) -> Hashes:
    """Return one hash for each run of values, in which their order counts.

    A run's hash is the polynomial of its values in an odd number, taken from running sums: the difference of two of them is the
    polynomial times a power of that number, which has an inverse modulo 2^64.
    """
    lengths = np.diff(offsets).astype(np.uint64)
    hashes = np.zeros(len(lengths), np.uint64)
    first = 0
    while first < len(lengths):
        # Runs are taken together as long as their values fit into one piece of memory; a longer run is a piece of its own.
        last = int(np.searchsorted(offsets, offsets[first] + _PIECE, side="right")) - 1
        last = min(max(last, first + 1), len(lengths))
        start, end = int(offsets[first]), int(offsets[last])
        powers = np.full(end - start + 1, _ODD, np.uint64)
        inverses = np.full(end - start + 1, _ODD_INVERSE, np.uint64)
        powers[0] = inverses[0] = 1
        powers = np.multiply.accumulate(powers)
        inverses = np.multiply.accumulate(inverses)
        sums = np.zeros(end - start + 1, np.uint64)
        np.cumsum((values[start:end].astype(np.uint64) + np.uint64(1)) * powers[:-1], out=sums[1:])
        left, right = offsets[first:last] - start, offsets[first + 1 : last + 1] - start
        hashes[first:last] = (sums[right] - sums[left]) * inverses[left]
        first = last
    return _mix(hashes * _ODD + lengths)


def _offsets(array: Any) -> NDArray[np.int64]:
    return np.asarray(array.offsets).astype(np.int64)
