"""Bounds that are shorter than a value of their type: the library would end the process, so it is not asked."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.config import Settings
from indextables.split import describe_file
from indextables.split.footer import parse_footer, read_footer
from indextables.split.footer_statistics import chunk_bounds
from indextables.split.sound_bounds import cut_bounds
from indextables.testing.models import S3Model

ROWS = 6
EVERYTHING = pa.table(
    {
        "flag": [True, False] * 3,
        "small": pa.array(range(ROWS), pa.int8()),
        "whole": pa.array(range(ROWS), pa.int32()),
        "long": pa.array([7, None, 2**40, 9, 8, 1], pa.int64()),
        "half": pa.array([0.5] * ROWS, pa.float16()),
        "real": pa.array([0.5] * ROWS, pa.float32()),
        "double": [0.25] * ROWS,
        "price": pa.array([Decimal("1.25")] * ROWS, pa.decimal128(20, 2)),
        "day": [dt.date(2024, 1, 1)] * ROWS,
        "at": [dt.datetime(2024, 1, 1)] * ROWS,  # noqa: DTZ001 - a moment without a zone is what is tested
        "key": pa.array([b"0123456789abcdef"] * ROWS, pa.binary(16)),
        "text": ["", "a", "long " * 20, "b", None, "c"],
        "bytes": [b"", b"x"] * 3,
        "nothing": pa.array([None] * ROWS, pa.int64()),
        "tags": [["a", "b"], [], None] * 2,
        "inside": [{"n": 1, "deep": {"s": "x"}}] * ROWS,
        **{f"more{number}": range(ROWS) for number in range(20)},
    }
)
LONG = (7).to_bytes(8, "little")


def written(table: pa.Table, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return bytes(sink.getvalue().to_pybytes())


def with_bound(data: bytes, old: bytes, new: bytes) -> bytes:
    """Return a file in whose footer each bound that is one value is another, of whatever length."""
    length = int.from_bytes(data[-8:-4], "little")
    pages, footer = data[: -8 - length], data[-8 - length : -8]
    stored, wanted = bytes([len(old)]) + old, bytes([len(new)]) + new
    assert stored in footer
    footer = footer.replace(stored, wanted)
    return pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize(
    "options", [{}, {"version": "1.0"}, {"write_statistics": False}, {"store_schema": False}], ids=str
)
@pytest.mark.parametrize("row_group_size", [ROWS, 2])
def test_what_writers_write_is_whole(row_group_size: int, options: dict[str, object]) -> None:
    data = written(
        EVERYTHING.replace_schema_metadata({"k" * 300: "v"}),
        row_group_size=row_group_size,
        sorting_columns=[pq.SortingColumn(1, descending=True)],
        **options,
    )
    assert cut_bounds(pq.read_metadata(pa.BufferReader(data))) == frozenset()


@pytest.mark.parametrize("length", range(8))
def test_a_cut_bound_is_found_in_its_row_group_and_column(length: int) -> None:
    table = EVERYTHING.append_column("n", pa.array([1, 2, 7, 7, 5, 6], pa.int64()))
    data = with_bound(written(table, row_group_size=2), LONG, LONG[:length])
    metadata = pq.read_metadata(pa.BufferReader(data))
    last = metadata.num_columns - 1
    long = next(index for index in range(last) if metadata.schema.column(index).path == "long")
    assert cut_bounds(metadata) == {(0, long), (1, last)}


def test_the_bound_of_a_fixed_number_of_bytes_may_be_cut_and_that_of_a_text_cannot() -> None:
    key = b"0123456789abcdef"
    table = pa.table({"key": pa.array([key], pa.binary(16)), "text": [key.decode()]})
    data = with_bound(written(table), key, key[:5])
    assert cut_bounds(pq.read_metadata(pa.BufferReader(data))) == {(0, 0)}


class TestAFileOfAnotherWriter:
    def test_loses_the_bounds_of_that_column_and_no_others(self) -> None:
        table = pa.table({"n": pa.array([7, 7, None], pa.int64()), "m": pa.array([1, 2, 3], pa.int64())})
        store = S3Model()
        store.put("f.parquet", with_bound(written(table), LONG, LONG[:3]))
        described = describe_file(store, "f.parquet", settings=Settings())
        assert described.statistics.min_values == {"m": "1"}
        assert described.statistics.max_values == {"m": "3"}
        assert described.num_records == 3

    def test_has_none_in_that_row_group_also_when_the_log_vouches_for_its_footer(self) -> None:
        table = pa.table({"n": pa.array([7, 7, 1, 2], pa.int64())})
        data = with_bound(written(table, row_group_size=2), LONG, b"")
        store = S3Model()
        store.put("f.parquet", data)
        known = read_footer(store, "f.parquet")
        footer = parse_footer("f.parquet", data[known.start :], size=len(data), checksum=known.checksum)
        assert footer.vouched
        assert chunk_bounds(footer, 0, pa.int64(), [0, 1]).least == [None, "1"]
