"""A damaged split gives the right answer or an error that names it, never other rows.

Every class of bytes is damaged: row groups, page index, bloom filter, the Parquet metadata, our own notes in it, the tail.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.config import Settings
from indextables.errors import SplitCorruptionError
from indextables.split import SplitAddress, describe_file, open_split, reader
from indextables.split.chunks import chunk_range
from indextables.split.footer import CHECKSUMS_KEY
from indextables.split.writer import encode_split
from indextables.testing.models import S3Model
from tests.support.effort import times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.split import SplitFile

CASES = times(150)
PATH = "day=1/damaged.split"
SETTINGS = Settings.resolve({"spark.indextables.indexing.fastfields": "id,name"})


def rows() -> pa.Table:
    chance = random.Random(0)
    return pa.table(
        {
            "id": [chance.randrange(1000) for _ in range(600)],
            "name": [chance.choice(["a", "b", None, "c" * 20]) for _ in range(600)],
            "ratio": [chance.random() for _ in range(600)],
            "tags": [[chance.choice("xyz")] * chance.randrange(3) for _ in range(600)],
        }
    )


TABLE = rows()
DATA, FILE = encode_split(TABLE, path=PATH, settings=SETTINGS, table_id="t", partition_values={"day": "1"})
ADDRESS = SplitAddress(path=PATH, size=FILE.size, footer_start=FILE.footer_start, footer_checksum=FILE.footer_checksum)


def areas(data: bytes, file: SplitFile) -> dict[str, tuple[int, int]]:
    metadata = pq.read_metadata(pa.BufferReader(data))
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    end = max(chunk_range(group.column(index))[1] for group in groups for index in range(metadata.num_columns))
    sums = data.index(metadata.metadata[CHECKSUMS_KEY], file.footer_start)
    return {
        "row groups": (4, end),
        "indexes": (end, file.footer_start),
        "metadata": (file.footer_start, len(data) - 8),
        "checksums": (sums, sums + len(metadata.metadata[CHECKSUMS_KEY])),
        "tail": (len(data) - 8, len(data)),
    }


def damaged(data: bytes, begin: int, end: int, chance: random.Random) -> Iterator[bytes]:
    """Yield flipped bits, overwritten runs, and cuts, inside a range of bytes."""
    while True:
        at = chance.randrange(begin, end)
        flipped = bytearray(data)
        flipped[at] ^= 1 << chance.randrange(8)
        yield bytes(flipped)
        run = min(chance.randint(2, 64), end - at)
        filled = data[:at] + bytes([chance.choice([0, 255, chance.randrange(256)])]) * run + data[at + run :]
        if filled != data:
            yield filled
        yield data[:at] + data[at + run :]
        yield data[:at]


def read(data: bytes) -> pa.Table | SplitCorruptionError:
    store = S3Model()
    store.put(PATH, data)
    try:
        split = open_split(store, ADDRESS)
        return split.read(range(split.num_row_groups), TABLE.schema.names)
    except SplitCorruptionError as error:
        return error


def describe(data: bytes) -> SplitFile | SplitCorruptionError:
    store = S3Model()
    store.put(PATH, data)
    try:
        return describe_file(store, PATH, settings=SETTINGS)
    except SplitCorruptionError as error:
        return error


@pytest.mark.parametrize("small", [0, 256 * 1024], ids=["read in ranges", "read at once"])
@pytest.mark.parametrize("area", ["row groups", "indexes", "metadata", "checksums", "tail"])
def test_damage_gives_the_right_rows_or_an_error_that_names_the_file(
    area: str, small: int, record_property: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_SMALL", small)
    begin, end = areas(DATA, FILE)[area]
    assert begin < end
    chance = random.Random(area)
    outcomes = {"right": 0, "refused": 0}
    for data, _ in zip(damaged(DATA, begin, end, chance), range(CASES), strict=False):
        found = read(data)
        if isinstance(found, SplitCorruptionError):
            assert found.path == PATH
            assert PATH in str(found)
            outcomes["refused"] += 1
        else:
            assert found.equals(TABLE)
            outcomes["right"] += 1
    assert outcomes["refused"] >= CASES // 2 or area == "indexes"
    assert area == "indexes" or not outcomes["right"], "every byte but those of the indexes is covered by a checksum"
    record_property("damaged splits", CASES)


@pytest.mark.parametrize("area", ["metadata", "checksums", "tail"])
def test_without_the_log_damage_of_the_footer_never_raises_anything_else(area: str, record_property: Any) -> None:
    begin, end = areas(DATA, FILE)[area]
    chance = random.Random(area)
    for data, _ in zip(damaged(DATA, begin, end, chance), range(CASES), strict=False):
        found = describe(data)
        if isinstance(found, SplitCorruptionError):
            assert PATH in str(found)
            continue
        assert found.num_records == 600
        if found.statistics.nan_counts:  # what our writer noted, not what Parquet states
            assert (found.statistics, found.partition_values) == (FILE.statistics, {"day": "1"})
    record_property("damaged splits", CASES)


def test_one_column_is_read_though_another_is_damaged() -> None:
    metadata = pq.read_metadata(pa.BufferReader(DATA))
    begin, end = chunk_range(metadata.row_group(0).column(1))
    data = DATA[:begin] + bytes(end - begin) + DATA[end:]
    store = S3Model()
    store.put(PATH, data)
    split = open_split(store, ADDRESS)
    assert split.read([0], ["id"]).equals(TABLE.select(["id"]))
    with pytest.raises(SplitCorruptionError, match="column name of row group 0 does not match its checksum"):
        split.read([0], ["id", "name"])
