"""Statistics that others wrote, long ago or by other rules: skipping by them never hides a file that could match."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from indextables.config import Settings
from indextables.errors import SplitCorruptionError
from indextables.log.codec import encode
from indextables.log.layout import commit_path
from indextables.predicate import bind, col
from indextables.storage.local import LocalStore
from indextables.storage.retry import RetryingStore
from indextables.table import Table
from indextables.table.pruning import prune
from indextables.testing.models import S3Model
from tests.support.fixtures import fixture_tables
from tests.support.logs import foreign_add

if TYPE_CHECKING:
    from pathlib import Path

TABLES = fixture_tables()


def frozen(name: str) -> Table:
    [path] = [table for table in TABLES if table.name.startswith(name)]
    return Table(str(path))


def kept(table: Table, where: Any) -> int:
    return int(table.files(where=where).num_rows)


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_of_a_frozen_table_every_file_may_match_what_its_own_statistics_say_it_holds(path: Path) -> None:
    table = Table(str(path))
    snapshot = table.snapshot()
    columns = [field.name for field in snapshot.schema if not pa.types.is_nested(field.type)]
    assert table.count() == json.loads((path / "expected.json").read_text())["df_count"]
    for name in columns:
        least, greatest = snapshot.bounds(name)
        if least is None or greatest is None:
            continue
        for number, bounds in enumerate(zip(least.to_pylist(), greatest.to_pylist(), strict=True)):
            for value in bounds:
                if value is not None and name not in snapshot.partition_columns:
                    rows = prune(snapshot, bind(col(name) == value, snapshot.schema)).rows.to_pylist()
                    assert number in rows


@pytest.mark.parametrize("name", ["e_stats", "e3_stats"])
@pytest.mark.parametrize(
    "where",
    [
        col("long_ascii") == "d" * 2000,
        col("long_ascii") > "d" * 65,
        col("long_ascii") >= "e",
        col("long_uni") == "😀" * 2000,
        col("edge") == "x" * 1024,
        col("edge") > "x" * 64,
        col("edge") < "a",
    ],
    ids=str,
)
def test_texts_that_the_original_cut_never_hide_a_file(name: str, where: Any) -> None:
    assert kept(frozen(name), where) == 1


@pytest.mark.parametrize("name", ["e_stats", "e3_stats"])
def test_short_texts_and_numbers_of_the_original_still_skip(name: str) -> None:
    table = frozen(name)
    assert kept(table, "s = 'short2'") == 1
    assert kept(table, "s > 'short3'") == 0
    assert kept(table, "id > 3") == 0
    assert kept(table, "id IS NULL") == 1


def test_timestamps_of_the_original_are_no_bounds_and_doubles_may_hold_nan() -> None:
    table = frozen("f_many_types")
    assert kept(table, "ts > TIMESTAMP '2500-01-01 00:00:00Z'") == 1
    assert kept(table, "ts < TIMESTAMP '1900-01-01 00:00:00Z'") == 1
    assert kept(table, "i > 2147483647") == 0
    assert kept(table, "i < -5") == 0
    assert kept(table, "d > 2.0E300") == 1
    assert kept(table, "d < -1.0") == 0
    assert kept(table, "dt < DATE '1969-12-31'") == 0


def test_every_row_that_the_original_wrote_is_in_a_file_that_stays() -> None:
    table = frozen("f_many_types")
    conditions = [
        "i = {0}",
        "l = {0}",
        "f IS NOT NULL",
        "d = {0}D",
        "dt = DATE '{0}'",
        "ts = TIMESTAMP '{0}Z'",
        "b = {0}",
    ]
    [path] = [path for path in TABLES if path.name == "f_many_types"]
    for row in json.loads((path / "expected.json").read_text())["written_rows"]:
        for text, condition in zip(row, conditions, strict=False):
            where = condition.format(text) if text != "None" else condition.partition(" ")[0] + " IS NULL"
            assert kept(table, where) == 1, where
        if row[2] != "None":
            assert kept(table, col("f") == pa.scalar(float(row[2]), pa.float32())) == 1
        assert kept(table, col("s").is_null() if row[-1] == "None" else col("s") == row[-1]) == 1


def test_partitions_of_the_original_are_skipped_exactly() -> None:
    table = frozen("b2_partitioned")
    days = table.snapshot().partition_values["date"].to_pylist()
    for day in set(days):
        assert kept(table, col("date") == day) == days.count(day)


def test_text_orders_by_java_do_not_decide() -> None:
    store = S3Model()
    Table.at_store(RetryingStore(store)).append(pa.schema([("s", pa.string())]).empty_table())
    # In Java's order the emoji lies between these two; in Spark's it is greater than both.
    add = foreign_add("a.split", minValues={"s": "a"}, maxValues={"s": "\uffff"})
    other = foreign_add("b.split", minValues={"s": "😀"}, maxValues={"s": "😁"})
    lines = b"\n".join(json.dumps(line).encode() for line in (add, other))
    store.put(commit_path(1), encode(lines, codec="none", level=6, path="1"))
    table = Table.at_store(RetryingStore(store))
    assert kept(table, col("s") == "😀") == 2
    assert kept(table, col("s") == "\uffff") == 2
    assert kept(table, col("s") > "😂") == 1


@pytest.mark.parametrize("path", TABLES[:3], ids=lambda path: path.name)
def test_splits_of_the_original_are_refused_by_name_not_misread(path: Path) -> None:
    with pytest.raises(SplitCorruptionError, match=r"\.split cannot be read"):
        Table(str(path)).to_arrow()


def test_a_table_with_statistics_of_full_length_is_read_and_skipped_as_before(tmp_path: Path) -> None:
    before = Settings.resolve({"spark.indextables.stats.truncation.enabled": "false"})
    store = RetryingStore(LocalStore(tmp_path))
    texts = [letter * 5000 for letter in "abc"]
    for text in texts:
        Table.at_store(store, settings=before).append(pa.table({"text": [text]}))
    table = Table.at_store(store)
    assert kept(table, col("text") == texts[1]) == 1
    table.append(pa.table({"text": ["b" * 5000]}))
    assert kept(table, col("text") == texts[1]) == 2
    assert table.count(where=col("text") == texts[1]) == 2
    assert table.verify_stats().num_rows == 0
