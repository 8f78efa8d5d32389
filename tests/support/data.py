"""Rows of every type that a table holds, with the values that break things."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa

MICROS = 10**6


def every_type() -> pa.Table:
    """Return a table with a column of each type of Spark's that Arrow has, in the spelling of the log's schemas."""
    element = pa.field("element", pa.float64())
    inner = pa.struct([pa.field("x", pa.int64()), pa.field("y", pa.list_(pa.field("element", pa.string())))])
    columns: dict[str, pa.Array] = {
        "boolean": pa.array([True, None, False, True]),
        "byte": pa.array([-128, None, 127, 0], pa.int8()),
        "short": pa.array([-32768, None, 32767, 0], pa.int16()),
        "integer": pa.array([-(2**31), None, 2**31 - 1, 0], pa.int32()),
        "long": pa.array([-(2**63), None, 2**63 - 1, 0], pa.int64()),
        "float": pa.array([math.nan, None, -0.0, 3.4e38], pa.float32()),
        "double": pa.array([math.inf, None, -math.inf, 1e-300], pa.float64()),
        "decimal": pa.array(
            [Decimal("-9" * 1 + "9" * 17 + ".99"), None, Decimal("0.01"), Decimal(5)], pa.decimal128(38, 2)
        ),
        "small_decimal": pa.array([Decimal("-1.5"), None, Decimal("9.9"), Decimal(0)], pa.decimal128(2, 1)),
        "string": pa.array(["", None, "é😀\uffff", "a" * 2000]),
        "binary": pa.array([b"", None, b"\xff\x00", b"a" * 100]),
        "date": pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31), dt.date(1969, 12, 31)]),
        "timestamp": pa.array([-3786825600 * MICROS, None, 253402300799999999, -1], pa.timestamp("us", "UTC")),
        "timestamp_ntz": pa.array([0, None, 1, -1], pa.timestamp("us")),
        "array": pa.array([[1.5, None, math.nan], None, [], [0.0]], pa.list_(element)),
        "map": pa.array(
            [[("a", 1), ("b", None)], None, [], [("", 0)]], pa.map_(pa.string(), pa.field("value", pa.int64()))
        ),
        "struct": pa.array([{"x": 1, "y": ["a"]}, None, {"x": None, "y": None}, {"x": 3, "y": []}], inner),
    }
    return pa.table(columns)
