"""Recovery of a whole database, and a rollback whose new directory is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from indextables.errors import RecoveryError, RollbackRefusedError
from indextables.hive import Lake, compact, list_runs, recover, rollback
from tests.hive.moments import DiedError, dying, tree
from tests.hive.tables import create_table, events, fill, flat, values


def test_a_run_that_cannot_be_recovered_does_not_hold_up_the_others(lake: Lake, database: str, tmp_path: Path) -> None:
    tables = [create_table(lake, f"{database}.t{number}", f"{tmp_path}/t{number}") for number in range(4)]
    for table in tables:
        fill(lake, table.location, files=2, rows=3)
        with pytest.raises(DiedError):
            compact(dying(lake, "rename to live"), table.full_name)
    lost = (0, 2)
    for number in lost:  # neither the directory nor its original files are there
        shutil.move(next(tmp_path.glob(f"t{number}__old_*")), tmp_path / f"aside{number}")
    with pytest.raises(RecoveryError, match=rf"2 runs: {database}.t0: .*/t0: neither.*; {database}.t2: .*/t2: neither"):
        recover(lake, database=database)
    states = {run.table: run.state for run in list_runs(lake, database=database)}
    assert states == {table.full_name: "swapping" if n in lost else "undone" for n, table in enumerate(tables)}
    assert [len(values(f"{tmp_path}/t{number}")) for number in (1, 3)] == [6, 6]
    for number in lost:
        shutil.move(tmp_path / f"aside{number}", tmp_path / f"t{number}")
    assert len(recover(lake, database=database)) == 2
    assert [len(values(f"{tmp_path}/t{number}")) for number in lost] == [6, 6]


def test_a_rollback_says_where_the_original_files_are_when_the_new_directory_is_gone(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    old = f"{place}__old_{compact(lake, name).run}"
    shutil.rmtree(place)
    before = tree(tmp_path)
    with pytest.raises(
        RollbackRefusedError, match=f"file:{place} is gone since, and its original files are at file:{old}.*rename"
    ):
        rollback(lake, name)
    assert tree(tmp_path) == before
    Path(old).rename(place)
    assert len(values(place)) == 10
