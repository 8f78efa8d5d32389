"""The filter for Arrow's reader, on real Parquet files whose statistics would lose rows if it trusted them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from indextables.predicate import bind

if TYPE_CHECKING:
    from pathlib import Path

NAN, INF = math.nan, math.inf


def matching(path: Path, text: str, data: pa.Table) -> tuple[list[int], list[int], int]:
    """Return the rows that match, the rows that the filter lets through, and how many row groups it leaves."""
    pq.write_table(data, path / "data.parquet", row_group_size=2)
    predicate = bind(text, data.schema)
    arrow = predicate.to_arrow_filter()
    dataset = ds.dataset(path / "data.parquet")
    kept = dataset.to_table(filter=arrow)["row"].to_pylist()
    fragment = next(iter(dataset.get_fragments()))
    groups = len(fragment.split_by_row_group(arrow)) if arrow is not None else fragment.num_row_groups
    wanted = data.filter(pc.fill_null(predicate.evaluate(data), False))["row"].to_pylist()
    return wanted, kept, groups


def rows(values: list[Any], kind: pa.DataType) -> pa.Table:
    return pa.table({"a": pa.array(values, kind), "row": list(range(len(values)))})


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize(
    "text",
    [
        "a > 5",
        "a >= 5",
        "a != 1",
        "NOT (a <= 5)",
        "NOT (a < 1)",
        "a = CAST('NaN' AS DOUBLE)",
        "a >= CAST('NaN' AS DOUBLE)",
        "a < CAST('NaN' AS DOUBLE)",
        "a IN (7, CAST('NaN' AS DOUBLE))",
        "a NOT IN (1)",
        "a = 0",
        "a IN (0, 9)",
        "a <= -0.0D",
        "a > 0.1D",
        "a >= 0.1D",
        "a = 0.1",
        "a BETWEEN -1 AND CAST('Infinity' AS DOUBLE)",
        "(a > 5) IS NOT FALSE",
    ],
)
def test_no_row_group_with_nan_or_a_zero_is_lost(tmp_path: Path, kind: pa.DataType, text: str) -> None:
    values = [1.0, NAN, -0.0, 0.0, None, None, NAN, NAN, INF, -INF, 0.1, 2.0, -0.0, 1.0, 7.0]
    wanted, kept, _ = matching(tmp_path, text, rows(values, kind))
    assert set(wanted) <= set(kept)


@pytest.mark.parametrize(
    ("text", "values", "kind", "groups"),
    [
        ("a > 5", [1, 2, 3, 9], pa.int32(), 1),
        ("a = 300", [1, 2, 3, 9], pa.int8(), 0),
        ("a IN (2, 4, 300)", [1, 2, 5, 9], pa.int8(), 1),
        ("a LIKE 'b%'", ["a", "az", "b", "bz"], pa.string(), 1),
        ("a LIKE 'b%x'", ["a", "az", "b", "bz"], pa.string(), 1),
        ("NOT (a >= 'b')", ["a", "az", "b", "bz"], pa.string(), 1),
        ("a IS NULL", [1, 2, None, None], pa.int32(), 1),
        ("a < DATE '1970-01-03'", [1, 2, 3, 4], pa.date32(), 1),
        ("a > 2.5 AND a IS NOT NULL", [1, 2, 3, None], pa.int64(), 1),
    ],
)
def test_row_groups_are_skipped_and_no_row_is_lost(
    tmp_path: Path, text: str, values: list[Any], kind: pa.DataType, groups: int
) -> None:
    wanted, kept, left = matching(tmp_path, text, rows(values, kind))
    assert set(wanted) <= set(kept)
    assert left == groups


def test_a_field_inside_a_struct_is_filtered_too(tmp_path: Path) -> None:
    kind = pa.struct([("x", pa.int32())])
    data = pa.table({"s": pa.array([{"x": 1}, None, {"x": None}, {"x": 7}], kind), "row": [0, 1, 2, 3]})
    wanted, kept, _ = matching(tmp_path, "s.x > 5 OR s.x IS NULL", data)
    assert wanted == [1, 2, 3]
    assert set(wanted) <= set(kept)


@pytest.mark.parametrize("text", ["a = a", "a < b OR a = 1", "(a = 1) IS NULL", "TRUE"])
def test_where_nothing_can_be_said_there_is_no_filter(text: str) -> None:
    schema = pa.schema([("a", pa.int32()), ("b", pa.int32())])
    assert bind(text, schema).to_arrow_filter() is None


def test_what_can_be_said_of_a_part_is_said() -> None:
    schema = pa.schema([("a", pa.int32()), ("b", pa.int32())])
    arrow = bind("a < b AND a = 1", schema).to_arrow_filter()
    assert arrow is not None
    assert arrow.equals(pc.field("a") == pa.scalar(1, pa.int32()))
