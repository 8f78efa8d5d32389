from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from indextables.values import format_value, parse_values

UTC_MICROS = pa.timestamp("us", "UTC")
PLUS_TWO = dt.timezone(dt.timedelta(hours=2))

# A value of each type, its text in the log, and the type.
TEXTS: list[tuple[Any, str, pa.DataType]] = [
    (True, "true", pa.bool_()),
    (False, "false", pa.bool_()),
    (-128, "-128", pa.int8()),
    (32767, "32767", pa.int16()),
    (-(2**31), "-2147483648", pa.int32()),
    (2**63 - 1, "9223372036854775807", pa.int64()),
    (0.1, "0.1", pa.float64()),
    (-0.0, "-0.0", pa.float64()),
    (1e300, "1e+300", pa.float64()),
    (math.inf, "Infinity", pa.float64()),
    (-math.inf, "-Infinity", pa.float64()),
    (1.5, "1.5", pa.float32()),
    (Decimal("12.30"), "12.30", pa.decimal128(10, 2)),
    (Decimal("-0.01"), "-0.01", pa.decimal128(38, 2)),
    (Decimal("1E+3"), "1000", pa.decimal128(10, 0)),
    (dt.date(1969, 12, 31), "1969-12-31", pa.date32()),
    (dt.datetime(2024, 1, 1, 0, 0, 0, 123456, tzinfo=dt.UTC), "1704067200123456", UTC_MICROS),
    (dt.datetime(1850, 1, 1, tzinfo=dt.UTC), "-3786825600000000", UTC_MICROS),
    (dt.datetime(2024, 1, 1), "1704067200000000", pa.timestamp("us")),  # noqa: DTZ001 - a time without zone is a type
    ("é😀", "é😀", pa.string()),
    ("", "", pa.string()),
    (b"\x00\xff", "AP8=", pa.binary()),
    (dt.timedelta(days=1, microseconds=3), "86400000003", pa.duration("us")),
    (dt.time(12, 34, 56, 789), "12:34:56.000789", pa.time64("us")),
]


@pytest.mark.parametrize(("value", "text", "kind"), TEXTS, ids=[f"{text} {kind}" for _, text, kind in TEXTS])
def test_a_value_has_one_text_and_comes_back_from_it(value: Any, text: str, kind: pa.DataType) -> None:
    assert format_value(value, kind) == text
    parsed = parse_values(pa.chunked_array([[text, None, text]], pa.string()), kind)
    assert parsed.type == kind
    assert parsed.to_pylist() == [value, None, value]


def test_a_time_of_another_zone_is_the_same_instant() -> None:
    moment = dt.datetime(2024, 1, 1, 2, tzinfo=PLUS_TWO)
    assert format_value(moment, UTC_MICROS) == "1704067200000000"


def test_a_short_float_keeps_all_that_it_holds() -> None:
    tenth = pa.scalar(0.1, pa.float32()).as_py()
    text = format_value(tenth, pa.float32())
    assert parse_values(pa.chunked_array([[text]], pa.string()), pa.float32()).to_pylist() == [tenth]


def test_nan_has_a_text() -> None:
    assert format_value(math.nan, pa.float64()) == "NaN"
    assert math.isnan(parse_values(pa.chunked_array([["NaN"]], pa.string()), pa.float64())[0].as_py())


def test_null_stays_null() -> None:
    for _, _, kind in TEXTS:
        assert format_value(None, kind) is None
        assert parse_values(pa.chunked_array([pa.nulls(2, pa.string())]), kind).to_pylist() == [None, None]


def test_of_no_files_there_are_no_values() -> None:
    for _, _, kind in TEXTS:
        assert parse_values(pa.chunked_array([], pa.string()), kind).to_pylist() == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ten", pa.int64()),
        ("1.0", pa.int64()),
        ("", pa.int64()),
        ("128", pa.int8()),
        ("9223372036854775808", pa.int64()),
        ("1_000", pa.int64()),
        (" 5", pa.int64()),
        ("٣", pa.int64()),
        ("0x10", pa.int32()),
        ("1_0.5", pa.float64()),
        ("one", pa.float64()),
        ("True", pa.bool_()),
        ("1", pa.bool_()),
        ("2024-02-30", pa.date32()),
        ("2024-01-01T00:00:00", pa.date32()),
        ("19723", pa.date32()),
        ("2024-01-01 00:00:00", UTC_MICROS),
        ("12.345", pa.decimal128(10, 2)),
        ("99999999999", pa.decimal128(10, 2)),
        ("NaN", pa.decimal128(10, 2)),
        ("Infinity", pa.decimal128(10, 2)),
        ("1_0", pa.decimal128(10, 2)),
        ("not base 64!", pa.binary()),
        ("AP8", pa.binary()),
    ],
    ids=lambda value: str(value) or "empty",
)
def test_text_that_is_no_value_of_the_type_is_unknown_whatever_stands_beside_it(text: str, kind: pa.DataType) -> None:
    good = next(known for _, known, other in TEXTS if other == kind)
    for texts in ([text], [good, text, None, good]):
        parsed = parse_values(pa.chunked_array([texts], pa.string()), kind).to_pylist()
        assert parsed[texts.index(text)] is None
        assert all(value is not None for value, given in zip(parsed, texts, strict=True) if given == good)


@pytest.mark.parametrize(("text", "value"), [("-1.0E-300", -1e-300), ("3.4E38", 3.4e38), ("1.0E300", 1e300)])
def test_numbers_as_java_writes_them_are_understood(text: str, value: float) -> None:
    assert parse_values(pa.chunked_array([[text]], pa.string()), pa.float64()).to_pylist() == [value]


def test_chunks_do_not_matter() -> None:
    texts = pa.chunked_array([["true"], [], [None, "false"]], pa.string())
    assert parse_values(texts, pa.bool_()).to_pylist() == [True, None, False]
    numbers = pa.chunked_array([["1"], ["x"], ["3"]], pa.string())
    assert parse_values(numbers, pa.int32()).to_pylist() == [1, None, 3]
