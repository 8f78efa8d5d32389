"""Checkpoints of the original implementation: read where they are all there is, and never believed where they are not.

Every frozen table opens to the same state with its checkpoint and without it. Where its early commits are gone, as its own
cleanup leaves a log, the checkpoint is used, and one warning says whose it is.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest

from indextables.errors import IndexTablesError, LogCorruptionError
from indextables.log.codec import decode
from indextables.log.layout import commit_path, json_checkpoint_path
from indextables.log.lines import parse_lines
from indextables.log.open import open_log
from tests.support.fixtures import fixture_tables
from tests.support.logs import add

if TYPE_CHECKING:
    from pathlib import Path

    from indextables.log.log import TransactionLog
    from indextables.log.snapshot import Snapshot

TABLES = {path.name: path for path in fixture_tables() if list(path.rglob("*.checkpoint.json"))}
HEALTHY = "b4_checkpoint_healthy_plain_commits_gz_checkpoint"
LYING = sorted(TABLES.keys() - {HEALTHY})
READERS: dict[str, dict[str, str]] = {
    "optimised": {},
    "plain": {"spark.indextables.transaction.useOptimized": "false"},
    "without checkpoints": {"spark.indextables.checkpoint.enabled": "false"},
}
NO_CHECKPOINTS = {"spark.indextables.checkpoint.enabled": "false"}

every_table = pytest.mark.parametrize("name", TABLES)
every_reader = pytest.mark.parametrize("reader", READERS)


def copied(name: str, target: Path) -> Path:
    (target / "_transaction_log").mkdir(parents=True)
    for file in (TABLES[name] / "_transaction_log").iterdir():
        (target / "_transaction_log" / file.name).write_bytes(file.read_bytes())
    return target


def checkpoint_versions(table: Path) -> list[int]:
    files = (table / "_transaction_log").glob("[0-9]*.checkpoint.json")
    return sorted(int(file.name.partition(".")[0]) for file in files)


def claimed(table: Path, version: int) -> list[str]:
    """Return the files that a checkpoint names."""
    file = table / json_checkpoint_path(version)
    lines = decode(file.read_bytes(), path=str(file)).splitlines()
    return sorted(json.loads(line)["add"]["path"] for line in lines if line.startswith(b'{"add"'))


def without_commits(table: Path, *, below: int) -> Path:
    """Take commits away, as the cleanup of the original implementation does."""
    for version in range(below):
        (table / commit_path(version)).unlink()
    return table


def state(snapshot: Snapshot) -> dict[str, Any]:
    rows = {row["path"]: row for row in snapshot.files.drop_columns(["version", "ordinal"]).to_pylist()}
    return {
        "version": snapshot.version,
        "files": rows,
        "removes": sorted(snapshot.removes["path"].to_pylist()),
        "skips": sorted(snapshot.skips["path"].to_pylist()),
        "metadata": snapshot.metadata,
        "protocol": snapshot.protocol,
    }


def test_five_of_the_frozen_tables_have_checkpoints() -> None:
    assert len(TABLES) == 5


@every_table
@every_reader
class TestWhereTheCommitsAreComplete:
    def test_the_state_is_the_same_with_the_checkpoint_and_without_it(
        self, name: str, reader: str, tmp_path: Path
    ) -> None:
        table = copied(name, tmp_path / "table")
        for version in checkpoint_versions(table):
            (table / json_checkpoint_path(version)).unlink()
        (table / "_transaction_log" / "_last_checkpoint").unlink()
        whole = open_log(str(TABLES[name]), READERS[reader])
        bare = open_log(str(table), READERS[reader])
        assert bare.versions() == whole.versions()
        for version in whole.versions():
            assert state(whole.snapshot(version)) == state(bare.snapshot(version))

    def test_nobody_is_warned(self, name: str, reader: str, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING):
            open_log(str(TABLES[name]), READERS[reader]).snapshot()
        assert not caplog.records


class TestWhereCommitsAreGone:
    def opened(self, table: Path, reader: str = "optimised") -> TransactionLog:
        return open_log(str(table), READERS[reader])

    @every_reader
    def test_a_healthy_checkpoint_gives_the_state_that_the_commits_gave(self, reader: str, tmp_path: Path) -> None:
        table = copied(HEALTHY, tmp_path / "table")
        (newest,) = checkpoint_versions(table)
        whole = open_log(str(TABLES[HEALTHY]))
        log = self.opened(without_commits(table, below=newest), reader)
        assert log.latest_version() == whole.latest_version()
        for version in range(newest, whole.latest_version() + 1):
            one, other = state(log.snapshot(version)), state(whole.snapshot(version))
            assert one["files"].keys() == other["files"].keys()
            assert one["metadata"] == other["metadata"]
            assert one["version"] == other["version"]

    @every_table
    def test_what_the_checkpoint_says_and_later_commits_are_the_table(self, name: str, tmp_path: Path) -> None:
        table = copied(name, tmp_path / "table")
        newest = checkpoint_versions(table)[-1]
        expected = set(claimed(table, newest))
        log = self.opened(without_commits(table, below=newest))
        latest = log.latest_version()
        for version in range(newest + 1, latest + 1):
            path = table / commit_path(version)
            for action in parse_lines(decode(path.read_bytes(), path=str(path)), path=str(path)):
                if action.key == "add":
                    expected.add(action.path)  # type: ignore[union-attr]
                elif action.key == "remove":
                    expected.discard(action.path)  # type: ignore[union-attr]
        assert set(log.list_files()["path"].to_pylist()) == expected
        assert log.metadata == open_log(str(TABLES[name])).metadata

    @every_table
    def test_one_warning_says_so(self, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        table = copied(name, tmp_path / "table")
        newest = checkpoint_versions(table)[-1]
        log = self.opened(without_commits(table, below=newest))
        with caplog.at_level(logging.WARNING):
            log.snapshot()
        (record,) = caplog.records
        assert f"version {newest}" in record.getMessage()
        assert "other software" in record.getMessage()

    @every_table
    def test_the_table_takes_commits_and_a_checkpoint_of_ours_that_needs_no_warning(
        self, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        table = copied(name, tmp_path / "table")
        newest = checkpoint_versions(table)[-1]
        log = self.opened(without_commits(table, below=newest))
        before = log.snapshot()
        values = dict.fromkeys(before.partition_columns, "2031-05-06")
        log.add_files([add("ours.split", partition_values=values)])
        log.checkpoint()
        caplog.clear()
        after = self.opened(table).snapshot()
        assert not caplog.records
        assert sorted(after.files["path"].to_pylist()) == sorted([*before.files["path"].to_pylist(), "ours.split"])

    @every_table
    def test_cleanup_leaves_the_checkpoint_that_stands_for_them(self, name: str, tmp_path: Path) -> None:
        table = copied(name, tmp_path / "table")
        newest = checkpoint_versions(table)[-1]
        without_commits(table, below=newest)
        impatient = {
            "spark.indextables.logRetention.duration": "0",
            "spark.indextables.checkpointRetention.duration": "0",
            "spark.indextables.checkpoint.retention": "0",
        }
        before = state(self.opened(table).snapshot())
        log = open_log(str(table), impatient)
        log.cleanup()
        assert (table / json_checkpoint_path(newest)).exists()
        assert state(self.opened(table).snapshot()) == before

    @pytest.mark.parametrize("name", LYING)
    def test_without_any_checkpoint_the_error_names_what_is_missing(self, name: str, tmp_path: Path) -> None:
        table = copied(name, tmp_path / "table")
        newest = checkpoint_versions(table)[-1]
        without_commits(table, below=newest)
        for version in checkpoint_versions(table):
            (table / json_checkpoint_path(version)).unlink()
        for options in READERS.values():
            with pytest.raises(LogCorruptionError) as caught:
                open_log(str(table), options).snapshot()
            assert isinstance(caught.value, IndexTablesError)
            assert set(caught.value.versions) <= set(range(newest))
            assert 0 in caught.value.versions


@every_table
def test_our_own_checkpoint_of_their_table_gives_every_version_the_same_state(name: str, tmp_path: Path) -> None:
    table = copied(name, tmp_path / "table")
    log = open_log(str(table), NO_CHECKPOINTS)
    for form in ("parquet", "json"):
        open_log(str(table), {"spark.indextables.checkpoint.format": form}).checkpoint()
        mine = open_log(str(table))
        assert state(mine.snapshot()) == state(log.snapshot())
