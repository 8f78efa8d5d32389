"""One split file: what is written is what is read, and the record says the truth about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.config import Settings
from indextables.errors import NotFoundError, SchemaError, SplitCorruptionError
from indextables.runtime import SYSTEM
from indextables.split import (
    Split,
    SplitAddress,
    SplitFile,
    describe_file,
    describe_files,
    new_split_path,
    open_split,
    reader,
    write_split,
)
from indextables.split.footer import PARTITION_KEY, TABLE_KEY, TEXT_INDEX_KEY
from indextables.storage.local import LocalStore
from indextables.testing.models import S3Model
from indextables.testing.virtual import virtual_runtime
from tests.support.data import every_type

if TYPE_CHECKING:
    from pathlib import Path

    from indextables.storage.base import Store

SETTINGS = Settings()


def written(table: pa.Table, **options: Any) -> tuple[Store, SplitFile]:
    store = S3Model()
    path = new_split_path(options.pop("directory", ""), runtime=options.get("runtime", SYSTEM))
    return store, write_split(store, path, table, settings=options.pop("settings", SETTINGS), **options)


def address(file: SplitFile) -> SplitAddress:
    return SplitAddress(
        path=file.path, size=file.size, footer_start=file.footer_start, footer_checksum=file.footer_checksum
    )


def opened(store: Store, file: SplitFile) -> Split:
    return open_split(store, address(file))


def whole(split: Split) -> pa.Table:
    return split.read(range(split.num_row_groups), split.schema.names)


def same(one: pa.Table, other: pa.Table) -> bool:
    """Compare tables of which NaN equals NaN."""
    return one.schema.equals(other.schema) and repr(one.to_pylist()) == repr(other.to_pylist())


def test_comes_back_as_it_was_for_every_type() -> None:
    table = every_type()
    store, file = written(table)
    split = opened(store, file)
    assert same(whole(split), table)
    assert (split.num_records, file.num_records) == (4, 4)


def test_is_named_by_a_new_id_in_its_partition() -> None:
    _, file = written(pa.table({"a": [1]}), directory="day=1", runtime=virtual_runtime(0))
    assert file.path.startswith("day=1/")
    assert file.path.endswith(".split")
    assert len(file.path) == len("day=1/") + 36 + len(".split")


def test_the_record_tells_where_the_footer_is_and_how_large_the_columns_are() -> None:
    table = pa.table({"a": range(1000), "ts": pa.array(range(1000), pa.timestamp("us", "UTC"))})
    store, file = written(table, table_id="the table", partition_values={"day": None}, merge_ops=2)
    data = store.get(file.path)
    assert file.size == len(data)
    assert data[file.footer_start :][-8:-4] == (file.size - file.footer_start - 8).to_bytes(4, "little")
    metadata = pq.read_metadata(pa.BufferReader(data))
    assert file.uncompressed_size == sum(metadata.row_group(0).column(c).total_uncompressed_size for c in range(2))
    assert file.time_range == ("0", "999")
    assert file.doc_mapping == "[]"
    assert file.merge_ops == 2
    assert metadata.metadata[TABLE_KEY] == b"the table"
    assert msgspec.json.decode(metadata.metadata[PARTITION_KEY]) == {"day": None}
    assert TEXT_INDEX_KEY not in metadata.metadata


class Counting(S3Model):
    """Notes which ranges are read, of files that another store has."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self.reads: list[tuple[int, int]] = []

    def get_range(self, path: str, start: int, length: int) -> bytes:
        self.reads.append((start, length))
        return self._store.get_range(path, start, length)


def test_one_ranged_read_fetches_the_footer_and_one_more_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_SMALL", 0)
    store, file = written(pa.table({"a": range(100), "b": [str(n) for n in range(100)]}))
    counting = Counting(store)
    split = open_split(counting, address(file))
    assert [start for start, _ in counting.reads] == [file.footer_start]
    split.read([0], ["b"])
    assert len(counting.reads) == 2
    assert counting.reads[1][1] < file.footer_start


def test_a_small_split_is_read_at_once() -> None:
    store, file = written(pa.table({"a": range(100), "b": [str(n) for n in range(100)]}))
    counting = Counting(store)
    assert whole(open_split(counting, address(file))).num_rows == 100
    assert counting.reads == [(0, file.size + 1)]


def test_reads_only_the_columns_and_row_groups_that_are_wanted() -> None:
    table = pa.table({"a": range(300_000), "s": pa.array([{"x": 1, "y": "z"}] * 300_000), "b": range(300_000)})
    store, file = written(table)
    split = opened(store, file)
    assert split.num_row_groups == 3
    assert split.rows_of([0, 2]) == 128 * 1024 + 300_000 - 2 * 128 * 1024
    part = split.read([1], ["b", "s"])
    assert part.column_names == ["s", "b"]
    assert part["b"][0].as_py() == 128 * 1024
    assert part["s"][0].as_py() == {"x": 1, "y": "z"}
    assert split.read([0], ["gone"]).num_columns == 0
    assert split.read([], ["a"]).num_rows == 0


def test_wide_rows_make_small_row_groups() -> None:
    store, file = written(pa.table({"t": ["x" * 100_000] * 1000}))
    assert opened(store, file).num_row_groups == 3


def test_names_with_dots_are_not_taken_for_paths() -> None:
    table = pa.table({"a": pa.array([{"b": 1}]), "a.b": [2], "b": [3]})
    store, file = written(table)
    split = opened(store, file)
    assert split.read([0], ["a.b"]).to_pylist() == [{"a.b": 2}]
    assert split.read([0], ["a"]).to_pylist() == [{"a": {"b": 1}}]


def test_columns_with_nan_have_no_parquet_statistics_anywhere() -> None:
    table = pa.table(
        {
            "nan": [1.0, float("nan")],
            "plain": [1.0, 2.0],
            "list": pa.array([[float("nan")], []]),
            "struct": pa.array([{"f": float("nan"), "g": 1.0}, None]),
            "map": pa.array([[(1.0, float("nan"))], []], pa.map_(pa.float64(), pa.float64())),
        }
    )
    store, file = written(table)
    metadata = opened(store, file).footer.metadata
    chunks = [metadata.row_group(0).column(index) for index in range(metadata.num_columns)]
    assert {chunk.path_in_schema: chunk.is_stats_set for chunk in chunks} == {
        "nan": False,
        "plain": True,
        "list.list.element": False,
        "struct.f": False,
        "struct.g": True,
        "map.key_value.key": True,
        "map.key_value.value": False,
    }
    assert all(chunk.has_column_index == chunk.is_stats_set for chunk in chunks)


def test_fast_fields_have_bloom_filters_where_equal_values_have_equal_bytes() -> None:
    settings = Settings.resolve({"spark.indextables.indexing.fastfields": "id,name,ratio"})
    table = pa.table({"id": [1, 2], "name": ["a", "b"], "ratio": [0.0, -0.0], "other": [1, 2]})
    store, file = written(table, settings=settings)
    metadata = opened(store, file).footer.metadata
    filters = {
        metadata.row_group(0).column(i).path_in_schema: metadata.row_group(0).column(i).bloom_filter_offset
        for i in range(4)
    }
    assert {name for name, offset in filters.items() if offset} == {"id", "name"}


def test_columns_whose_names_read_alike_do_not_lend_each_other_statistics_or_filters() -> None:
    settings = Settings.resolve({"spark.indextables.indexing.fastfields": "a.b"})
    table = pa.table({"a": pa.array([{"b": float("nan")}]), "a.b": [1]})
    store, file = written(table, settings=settings)
    metadata = opened(store, file).footer.metadata
    chunks = [metadata.row_group(0).column(index) for index in range(2)]
    assert [chunk.is_stats_set for chunk in chunks] == [False, False]
    assert not any(chunk.bloom_filter_offset for chunk in chunks)


def test_is_compressed_and_has_a_page_index_and_page_checksums() -> None:
    store, file = written(pa.table({"a": ["x" * 50] * 10_000}))
    chunk = opened(store, file).footer.metadata.row_group(0).column(0)
    assert chunk.compression == "ZSTD"
    assert chunk.has_column_index
    assert chunk.has_offset_index
    assert file.size < 20_000


def test_rows_that_parquet_cannot_hold_are_refused_with_the_reason() -> None:
    with pytest.raises(SchemaError, match="Parquet cannot hold these rows"):
        written(pa.table({"empty": pa.array([{}, {}], pa.struct([]))}))


class TestDescribe:
    def test_tells_of_our_own_split_what_its_writer_said(self, tmp_path: Path) -> None:
        store = LocalStore(tmp_path)
        file = write_split(store, "p=%20/x.split", every_type(), settings=SETTINGS, partition_values={"p": ""})
        again = describe_file(store, file.path, settings=SETTINGS)
        for name in ("path", "size", "statistics", "partition_values", "footer_start", "footer_checksum", "time_range"):
            assert getattr(again, name) == getattr(file, name), name

    def test_tells_of_other_parquet_files_what_their_footers_say_for_certain(self, tmp_path: Path) -> None:
        table = every_type()
        (tmp_path / "day=2024-01-01").mkdir()
        pq.write_table(table, tmp_path / "day=2024-01-01" / "part-0.parquet", row_group_size=2)
        ours = written(table)[1].statistics
        file = describe_file(LocalStore(tmp_path), "day=2024-01-01/part-0.parquet", settings=SETTINGS)
        theirs = file.statistics
        assert file.partition_values == {"day": "2024-01-01"}
        assert theirs.null_counts == ours.null_counts
        assert theirs.nan_counts == {}
        assert theirs.inexact == ("string", "binary")
        exact = [name for name in theirs.min_values if name not in {"float", "double"}]
        assert {name: theirs.min_values[name] for name in exact} == {name: ours.min_values[name] for name in exact}
        assert {name: theirs.max_values[name] for name in exact} == {name: ours.max_values[name] for name in exact}
        assert set(ours.min_values) - set(theirs.min_values) <= {"float"}

    def test_int96_has_no_bounds(self, tmp_path: Path) -> None:
        table = pa.table({"ts": pa.array([1, 2], pa.timestamp("us", "UTC")), "a": [1, 2]})
        pq.write_table(table, tmp_path / "x.parquet", use_deprecated_int96_timestamps=True)
        found = describe_file(LocalStore(tmp_path), "x.parquet", settings=SETTINGS).statistics
        assert found.min_values == {"a": "1"}

    def test_a_file_without_statistics_has_none(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "x.parquet", write_statistics=False)
        found = describe_file(LocalStore(tmp_path), "x.parquet", settings=SETTINGS).statistics
        assert (found.min_values, found.null_counts, found.num_records) == ({}, {}, 2)

    def test_one_row_group_that_says_nothing_makes_the_file_unknown(self, tmp_path: Path) -> None:
        table = pa.table({"t": ["a", "b" * 5000, None, None]})
        pq.write_table(table, tmp_path / "x.parquet", row_group_size=1)
        found = describe_file(LocalStore(tmp_path), "x.parquet", settings=SETTINGS).statistics
        assert (found.min_values, found.null_counts) == ({}, {"t": 2})
        pq.write_table(table.slice(2), tmp_path / "nulls.parquet")
        assert describe_file(LocalStore(tmp_path), "nulls.parquet", settings=SETTINGS).statistics.null_counts == {
            "t": 2
        }

    def test_nanoseconds_are_rounded_outwards(self, tmp_path: Path) -> None:
        table = pa.table({"ts": pa.array([1001, -1001], pa.timestamp("ns", "UTC"))})
        pq.write_table(table, tmp_path / "x.parquet")
        schema = pa.schema([("ts", pa.timestamp("us", "UTC"))])
        found = describe_file(LocalStore(tmp_path), "x.parquet", settings=SETTINGS, schema=schema).statistics
        assert (found.min_values, found.max_values, found.inexact) == ({"ts": "-2"}, {"ts": "2"}, ("ts",))

    def test_a_column_of_another_type_than_the_tables_has_no_bounds(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"a": ["1", "10"], "b": [1, 2]}), tmp_path / "x.parquet")
        schema = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("new", pa.string())])
        found = describe_file(LocalStore(tmp_path), "x.parquet", settings=SETTINGS, schema=schema).statistics
        assert (found.min_values, found.null_counts) == ({"b": "1"}, {"a": 0, "b": 0, "new": 2})

    def test_only_a_column_that_is_not_there_at_all_is_null_throughout(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"A": [1], "s": pa.array([{"x": 1}])}), tmp_path / "x.parquet")
        schema = pa.schema([("a", pa.int64()), ("s", pa.int64()), ("gone", pa.struct([("x", pa.int64())]))])
        found = describe_file(LocalStore(tmp_path), "x.parquet", settings=SETTINGS, schema=schema).statistics
        assert found.null_counts == {"gone.x": 1}

    def test_many_files_in_their_order(self, tmp_path: Path) -> None:
        for number in range(40):
            pq.write_table(pa.table({"a": [number]}), tmp_path / f"{number}.parquet")
        paths = [f"{number}.parquet" for number in range(40)]
        found = describe_files(LocalStore(tmp_path), paths, settings=SETTINGS)
        assert [file.statistics.max_values["a"] for file in found] == [str(number) for number in range(40)]
        assert describe_files(LocalStore(tmp_path), [], settings=SETTINGS) == []

    def test_a_large_footer_is_read_whole(self, tmp_path: Path) -> None:
        table = pa.table({f"column {number}": [number] for number in range(2000)})
        pq.write_table(table, tmp_path / "x.parquet")
        assert (
            describe_file(LocalStore(tmp_path), "x.parquet", settings=SETTINGS).statistics.null_counts["column 9"] == 0
        )


class TestOtherFiles:
    def test_that_are_no_parquet_are_refused_by_name(self) -> None:
        store = S3Model()
        for content in (b"", b"PAR1", b"x" * 1000, b"\x00" * 8, b"PAR1" + b"\xff" * 4 + b"PAR1"):
            store.put("a.split", content)
            with pytest.raises(SplitCorruptionError, match=r"a\.split"):
                open_split(store, SplitAddress(path="a.split"))

    def test_that_took_the_place_of_a_split_are_noticed(self) -> None:
        store, file = written(pa.table({"a": [1, 2, 3]}))
        elsewhere, other = written(pa.table({"a": [1, 2, 4]}))
        assert other.size == file.size
        store.put(file.path, elsewhere.get(other.path))
        with pytest.raises(SplitCorruptionError, match="another file"):
            opened(store, file)

    def test_that_are_missing_are_not_found(self) -> None:
        with pytest.raises(NotFoundError, match=r"gone\.split"):
            open_split(S3Model(), SplitAddress(path="gone.split"))

    def test_without_checksums_are_still_checked_page_by_page(self) -> None:
        store = S3Model()
        sink = pa.BufferOutputStream()
        table = pa.table({"a": np.arange(1000)})
        pq.write_table(table, sink, write_page_checksum=True)
        data = bytearray(sink.getvalue())
        store.put("x.parquet", bytes(data))
        assert whole(open_split(store, SplitAddress(path="x.parquet"))).equals(table)
        data[200] ^= 1
        store.put("x.parquet", bytes(data))
        with pytest.raises(SplitCorruptionError, match=r"x\.parquet"):
            whole(open_split(store, SplitAddress(path="x.parquet")))
