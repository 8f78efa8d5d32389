"""Whole tables with long texts: the integration examples of the truncation design, with their own numbers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.split.truncation import TruncationReport
from indextables.table import Table

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

FAST = {"spark.indextables.indexing.fastfields": "score"}


def documents(*letters: str) -> pa.Table:
    count = len(letters)
    return pa.table(
        {
            "id": [f"doc{number + 1}" for number in range(count)],
            "long_text": [letter * 2000 for letter in letters],
            "score": pa.array([100 * (number + 1) for number in range(count)], pa.int32()),
        }
    )


def test_write_and_read_table_with_truncated_statistics(tmp_path: Path) -> None:
    table = Table(str(tmp_path), options=FAST)
    table.append(documents("x", "y"))
    assert sum(file.stat().st_size for file in (tmp_path / "_transaction_log").glob("*.json")) < 100_000
    results = table.to_arrow().sort_by("id").to_pylist()
    assert table.count() == 2
    assert [(row["id"], len(row["long_text"])) for row in results] == [("doc1", 2000), ("doc2", 2000)]
    add = table.snapshot().files.to_pylist()[0]
    assert add["min_values"] == {"id": "doc1", "score": "100"}
    assert add["max_values"] == {"id": "doc2", "score": "200"}


def test_data_skipping_works_for_columns_with_statistics_and_falls_back_for_truncated_ones(tmp_path: Path) -> None:
    table = Table(str(tmp_path), options=FAST)
    for number in range(3):
        table.append(documents("x", "y", "z").slice(number, 1))
    assert table.to_arrow(where="score = 100")["id"].to_pylist() == ["doc1"]
    assert table.files(where="score = 100").num_rows == 1
    assert table.to_arrow(where="startswith(long_text, 'x')")["id"].to_pylist() == ["doc1"]
    assert table.to_arrow(where="long_text LIKE 'x%'")["id"].to_pylist() == ["doc1"]
    assert table.files(where="long_text LIKE 'x%'").num_rows == 3


def test_data_skipping_handles_missing_statistics_gracefully(tmp_path: Path) -> None:
    table = Table(str(tmp_path))
    table.append(documents("x"))
    assert table.files(where="long_text = 'some value'").num_rows == 1
    assert table.files(where="id = 'doc999'").num_rows == 0


def test_a_write_tells_what_truncation_did(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="indextables"):
        done = Table(str(tmp_path)).append(documents("x", "y"))
    assert done.truncation == TruncationReport(columns=frozenset({"long_text"}), bytes_saved=4000)
    lines = [record.getMessage() for record in caplog.records]
    assert "Truncating statistics for column 'long_text' (min length: 2000, max length: 2000, strategy: drop)" in lines
    assert "Statistics truncated: 1 columns, estimated size reduction: 4000 bytes" in lines


def test_a_write_option_decides_over_the_default(tmp_path: Path) -> None:
    strategy = {"spark.indextables.stats.truncation.strategy": "bounds"}
    table = Table(str(tmp_path), options=strategy)
    table.append(documents("x", "y"))
    assert table.files(where="long_text > 'z'").num_rows == 0
    assert table.files(where="long_text LIKE 'xx%'").num_rows == 1
    whole = Table(str(tmp_path / "whole"), options={"spark.indextables.stats.truncation.enabled": "false"})
    assert whole.append(documents("x")).truncation == TruncationReport()
    assert whole.snapshot().files.to_pylist()[0]["min_values"]["long_text"] == "x" * 2000
