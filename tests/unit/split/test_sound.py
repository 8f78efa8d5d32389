"""Footers that contradict themselves: the library would end the process, so it is asked only where it can say so."""

from __future__ import annotations

import datetime as dt
import random
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.errors import IndexTablesError, SplitCorruptionError
from indextables.split import SplitAddress, open_split
from indextables.split.sound import check_chunks
from indextables.testing.models import S3Model
from tests.fuzz.subjects import everything_in, split_file
from tests.fuzz.thrift import damaged_footer
from tests.unit.split.test_sound_bounds import EVERYTHING, ROWS, with_bound, written

PATH = "f.split"
NESTED = pa.table(
    {
        "labels": pa.array(["a", "b", None] * 2).dictionary_encode(),
        "pairs": pa.array([[("k", 1)], [], None] * 2, pa.map_(pa.string(), pa.int64())),
        "three": pa.array([[1, 2, 3]] * ROWS, pa.list_(pa.int32(), 3)),
        "deep": [[[{"x": [1]}]], [], None] * 2,
        "old": pa.array([dt.datetime(2024, 1, 1)] * ROWS, pa.timestamp("ns")),  # noqa: DTZ001 - without a zone on purpose
        "id": pa.array([b"0123456789abcdef"] * ROWS, pa.uuid()),
    }
)


@pytest.mark.parametrize("version", ["1.0", "2.6"])
@pytest.mark.parametrize("row_group_size", [ROWS, 2])
@pytest.mark.parametrize("int96", [False, True])
@pytest.mark.parametrize("table", [EVERYTHING, NESTED, EVERYTHING.slice(0, 0)], ids=["flat", "nested", "empty"])
def test_what_writers_write_is_sound(table: pa.Table, int96: bool, row_group_size: int, version: str) -> None:
    data = written(
        table,
        row_group_size=row_group_size,
        use_deprecated_int96_timestamps=int96,
        version=version,
        write_page_index=True,
    )
    check_chunks(pq.read_metadata(pa.BufferReader(data)), size=len(data))


def test_a_chunk_that_leads_outside_the_file_is_refused() -> None:
    data = written(EVERYTHING)
    with pytest.raises(OSError, match="corrupt file"):
        check_chunks(pq.read_metadata(pa.BufferReader(data)), size=100)


class TestAFooterThatTheLogVouchesFor:
    """Whoever can write into a table's directory can write a log that vouches for any footer."""

    @pytest.mark.parametrize("ours", [True, False], ids=["ours", "another writer's"])
    def test_is_read_or_refused_however_it_contradicts_itself(self, ours: bool) -> None:
        refused, original = 0, split_file(ours=ours)
        for seed in range(400):
            refused += everything_asked_of(damaged_footer(original, random.Random(seed))) is not None
        assert 100 < refused < 350

    def test_is_refused_by_the_name_of_its_file(self) -> None:
        errors = (
            everything_asked_of(damaged_footer(split_file(ours=False), random.Random(seed))) for seed in range(100)
        )
        said = [str(error) for error in errors if isinstance(error, SplitCorruptionError)]
        assert any("histogram size mismatch" in text for text in said)
        assert all(PATH in text for text in said)

    def test_may_say_that_it_is_ours_and_state_a_bound_that_is_cut(self) -> None:
        cut = with_bound(split_file(ours=True), (1).to_bytes(8, "little"), b"\1")
        assert isinstance(everything_asked_of(cut), SplitCorruptionError)


def everything_asked_of(data: bytes) -> IndexTablesError | None:
    """Read a file as the table's log describes it, and all that its footer says; return the error."""
    length = int.from_bytes(data[-8:-4], "little") + 8
    store = S3Model()
    store.put(PATH, data)
    address = SplitAddress(
        path=PATH, size=len(data), footer_start=len(data) - length, footer_checksum=zlib.crc32(data[-length:])
    )
    try:
        everything_in(open_split(store, address))
    except IndexTablesError as error:
        return error
    return None


@pytest.mark.parametrize("kind", [pa.int64(), pa.list_(pa.int64()), pa.struct({"wrong": pa.int64()})], ids=str)
def test_a_name_that_is_no_text_is_refused(kind: pa.DataType) -> None:
    data = written(pa.table({"wrong": pa.array([None], kind)}), store_schema=False)
    error = everything_asked_of(data.replace(b"wrong", b"\x92rong").replace(b"element", b"\x92lement"))
    assert isinstance(error, SplitCorruptionError)
    assert "can't decode" in str(error)
