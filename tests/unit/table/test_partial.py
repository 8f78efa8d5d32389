"""A question about some partitions reads only the parts of a checkpoint that can matter, and misses nothing."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - hypothesis looks at annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.table import Table

OPTIONS = {
    "spark.indextables.checkpoint.maxFileSize": "1KB",
    "spark.indextables.checkpoint.interval": "1000000",
    "spark.indextables.checkpoint.parallelism": "1",
}
DAYS = [*(f"{number}" for number in range(12)), None]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("tables") / "t"
    table = Table(path, options=OPTIONS)
    days = pa.array([None if day is None else int(day) for day in DAYS], pa.int32())
    table.append(pa.table({"day": days, "id": range(len(DAYS))}), partition_by=["day"])
    table.checkpoint()
    table.append(pa.table({"day": pa.array([3, 40], pa.int32()), "id": [100, 101]}))
    return path


def opened(path: Path) -> Table:
    return Table(path, options=OPTIONS)


PREDICATES = st.one_of(
    st.builds("day {} {}".format, st.sampled_from(["=", "<", ">=", "!=", "<=>"]), st.integers(-2, 45)),
    st.sampled_from(["day IS NULL", "day IS NOT NULL", "day IN (2, 10)", "day BETWEEN 9 AND 10", "NOT day > 3"]),
)


@settings(max_examples=60, deadline=None)
@given(first=PREDICATES, second=PREDICATES, word=st.sampled_from(["AND", "OR"]))
def test_the_answer_is_that_of_the_whole_table(path: Path, first: str, second: str, word: str) -> None:
    where = f"({first}) {word} ({second})"
    whole = opened(path)
    whole.snapshot()
    expected = sorted(whole.to_arrow(where=where)["id"].to_pylist())
    assert sorted(opened(path).to_arrow(where=where)["id"].to_pylist()) == expected
    assert opened(path).count(where=where) == len(expected)


def test_parts_that_cannot_matter_are_not_read(path: Path) -> None:
    checkpoints = path / "_transaction_log" / "_checkpoints"
    parts = sorted(checkpoints.glob("*.parquet"))
    assert len(parts) > 3
    kept = {part: part.read_bytes() for part in parts}
    try:
        for part in parts[1:]:
            part.unlink()
        table = opened(path)
        assert table.to_arrow(where="day = 0")["id"].to_pylist() == [0]
        assert table.files(where="day = 40").num_rows == 1
    finally:
        for part, data in kept.items():
            part.write_bytes(data)


def test_a_version_of_the_past_is_read_whole(path: Path) -> None:
    assert Table(path, version=1, options=OPTIONS).count(where="day = 3") == 1
    assert opened(path).count(where="day = 3") == 2
