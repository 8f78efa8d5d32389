"""What a column is, as far as comparing goes: its family, and for whole-number families the range it counts in."""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from typing import Final
from typing import Literal as Choice

import pyarrow as pa

Family = Choice[
    "boolean",
    "integer",
    "decimal",
    "float",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "time",
    "duration",
    "other",
]

_SPARK_TYPE: Final = b"spark.type"
_MOST_DIGITS: Final = 38
_WIDE: Final = decimal.Context(prec=100)
_TICKS: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_AS_ARROW_SAYS: Final = (
    "char(",
    "varchar(",
    "string collate UTF8_BINARY",
    "time(",
    "interval day",
    "interval hour",
    "interval minute",
    "interval second",
)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The type of one column.

    Attributes:
        family: Which literals it can be compared with.
        arrow: The Arrow type in which its values are compared.
        low: The smallest whole number that it can hold, for families that are whole numbers underneath.
        high: The largest.
        ticks: How many of its units a second has.
        words: How Spark calls the type, for messages.
    """

    family: Family
    arrow: pa.DataType
    words: str
    low: int = 0
    high: int = 0
    ticks: int = 1

    @property
    def scale(self) -> int:
        """Digits behind the point of a decimal column."""
        return int(self.arrow.scale) if self.family == "decimal" else 0

    @property
    def digits(self) -> tuple[int, int]:
        """Precision and scale of the decimal type that Spark takes a number column for."""
        if self.family == "decimal":
            return int(self.arrow.precision), self.scale
        return {8: 3, 16: 5, 32: 10, 64: 20}[self.arrow.bit_width], 0

    def scalar(self, number: int) -> pa.Scalar:
        """Return the value with this whole number underneath."""
        if self.family == "boolean":
            return pa.scalar(bool(number))
        if self.family == "decimal":
            return pa.scalar(decimal.Decimal(number).scaleb(-self.scale, _WIDE), self.arrow)
        if self.family == "integer":
            return pa.scalar(number, self.arrow)
        width = pa.int32() if self.arrow.bit_width == 32 else pa.int64()
        return pa.scalar(number, width).cast(self.arrow)


def column_type(field: pa.Field) -> ColumnType:
    """Return what a field is to a predicate."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    named = (field.metadata or {}).get(_SPARK_TYPE, b"").decode()
    if named and not named.startswith(_AS_ARROW_SAYS):
        # Collations order texts in their own way, and month intervals are not numbers: neither is what its Arrow type says.
        return ColumnType("other", kind, named)
    return _whole(kind) or _other(kind)


def _whole(kind: pa.DataType) -> ColumnType | None:
    if pa.types.is_boolean(kind):
        return ColumnType("boolean", kind, "boolean", 0, 1)
    if pa.types.is_integer(kind):
        signed, bits = pa.types.is_signed_integer(kind), kind.bit_width
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return ColumnType("integer", kind, str(kind), low, high)
    if pa.types.is_decimal(kind) and kind.precision <= _MOST_DIGITS and kind.scale >= 0:
        most = 10**kind.precision - 1
        return ColumnType("decimal", kind, f"decimal({kind.precision},{kind.scale})", -most, most)
    if pa.types.is_date(kind):
        return ColumnType("date", pa.date32(), "date", -(2**31), 2**31 - 1)
    if pa.types.is_timestamp(kind):
        family: Family = "timestamp" if kind.tz else "timestamp_ntz"
        return ColumnType(family, kind, family, -(2**63), 2**63 - 1, _TICKS[kind.unit])
    if pa.types.is_time(kind):
        ticks = _TICKS[kind.unit]
        return ColumnType("time", kind, "time", 0, 86400 * ticks - 1, ticks)
    if pa.types.is_duration(kind):
        return ColumnType("duration", kind, "interval", -(2**63), 2**63 - 1, _TICKS[kind.unit])
    return None


def _other(kind: pa.DataType) -> ColumnType:
    if pa.types.is_floating(kind):
        double = pa.types.is_float64(kind)
        return ColumnType("float", kind if double else pa.float32(), "double" if double else "float")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return ColumnType("string", kind, "string")
    if pa.types.is_string_view(kind):
        return ColumnType("string", pa.large_string(), "string")
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return ColumnType("binary", kind, "binary")
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind):
        return ColumnType("binary", pa.large_binary(), "binary")
    return ColumnType("other", kind, str(kind))
