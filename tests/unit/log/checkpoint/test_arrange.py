"""Which rows go into which part, and which parts serve again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.config import Checkpoint, Settings
from indextables.log.checkpoint.arrange import Arrangement
from indextables.log.checkpoint.finder import CheckpointFinder
from tests.support.logs import Place, add

if TYPE_CHECKING:
    import numpy as np

    from indextables.log.checkpoint.manifest import Manifest
    from indextables.log.log import TransactionLog
    from indextables.log.snapshot import Snapshot

SMALL_PARTS = Settings(checkpoint=Checkpoint(interval=10**6, max_file_size=1024))


def table(column: pa.DataType, values: list[str | None]) -> TransactionLog:
    """Return a log with one file a value, named so that the order of names is not the order of values."""
    log = Place(checkpoints=True).log(SMALL_PARTS)
    log.initialize(pa.schema([("id", pa.int64()), ("p", column)]), ["p"])
    for number, value in enumerate(values):
        log.add_files([add(f"{len(values) - number:04d}.split", partition_values={"p": value})])
    return log


def paths(snapshot: Snapshot, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[str]:
    found: list[str] = snapshot.files["path"].take(pa.array(rows)).to_pylist()
    return found


class TestOrder:
    @pytest.mark.parametrize(
        ("kind", "values"),
        [
            (pa.int32(), ["-5", "9", "10", "100", None]),
            (pa.string(), ["", "Z", "a", "é", "￿", "😀", None]),
            (pa.date32(), ["1582-10-15", "2024-01-01", "2024-01-02", None]),
            (pa.float64(), ["-Infinity", "-1.5", "0.0", "9.0", "10.0", "NaN", None]),
            (pa.bool_(), ["false", "true", None]),
            (pa.decimal128(20, 2), ["-1.00", "9.50", "10.25", None]),
        ],
        ids=str,
    )
    def test_is_that_of_the_values_and_not_of_their_texts(self, kind: pa.DataType, values: list[str | None]) -> None:
        log = table(kind, values)
        arrangement = Arrangement(log.snapshot())
        keys = [arrangement.key_at(place) for place in range(len(arrangement))]
        assert keys == sorted(keys)
        (whole,) = arrangement.slices(rows_per_part=1000)
        assert paths(log.snapshot(), whole.rows) == [f"{len(values) - n:04d}.split" for n in range(len(values))]

    def test_is_by_path_within_a_partition(self) -> None:
        log = table(pa.int32(), ["1", "1", "1"])
        (whole,) = Arrangement(log.snapshot()).slices(rows_per_part=10)
        assert paths(log.snapshot(), whole.rows) == ["0001.split", "0002.split", "0003.split"]


class TestCutting:
    def test_of_no_rows_gives_no_part(self) -> None:
        assert Arrangement(table(pa.int32(), []).snapshot()).slices(rows_per_part=3) == []

    def test_gives_parts_of_about_equal_size(self) -> None:
        slices = Arrangement(table(pa.int32(), [str(n) for n in range(10)]).snapshot()).slices(rows_per_part=4)
        assert [len(piece.rows) for piece in slices] == [4, 3, 3]

    def test_says_which_partition_values_a_part_holds(self) -> None:
        arrangement = Arrangement(table(pa.int32(), ["9", "10", None, "100"]).snapshot())
        first, second = arrangement.slices(rows_per_part=2)
        assert arrangement.bounds(first.rows) == {"p": ("9", "10", False)}
        assert arrangement.bounds(second.rows) == {"p": ("100", "100", True)}
        assert arrangement.first(second.rows) == ("100", "0001.split")

    def test_says_nothing_of_a_column_with_a_text_that_is_no_value(self) -> None:
        log = table(pa.int32(), ["1", "2"])
        log.commit([add("odd.split", partition_values={"p": "many"})], operation="append")
        arrangement = Arrangement(log.snapshot())
        first, second = arrangement.slices(rows_per_part=2)
        assert arrangement.bounds(first.rows) == {"p": ("1", "2", False)}
        assert arrangement.bounds(second.rows) == {}

    def test_says_nothing_of_a_column_with_nan(self) -> None:
        arrangement = Arrangement(table(pa.float64(), ["1.0", "NaN"]).snapshot())
        assert arrangement.bounds(arrangement.slices(rows_per_part=2)[0].rows) == {}


def manifest_of(log: TransactionLog, store: Place, version: int) -> Manifest:
    log.checkpoint(version)
    return CheckpointFinder(store.model, SMALL_PARTS).manifest(version)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=5, max_size=25), st.data())
def test_a_part_serves_again_if_and_only_if_its_rows_did_not_change(values: list[int], data: st.DataObject) -> None:
    place = Place(checkpoints=True)
    log = place.log(SMALL_PARTS)
    log.initialize(pa.schema([("id", pa.int64()), ("p", pa.int32())]), ["p"])
    log.add_files([add(f"{n:03d}.split", partition_values={"p": str(value)}) for n, value in enumerate(values)])
    before = manifest_of(log, place, 1)
    gone = data.draw(st.lists(st.sampled_from([f"{n:03d}.split" for n in range(len(values))]), max_size=2, unique=True))
    more = data.draw(st.lists(st.integers(0, 30), max_size=2))
    if gone:
        log.remove_files(gone)
    if more:
        log.add_files([add(f"new{n}.split", partition_values={"p": str(value)}) for n, value in enumerate(more)])
    snapshot = log.snapshot()
    finder = CheckpointFinder(place.model, SMALL_PARTS)
    held = {part.path: set(finder.rows(before, [part]).files["path"].to_pylist()) for part in before.files}
    slices = Arrangement(snapshot).slices(rows_per_part=3, previous=before)
    rows = [path for piece in slices for path in paths(snapshot, piece.rows)]
    assert sorted(rows) == sorted(snapshot.files["path"].to_pylist())
    for piece in slices:
        if piece.reused is not None:
            assert set(paths(snapshot, piece.rows)) == held[piece.reused.path]
    if not gone and not more:
        assert all(piece.reused is not None for piece in slices)
