"""The `lakekeeper` command, as a person in a shell sees it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from indextables.cli.lakekeeper import main
from indextables.hive import Lake, compact, doctor, list_runs
from tests.hive.killing import run_command
from tests.hive.tables import add_partition, create_table, fill, read_table

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.metastore import MetastoreService


@pytest.fixture
def table(lake: Lake, database: str, tmp_path: Path) -> str:
    held = create_table(lake, f"{database}.events", f"{tmp_path}/events", keys=[("date", "string")])
    for day in ("2026-02-23", "2026-02-24"):
        fill(lake, add_partition(lake, held, [day]), files=4, rows=3)
    return held.full_name


class Shell:
    def __init__(self, metastore: MetastoreService) -> None:
        self._start = ["--metastore", metastore.uri]

    def __call__(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, [*self._start, *arguments])


@pytest.fixture
def lakekeeper(metastore: MetastoreService) -> Shell:
    return Shell(metastore)


def test_the_whole_story_in_a_shell(lakekeeper: Shell, lake: Lake, table: str) -> None:
    before = read_table(lake, table)
    analyzed = json.loads(lakekeeper("analyze", "--table", table, "--json").stdout)
    assert (analyzed["files"], analyzed["target_files"], analyzed["needs_compaction"]) == (8, 2, True)
    assert analyzed["partitions"][0]["name"] == "date=2026-02-23"
    dry = json.loads(lakekeeper("compact", "--table", table, "--dry-run", "--json").stdout)
    assert (dry["run"], dry["files_before"], dry["files_after"]) == (None, 8, 2)
    shown = lakekeeper("compact", "--table", table)
    assert shown.exit_code == 0
    assert "8 → 2" in shown.stdout
    assert f"lakekeeper rollback --table {table}" in shown.stdout
    (run,) = json.loads(lakekeeper("list-runs", "--table", table, "--json").stdout)
    assert run["state"] == "complete"
    assert "Nothing to recover" in lakekeeper("recover", "--table", table).stdout
    assert "complete" in lakekeeper("list-runs", "--table", table).stdout
    assert "is undone" in lakekeeper("rollback", "--table", table).stdout
    assert json.loads(lakekeeper("compact", "--table", table, "--json").stdout)["files_after"] == 2
    assert "would be freed" in lakekeeper("cleanup", "--table", table, "--dry-run").stdout
    assert json.loads(lakekeeper("cleanup", "--table", table, "--older-than", "7d", "--json").stdout)["runs"] == []
    assert "8 files" in lakekeeper("cleanup", "--table", table).stdout
    assert "Nothing needs compaction" in lakekeeper("compact", "--table", table).stdout
    assert read_table(lake, table) == before


@pytest.mark.usefixtures("table")
def test_a_database_is_ranked_by_what_compaction_saves(
    lakekeeper: Shell, lake: Lake, database: str, tmp_path: Path
) -> None:
    create_table(lake, f"{database}.few", f"{tmp_path}/few")
    fill(lake, f"{tmp_path}/few", files=2, rows=1)
    create_table(lake, f"{database}.bucketed", f"{tmp_path}/b", buckets=2, bucket_columns=["id"])
    compact(lake, f"{database}.few")
    reports = json.loads(lakekeeper("analyze", "--database", database, "--json").stdout)
    assert [report["table"].partition(".")[2] for report in reports] == ["events", "bucketed", "few"]
    assert reports[0]["objects_saved"] == 12
    assert "bucketed" in reports[1]["refused"][0]
    assert "refused" in lakekeeper("analyze", "--database", database).stdout


def test_a_refusal_is_one_line_on_standard_error_and_exit_code_1(lakekeeper: Shell, table: str) -> None:
    for arguments in (
        ("analyze", "--table", f"{table}_missing"),
        ("rollback", "--table", table),
        ("compact", "--table", table, "--partition", "nokey=1"),
    ):
        result = lakekeeper(*arguments)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("lakekeeper: ")
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("analyze",),
        ("compact",),
        ("compact", "--table", "a.b", "--target-size", "huge"),
        ("compact", "--table", "a.b", "--codec", "lzo"),
        ("cleanup", "--table", "a.b", "--older-than", "yesterday"),
    ],
)
def test_a_wrong_call_has_exit_code_2(lakekeeper: Shell, arguments: tuple[str, ...]) -> None:
    assert lakekeeper(*arguments).exit_code == 2


def test_without_a_metastore_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HIVE_CONF_DIR", "HADOOP_CONF_DIR", "SPARK_CONF_DIR", "LAKEKEEPER_METASTORE"):
        monkeypatch.delenv(name, raising=False)
    result = CliRunner().invoke(main, ["list-runs"])
    assert result.exit_code == 1
    assert "--metastore thrift://host:9083" in result.stderr


def test_many_tables_by_a_configuration_file(
    lakekeeper: Shell, lake: Lake, database: str, tmp_path: Path, table: str
) -> None:
    create_table(lake, f"{database}.bucketed", f"{tmp_path}/b", buckets=2, bucket_columns=["id"])
    create_table(lake, f"{database}.left_alone", f"{tmp_path}/alone")
    fill(lake, f"{tmp_path}/alone", files=3, rows=1)
    path = tmp_path / "lakekeeper.yaml"
    path.write_text(
        f"defaults: {{staging: hidden}}\ninclude: ['{database}.*']\nexclude: ['*.left_*']\n"
        f"tables: {{{table}: {{codec: zstd}}}}\n"
    )
    result = lakekeeper("compact", "--config", str(path), "--json")
    assert result.exit_code == 3
    held = {one["table"]: one for one in json.loads(result.stdout)}
    assert held[table]["result"]["files_after"] == 2
    assert "bucketed" in held[f"{database}.bucketed"]["error"]
    assert len(held) == 2


def test_doctor_finds_what_would_hurt(
    lakekeeper: Shell, lake: Lake, metastore: MetastoreService, table: str, tmp_path: Path
) -> None:
    assert lakekeeper("doctor", "--table", table).exit_code == 0
    assert run_command(metastore.uri, "compact", table, kill_at=9).killed
    metastore.wait_until_quiet(len(lake.metastore._open))
    leftover = tmp_path / "events__old_1234567890"
    leftover.mkdir()
    (held,) = lake.metastore.partitions(_table(lake, table), ["date=2026-02-23"])
    wrong = held.changed(parameters={"numFiles": "999"})
    lake.metastore.alter_partitions(_table(lake, table), [wrong])
    kinds = {finding.kind for finding in doctor(lake, table=table)}
    assert kinds == {"unfinished", "leftover", "statistics"}
    result = lakekeeper("doctor", "--table", table)
    assert result.exit_code == 1
    assert "lakekeeper recover" in result.stdout
    assert lakekeeper("recover", "--table", table).exit_code == 0
    (run,) = list_runs(lake, table=table)
    backup = _table(lake, run.backup)
    (one,) = lake.metastore.partitions(backup, ["date=2026-02-23"])
    lake.metastore.alter_partitions(backup, [one.changed(location=f"{tmp_path}/gone")])
    assert {finding.kind for finding in doctor(lake, table=table)} == {"backup", "leftover"}


def _table(lake: Lake, name: str):  # type: ignore[no-untyped-def]
    held = lake.metastore.table(*name.split("."))
    assert held is not None
    return held


def test_a_termination_signal_undoes_what_has_begun(
    lake: Lake, metastore: MetastoreService, table: str, tmp_path: Path
) -> None:
    script = (
        "import os, signal, sys\n"
        "from indextables.hive import compact as module\n"
        "import indextables.hive.swap as swap\n"
        "honest = swap.Swapper.swap\n"
        "def slow(self, directory):\n"
        "    honest(self, directory)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "swap.Swapper.swap = slow\n"
        "from indextables.cli.lakekeeper import main\n"
        f"main(['--metastore', '{metastore.uri}', 'compact', '--table', '{table}'])\n"
    )
    before = read_table(lake, table)
    ended = subprocess.run([sys.executable, "-c", script], env={**os.environ}, capture_output=True, text=True)
    assert ended.returncode == 130, ended.stderr
    assert "undone" in ended.stderr
    assert signal.SIGTERM.name not in ended.stderr
    assert read_table(lake, table) == before
    assert sorted(path.name for path in (tmp_path / "events").iterdir()) == ["date=2026-02-23", "date=2026-02-24"]
