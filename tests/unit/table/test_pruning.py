"""From a snapshot to the files that stay: counts that are parsed for all files at once, and doubt that keeps files."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from indextables.log.bounds import trusted_counts
from indextables.log.codec import encode
from indextables.log.layout import commit_path
from indextables.predicate import bind, col
from indextables.storage.retry import RetryingStore
from indextables.table import Table
from indextables.table.pruning import prune
from indextables.testing.models import S3Model
from tests.support.logs import add, foreign_add

if TYPE_CHECKING:
    from indextables.table.pruning import Selection


def counts(texts: list[str | None], ours: list[bool] | None = None, paths: tuple[str, ...] = ("a", "b.c")) -> Any:
    stats = pa.chunked_array([pa.array(texts, pa.string())])
    return trusted_counts(stats, list(paths), ours=pa.chunked_array([pa.array(ours or [True] * len(texts))]))


class TestCounts:
    def test_absent_null_and_zero_stay_apart(self) -> None:
        found = counts(
            [
                '{"numRecords":3,"nullCount":{"a":0},"tightBounds":true}',
                '{"numRecords":4,"nullCount":{"a":0},"tightBounds":true}',
                '{"numRecords":3,"nullCount":{"b.c":2},"nanCount":{"a":1},"inexact":["b.c","z"]}',
                None,
                "{}",
            ]
        )
        assert found["a"].nulls.to_pylist() == [0, 0, None, None, None]
        assert found["b.c"].nulls.to_pylist() == [None, None, 2, None, None]
        assert found["a"].nans.to_pylist() == [None, None, 1, None, None]
        assert found["b.c"].inexact.to_pylist() == [False, False, True, False, False]
        assert found["a"].inexact.to_pylist() == [False] * 5

    def test_of_others_are_not_believed(self) -> None:
        text = '{"numRecords":3,"nullCount":{"a":0}}'
        assert counts([text, text], [True, False])["a"].nulls.to_pylist() == [0, None]

    @pytest.mark.parametrize(
        "text", ["", "not json", "[1]", '{"nullCount":{"a":"many"}}', '{"nullCount":{"a":0}', '{"nullCount":\n{"a":1}}']
    )
    def test_that_are_damaged_are_unknown_and_never_an_error(self, text: str) -> None:
        found = counts([text, '{"numRecords":1,"nullCount":{"a":5}}'])
        assert found["a"].nulls.to_pylist()[0] in {None, 1}
        assert found["a"].nulls.to_pylist()[1] in {None, 5}

    def test_of_no_files_are_none(self) -> None:
        assert counts([])["a"].nulls.to_pylist() == []

    def test_keys_may_hold_anything(self) -> None:
        name = 'ü "quoted" \\ ,"nullCount":{ \n'
        text = json.dumps({"numRecords": 1, "nullCount": {name: 7}}, separators=(",", ":"), ensure_ascii=False)
        assert counts([text], paths=(name,))[name].nulls.to_pylist() == [7]


class TestPrune:
    SCHEMA = pa.schema([("id", pa.int64()), ("hour", pa.int32()), ("f", pa.float64())])

    def table(self, *foreign: dict[str, Any]) -> Table:
        store = S3Model()
        table = Table.at_store(RetryingStore(store))
        table.append(self.SCHEMA.empty_table(), partition_by=["hour"])
        if foreign:
            lines = b"\n".join(json.dumps(line).encode() for line in foreign)
            store.put(commit_path(1), encode(lines, codec="none", level=6, path="1"))
        return table

    def selected(self, table: Table, where: Any) -> Selection:
        snapshot = table.snapshot()
        return prune(snapshot, bind(where, snapshot.schema))

    def test_without_a_predicate_all_files_stay_whole(self) -> None:
        table = self.table(foreign_add("a", partitionValues={"hour": "1"}))
        chosen = prune(table.snapshot(), None)
        assert (chosen.total, len(chosen), chosen.whole.to_pylist(), chosen.paths.to_pylist()) == (1, 1, [True], ["a"])

    def test_of_an_empty_table_nothing_stays(self) -> None:
        chosen = self.selected(self.table(), "id = 1")
        assert (len(chosen), chosen.total, chosen.whole.to_pylist()) == (0, 0, [])

    def test_a_partition_value_that_its_type_does_not_know_is_not_null(self) -> None:
        table = self.table(
            foreign_add("odd", partitionValues={"hour": "ten"}),
            foreign_add("null", partitionValues={"hour": None}),
            foreign_add("one", partitionValues={"hour": "1"}),
        )
        assert self.selected(table, "hour = 10").paths.to_pylist() == ["odd"]
        assert self.selected(table, "hour IS NULL").paths.to_pylist() == ["odd", "null"]
        chosen = self.selected(table, "hour IS NULL")
        assert chosen.whole.to_pylist() == [False, True]

    def test_counts_of_records_of_others_are_not_believed(self) -> None:
        table = self.table(foreign_add("a", partitionValues={"hour": "1"}, numRecords=0))
        assert len(self.selected(table, "id = 1")) == 1

    def test_files_that_match_in_every_row_are_known(self) -> None:
        table = self.table()
        table.append(pa.table({"id": [1, 2], "hour": pa.array([1, 1], pa.int32()), "f": [1.0, 2.0]}))
        table.append(pa.table({"id": [1, None], "hour": pa.array([1, 1], pa.int32()), "f": [1.0, float("nan")]}))
        assert self.selected(table, "id > 0").whole.to_pylist() == [True, False]
        assert self.selected(table, "f < 5").whole.to_pylist() == [True, False]
        assert self.selected(table, "hour = 1").whole.to_pylist() == [True, True]
        chosen = self.selected(table, "id > 0")
        assert chosen.filtered(pa.array([False, True])).whole.to_pylist() == [False]

    def test_missing_statistics_are_named_for_who_debugs(self, caplog: pytest.LogCaptureFixture) -> None:
        table = self.table()
        table.log.add_files([add("a", partition_values={"hour": "1"}), add("b", partition_values={"hour": "2"})])
        with caplog.at_level(logging.DEBUG, logger="indextables.table.pruning"):
            assert len(self.selected(table, (col("id") == 5) & (col("hour") == 1))) == 1
        assert [record.getMessage() for record in caplog.records] == [
            "Statistics missing for column 'id', cannot skip file (2 files)"
        ]

    def test_a_column_that_is_null_throughout_does_not_lack_statistics(self, caplog: pytest.LogCaptureFixture) -> None:
        table = self.table()
        table.append(pa.table({"hour": pa.array([1], pa.int32())}))
        with caplog.at_level(logging.DEBUG, logger="indextables.table.pruning"):
            assert len(self.selected(table, "id = 5")) == 0
        assert caplog.records == []


def test_nested_names_and_names_with_dots_never_mix() -> None:
    table = Table.at_store(RetryingStore(S3Model()))
    table.append(pa.table({"a": pa.array([{"b": 1}]), "a.b": [100]}))
    table.append(pa.table({"a": pa.array([{"b": 2}]), "a.b": [200]}))
    nested, dotted = col("a.b"), col("`a.b`")
    assert table.to_arrow(where=dotted == 200).num_rows == 1
    assert table.to_arrow(where=nested == 2).num_rows == 1
    assert table.to_arrow(where=(nested == 1) & (dotted == 100)).num_rows == 1
