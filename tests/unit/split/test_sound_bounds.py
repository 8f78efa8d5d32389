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


def cut_bounds_of(data: bytes) -> frozenset[tuple[int, int]]:
    length = int.from_bytes(data[-8:-4], "little")
    return cut_bounds(pq.read_metadata(pa.BufferReader(data)), data[-8 - length : -8])


def extended(data: bytes, fields: bytes) -> bytes:
    """Return a file whose footer has more fields at its end."""
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -9] + fields + b"\x00"
    return data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


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
    assert cut_bounds_of(data) == frozenset()


@pytest.mark.parametrize("length", range(8))
def test_a_cut_bound_is_found_in_its_row_group_and_column(length: int) -> None:
    table = EVERYTHING.append_column("n", pa.array([1, 2, 7, 7, 5, 6], pa.int64()))
    data = with_bound(written(table, row_group_size=2), LONG, LONG[:length])
    metadata = pq.read_metadata(pa.BufferReader(data))
    last = metadata.num_columns - 1
    long = next(index for index in range(last) if metadata.schema.column(index).path == "long")
    assert cut_bounds_of(data) == {(0, long), (1, last)}


def test_the_bound_of_a_fixed_number_of_bytes_may_be_cut_and_that_of_a_text_cannot() -> None:
    key = b"0123456789abcdef"
    table = pa.table({"key": pa.array([key], pa.binary(16)), "text": [key.decode()]})
    data = with_bound(written(table), key, key[:5])
    assert cut_bounds_of(data) == {(0, 0)}


SIGNED = b"\x1c\x1c\x00\x00"  # field 8 behind the last one: AES_GCM_V1, as in the open footer of a file with encrypted columns
STRANGERS = {
    "signed": SIGNED,
    "a field with its number written out": b"\x05\xc8\x01\x02",
    "a list of booleans": b"\x19\x31\x01\x02\x01",
    "a long list": b"\x19\xf5\x10" + b"\x02" * 16,
    "a set": b"\x1a\x25\x02\x04",
    "a map of texts and numbers": b"\x1b\x02\x85\x01a\x02\x01b\x04",
    "a map of nothing": b"\x1b\x00",
    "a double and a byte": b"\x17" + bytes(8) + b"\x13\x01",
    "a struct in a struct": b"\x1c\x11\x12\x1c\x18\x02ab\x00\x00",
    "row groups that are no list": b"\x08\x08\x02ab",
}


class TestFieldsThatNobodyKnows:
    """The library passes by what it does not know, and so must this, from the very same bytes."""

    @pytest.mark.parametrize("stranger", STRANGERS)
    def test_do_not_hide_a_bound(self, stranger: str) -> None:
        table = pa.table({"n": pa.array([7, 7], pa.int64())})
        data = with_bound(written(table), LONG, LONG[:3])
        assert cut_bounds_of(extended(data, STRANGERS[stranger])) == {(0, 0)}

    @pytest.mark.parametrize("stranger", STRANGERS)
    def test_cost_no_bound(self, stranger: str) -> None:
        data = extended(written(pa.table({"n": pa.array([7, 9], pa.int64())})), STRANGERS[stranger])
        store = S3Model()
        store.put("f.parquet", data)
        described = describe_file(store, "f.parquet", settings=Settings())
        assert (described.statistics.min_values, described.statistics.max_values) == ({"n": "7"}, {"n": "9"})

    @pytest.mark.parametrize(
        ("stranger", "said"),
        {
            b"\x1d" + bytes(16): "kind 13",
            b"\x05\x80\x80\x08\x02": "a field 65536",
            b"\x18\x80\x80\x80\x80\x10": "4294967296 values",
            b"\x19\xf1\xff\xff\xff\xff\x07": "2147483647 values",
            b"\x1b\xff\xff\xff\xff\x07\x33": "2147483647 values",
            b"\x0c" + b"\xff" * 11: "without an end",
        }.items(),
    )
    def test_end_in_an_error_where_readers_may_disagree(self, stranger: bytes, said: str) -> None:
        data = written(pa.table({"n": [7]}))
        content = data[:-8][-int.from_bytes(data[-8:-4], "little") :]
        with pytest.raises(ValueError, match=said):
            cut_bounds(pq.read_metadata(pa.BufferReader(data)), content[:-1] + stranger + b"\x00")

    def test_end_in_an_error_where_the_bytes_end_too_early(self) -> None:
        data = written(pa.table({"n": [7]}))
        content = data[:-8][-int.from_bytes(data[-8:-4], "little") :]
        with pytest.raises(IndexError):
            cut_bounds(pq.read_metadata(pa.BufferReader(data)), content[:-1])


def test_a_bound_that_is_said_twice_counts_as_cut_if_it_is_cut_once() -> None:
    whole, cut = b"\x18\x08" + LONG, b"\x18\x02" + LONG[:2]
    data = written(pa.table({"n": pa.array([7, 7], pa.int64())}))
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8]
    assert whole in footer
    for twice in (whole + b"\x08\x0a\x02" + LONG[:2], cut + b"\x08\x0a\x08" + LONG):  # field 5 again, by its number
        changed = footer.replace(whole, twice, 1)
        metadata = pq.read_metadata(pa.BufferReader(b"PAR1" + changed + len(changed).to_bytes(4, "little") + b"PAR1"))
        assert cut_bounds(metadata, changed) == {(0, 0)}


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
