"""The report of a database, from a real Metastore."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from indextables.cli.lakekeeper import main
from indextables.hive import Lake, compact, rollback
from indextables.report.lake_figures import lake_figures
from tests.hive.tables import add_partition, create_table, fill

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.metastore import MetastoreService


def test_tables_are_ranked_refusals_explained_and_backups_weighed(
    lake: Lake, database: str, metastore: MetastoreService, tmp_path: Path
) -> None:
    events = create_table(lake, f"{database}.events", f"{tmp_path}/events", keys=[("date", "string")])
    for day in ("2026-02-23", "2026-02-24"):
        fill(lake, add_partition(lake, events, [day]), files=4, rows=3)
    for name, files in (("few", 2), ("many", 9), ("undone", 3)):
        create_table(lake, f"{database}.{name}", f"{tmp_path}/{name}")
        fill(lake, f"{tmp_path}/{name}", files=files, rows=1)
    create_table(lake, f"{database}.bucketed", f"{tmp_path}/b", buckets=2, bucket_columns=["id"])
    held = compact(lake, f"{database}.few")
    compact(lake, f"{database}.undone")
    rollback(lake, f"{database}.undone")

    figures = lake_figures(lake, database, command="lakekeeper")
    assert [(one.table.partition(".")[2], one.files_saved) for one in figures.tables] == [
        ("many", 8),
        ("events", 6),
        ("undone", 2),
        ("bucketed", 0),
        ("few", 0),
    ]
    assert "bucketed" in next(one.refused[0] for one in figures.tables if one.refused)
    runs = {run.table.partition(".")[2]: run for run in figures.runs}
    assert (runs["few"].state, runs["few"].files_held, runs["few"].bytes_held) == ("complete", 2, held.bytes_before)
    assert (runs["undone"].state, runs["undone"].files_held) == ("undone", 0)
    assert [one.command for one in figures.advice] == [
        f"lakekeeper compact --table {database}.{name}" for name in ("many", "events", "undone")
    ]

    page = tmp_path / "report.html"
    start = ["--metastore", metastore.uri, "report", "--database", database]
    answer = CliRunner().invoke(main, [*start, "-o", str(page)])
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert "5 tables, 3 things to do." in answer.stdout
    assert f"lakekeeper --metastore {metastore.uri} compact --table {database}.many" in page.read_text()
    printed = json.loads(CliRunner().invoke(main, [*start, "--json"]).stdout)
    assert [one["table"] for one in printed["tables"]] == [one.table for one in figures.tables]
    assert printed["made"].endswith("Z")


@pytest.mark.parametrize("command", ["report", "analyze", "recover", "doctor"])
def test_an_unknown_database_is_an_error(metastore: MetastoreService, command: str) -> None:
    answer = CliRunner().invoke(main, ["--metastore", metastore.uri, command, "--database", "nowhere", "--json"])
    assert answer.exit_code == 1
    assert answer.stdout == ""
    assert "--database is set to 'nowhere'" in answer.stderr


def test_an_unknown_table_is_answered_with_names_like_it(
    metastore: MetastoreService, lake: Lake, database: str, tmp_path: Path
) -> None:
    create_table(lake, f"{database}.sales", f"{tmp_path}/sales")
    start = ["--metastore", metastore.uri, "analyze", "--table"]
    answer = CliRunner().invoke(main, [*start, f"{database}.sale"])
    assert answer.exit_code == 1
    assert f"the database {database} has none of that name. Check its name; similar: sales" in answer.stderr
    answer = CliRunner().invoke(main, [*start, "nowhere.sales"])
    assert "the Metastore has no database nowhere. Check its name; similar:" in answer.stderr
