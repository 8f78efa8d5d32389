"""Bloom filters as Arrow writes them: never a value missed, nearly all others ruled out."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pyarrow as pa
import pytest

from indextables.config import Settings
from indextables.errors import SplitCorruptionError
from indextables.predicate import bind, col
from indextables.split import reader
from indextables.split.bloom import may_contain, plain_bytes, xxh64
from indextables.split.reader import Split, SplitAddress, open_split
from indextables.split.writer import encode_split
from indextables.storage.retry import RetryingStore
from indextables.table import Table
from indextables.table.groups import matching_row_groups
from indextables.testing.models import S3Model

SETTINGS = Settings.resolve({"spark.indextables.indexing.fastfields": "c"})


@pytest.mark.parametrize(
    ("data", "hashed"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_the_hash_is_the_one_that_everybody_uses(data: bytes, hashed: int) -> None:
    assert xxh64(data) == hashed


def split_of(values: pa.Array) -> Split:
    store = S3Model()
    data, file = encode_split(pa.table({"c": values}), path="a.split", settings=SETTINGS)
    store.put("a.split", data)
    address = SplitAddress(
        path="a.split", size=file.size, footer_start=file.footer_start, footer_checksum=file.footer_checksum
    )
    return open_split(store, address)


CHANCE = random.Random(0)
NUMBERS = [CHANCE.randrange(-(2**31), 2**31) for _ in range(2000)]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), NUMBERS),
        (pa.int32(), NUMBERS),
        (pa.int16(), [number % 20000 for number in NUMBERS]),
        (pa.timestamp("us", "UTC"), NUMBERS),
        (pa.timestamp("us"), NUMBERS),
        (pa.date32(), [number % 100_000 for number in NUMBERS]),
        (pa.string(), [f"{'é' * (number % 40)}{number}" for number in NUMBERS]),
        (pa.binary(), [str(number).encode() for number in NUMBERS]),
    ],
    ids=str,
)
def test_every_value_is_found_and_few_others_are(kind: pa.DataType, values: list[Any]) -> None:
    half = len(values) // 2
    there = values[:half]
    others = [value for value in values[half:] if value not in set(there)]
    width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    array = pa.array(there, width).cast(kind) if pa.types.is_temporal(kind) else pa.array(there, kind)
    stored = split_of(array).bloom_filter(0, 0)
    assert stored is not None

    def found(value: Any) -> bool:
        data = plain_bytes(value, kind)
        assert data is not None
        return may_contain(stored, [data])

    assert all(found(value) for value in there)
    assert sum(found(value) for value in others) <= len(others) * 0.05 + 5


def test_other_types_and_values_have_no_bytes() -> None:
    assert plain_bytes(1.5, pa.float64()) is None
    assert plain_bytes(True, pa.int64()) is None
    assert plain_bytes(2**63, pa.int64()) is None
    assert plain_bytes(2**31, pa.int32()) is None
    assert plain_bytes("1", pa.int64()) is None
    assert plain_bytes(1, pa.string()) is None
    assert plain_bytes(1, pa.timestamp("ns")) is None


def test_bytes_of_no_known_form_rule_nothing_out() -> None:
    for stored in (b"", b"x", bytes(31), bytes(64 + 33), bytes(128 + 60)):
        assert may_contain(stored, [b"a"])
    assert not may_contain(bytes(15 + 32), [b"a"])


class TestReading:
    def groups(self, where: Any, values: Any = None) -> list[int]:
        split = split_of(pa.array(values if values is not None else ["a", "c", "e"]))
        schema = split.schema
        return matching_row_groups(split, bind(where, schema), {}, schema)

    def test_a_value_between_the_bounds_that_is_not_there_is_ruled_out(self) -> None:
        assert self.groups(col("c") == "b") == []
        assert self.groups(col("c") == "c") == [0]
        assert self.groups(col("c").isin(["b", "d"])) == []
        assert self.groups(col("c").isin(["b", "e"])) == [0]
        assert self.groups((col("c") > "a") & (col("c") == "d")) == []
        assert self.groups("c = 2", [1, 3]) == []
        assert self.groups("c = 3", [1, 3]) == [0]

    @pytest.mark.parametrize(
        "where",
        [
            col("c") != "b",
            ~(col("c") == "b"),
            (col("c") == "b") | (col("c") == "a"),
            col("c").eq_null_safe("a"),
            col("c") > "b",
        ],
        ids=str,
    )
    def test_anything_but_equality_is_not_its_business(self, where: Any) -> None:
        assert self.groups(where) == [0]

    def test_literals_of_another_type_are_left_to_the_rows(self) -> None:
        assert self.groups("c = 3.0", [1, 3]) == [0]
        moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        assert self.groups(col("c") == moment, pa.array([0, 5], pa.timestamp("us", "UTC"))) == [0]
        late = moment + dt.timedelta(microseconds=3)
        assert self.groups(col("c") == late, pa.array([0, 5], pa.timestamp("us", "UTC"))) == []

    @pytest.mark.parametrize("small", [0, 256 * 1024])
    def test_a_damaged_filter_hides_no_row(self, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reader, "_SMALL", small)
        store = S3Model()
        table = Table.at_store(RetryingStore(store), settings=SETTINGS)
        table.append(pa.table({"c": ["a", "c", "e"]}))
        [path] = table.files()["path"].to_pylist()
        data = store.get(path)
        begin, end, _ = open_split(store, SplitAddress(path=path)).footer.bloom_filters[0, 0]
        assert table.to_arrow(where="c = 'c'").num_rows == 1
        store.put(path, data[:begin] + bytes(end - begin) + data[end:])
        with pytest.raises(SplitCorruptionError, match="a bloom filter of row group 0 does not match its checksum"):
            table.to_arrow(where="c = 'c'")
        assert table.to_arrow(where="c > 'b'").num_rows == 2

    def test_unordered_ids_are_found_without_reading_other_row_groups(self) -> None:
        numbers = list(range(0, 600_000, 2))
        random.Random(1).shuffle(numbers)
        table = Table.at_store(RetryingStore(S3Model()), settings=SETTINGS)
        table.append(pa.table({"c": numbers}))
        [address] = table.files()["path"].to_pylist()
        split = open_split(table._store, SplitAddress(path=address))
        schema = table.schema
        assert split.num_row_groups == 3
        left = [len(matching_row_groups(split, bind(col("c") == n, schema), {}, schema)) for n in range(1, 200, 2)]
        assert sum(left) <= 20
        assert table.to_arrow(where=f"c = {numbers[-1]}").num_rows == 1
