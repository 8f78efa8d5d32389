"""Bounds that stand in Parquet footers, taken only where they are known to be bounds.

Writers of Parquet cut long texts, leave NaN out of account, and mean different things by old types. So texts and bytes count as
inexact, NaN is never ruled out, INT96 and anything unusual has no bounds, and what cannot be understood is absent.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from indextables.split.types import parquet_width
from indextables.values import Leaf, format_value, leaves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.split.footer import Footer

_EPOCH: Final = dt.date(1970, 1, 1)
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_INTEGERS: Final = frozenset({"INT32", "INT64"})
_BYTES: Final = frozenset({"BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkBounds:
    """What a footer says about one column in each row group; None where it says nothing that can be used."""

    least: list[str | None]
    greatest: list[str | None]
    null_counts: list[int | None]


def positions(schema: pa.Schema) -> dict[str, tuple[int, Leaf]]:
    """Return the number of the Parquet column behind each leaf, and the leaf as the file has it."""
    found: dict[str, tuple[int, Leaf]] = {}
    known = leaves(schema)
    by_names = {leaf.names: leaf for leaf in known.values()}
    position = 0
    for names, kind in _flat(schema, ()):
        if names in by_names:
            found[by_names[names].path] = (position, by_names[names])
        position += parquet_width(kind)
    return found


def _flat(fields: Any, above: tuple[str, ...]) -> Any:
    for field in fields:
        names = (*above, field.name)
        if pa.types.is_struct(field.type):
            yield from _flat(field.type, names)
        else:
            yield names, field.type


def chunk_bounds(footer: Footer, position: int, kind: pa.DataType, row_groups: Sequence[int]) -> ChunkBounds:
    """Return the bounds of one Parquet column in some row groups.

    Args:
        footer: Of the file.
        position: The number of the column.
        kind: Its type in the file.
        row_groups: Their numbers.

    Raises:
        SplitCorruptionError: The footer contradicts itself about them.
    """
    least: list[str | None] = []
    greatest: list[str | None] = []
    nulls: list[int | None] = []
    footer.check_chunks(row_groups, [position])
    can_be_cut = footer.metadata.schema.column(position).physical_type != "BYTE_ARRAY"
    cut = footer.cut_bounds if can_be_cut else frozenset()
    for group in row_groups:
        chunk = footer.metadata.row_group(group).column(position)
        known = chunk.statistics if chunk.is_stats_set and (group, position) not in cut else None
        low = high = None
        if known is not None and known.has_min_max:
            low = _text(known.min_raw, chunk.physical_type, kind, up=False)
            high = _text(known.max_raw, chunk.physical_type, kind, up=True)
        both = low is not None and high is not None
        least.append(low if both else None)
        greatest.append(high if both else None)
        nulls.append(known.null_count if known is not None and known.has_null_count else None)
    return ChunkBounds(least=least, greatest=greatest, null_counts=nulls)


def same_family(one: pa.DataType, other: pa.DataType) -> bool:
    """Tell whether the text of a value of one type means the same value of the other."""
    if pa.types.is_timestamp(one) and pa.types.is_timestamp(other):
        return (one.tz is None) == (other.tz is None)
    families = (
        pa.types.is_signed_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_date,
        pa.types.is_boolean,
        lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
        lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
        pa.types.is_time,
        pa.types.is_duration,
    )
    return any(member(one) and member(other) for member in families)


def _text(raw: Any, physical: str, kind: pa.DataType, *, up: bool) -> str | None:
    try:
        if physical in _INTEGERS:
            return _integer_text(raw, kind, up=up)
        if physical in _BYTES:
            return _bytes_text(raw, kind)
        if physical == "BOOLEAN" and pa.types.is_boolean(kind):
            return format_value(bool(raw), kind)
        if physical in {"FLOAT", "DOUBLE"} and pa.types.is_floating(kind) and raw == raw:
            return format_value(float(raw), kind)
    except (ValueError, OverflowError, TypeError, UnicodeError, ArithmeticError):
        return None
    return None


def _integer_text(raw: int, kind: pa.DataType, *, up: bool) -> str | None:
    if pa.types.is_signed_integer(kind):
        return str(raw)
    if pa.types.is_date32(kind):
        return (_EPOCH + dt.timedelta(days=raw)).isoformat()
    if pa.types.is_decimal(kind):
        return _decimal_text(raw, kind)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        micros, rest = divmod(raw * 10**6, _PER_SECOND[kind.unit])
        return str(micros + (1 if rest and up else 0))
    return None


def _bytes_text(raw: bytes, kind: pa.DataType) -> str | None:
    if pa.types.is_decimal(kind):
        return _decimal_text(int.from_bytes(raw, "big", signed=True), kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return raw.decode()
    return base64.b64encode(raw).decode() if pa.types.is_binary(kind) else None


def _decimal_text(unscaled: int, kind: pa.DataType) -> str:
    sign, digits = (1, str(-unscaled)) if unscaled < 0 else (0, str(unscaled))
    return format(decimal.Decimal((sign, tuple(map(int, digits)), -kind.scale)), "f")
