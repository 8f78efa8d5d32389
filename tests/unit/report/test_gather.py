"""What a report recommends is what the commands would do."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from indextables.errors import PredicateError, TableNotFoundError
from indextables.log.open import open_log
from indextables.report.gather import OLDER_THAN, TARGET_SIZE, table_figures
from indextables.report.table_page import table_page
from indextables.spark.merge import merge_splits
from indextables.spark.purge import purge
from indextables.table import Table

if TYPE_CHECKING:
    from pathlib import Path

    from indextables.report.figures import Advice, TableFigures


def _rows(first: int, count: int = 5) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "text": ["x"] * count})


def _made(path: Path, *, files: int, options: dict[str, str] | None = None) -> Table:
    table = Table(str(path), options=options)
    for number in range(files):
        table.append(_rows(number * 5))
    return table


def _advice(figures: TableFigures) -> dict[str, Advice]:
    return {one.kind: one for one in figures.advice}


def test_the_figures_are_those_of_the_table(tmp_path: Path) -> None:
    table = _made(tmp_path, files=3)
    table.delete("id < 7")
    figures = table_figures(str(tmp_path), where=["id < 9", "text = 'y'"])
    snapshot = table.snapshot()
    assert (figures.version, figures.files, figures.rows) == (4, snapshot.num_files, 8)
    assert figures.bytes == snapshot.size_in_bytes == sum(one.bytes for one in figures.sizes)
    assert figures.log.latest[0].operation == "delete"
    assert (figures.log.oldest_version, figures.log.commits) == (0, 5)
    first, second = figures.queries
    assert (first.files_read, first.pruned_by_statistics) == (1, 1)
    assert (second.files_read, second.pruned_by_statistics) == (0, 2)
    assert figures.purgeable.held_files == 2


def test_a_table_in_good_shape_gets_no_advice(tmp_path: Path) -> None:
    _made(tmp_path, files=2)
    assert table_figures(str(tmp_path), where=["id = 1"]).advice == ()


def test_merging_is_advised_with_the_figures_of_the_merge(tmp_path: Path) -> None:
    _made(tmp_path, files=14)
    figures = table_figures(str(tmp_path))
    planned = merge_splits(None, str(tmp_path), target_size=TARGET_SIZE, dry_run=True)
    assert (figures.mergeable.files, figures.mergeable.into) == (planned.files_merged, planned.files_added) == (14, 1)
    advice = _advice(figures)["merge"]
    assert advice.command == f"indextables merge {tmp_path}"
    assert "14 of 14 files" in advice.reason
    assert advice.urgent


def test_a_checkpoint_is_advised_where_many_commits_are_replayed(tmp_path: Path) -> None:
    off = {"spark.indextables.checkpoint.enabled": "false"}
    table = _made(tmp_path, files=11, options=off)
    figures = table_figures(str(tmp_path))
    assert figures.log.commits_since_checkpoint == 12
    assert "replays 12 commits and there is no checkpoint" in _advice(figures)["checkpoint"].reason
    table.checkpoint()
    after = table_figures(str(tmp_path))
    assert "checkpoint" not in _advice(after)
    assert (after.log.checkpoints, after.log.commits_since_checkpoint) == ((11,), 0)


def test_cleanup_is_advised_with_what_it_would_delete(tmp_path: Path) -> None:
    table = _made(tmp_path, files=12)
    old = time.time() - 60 * 86_400
    for file in (tmp_path / "_transaction_log").glob("*.json"):
        if file.name < f"{12:020}":
            os.utime(file, (old, old))
    options = {"spark.indextables.checkpoint.retention": "1"}
    figures = table_figures(str(tmp_path), options=options)
    expected = Table(str(tmp_path), options=options).cleanup(dry_run=True)
    assert expected.commits
    assert (figures.log.expired_commits, figures.log.expired_bytes) == (expected.commits, expected.bytes_freed)
    assert f"{expected.commits} commits" in _advice(figures)["cleanup"].reason
    assert table.log.versions()[0] == 0  # only looked


def test_purging_is_advised_with_what_it_would_delete(tmp_path: Path) -> None:
    _made(tmp_path, files=1)
    orphan = tmp_path / "0b8b2a52-1111-4222-8333-444455556666.split"
    orphan.write_bytes(b"x" * 1000)
    old = time.time() - 60 * 86_400
    os.utime(orphan, (old, old))
    figures = table_figures(str(tmp_path))
    expected = purge(None, str(tmp_path), older_than=OLDER_THAN)
    assert figures.purgeable.files == expected.files.num_rows == 1
    assert figures.purgeable.bytes == expected.bytes == 1000
    assert _advice(figures)["purge"].command == f"indextables purge {tmp_path} --no-dry-run"
    assert orphan.exists()


def test_statistics_are_advised_for_the_columns_that_queries_name(tmp_path: Path) -> None:
    _made(tmp_path, files=3, options={"spark.indextables.stats.columns": "id"})
    figures = table_figures(str(tmp_path), where=["text = 'y'", "id = 1"])
    advice = _advice(figures)["statistics"]
    assert "text in 3 of 3 files" in advice.reason
    assert advice.command.endswith("--option spark.indextables.indexing.fastfields=text")


def test_skipped_files_are_shown_and_pointed_at(tmp_path: Path) -> None:
    table = _made(tmp_path, files=2)
    path = table.files()["path"][0].as_py()
    table.log.record_skipped_file(path, reason="broken footer", operation="merge")
    figures = table_figures(str(tmp_path))
    assert (figures.skipped.files, figures.skipped.in_cooldown) == (1, 1)
    (skip,) = figures.skipped.first
    assert (skip.path, skip.reason, skip.times) == (path, "broken footer", 1)
    assert "1 file could not be used" in _advice(figures)["skips"].reason


def test_missing_files_and_damaged_checkpoints_are_urgent(tmp_path: Path) -> None:
    table = _made(tmp_path, files=10)
    for split in tmp_path.glob("*.split"):
        split.unlink()
    (manifest,) = (tmp_path / "_transaction_log" / "_checkpoints").glob("*.checkpoint.json")
    manifest.write_bytes(b"{}")
    table.append(_rows(0))
    figures = table_figures(str(tmp_path))
    assert figures.log.damaged_checkpoints == (10,)
    first = figures.advice[0]
    assert (first.kind, first.urgent) == ("verify", True)
    assert "The checkpoint of version 10 cannot be used" in first.reason
    assert "10 of 11 files" in first.reason


def test_a_table_that_only_a_checkpoint_saves_still_has_its_report(tmp_path: Path) -> None:
    _made(tmp_path, files=12)
    (tmp_path / "_transaction_log" / f"{5:020}.json").write_bytes(b"{damaged\n")
    figures = table_figures(str(tmp_path))
    assert (figures.files, figures.rows) == (12, 60)
    assert figures.growth is None
    assert figures.log.latest == ()
    assert "is damaged" in figures.log.problems[0]
    assert figures.advice[0].kind == "verify"
    assert figures.advice[0].reason.count(f"{5:020}.json") == 1
    assert "They cannot be read." in table_page(figures)


def test_a_path_is_quoted_for_a_shell(tmp_path: Path) -> None:
    path = tmp_path / "a $(touch x) 'b'"
    _made(path, files=14)
    command = _advice(table_figures(str(path)))["merge"].command
    assert command == f"indextables merge '{tmp_path}/a $(touch x) '\"'\"'b'\"'\"''"


def test_what_is_no_table_or_no_condition_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        table_figures(str(tmp_path / "nothing"))
    open_log(str(tmp_path)).initialize(pa.schema([("id", pa.int64())]))
    with pytest.raises(PredicateError):
        table_figures(str(tmp_path), where=["id ="])
