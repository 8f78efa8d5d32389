from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from indextables.log.bounds import trusted_bounds
from tests.support.logs import PARTITIONED, Place, add, foreign_add, new_table

UTC_MICROS = pa.timestamp("us", "UTC")


def bound(text: str | None, kind: pa.DataType, *, ours: bool) -> Any:
    """Return what remains of one statistic of a column of that type."""
    texts = pa.chunked_array([pa.array([{"c": text}], pa.struct([("c", pa.string())]))])
    table = trusted_bounds(texts, pa.schema([("c", kind)]), ours=pa.chunked_array([[ours]]))
    return table["c"].to_pylist()[0]


class TestOfOthers:
    """R32: what the original implementation wrote is taken only where it is known to bound the rows."""

    @pytest.mark.parametrize(
        ("text", "kind", "value"),
        [
            ("-5", pa.int8(), -5),
            ("300", pa.int16(), 300),
            ("2147483647", pa.int32(), 2147483647),
            ("-1152921504606846976", pa.int64(), -1152921504606846976),
            ("true", pa.bool_(), True),
            ("2261-12-31", pa.date32(), dt.date(2261, 12, 31)),
            ("-1.0E-300", pa.float64(), -1e-300),
            ("a" * 31, pa.string(), "a" * 31),
            ("😀" * 15, pa.string(), "😀" * 15),
            ("", pa.string(), ""),
        ],
        ids=lambda value: str(value)[:20],
    )
    def test_is_taken(self, text: str, kind: pa.DataType, value: Any) -> None:
        assert bound(text, kind, ours=False) == value

    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ("a" * 32, pa.string()),
            ("a" * 64, pa.string()),
            ("😀" * 16, pa.string()),
            ("a" + "😀" * 15 + "b", pa.string()),
            ("1704067200123456", UTC_MICROS),
            ("1704067200123456", pa.timestamp("us")),
            ("1.50", pa.decimal128(10, 2)),
            ("AP8=", pa.binary()),
            ("NaN", pa.float64()),
            ("Infinity", pa.float64()),
            ("-Infinity", pa.float64()),
            ("inf", pa.float64()),
            ("1e400", pa.float64()),
            ("short [TRUNCATED]", pa.string()),
            ("12:00:00", pa.time64("us")),
        ],
        ids=lambda value: str(value)[:20],
    )
    def test_is_unknown(self, text: str, kind: pa.DataType) -> None:
        assert bound(text, kind, ours=False) is None


class TestOfOurs:
    @pytest.mark.parametrize(
        ("text", "kind", "value"),
        [
            ("a" * 1024, pa.string(), "a" * 1024),
            ("1704067200123456", UTC_MICROS, dt.datetime(2024, 1, 1, 0, 0, 0, 123456, tzinfo=dt.UTC)),
            ("1.50", pa.decimal128(10, 2), Decimal("1.50")),
            ("AP8=", pa.binary(), b"\x00\xff"),
            ("Infinity", pa.float64(), float("inf")),
        ],
        ids=lambda value: str(value)[:20],
    )
    def test_is_taken_for_every_type(self, text: str, kind: pa.DataType, value: Any) -> None:
        assert bound(text, kind, ours=True) == value

    @pytest.mark.parametrize("text", ["aaa [TRUNCATED]", " [TRUNCATED]"])
    def test_that_was_cut_is_no_bound(self, text: str) -> None:
        assert bound(text, pa.string(), ours=True) is None
        assert bound(text + "x", pa.string(), ours=True) == text + "x"

    def test_nan_is_no_bound(self) -> None:
        assert bound("NaN", pa.float64(), ours=True) is None
        assert bound("NaN", pa.float32(), ours=True) is None


class TestColumns:
    def test_nested_columns_have_no_bounds(self) -> None:
        kinds = (pa.list_(pa.int64()), pa.map_(pa.string(), pa.int64()), pa.struct([("a", pa.int64())]))
        texts = pa.chunked_array([pa.array([{"c": "-77"}], pa.struct([("c", pa.string())]))])
        for kind in kinds:
            table = trusted_bounds(texts, pa.schema([("c", kind)]), ours=pa.chunked_array([[True]]))
            assert table.column_names == []

    def test_statistics_of_columns_that_the_table_does_not_have_are_left_out(self) -> None:
        texts = pa.chunked_array([pa.array([{"gone": "1", "c": "2"}])])
        table = trusted_bounds(texts, pa.schema([("c", pa.int64())]), ours=pa.chunked_array([[True]]))
        assert table.to_pylist() == [{"c": 2}]

    def test_numbers_are_compared_as_numbers(self) -> None:
        _, log = new_table()
        log.add_files([add("a", min_values={"id": "9"}), add("b", min_values={"id": "10"})])
        assert log.snapshot().min_values["id"].to_pylist() == [9, 10]
        assert log.snapshot().min_values["id"].type == pa.int64()

    def test_ours_and_theirs_stand_side_by_side(self) -> None:
        place, log = new_table()
        long = "x" * 50
        log.add_files([add("ours", max_values={"id": "5", "text": long})])
        place.write(2, foreign_add("theirs", maxValues={"id": "7", "text": long}))
        place.write(3, foreign_add("short", maxValues={"text": "abc"}), foreign_add("none"))
        snapshot = log.snapshot()
        assert dict(zip(snapshot.files["path"].to_pylist(), snapshot.max_values.to_pylist(), strict=True)) == {
            "ours": {"id": 5, "text": long},
            "theirs": {"id": 7, "text": None},
            "short": {"id": None, "text": "abc"},
            "none": {"id": None, "text": None},
        }

    def test_an_empty_table_has_none(self) -> None:
        _, log = new_table()
        assert log.snapshot().min_values.num_rows == 0


class TestPartitionValues:
    def log(self, *actions: dict[str, Any]) -> Any:
        place = Place()
        log = place.log()
        log.initialize(PARTITIONED.append(pa.field("word", pa.string())), ["day", "word"])
        place.write(1, *actions)
        return log

    def test_of_others_are_decoded_and_typed(self) -> None:
        log = self.log(
            foreign_add("a", partitionValues={"day": "2024-01-01", "word": "a%2Fb%20%25"}),
            foreign_add("b", partitionValues={"day": None, "word": "plain"}),
            foreign_add("c", partitionValues={"day": "2024-01-02", "word": None}),
        )
        assert log.snapshot().partition_values.to_pylist() == [
            {"day": dt.date(2024, 1, 1), "word": "a/b %"},
            {"day": None, "word": "plain"},
            {"day": dt.date(2024, 1, 2), "word": None},
        ]

    def test_of_others_know_the_name_of_the_null_partition(self) -> None:
        log = self.log(
            foreign_add(
                "a", partitionValues={"day": "__HIVE_DEFAULT_PARTITION__", "word": "__HIVE_DEFAULT_PARTITION__"}
            )
        )
        assert log.snapshot().partition_values.to_pylist() == [{"day": None, "word": None}]

    def test_of_ours_are_taken_as_they_are(self) -> None:
        log = self.log(foreign_add("x", partitionValues={"day": None, "word": "a%2Fb"}))
        log.add_files([add("a", partition_values={"day": "2024-01-01", "word": "a%2Fb"})])
        assert log.snapshot().partition_values["word"].to_pylist() == ["a/b", "a%2Fb"]

    def test_of_an_empty_table_are_typed_too(self) -> None:
        _, log = new_table(PARTITIONED, ("day",))
        assert log.snapshot().partition_values.schema.field("day").type == pa.date32()
        assert log.snapshot().partition_values.num_rows == 0

    def test_that_a_file_does_not_have_are_null(self) -> None:
        log = self.log(foreign_add("a", partitionValues={"day": "2024-01-01"}), foreign_add("b"))
        assert log.snapshot().partition_values.to_pylist() == [
            {"day": dt.date(2024, 1, 1), "word": None},
            {"day": None, "word": None},
        ]
