"""Backups are known by what they record, never by their names, and cleanup deletes only what they prove to be theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from indextables.errors import RollbackRefusedError
from indextables.hive import Lake, analyze, cleanup, compact, rollback
from tests.hive.tables import create_table, events, fill, flat


def test_a_backup_of_a_table_with_a_longer_name_is_not_taken_for_ones_own(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    for name in ("events", "events_archive"):
        create_table(lake, f"{database}.{name}", f"{tmp_path}/{name}")
        fill(lake, f"{tmp_path}/{name}", files=3, rows=2)
        compact(lake, f"{database}.{name}")
    assert len(cleanup(lake, f"{database}.events").runs) == 1
    rollback(lake, f"{database}.events_archive")
    assert analyze(lake, f"{database}.events_archive").files == 3
    assert analyze(lake, f"{database}.events").files == 1


def test_a_backup_of_an_earlier_table_of_the_same_name_is_not_rolled_back_to(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    compact(lake, name)
    (run,) = list(lake.metastore.tables(database, lake.metastore.table_names(database, like="__bkp_*")))
    changed = run.changed(parameters=run.parameters | {"lakekeeper.source.created": "1"})
    lake.metastore.alter(changed)
    with pytest.raises(RollbackRefusedError, match="earlier table"):
        rollback(lake, name)
    assert len(list(Path(place).iterdir())) == 1


def test_cleanup_keeps_young_runs_and_deletes_nothing_in_a_dry_run(lake: Lake, database: str, tmp_path: Path) -> None:
    name, _place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    compact(lake, name)
    assert cleanup(lake, name, older_than_ms=3_600_000).runs == ()
    planned = cleanup(lake, name, dry_run=True)
    assert Path(planned.directories[0].removeprefix("file:")).is_dir()
    assert planned.files == 2


def test_cleanup_follows_no_link_and_touches_nothing_that_only_looks_like_a_backup(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    result = compact(lake, name)
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "gold").touch()
    (Path(f"{place}__old_{result.run}") / "link").symlink_to(treasure)
    twin = Path(f"{place}__old_1234567890")
    twin.mkdir()
    (twin / "not-ours").touch()
    cleanup(lake, name)
    assert (treasure / "gold").exists()
    assert (twin / "not-ours").exists()
    assert not Path(f"{place}__old_{result.run}").exists()
