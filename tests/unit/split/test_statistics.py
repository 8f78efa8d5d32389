from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from indextables.config import Settings
from indextables.split.statistics import SplitStatistics, compute_statistics, statistics_columns
from indextables.values import leaves, parse_values

NAN = math.nan


def statistics(**columns: Any) -> SplitStatistics:
    table = pa.table(columns)
    return compute_statistics(table, leaves(table.schema).values())


@pytest.mark.parametrize(
    ("values", "least", "greatest"),
    [
        (pa.array([9, 10, None]), "9", "10"),
        (pa.array([-(2**63), 2**63 - 1]), str(-(2**63)), str(2**63 - 1)),
        (pa.array([True, False]), "false", "true"),
        (pa.array(["b", "é", "", "😀", "\uffff"]), "", "😀"),
        (pa.array([b"\xff", b"a"]), "YQ==", "/w=="),
        (pa.array([1.5, -math.inf, math.inf]), "-Infinity", "Infinity"),
        (pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31)]), "0001-01-01", "9999-12-31"),
        (pa.array([Decimal("-9.99"), Decimal("9.99")], pa.decimal128(38, 2)), "-9.99", "9.99"),
        (pa.array([dt.time(1), dt.time(23, 59, 59, 999999)]), "01:00:00.000000", "23:59:59.999999"),
        (pa.array([-(2**62), 2**62], pa.int64()).cast(pa.timestamp("us", "UTC")), str(-(2**62)), str(2**62)),
        (pa.array([3, 1], pa.int64()).cast(pa.duration("us")), "1", "3"),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_bounds_are_exact_and_come_back(values: pa.Array, least: str, greatest: str) -> None:
    found = statistics(c=values)
    assert (found.min_values, found.max_values) == ({"c": least}, {"c": greatest})
    texts = pa.chunked_array([[least, greatest]], pa.string())
    assert parse_values(texts, values.type).null_count == 0


def test_a_date_that_has_no_text_leaves_its_side_unknown() -> None:
    far = pa.array([0, 5_000_000], pa.int32()).cast(pa.date32())
    found = statistics(c=far)
    assert (found.min_values, found.max_values) == ({"c": "1970-01-01"}, {})


def test_absent_null_and_zero_are_three_states() -> None:
    table = pa.table({"some": [0, None], "none": pa.array([None, None], pa.int64()), "full": [0, 0]})
    found = compute_statistics(table, list(leaves(table.schema).values()))
    assert found.null_counts == {"some": 1, "none": 2, "full": 0}
    assert found.min_values == {"some": "0", "full": "0"}
    assert "unknown" not in found.null_counts


def test_nan_is_counted_and_is_no_bound() -> None:
    found = statistics(some=[NAN, 2.0, 1.0], only=[NAN, NAN, NAN], none=[0.0, -0.0, 5.0])
    assert found.nan_counts == {"some": 1, "only": 3, "none": 0}
    assert found.min_values == {"some": "1.0", "none": "-0.0"}
    assert found.max_values == {"some": "2.0", "none": "5.0"}


def test_fields_of_structs_have_statistics_under_their_path() -> None:
    found = statistics(s=pa.array([{"a": {"b": 1}, "l": [1]}, None, {"a": None, "l": None}]))
    assert found.min_values == {"s.a.b": "1"}
    assert found.null_counts == {"s.a.b": 2}


def test_paths_that_could_mean_two_columns_belong_to_the_one_at_the_top() -> None:
    found = statistics(**{"a.b": pa.array([1]), "a": pa.array([{"b": 7}])})
    assert found.min_values == {"a.b": "1"}
    assert statistics(a=pa.array([{"b": {"c": 1}, "b.c": 2}])).min_values == {}


def test_lists_and_maps_have_none() -> None:
    table = pa.table({"l": [[1]], "m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))})
    assert compute_statistics(table, list(leaves(table.schema).values())) == SplitStatistics(num_records=1)


@pytest.mark.parametrize("named", [b"string collate UTF8_LCASE", b"char(5)"])
def test_texts_that_do_not_compare_by_their_bytes_have_counts_only(named: bytes) -> None:
    schema = pa.schema([pa.field("c", pa.string(), metadata={b"spark.type": named})])
    table = pa.table({"c": ["a", None]}, schema=schema)
    found = compute_statistics(table, list(leaves(schema).values()))
    assert (found.min_values, found.null_counts) == ({}, {"c": 1})


def test_the_first_32_columns_have_statistics() -> None:
    schema = pa.schema([(f"c{number}", pa.int64()) for number in range(40)])
    assert [leaf.path for leaf in statistics_columns(schema, Settings())] == [f"c{number}" for number in range(32)]


def test_columns_can_be_named_and_fast_fields_have_statistics_wherever_they_stand() -> None:
    fields = [("a", pa.int64()), ("s", pa.struct([("x", pa.int64()), ("y", pa.string())])), ("z", pa.int64())]
    settings = Settings.resolve(
        {"spark.indextables.stats.columns": "s, gone", "spark.indextables.indexing.fastfields": "z,s.x"}
    )
    assert [leaf.path for leaf in statistics_columns(pa.schema(fields), settings)] == ["s.x", "s.y", "z"]


def test_the_json_has_the_form_that_delta_readers_know() -> None:
    found = SplitStatistics(num_records=3, null_counts={"a": 1}, nan_counts={"a": 2}, inexact=("t",))
    assert msgspec.json.decode(found.counts_json()) == {
        "numRecords": 3,
        "nullCount": {"a": 1},
        "tightBounds": False,
        "nanCount": {"a": 2},
        "inexact": ["t"],
    }
    assert SplitStatistics.from_json(found.to_json()) == found


def test_a_statistic_that_cannot_be_made_never_fails_a_write(caplog: pytest.LogCaptureFixture) -> None:
    table = pa.table({"a": [1], "b": [2]})
    columns = [leaf._replace(names=("gone",)) if leaf.path == "a" else leaf for leaf in leaves(table.schema).values()]
    assert compute_statistics(table, columns).min_values == {"b": "2"}
    assert "Column a gets no statistics" in caplog.text


def test_the_encoding_of_a_variant_has_none() -> None:
    kind = pa.struct([("value", pa.binary()), ("metadata", pa.binary())])
    schema = pa.schema([pa.field("v", kind, metadata={b"spark.type": b"variant"}), pa.field("id", pa.int64())])
    assert list(leaves(schema)) == ["id"]
