"""What keeps a table well: checkpoints, cleanup, going back, and finding its files when the log is lost."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.errors import ConfigError, SplitCorruptionError
from indextables.log.actions import Add
from indextables.log.layout import LOG_DIRECTORY
from indextables.storage.local import LocalStore
from indextables.storage.retry import RetryingStore
from indextables.table import Table, progress
from indextables.table.rebuild import rebuild_adds
from tests.support.data import every_type

if TYPE_CHECKING:
    from pathlib import Path


def numbers(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64()), "name": [f"n{value}" for value in values]})


def test_statistics_survive_a_checkpoint(tmp_path: Path) -> None:
    table = Table(str(tmp_path))
    table.append(every_type())
    for first in range(0, 30, 10):
        table.append(pa.table({"long": range(first, first + 10), "double": [float("nan")] * 10}))

    def files(opened: Table) -> list[list[str]]:
        conditions = ("long = 15", "double > 1", "struct.x = 3")
        return [sorted(opened.files(where=where)["path"].to_pylist()) for where in conditions]

    before = files(table)
    table.checkpoint()
    reopened = Table(str(tmp_path))
    assert files(reopened) == before
    assert [len(paths) for paths in before] == [2, 4, 1]
    rows = [sorted(map(repr, opened.to_arrow().to_pylist())) for opened in (table, reopened)]
    assert rows[0] == rows[1]
    assert reopened.verify_stats().num_rows == 0


def test_a_table_goes_back_to_an_earlier_version(tmp_path: Path) -> None:
    table = Table(str(tmp_path))
    table.append(numbers(1))
    table.overwrite(numbers(2))
    table.restore(1)
    assert table.to_arrow()["id"].to_pylist() == [1]
    assert table.cleanup(dry_run=True) is not None
    with pytest.raises(ConfigError, match="version is set to 1"):
        Table(str(tmp_path), version=1).restore(1)


class TestRebuild:
    def test_finds_every_split_with_the_adds_that_the_log_had(self, tmp_path: Path) -> None:
        table = Table(str(tmp_path))
        data = pa.table(
            {"id": range(6), "day": ["a", "", None, "x/y", "a", "%"], "f": [1.0, float("nan"), 2.0, 0.0, 1.0, 1.0]}
        )
        table.append(data, partition_by=["day"])
        expected = {
            action.path: (
                action.partition_values,
                action.min_values,
                action.stats,
                action.size,
                action.footer_start_offset,
            )
            for action in table.log.read_version(1)
            if isinstance(action, Add)
        }
        adds = rebuild_adds(RetryingStore(LocalStore(tmp_path)))
        found = {
            add.path: (add.partition_values, add.min_values, add.stats, add.size, add.footer_start_offset)
            for add in adds
        }
        assert found == expected
        assert len(found) == 5

    def test_the_adds_make_a_table_again(self, tmp_path: Path) -> None:
        table = Table(str(tmp_path))
        table.append(pa.table({"id": range(10), "day": ["a", "b"] * 5}), partition_by=["day"])
        expected = table.to_arrow().sort_by("id")
        schema = table.schema
        for file in (tmp_path / LOG_DIRECTORY).rglob("*.json"):
            file.unlink()
        again = Table(str(tmp_path))
        again.log.initialize(schema, ["day"])
        again.log.add_files(rebuild_adds(RetryingStore(LocalStore(tmp_path))))
        assert again.to_arrow().sort_by("id").equals(expected)
        assert again.files(where="id = 3 AND day = 'b'").num_rows == 1
        assert again.verify_stats().num_rows == 0

    def test_partitions_of_files_without_notes_come_from_their_directories(self, tmp_path: Path) -> None:
        (tmp_path / "day=x%2Fy").mkdir()
        pq.write_table(pa.table({"id": [1]}), tmp_path / "day=x%2Fy" / "part.split")
        [add] = rebuild_adds(RetryingStore(LocalStore(tmp_path)))
        assert (add.partition_values, add.num_records) == ({"day": "x/y"}, 1)
        assert add.modification_time > 0

    def test_a_damaged_file_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "bad.split").write_bytes(b"not a split")
        with pytest.raises(SplitCorruptionError, match=r"bad\.split"):
            rebuild_adds(RetryingStore(LocalStore(tmp_path)))


class TestProgress:
    def shown(self, monkeypatch: pytest.MonkeyPatch, *, terminal: bool, patience: float) -> str:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return terminal

        errors = Terminal()
        monkeypatch.setattr("sys.stderr", errors)
        monkeypatch.setattr(progress, "_PATIENCE_S", patience)
        monkeypatch.setenv("TERM", "xterm")
        tables = [numbers(1), numbers(2, 3)]
        assert list(progress.shown(iter(tables), files=2)) == tables
        return errors.getvalue()

    def test_long_reads_tell_people_how_far_they_are(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert "Reading 2 files" in self.shown(monkeypatch, terminal=True, patience=-1)

    def test_short_reads_and_programs_see_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.shown(monkeypatch, terminal=True, patience=60) == ""
        assert self.shown(monkeypatch, terminal=False, patience=-1) == ""
