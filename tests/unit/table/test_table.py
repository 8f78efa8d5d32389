"""A table in hand: made by its first append, read, changed and inspected, all without Spark."""

from __future__ import annotations

import datetime as dt
import json
import random
import threading
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.config import Settings
from indextables.errors import (
    CommitUnknownError,
    ConcurrentWriteError,
    ConfigError,
    OutcomeUnknownError,
    PredicateError,
    SchemaError,
    SplitCorruptionError,
    StorageUnavailableError,
    TableNotFoundError,
    VersionNotFoundError,
)
from indextables.log.actions import Add
from indextables.log.commit_info import WRITER_TAG
from indextables.predicate import col
from indextables.storage.local import LocalStore
from indextables.storage.retry import RetryingStore, RetryPolicy
from indextables.table import Table
from indextables.table import rows as row_sizes
from indextables.table.rebuild import rebuild_adds
from indextables.testing.faulty import FaultStore
from indextables.testing.models import S3Model
from indextables.testing.virtual import virtual_runtime
from tests.support.data import every_type
from tests.support.logs import WatchedStore

if TYPE_CHECKING:
    from pathlib import Path

    from indextables.storage.base import Store

DAYS = [dt.date(2024, 1, 1), dt.date(2024, 1, 2), None]


def numbers(count: int, first: int = 0) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64())})


def days(count: int) -> pa.Table:
    return pa.table({"id": range(count), "day": pa.array([DAYS[n % 3] for n in range(count)], pa.date32())})


def fresh(store: Store | None = None, **options: Any) -> Table:
    """Open the table in a store as a process of its own would."""
    policy = RetryPolicy(attempts=3)
    return Table.at_store(RetryingStore(store or S3Model(), policy=policy, runtime=virtual_runtime(0)), **options)


def ids(table: Table, **options: Any) -> list[int]:
    return sorted(table.to_arrow(columns=["id"], **options)["id"].to_pylist())


class TestOpening:
    def test_reads_nothing_before_it_is_asked(self) -> None:
        store = FaultStore(S3Model())
        fresh(store, version=7)
        assert store.calls == []

    def test_a_place_without_a_table_is_told_apart_from_an_empty_one(self, tmp_path: Path) -> None:
        table = Table(str(tmp_path / "none"))
        for ask in (table.to_arrow, table.count, lambda: table.schema, lambda: table.version, table.snapshot):
            with pytest.raises(TableNotFoundError, match="none"):
                ask()
        assert not (tmp_path / "none").exists()
        assert repr(table) == f"Table('{tmp_path / 'none'}', TableNotFoundError)"

    def test_options_are_settings(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="maxLength"):
            Table(str(tmp_path), options={"spark.indextables.stats.truncation.maxLength": "many"})

    def test_at_a_version_or_a_time_it_never_changes_and_cannot_be_written(self) -> None:
        store = S3Model()
        table = fresh(store)
        table.append(numbers(3))
        table.append(numbers(2, 3))
        past = fresh(store, version=1)
        assert (past.version, past.count(), past.schema.names) == (1, 3, ["id"])
        stamp = int(table.history()["timestamp"].cast(pa.int64())[1].as_py())
        assert fresh(store, timestamp=stamp).count() == 3
        with pytest.raises(ConfigError, match="version is set to 1"):
            past.append(numbers(1))
        with pytest.raises(ConfigError, match="version is set to 1"):
            past.overwrite(numbers(1))
        with pytest.raises(ConfigError, match="version is set to 1"):
            past.delete("id = 1")
        with pytest.raises(VersionNotFoundError):
            fresh(store, version=9).count()

    def test_sees_what_others_commit(self) -> None:
        store = S3Model()
        one, other = fresh(store), fresh(store)
        one.append(numbers(1))
        assert other.count() == 1
        one.append(numbers(1))
        assert (other.count(), other.version) == (2, 2)


class TestAppend:
    def test_makes_the_table_and_then_adds_to_it(self) -> None:
        table = fresh()
        first = table.append(days(6), partition_by=["day"])
        assert (first.version, first.files_added, first.rows_added, first.committed) == (1, 3, 6, True)
        assert (table.partition_columns, table.schema.names) == (["day"], ["id", "day"])
        second = table.append(days(3).select(["day", "id"]))
        assert (second.version, table.count(), table.to_arrow().schema.names) == (2, 9, ["id", "day"])
        assert table.history()["operation"].to_pylist() == ["append", "append", "create"]

    def test_keeps_every_type_as_it_is(self) -> None:
        table = fresh()
        table.append(every_type())
        found = table.to_arrow()
        assert found.schema.equals(every_type().schema)
        assert repr(found.to_pylist()) == repr(every_type().to_pylist())

    @pytest.mark.parametrize(
        "data",
        [
            numbers(3),
            numbers(3).to_batches()[0],
            numbers(3).to_reader(),
            pa.table({"id": pa.array([0, 1, 2], pa.int32())}),
            pa.table({"id": pa.array([0, 1, 2]).dictionary_encode()}),
            pd.DataFrame({"id": [0, 1, 2]}),
            pd.DataFrame({"id": [0, 1, 2]}, index=[7, 8, 9]),
            pl.DataFrame({"id": [0, 1, 2]}),
        ],
        ids=["table", "batch", "reader", "int32", "dictionary", "pandas", "pandas with an index", "polars"],
    )
    def test_takes_rows_from_whatever_holds_them(self, data: Any) -> None:
        table = fresh()
        table.append(numbers(0))
        table.append(data)
        assert (ids(table), table.schema.field("id").type) == ([0, 1, 2], pa.int64())

    def test_refuses_what_holds_no_rows(self) -> None:
        with pytest.raises(SchemaError, match="A list holds no rows"):
            fresh().append([1, 2])

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (pa.table({"id": [1], "more": [2]}), "columns more, which the table does not have"),
            (pa.table({"id": ["one"]}), "Column id is string and does not fit int64"),
            (pa.table({"id": [1.5]}), "Column id is double and does not fit int64"),
            (pa.table({"ts": [1]}), "lacks columns id, which must not be null"),
            (pa.table({"id": pa.array([None], pa.int64())}), "Column id has nulls"),
            (pa.table({"id": [1], "ts": pa.array([0], pa.timestamp("us"))}), "a time with a zone and one without"),
            (pa.table([[1], [2]], names=["id", "id"]), "columns id more than once"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_refuses_rows_that_do_not_fit_and_leaves_nothing_behind(self, data: pa.Table, message: str) -> None:
        store = S3Model()
        table = fresh(store)
        fields = [pa.field("id", pa.int64(), nullable=False), pa.field("ts", pa.timestamp("us", "UTC"))]
        table.append(pa.schema(fields).empty_table())
        with pytest.raises(SchemaError, match=message):
            table.append(data)
        assert table.version == 0
        assert [meta.path for meta in store.list_from("") if meta.path.endswith(".split")] == []

    def test_columns_that_are_not_given_are_null(self) -> None:
        table = fresh()
        table.append(pa.table({"id": [1], "name": ["a"]}))
        table.append(numbers(1))
        assert sorted(table.to_arrow().to_pylist(), key=str) == [{"id": 0, "name": None}, {"id": 1, "name": "a"}]

    def test_without_rows_writes_a_version_only_if_asked(self) -> None:
        store = S3Model()
        table = fresh(store)
        table.append(numbers(1))
        nothing = table.append(numbers(0))
        assert (nothing.version, nothing.committed, nothing.files_added) == (1, False, 0)
        asked = table.append(numbers(0), commit_empty=True)
        assert (asked.version, asked.committed, asked.files_added) == (2, True, 0)
        assert (table.count(), table.version) == (1, 2)
        assert len([meta for meta in store.list_from("") if meta.path.endswith(".split")]) == 1

    def test_a_batch_of_an_application_is_written_once_and_its_repetition_leaves_no_file(self) -> None:
        store = S3Model()
        table = fresh(store)
        table.append(numbers(2), app="stream", batch=5)
        again = table.append(numbers(2), app="stream", batch=5)
        assert (again.committed, again.files_added, table.count()) == (False, 0, 2)
        assert len([meta for meta in store.list_from("") if meta.path.endswith(".split")]) == 1

    def test_large_input_becomes_several_files_in_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(row_sizes, "SLAB_BYTES", 8000)
        table = fresh()
        assert table.append(numbers(3000)).files_added == 3
        assert table.append(numbers(3000, 3000).to_reader(max_chunksize=500)).files_added == 3
        assert table.to_arrow()["id"].to_pylist() == list(range(6000))

    def test_partition_columns_of_a_table_stay(self) -> None:
        table = fresh()
        table.append(days(3), partition_by=["day"])
        table.append(days(3), partition_by=["day"])
        with pytest.raises(SchemaError, match="partitioned by day, not by id"):
            table.append(days(3), partition_by=["id"])

    def test_every_add_says_what_a_reader_needs(self) -> None:
        table = fresh()
        data = pa.table({"id": [3, 1], "ts": pa.array([5, 9], pa.timestamp("us", "UTC")), "day": ["a", "a"]})
        table.append(data, partition_by=["day"])
        [add] = [action for action in table.log.read_version(1) if isinstance(action, Add)]
        assert add.path.startswith("day=a/")
        assert add.partition_values == {"day": "a"}
        assert add.min_values == {"id": "1", "ts": "5"}
        assert add.max_values == {"id": "3", "ts": "9"}
        assert add.num_records == 2
        assert add.footer_end_offset == add.size
        assert add.has_footer_offsets is True
        assert (add.time_range_start, add.time_range_end) == ("5", "9")
        assert (add.num_merge_ops, add.doc_mapping_json) == (0, "[]")
        assert isinstance(add.tags, dict)
        assert WRITER_TAG in add.tags
        assert isinstance(add.uncompressed_size_bytes, int)


class TestReading:
    def table(self) -> Table:
        table = fresh()
        for first in range(0, 100, 10):
            table.append(pa.table({"id": range(first, first + 10), "name": [f"n{first}"] * 10}))
        return table

    def test_columns_come_in_the_order_in_which_they_are_asked_for(self) -> None:
        found = self.table().to_arrow(columns=["name", "id"], where="id = 42")
        assert found.to_pylist() == [{"name": "n40", "id": 42}]
        assert found.column_names == ["name", "id"]

    def test_rows_keep_their_order(self) -> None:
        assert self.table().to_arrow(columns=["id"])["id"].to_pylist() == list(range(100))

    def test_limit_stops_early(self) -> None:
        table = self.table()
        assert table.to_arrow(limit=15).num_rows == 15
        assert table.to_arrow(limit=0).num_rows == 0
        assert table.to_arrow(where="id > 90", limit=3)["id"].to_pylist() == [91, 92, 93]
        with pytest.raises(ConfigError, match="limit"):
            table.to_arrow(limit=-1)

    def test_a_small_limit_reads_little(self) -> None:
        store = FaultStore(S3Model())
        table = fresh(store)
        for first in range(0, 300, 10):
            table.append(numbers(10, first))
        table.count()
        before = len(store.calls)
        assert ids(table, limit=5) == [0, 1, 2, 3, 4]
        assert len({path for _, path in store.calls[before:] if path.endswith(".split")}) <= 3

    def test_nothing_found_is_an_empty_table_with_its_columns(self) -> None:
        found = self.table().to_arrow(columns=["name"], where="id > 1000")
        assert (found.num_rows, found.schema) == (0, pa.schema([("name", pa.string())]))

    def test_predicates_come_as_text_or_as_python(self) -> None:
        table = self.table()
        assert ids(table, where="id BETWEEN 3 AND 5") == ids(table, where=col("id").between(3, 5)) == [3, 4, 5]

    def test_batches_and_pandas_hold_the_same_rows(self) -> None:
        table = self.table()
        assert sum(batch.num_rows for batch in table.to_batches(where="id < 25")) == 25
        frame = table.to_pandas(columns=["id"], where="id < 3")
        assert frame["id"].tolist() == [0, 1, 2]

    def test_unknown_columns_are_named(self) -> None:
        with pytest.raises(SchemaError, match="no columns gone"):
            self.table().to_arrow(columns=["gone"])
        with pytest.raises(SchemaError, match="There is no column gone"):
            self.table().to_arrow(where="gone = 1")
        with pytest.raises(PredicateError):
            self.table().to_arrow(where="id = = 1")

    def test_a_constant_predicate_is_a_predicate(self) -> None:
        table = self.table()
        assert (table.count(where="true"), table.count(where="false"), table.count(where="NULL")) == (100, 0, 0)
        assert table.to_arrow(where="true OR id IS NULL").num_rows == 100

    def test_only_files_that_may_match_are_opened(self) -> None:
        store = FaultStore(S3Model())
        table = fresh(store)
        for first in range(0, 50, 10):
            table.append(numbers(10, first))
        table.count()
        before = len(store.calls)
        assert ids(table, where="id = 33") == [33]
        opened = {path for op, path in store.calls[before:] if path.endswith(".split")}
        assert len(opened) == 1

    def test_row_groups_that_cannot_match_are_not_read(self) -> None:
        read: list[int] = []

        class Counting(S3Model):
            def get_range(self, path: str, start: int, length: int) -> bytes:
                read.append(length)
                return super().get_range(path, start, length)

        chance = random.Random(0)
        table = fresh(Counting())
        table.append(pa.table({"id": range(400_000), "noise": [chance.random() for _ in range(400_000)]}))
        size = table.snapshot().size_in_bytes
        assert ids(table, where="id = 290000") == [290000]
        assert len(read) == 2
        assert sum(read) < size / 4

    def test_partition_columns_come_from_the_log(self) -> None:
        table = fresh()
        table.append(days(6), partition_by=["day"])
        assert table.to_arrow(columns=["day"], where="day IS NULL")["day"].to_pylist() == [None, None]
        assert sorted(table.to_arrow(where="day = DATE '2024-01-02'")["id"].to_pylist()) == [1, 4]
        assert table.to_arrow(columns=["day"]).num_rows == 6

    def test_files_from_before_a_column_was_added_have_null_there(self) -> None:
        table = fresh()
        table.append(numbers(2))
        table.log.update_metadata(schema=table.schema.append(pa.field("name", pa.string())))
        table.append(pa.table({"id": [2], "name": ["c"]}))
        assert table.to_arrow()["name"].to_pylist() == [None, None, "c"]
        assert ids(table, where="name IS NULL") == [0, 1]
        assert ids(table, where="name = 'c' OR id = 0") == [0, 2]
        assert table.to_arrow(columns=["name"], where="id = 0")["name"].to_pylist() == [None]

    def test_columns_of_files_are_found_whatever_their_case(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"ID": [1, 2], "Name": ["a", "b"]}), tmp_path / "x.split")
        table = Table(tmp_path)
        table.log.initialize(pa.schema([("id", pa.int64()), ("name", pa.string()), ("more", pa.int64())]))
        table.log.add_files(rebuild_adds(LocalStore(tmp_path)))
        assert table.to_arrow(where="id = 2").to_pylist() == [{"id": 2, "name": "b", "more": None}]
        assert table.count(where="name IS NULL") == 0

    def test_a_damaged_file_is_named(self) -> None:
        store = S3Model()
        table = fresh(store)
        table.append(numbers(10))
        [path] = table.files()["path"].to_pylist()
        store.put(path, store.get(path)[:-1])
        with pytest.raises(SplitCorruptionError, match=path):
            table.to_arrow()


class TestCount:
    def test_is_answered_from_the_log_where_it_can_be(self) -> None:
        store = FaultStore(S3Model())
        table = fresh(store)
        table.append(days(9), partition_by=["day"])
        table.append(pa.table({"id": range(100, 110), "day": pa.array([DAYS[0]] * 10, pa.date32())}))
        table.version  # noqa: B018 - looks at the log, which the calls after it need not
        before = len(store.calls)
        assert table.count() == 19
        assert table.count(where="day = DATE '2024-01-01'") == 13
        assert table.count(where="id >= 100") == 10
        assert not [path for _, path in store.calls[before:] if path.endswith(".split")]
        assert table.count(where="id >= 105") == 5


class TestExplain:
    def test_says_what_removed_files_and_why_the_rest_stayed(self) -> None:
        table = fresh()
        table.append(days(9), partition_by=["day"])
        told = table.explain("day = DATE '2024-01-01' AND id > 100")
        assert (told.files, told.pruned_by_partition, told.pruned_by_statistics, told.files_left) == (3, 2, 1, 0)
        told = table.explain("id >= 0")
        assert (told.files_left, told.whole_files) == (3, 3)
        assert "3 match in every row" in str(told)

    def test_names_columns_without_statistics_and_with_rounded_ones(self) -> None:
        store = S3Model()
        options = {"spark.indextables.stats.truncation.strategy": "bounds"}
        fresh(store, settings=Settings.resolve(options)).append(pa.table({"id": [1], "text": ["x" * 2000]}))
        fresh(store).append(pa.table({"id": [1], "text": ["y" * 2000]}))
        told = fresh(store).explain("text > 'a'")
        assert (told.without_statistics, told.inexact) == ({"text": 1}, {"text": 1})
        assert "1 have no statistics of text" in str(told)
        assert "1 have rounded statistics of text" in str(told)


class TestDelete:
    def test_drops_whole_files_without_reading_them(self) -> None:
        store = FaultStore(S3Model())
        table = fresh(store)
        table.append(days(9), partition_by=["day"])
        before = len(store.calls)
        done = table.delete("day = DATE '2024-01-01'")
        assert (done.files_removed, done.files_added, done.rows_deleted) == (1, 0, 3)
        assert not [path for _, path in store.calls[before:] if path.endswith(".split")]
        assert ids(table) == [1, 2, 4, 5, 7, 8]

    def test_rewrites_files_that_hold_other_rows_too(self) -> None:
        table = fresh()
        table.append(days(9), partition_by=["day"])
        table.append(days(3))
        done = table.delete("id IN (0, 1)")
        assert (done.rows_deleted, table.count(where="id < 2")) == (4, 0)
        assert ids(table) == [2, 2, 3, 4, 5, 6, 7, 8]
        assert table.history(limit=1)["operation"].to_pylist() == ["delete"]
        assert table.verify_stats().num_rows == 0

    def test_leaves_rows_for_which_the_predicate_is_unknown(self) -> None:
        table = fresh()
        table.append(pa.table({"id": [1, 2, 3], "name": ["a", None, "b"]}))
        table.delete("name = 'a'")
        assert ids(table) == [2, 3]
        table.delete("NOT (name = 'a')")
        assert ids(table) == [2]

    def test_of_nothing_commits_nothing(self) -> None:
        table = fresh()
        table.append(numbers(5))
        done = table.delete("id = 100")
        assert (done.committed, table.version) == (False, 1)
        assert not table.delete("id > 1 AND id < 2").committed

    def test_of_rows_that_only_the_data_shows_leaves_other_files_alone(self) -> None:
        table = fresh()
        table.append(pa.table({"id": [1, 9]}))
        table.append(pa.table({"id": [2, 5]}))
        done = table.delete("id = 5")
        assert (done.files_removed, done.files_added) == (1, 1)
        assert ids(table) == [1, 2, 9]


class TestOverwrite:
    def test_replaces_everything(self) -> None:
        table = fresh()
        table.append(numbers(5))
        done = table.overwrite(numbers(2, 10))
        assert (done.files_removed, done.rows_deleted, done.rows_added, ids(table)) == (1, 5, 2, [10, 11])
        assert table.history(limit=1)["operation"].to_pylist() == ["overwrite"]

    def test_with_nothing_empties_the_table(self) -> None:
        table = fresh()
        table.append(numbers(5))
        assert table.overwrite(numbers(0)).committed
        assert table.count() == 0

    def test_makes_the_table_where_there_is_none(self) -> None:
        table = fresh()
        table.overwrite(numbers(2))
        assert ids(table) == [0, 1]

    def test_of_a_part_keeps_the_other_rows(self) -> None:
        table = fresh()
        table.append(days(9), partition_by=["day"])
        done = table.overwrite(days(1).set_column(0, "id", [[100]]), where="day = DATE '2024-01-01'")
        assert (done.rows_deleted, ids(table)) == (3, [1, 2, 4, 5, 7, 8, 100])
        table.overwrite(days(1).set_column(0, "id", [[7]]), where="id >= 7")
        assert ids(table) == [1, 2, 4, 5, 7]

    def test_of_a_part_refuses_rows_outside_it(self) -> None:
        store = S3Model()
        table = fresh(store)
        table.append(numbers(5))
        with pytest.raises(SchemaError, match="do not all lie in what they replace"):
            table.overwrite(numbers(5), where="id > 2")
        assert len([meta for meta in store.list_from("") if meta.path.endswith(".split")]) == 1

    def test_of_a_part_needs_a_table(self) -> None:
        with pytest.raises(TableNotFoundError):
            fresh().overwrite(numbers(1), where="id = 0")


class TestRaces:
    """Somebody else commits in the middle: the conflict table of the log decides, and lost files are cleared away."""

    def racing(self, model: S3Model, interfere: Any) -> Table:
        done = threading.Event()

        def before(op: str, _: str) -> None:
            if op == "put_if_absent" and not done.is_set():
                done.set()
                interfere(fresh(model))

        return fresh(WatchedStore(model, None, before))

    def splits(self, model: S3Model) -> int:
        return len([meta for meta in model.list_from("") if meta.path.endswith(".split")])

    def test_two_appends_both_hold(self) -> None:
        model = S3Model()
        fresh(model).append(numbers(1))
        self.racing(model, lambda other: other.append(numbers(1, 1))).append(numbers(1, 2))
        assert ids(fresh(model)) == [0, 1, 2]

    def test_an_overwrite_that_missed_an_append_is_refused_and_leaves_no_file(self) -> None:
        model = S3Model()
        fresh(model).append(numbers(1))
        with pytest.raises(ConcurrentWriteError, match="added files that our overwrite did not see"):
            self.racing(model, lambda other: other.append(numbers(1, 1))).overwrite(numbers(1, 2))
        assert (ids(fresh(model)), self.splits(model)) == ([0, 1], 2)

    def test_two_deletes_of_one_file_do_not_undo_each_other(self) -> None:
        model = S3Model()
        fresh(model).append(numbers(5))
        with pytest.raises(ConcurrentWriteError):
            self.racing(model, lambda other: other.delete("id = 1")).delete("id = 2")
        assert ids(fresh(model)) == [0, 2, 3, 4]

    def test_a_delete_of_whole_files_holds_beside_an_append(self) -> None:
        model = S3Model()
        fresh(model).append(numbers(5))
        self.racing(model, lambda other: other.append(numbers(1, 9))).delete("id < 5")
        assert ids(fresh(model)) == [9]

    def test_an_append_made_for_another_schema_is_refused(self) -> None:
        model = S3Model()
        fresh(model).append(numbers(1))

        def widen(other: Table) -> None:
            other.log.update_metadata(schema=other.schema.append(pa.field("name", pa.string())))

        with pytest.raises(ConcurrentWriteError, match="another schema"):
            self.racing(model, widen).append(numbers(1, 1))
        assert self.splits(model) == 1


class TestFailures:
    def test_a_failed_write_clears_its_files_away(self) -> None:
        model = S3Model()
        fresh(model).append(days(3), partition_by=["day"])

        class Failing(WatchedStore):
            def put(self, path: str, data: bytes) -> None:
                if "day=2024-01-02" in path:
                    raise StorageUnavailableError(path)
                super().put(path, data)

        with pytest.raises(StorageUnavailableError):
            fresh(Failing(model, None, None)).append(days(30))
        assert fresh(model).count() == 3
        assert len([meta for meta in model.list_from("") if meta.path.endswith(".split")]) == 3

    def test_files_of_a_commit_whose_fate_is_unknown_stay(self) -> None:
        model = S3Model()
        fresh(model).append(numbers(1))

        class Silent(WatchedStore):
            def put_if_absent(self, path: str, data: bytes) -> None:
                model.put_if_absent(path, data)
                raise OutcomeUnknownError(path)

            def get(self, path: str) -> bytes:
                if path.endswith("2.json"):
                    raise StorageUnavailableError(path)
                return super().get(path)

        with pytest.raises(CommitUnknownError):
            fresh(Silent(model, None, None)).append(numbers(1, 1))
        assert ids(fresh(model)) == [0, 1]


class TestShowing:
    def test_tells_the_table_at_a_glance(self, tmp_path: Path) -> None:
        table = Table(str(tmp_path / "t"))
        table.append(days(3), partition_by=["day"])
        assert repr(table).startswith(f"Table('{tmp_path / 't'}', version=1, files=3, rows=3, size=")
        assert repr(table).endswith("partitioned by=day)")
        shown = table._repr_html_()
        assert "date32[day] (partition)" in shown
        assert "<th>files</th><td>3</td>" in shown

    def test_names_are_shown_as_text_not_as_markup(self) -> None:
        table = fresh()
        table.append(pa.table({"<script>": [1]}))
        assert "<script>" not in table._repr_html_()

    def test_lists_files_with_typed_values(self) -> None:
        table = fresh()
        table.append(days(9), partition_by=["day"])
        listed = table.files(where="day = DATE '2024-01-02'")
        assert listed["partition_values"].to_pylist() == [{"day": DAYS[1]}]
        assert listed["min_values"].to_pylist() == [{"id": 1}]
        assert listed["num_records"].to_pylist() == [3]

    def test_skips_and_caches_can_be_seen(self) -> None:
        table = fresh()
        table.append(numbers(1))
        [path] = table.files()["path"].to_pylist()
        table.log.record_skipped_file(path, reason="too large", operation="merge")
        assert table.skipped_files()["reason"].to_pylist() == ["too large"]
        assert table.cache_stats().entries >= 0
        assert (table.protocol.min_reader_version, table.metadata.id) == (2, table.snapshot().metadata.id)


def test_types_that_only_spark_has_are_kept_and_skipped_only_where_arrow_orders_them_alike() -> None:
    named = {
        "pause": ("interval day to second", pa.duration("us"), [dt.timedelta(seconds=1), None]),
        "months": ("interval year to month", pa.int32(), [14, None]),
        "time": ("time(6)", pa.time64("us"), [dt.time(1, 2, 3, 4), None]),
        "padded": ("char(5)", pa.string(), ["ab", None]),
        "short": ("varchar(10)", pa.string(), ["ab", None]),
        "collated": ("string collate UNICODE_CI", pa.string(), ["ab", None]),
        "any": ("variant", None, [{"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}, None]),
    }
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, (kind, _, _) in named.items()]
    table = fresh()
    table.log.initialize(json.dumps({"type": "struct", "fields": fields}))
    columns = {
        name: pa.array(values, kind or table.schema.field(name).type) for name, (_, kind, values) in named.items()
    }
    table.append(pa.table(columns))
    assert table.to_arrow().to_pylist() == pa.table(columns).to_pylist()
    assert table.to_arrow().schema.equals(table.schema, check_metadata=True)
    [add] = [action for action in table.log.read_version(1) if isinstance(action, Add)]
    assert add.min_values == {"pause": "1000000", "months": "14", "time": "01:02:03.000004", "short": "ab"}
    assert table.files(where="collated IS NULL").num_rows == 1
    assert table.files(where="padded = 'ab   '").num_rows == 1
    assert table.files(where="short > 'b'").num_rows == 0
    assert table.verify_stats().num_rows == 0
