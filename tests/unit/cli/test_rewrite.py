from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.cli import session
from indextables.errors import EnvironmentSetupError, PermissionDeniedError
from indextables.storage.local import LocalStore
from indextables.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.cli.conftest import Answer


def test_merge_makes_one_file_a_partition(run: Callable[..., Answer], copy: Path) -> None:
    foretold = run("merge", copy, "--dry-run")
    assert foretold.out.splitlines()[-1].startswith("Would merge 12 files into 3;")
    assert run("describe", copy, "--json").json["version"] == 12
    done = run("merge", copy, "--json").json
    assert (done["files_merged"], done["files_added"]) == (12, 3)
    assert sum(group["rows"] for group in done["groups"]) == 120
    assert run("count", copy).out == "120\n"
    assert len(run("files", copy, "--json").json) == 3
    assert "Merged 0 files" in run("merge", copy).out


def test_merge_of_some_partitions_leaves_the_others_alone(run: Callable[..., Answer], copy: Path) -> None:
    answer = run("merge", copy, "--where", "day = '2024-01-01'", "--target-size", "1GB")
    assert "Merged 4 files into 1" in answer.out
    assert len(run("files", copy, "--json").json) == 9


def test_merge_says_why_files_are_left_alone(run: Callable[..., Answer], copy: Path) -> None:
    damaged = next(copy.rglob("*.split"))
    damaged.write_bytes(bytes(damaged.stat().st_size))
    answer = run("merge", copy)
    assert answer.code == 0
    assert "  1 left alone: it could not be read" in answer.out
    assert [skip["path"] for skip in run("skips", copy, "--json").json] == [str(damaged.relative_to(copy))]


@pytest.mark.slow
@pytest.mark.xdist_group("spark-cli")
def test_merge_runs_on_spark_if_asked(copy: Path) -> None:
    settings = ("spark.master=local[1]", "spark.ui.enabled=false", "spark.driver.bindAddress=127.0.0.1")
    options = [part for setting in settings for part in ("--option", setting)]
    answer = subprocess.run(
        [sys.executable, "-m", "indextables", "merge", str(copy), "--spark", *options],
        capture_output=True,
        text=True,
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert answer.returncode == 0, answer.stderr
    assert "Merged 12 files into 3;" in answer.stdout
    assert Table(str(copy)).count() == 120


def test_spark_without_java_is_refused_in_one_sentence(
    run: Callable[..., Answer], copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "find_java", lambda: None)
    answer = run("merge", copy, "--spark")
    assert answer.code == 1
    assert answer.err == (
        "indextables: Spark needs Java 17 or newer, and there is no Java. Install one, or set JAVA_HOME.\n"
    )
    with pytest.raises(EnvironmentSetupError), session.spark_session({}, wanted=True):
        pass


def test_only_our_settings_and_those_of_stores_reach_a_table() -> None:
    given = {"spark.master": "x", "spark.indextables.checkpoint.interval": "5", "spark.hadoop.fs.a": "1", "fs.b": "2"}
    assert list(session.own_options(given)) == [
        "spark.indextables.checkpoint.interval",
        "spark.hadoop.fs.a",
        "fs.b",
    ]


def test_purge_tells_and_then_deletes(run: Callable[..., Answer], copy: Path) -> None:
    stray = copy / "day=2024-01-01" / "00000000-0000-0000-0000-000000000000.split"
    stray.write_bytes(b"left by a writer that died")
    os.utime(stray, (0, 0))
    foretold = run("purge", copy)
    assert foretold.out.splitlines()[-1].startswith("Would delete 1 file,")
    assert stray.exists()
    done = run("purge", copy, "--no-dry-run", "--json").json
    assert [file["path"] for file in done["files"]] == [str(stray.relative_to(copy))]
    assert not stray.exists()
    assert run("purge", copy).out.startswith("Would delete 0 files")


def test_a_purge_that_fails_in_part_says_so_and_ends_with_1(
    run: Callable[..., Answer], copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = copy / "day=2024-01-01" / "00000000-0000-0000-0000-000000000000.split"
    stray.write_bytes(b"left by a writer that died")
    os.utime(stray, (0, 0))

    def refuse(store: LocalStore, path: str) -> None:
        raise PermissionDeniedError(path, store=store.url)

    monkeypatch.setattr(LocalStore, "delete", refuse)
    answer = run("purge", copy, "--no-dry-run")
    assert answer.code == 1
    assert "Not deleted: " in answer.err
    assert run("purge", copy, "--no-dry-run", "--json").code == 1


def test_convert_makes_parquet_files_a_table_where_they_are(run: Callable[..., Answer], tmp_path: Path) -> None:
    (tmp_path / "day=2024-01-01").mkdir()
    pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / "day=2024-01-01" / "part-0.parquet")
    answer = run("convert", tmp_path, "--partition-by", "day")
    assert answer.code == 0, answer.err
    assert "is a table: version" in answer.out
    assert "1 file, 3 rows" in answer.out
    assert "partitioned by day" in answer.out
    assert run("count", tmp_path).out == "3\n"
