from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.cli.conftest import Answer


def test_files_are_those_that_a_condition_leaves(run: Callable[..., Answer], table: Path) -> None:
    assert len(run("files", table, "--json").json) == 12
    left = run("files", table, "--where", "day = '2024-01-02' AND id < 20", "--json").json
    assert [file["partition_values"] for file in left] == [{"day": "2024-01-02"}]
    assert left[0]["min_values"]["id"] == 10
    assert (table / left[0]["path"]).stat().st_size == left[0]["size"]


def test_files_are_shown_whole_where_nobody_watches(run: Callable[..., Answer], table: Path) -> None:
    answer = run("files", table, "--limit", 2)
    lines = answer.out.splitlines()[2:]
    assert len(lines) == 2
    assert all((table / line.split()[0]).exists() for line in lines)
    assert answer.err == "2 of 12 files; --limit shows more.\n"


def test_files_of_a_table_without_partitions(run: Callable[..., Answer], tmp_path: Path) -> None:
    Table(str(tmp_path)).append(pa.table({"a": [1]}))
    assert "partition" not in run("files", tmp_path).out
    assert run("files", tmp_path, "--json").json[0]["partition_values"] == {}


def test_head_shows_rows(run: Callable[..., Answer], table: Path) -> None:
    lines = run("head", table, "--columns", "id, level", "--where", "level = 'ERROR'", "-n", 3).out.splitlines()
    assert lines[0].split() == ["id", "level"]
    assert [line.split()[1] for line in lines[2:]] == ["ERROR"] * 3


def test_head_as_json_has_typed_values(run: Callable[..., Answer], table: Path) -> None:
    rows = run("head", table, "--where", "id >= 118", "--json").json
    assert rows == [{"id": number, "level": "INFO", "day": "2024-01-03"} for number in (118, 119)]


def test_head_shows_ten_rows_unless_told_otherwise(run: Callable[..., Answer], table: Path) -> None:
    assert len(run("head", table, "--json").json) == 10


def test_head_of_no_rows_is_an_empty_list(run: Callable[..., Answer], table: Path) -> None:
    assert run("head", table, "--where", "id < 0", "--json").json == []


def test_head_shows_what_python_has_no_value_for(run: Callable[..., Answer], tmp_path: Path) -> None:
    far = pa.array([3_000_000], pa.int32()).cast(pa.date32())
    Table(str(tmp_path)).append(
        pa.table(
            {
                "day": far,
                "nan": [float("nan")],
                "bytes": [b"\x00\xff"],
                "at": pa.array([dt.datetime(2024, 1, 1, 12, 0, 0, 5, tzinfo=dt.UTC)]),
                "list": [[1, None]],
                "none": pa.array([None], pa.string()),
            }
        )
    )
    (row,) = run("head", tmp_path, "--json").json
    assert row["day"] == "10183-09-21"
    assert row["nan"] is None
    assert row["bytes"] == "AP8="
    out = run("head", tmp_path).out
    assert "2024-01-01 12:00:00.000005Z" in out
    assert "1, null" in out


def test_count_counts(run: Callable[..., Answer], table: Path) -> None:
    assert run("count", table).out == "120\n"
    assert run("count", table, "--where", "level = 'ERROR'").out == "24\n"
    assert run("count", table, "--version", 2, "--json").json == {"rows": 20}


def test_explain_tells_what_ruled_files_out(run: Callable[..., Answer], table: Path) -> None:
    answer = run("explain", table, "--where", "day = '2024-01-02' AND id < 20")
    assert "1 of 12 files stay" in answer.out
    explained = run("explain", table, "--where", "day = '2024-01-02' AND id < 20", "--json").json
    assert explained["pruned_by_partition"] == 8
    assert explained["pruned_by_statistics"] == 3
    assert [effect["by_partition"] for effect in explained["effects"]] == [True, False]
