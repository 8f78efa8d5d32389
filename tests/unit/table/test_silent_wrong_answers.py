"""What makes data skipping answer wrongly without a sound, one test a cause, on whole tables."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables.config import Settings
from indextables.log.actions import Add
from indextables.predicate import bind, col
from indextables.storage.retry import RetryingStore
from indextables.table import Table
from indextables.testing.models import S3Model

BOUNDS = {"spark.indextables.stats.truncation.strategy": "bounds", "spark.indextables.stats.truncation.maxLength": "8"}
NAN = math.nan
PLANES = [0x00, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x1F600, 0xFFFFF, 0x10FFFF]


def table(options: dict[str, str] | None = None, store: S3Model | None = None) -> Table:
    return Table.at_store(RetryingStore(store or S3Model()), settings=Settings.resolve(options))


def one_file_each(values: list[Any], kind: pa.DataType, **options: Any) -> Table:
    """Return a table with a file for each value, or each list of values."""
    made = table(**options)
    for number, value in enumerate(values):
        several = value if isinstance(value, list) else [value]
        made.append(pa.table({"file": [number] * len(several), "c": pa.array(several, kind)}))
    return made


def found(made: Table, where: Any) -> list[int]:
    """Return the files that have matching rows, read with skipping; without skipping they must be the same."""
    rows = made.to_arrow(where=where)
    everything = made.to_arrow()
    mask = pc.fill_null(bind(where, made.schema).evaluate(everything), fill_value=False)
    assert sorted(everything.filter(mask)["file"].to_pylist()) == sorted(rows["file"].to_pylist())
    return sorted(set(rows["file"].to_pylist()))


def kept(made: Table, where: Any) -> int:
    """Return how many files skipping leaves."""
    return int(made.files(where=where).num_rows)


def the_add(made: Table, version: int = 1) -> Add:
    [add] = [action for action in made.log.read_version(version) if isinstance(action, Add)]
    return add


def test_e01_an_upper_bound_is_the_shortest_successor_of_the_prefix_in_every_plane() -> None:
    chance = random.Random(1)
    texts = ["".join(chr(chance.choice(PLANES)) for _ in range(chance.randint(0, 14))) for _ in range(300)]
    made = table(BOUNDS)
    made.append(pa.table({"file": range(300), "c": texts}))
    add = the_add(made)
    least, greatest = (
        values.get("c") if isinstance(values, dict) else None for values in (add.min_values, add.max_values)
    )
    assert least is not None
    assert all(least.encode() <= text.encode() for text in texts)
    assert greatest is None or all(text.encode() <= greatest.encode() for text in texts)
    for text in texts:
        assert text in made.to_arrow(where=col("c") == text)["c"].to_pylist()


@pytest.mark.parametrize(
    "text", ["x" * 7 + "\ud7ff" * 3, "x" * 7 + "\U0010ffff" * 3, "\U0010ffff" * 9, "é" * 9, "😀" * 9]
)
def test_e02_cuts_fall_between_characters_and_no_statistic_fails_a_write(text: str) -> None:
    for strategy in ("bounds", "truncate", "drop"):
        length = "12" if strategy == "truncate" else "8"
        options = {
            **BOUNDS,
            "spark.indextables.stats.truncation.strategy": strategy,
            "spark.indextables.stats.truncation.maxLength": length,
        }
        made = one_file_each([text, "a"], pa.string(), options=options)
        assert found(made, col("c") == text) == [0]


def test_e03_a_column_of_long_texts_is_skipped_by_rounded_bounds_and_rightly() -> None:
    texts = [f"{number:02d}" + "x" * 10_000 for number in range(20)]
    made = one_file_each([*texts], pa.string(), options={"spark.indextables.stats.truncation.strategy": "bounds"})
    assert kept(made, col("c") == texts[7]) == 1
    assert found(made, col("c") == texts[7]) == [7]
    assert found(made, col("c") > texts[17]) == [18, 19]
    assert msgspec.json.decode(the_add(made).stats or "")["inexact"] == ["c"]
    marked = one_file_each([*texts], pa.string(), options={"spark.indextables.stats.truncation.strategy": "truncate"})
    assert kept(marked, col("c") == texts[7]) == 20
    assert found(marked, col("c") == texts[7]) == [7]


def test_e04_rounded_bounds_are_marked_so_that_nobody_takes_them_for_values() -> None:
    made = one_file_each([["a" * 20, "b" * 20]], pa.string(), options=BOUNDS)
    counts = made.snapshot().counts(["c", "file"])
    assert counts["c"].inexact.to_pylist() == [True]
    assert counts["file"].inexact.to_pylist() == [False]
    assert msgspec.json.decode(the_add(made).stats or "")["tightBounds"] is False
    # Both bounds round to one text, and still no row need have it.
    same = one_file_each([["a" * 8 + "x", "a" * 8 + "y"]], pa.string(), options=BOUNDS)
    assert same.count(where=col("c") == "a" * 8) == 0


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_e05_timestamps_keep_every_microsecond(shift: int) -> None:
    base = 1_704_067_200_123_456
    kind = pa.timestamp("us", "UTC")
    made = table()
    made.append(pa.table({"file": [0], "c": pa.array([base], pa.int64()).cast(kind)}))
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=123_456 + shift)
    assert found(made, col("c") == moment) == ([0] if shift == 0 else [])
    assert found(made, col("c") >= moment) == ([0] if shift <= 0 else [])
    assert found(made, col("c") < moment) == ([0] if shift > 0 else [])
    assert kept(made, col("c") == moment) == (1 if shift == 0 else 0)


def test_e06_statistics_hold_no_zone_so_old_local_times_are_instants_like_others() -> None:
    stockholm = dt.datetime(1850, 1, 1, 12, tzinfo=ZoneInfo("Europe/Stockholm"))
    instant = stockholm.astimezone(dt.UTC)
    micros = (instant - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
    answers = []
    for zone in ("UTC", "Europe/Stockholm", "Asia/Kolkata", "America/St_Johns", "Pacific/Apia"):
        made = table()
        column = pa.array([micros], pa.int64()).cast(pa.timestamp("us", zone))
        made.append(
            pa.table({"file": [0], "c": column, "local": pa.array([micros], pa.int64()).cast(pa.timestamp("us"))})
        )
        add = the_add(made)
        answers.append((add.min_values, add.max_values, found(made, col("c") == stockholm), made.schema))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0] == {"file": "0", "c": str(micros), "local": str(micros)}


NAN_FILES = [[NAN], [1.0, NAN], [2.0], [-math.inf], [math.inf], [0.0], [-0.0], [None], [NAN, None]]


@pytest.mark.parametrize(
    ("where", "files"),
    [
        (col("c") > 5.0, [0, 1, 4, 8]),
        (col("c") >= math.inf, [0, 1, 4, 8]),
        (col("c") == NAN, [0, 1, 8]),
        (col("c") != 2.0, [0, 1, 3, 4, 5, 6, 8]),
        (~(col("c") < 5.0), [0, 1, 4, 8]),
        (col("c") < 0.0, [3]),
        (col("c") == 0.0, [5, 6]),
        (col("c") == -0.0, [5, 6]),
        (col("c") <= -math.inf, [3]),
        (col("c").is_null(), [7, 8]),
        (col("c").between(1.5, 2.5), [2]),
    ],
    ids=str,
)
def test_e07_nan_is_counted_bounds_nothing_and_is_the_greatest(where: Any, files: list[int]) -> None:
    made = one_file_each(NAN_FILES, pa.float64())
    assert found(made, where) == files
    assert msgspec.json.decode(the_add(made, 2).stats or "")["nanCount"] == {"c": 1}
    assert the_add(made, 2).max_values == {"file": "1", "c": "1.0"}


def test_e08_absent_null_and_zero_are_three_states() -> None:
    options = {"spark.indextables.stats.columns": "file"}
    store = S3Model()
    unknown = one_file_each([[5, 6]], pa.int64(), options=options, store=store)
    assert "c" not in (the_add(unknown).min_values or {})
    assert found(unknown, "c = 5") == [0]
    assert found(unknown, "c IS NULL") == []
    assert (kept(unknown, "c = 99"), kept(unknown, "c IS NULL")) == (1, 1)
    nulls = one_file_each([[None, None]], pa.int64())
    assert (kept(nulls, "c = 5"), kept(nulls, "c IS NULL")) == (0, 1)
    zero = one_file_each([[0, 0]], pa.int64())
    assert (kept(zero, "c = 0"), kept(zero, "c IS NULL")) == (1, 0)


@pytest.mark.parametrize("scale", [0, 2, 18, 38])
def test_e09_decimals_and_infinities_are_exact(scale: int) -> None:
    kind = pa.decimal128(38, scale)
    edge, near = (Decimal((0, (9,) * 37 + (last,), -scale)) for last in (9, 8))
    lowest = Decimal((1, (9,) * 38, -scale))
    made = one_file_each([edge, near, lowest, Decimal(0)], kind)
    assert found(made, col("c") == edge) == [0]
    assert kept(made, col("c") == near) == 1
    assert found(made, col("c") <= lowest) == [2]
    assert the_add(made).max_values == {"file": "0", "c": format(edge, "f")}
    infinite = one_file_each([math.inf, -math.inf, 1e308], pa.float64())
    assert msgspec.json.decode(msgspec.json.encode(the_add(infinite).max_values))["c"] == "Infinity"
    assert found(infinite, col("c") > 1e308) == [0]


def test_e10_one_column_without_statistics_neither_hides_rows_nor_stops_skipping() -> None:
    options = {"spark.indextables.stats.columns": "a"}
    made = table(options)
    for number in range(4):
        made.append(pa.table({"file": [number], "a": [number], "b": [number]}))
    assert kept(made, "a = 1 AND b = 1") == 1
    assert kept(made, "a = 1 OR b = 99") == 4
    assert kept(made, "a = 99 AND b = 1") == 0
    assert kept(made, "NOT (a = 1 OR b = 1)") == 3
    for where in ("a = 1 AND b = 1", "a = 1 OR b = 2", "NOT (a = 1 OR b = 1)", "a = 1 AND NOT b = 1"):
        found(made, where)


def test_e11_rows_without_a_value_count_in_every_decision() -> None:
    made = one_file_each([[1, None], [1], [None], [2, None]], pa.int64())
    assert found(made, "c != 1") == [3]
    assert found(made, "NOT (c = 1)") == [3]
    assert found(made, "c IS NULL") == [0, 2, 3]
    assert found(made, "NOT (c <=> 1)") == [0, 2, 3]
    assert found(made, "c = 1 OR c IS NULL") == [0, 1, 2, 3]
    assert made.count(where="c != 1") == 1


def test_e12_numbers_in_partitions_are_compared_as_numbers_also_where_rows_are_deleted() -> None:
    made = table()
    made.append(pa.table({"file": range(12), "hour": range(12)}), partition_by=["hour"])
    assert found(made, "hour > 9") == [10, 11]
    assert found(made, "hour BETWEEN 2 AND 10") == list(range(2, 11))
    assert kept(made, "hour < 2") == 2
    assert made.delete("hour >= 10").files_removed == 2
    assert found(made, "hour >= 0") == list(range(10))


NASTY = [
    "",
    None,
    "%",
    "/",
    "=",
    ":",
    "a b",
    "é",
    "..",
    ".",
    "%2F",
    "a\nb",
    "\x7f",
    "__HIVE_DEFAULT_PARTITION__",
    "\\",
    "'",
    '"',
    "*?[]{}^#",
    "日本",
    "😀",
]


def test_e13_partition_values_come_back_as_they_were() -> None:
    made = table()
    made.append(pa.table({"file": range(len(NASTY)), "c": pa.array(NASTY, pa.string())}), partition_by=["c"])
    rows = made.to_arrow()
    assert dict(zip(rows["file"].to_pylist(), rows["c"].to_pylist(), strict=True)) == dict(enumerate(NASTY))
    for number, value in enumerate(NASTY):
        where = col("c").is_null() if value is None else col("c") == value
        assert found(made, where) == [number]
        assert kept(made, where) == 1
    assert len({path.partition("/")[0] for path in made.files()["path"].to_pylist()}) >= len(NASTY) - 3


class TestE14WrongStatisticsAreFound:
    def broken(self, **fields: Any) -> pa.Table:
        made = table()
        made.append(pa.table({"file": [0, 0], "c": [1, 5], "f": [NAN, 1.0]}))
        add = the_add(made)
        wrong = msgspec.structs.replace(add, **fields)
        made.log.commit([wrong], operation="append")
        return made.verify_stats()

    def test_right_ones_give_no_finding(self) -> None:
        assert self.broken().num_rows == 0

    @pytest.mark.parametrize(
        ("fields", "column", "problem"),
        [
            ({"max_values": {"c": "4"}}, "c", "rows beyond the maximum"),
            ({"min_values": {"c": "2"}}, "c", "rows beyond the minimum"),
            ({"num_records": 3}, None, "another number of rows"),
            ({"stats": '{"nullCount":{"c":2}}'}, "c", "another number of nulls"),
            ({"stats": '{"nanCount":{"f":0}}'}, "f", "another number of NaN"),
            ({"max_values": {"f": "0.5"}}, "f", "rows beyond the maximum"),
        ],
    )
    def test_wrong_ones_are_named(self, fields: dict[str, Any], column: str | None, problem: str) -> None:
        [finding] = self.broken(**fields).to_pylist()
        assert (finding["column"], finding["problem"]) == (column, problem)
        assert finding["path"].endswith(".split")

    def test_files_that_cannot_be_read_are_findings_too(self) -> None:
        store = S3Model()
        made = table(store=store)
        made.append(pa.table({"c": [1]}))
        store.delete(made.files()["path"][0].as_py())
        [finding] = made.verify_stats().to_pylist()
        assert finding["problem"].startswith("it cannot be read")
