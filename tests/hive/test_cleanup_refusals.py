"""Directories that cleanup does not delete: each is named with the reason, and every file stays."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indextables.errors import RecoveryError
from indextables.hive import Lake, Options, cleanup, compact, list_runs, recover, rollback
from indextables.hive.find import find_table
from tests.hive.moments import DiedError, dying, tree
from tests.hive.tables import add_partition, create_table, events, fill, flat, read_table, values, write_parquet

if TYPE_CHECKING:
    from collections.abc import Sequence


def expect_refusal(lake: Lake, name: str, place: Path, reason: str, *, runs: Sequence[str] = ("complete",)) -> None:
    """Cleanup is refused for this reason, in a dry run as well, and leaves everything as it is."""
    before = tree(place)
    for dry_run in (True, False):
        with pytest.raises(RecoveryError, match=reason):
            cleanup(lake, name, dry_run=dry_run)
    assert tree(place) == before
    assert [run.state for run in list_runs(lake, table=name)] == list(runs)


@pytest.mark.parametrize("what", ["location", "run"])
def test_a_backup_whose_record_was_edited_leads_to_no_directory(
    lake: Lake, database: str, tmp_path: Path, what: str
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    backup = find_table(lake, str(compact(lake, name).backup))
    edited = f"file:{place}/" if what == "location" else "1" * 20
    lake.metastore.alter(backup.changed(parameters=backup.parameters | {f"lakekeeper.{what}": edited}))
    expect_refusal(lake, name, tmp_path, f"file:{place}.*__old_[0-9]+ is not called as a run calls its directories")
    assert read_table(lake, name).count == 10


def test_original_files_stay_while_the_directory_that_replaces_them_is_gone(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    rows = values(place)
    old = f"{place}__old_{compact(lake, name).run}"
    shutil.rmtree(place)
    expect_refusal(lake, name, tmp_path, f"file:{place} is gone, and file:{old} may be all that is left of it")
    assert values(old) == rows


def test_a_cleanup_that_was_cut_off_goes_on_only_while_the_directory_is_there(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    rows = values(place)
    old = f"{place}__old_{compact(lake, name).run}"
    with pytest.raises(DiedError):
        cleanup(dying(lake, "delete:"), name)
    Path(place).rename(f"{place}_aside")
    before = tree(tmp_path)
    with pytest.raises(RecoveryError, match=f"file:{place} is gone, and file:{old} may be all that is left of it"):
        recover(lake, table=name)
    assert tree(tmp_path) == before
    assert [run.state for run in list_runs(lake, table=name)] == ["cleaning"]
    Path(f"{place}_aside").rename(place)
    assert [one.state for one in recover(lake, table=name)] == ["cleaned"]
    assert values(place) == rows
    assert not Path(old).exists()


def test_original_files_stay_while_another_table_points_at_them(lake: Lake, database: str, tmp_path: Path) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    old = f"{place}__old_{compact(lake, name).run}"
    create_table(lake, f"{database}.curious", old)
    expect_refusal(lake, name, tmp_path, f"the table {database}.curious points at file:{old}, or into it")
    assert read_table(lake, f"{database}.curious") == read_table(lake, name)


def test_original_files_stay_while_they_are_registered_as_a_partition(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    table = create_table(lake, f"{database}.p", f"{tmp_path}/p", keys=[("d", "string")])
    fill(lake, add_partition(lake, table, ["1"]), files=2, rows=3)
    run = compact(lake, table.full_name).run
    taken = add_partition(lake, table, [f"1__old_{run}"])
    assert taken.endswith(f"/p/d=1__old_{run}")
    expect_refusal(
        lake,
        table.full_name,
        tmp_path,
        f"the partition 1__old_{run} of {table.full_name} points at {taken}, or into it",
    )
    assert read_table(lake, table.full_name).count == 12


def test_switched_originals_stay_while_the_directory_that_replaces_them_is_gone(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    rows = values(place)
    fresh = f"{place}__compacted_{compact(lake, name, options=Options(swap='location')).run}"
    shutil.rmtree(fresh)
    expect_refusal(lake, name, tmp_path, f"file:{fresh} is gone, and file:{place} may be all that is left of it")
    assert values(place) == rows


def test_a_run_that_is_not_finished_is_not_cleaned_up(lake: Lake, database: str, tmp_path: Path) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    rows = values(place)
    with pytest.raises(DiedError):
        compact(dying(lake, "rename to live"), name)
    before = tree(tmp_path)
    result = cleanup(lake, name)
    assert (result.runs, result.directories, result.files) == ((), (), 0)
    assert tree(tmp_path) == before
    recover(lake, table=name)
    assert values(place) == rows


def test_what_somebody_put_into_the_hidden_directory_of_a_run_stays(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.p", f"{tmp_path}/p", keys=[("d", "string")])
    fill(lake, add_partition(lake, table, ["1"]), files=2, rows=3)
    rows = read_table(lake, table.full_name)
    run = compact(lake, table.full_name, options=Options(staging="hidden")).run
    hidden = tmp_path / "p" / "_lakekeeper" / str(run)
    (hidden / "notes.txt").write_text("why we compacted")
    assert cleanup(lake, table.full_name).files == 2
    assert [path.name for path in hidden.iterdir()] == ["notes.txt"]
    assert list_runs(lake, table=table.full_name) == []
    assert read_table(lake, table.full_name) == rows


def test_what_a_late_rename_put_aside_after_the_run_was_undone_stays(lake: Lake, database: str, tmp_path: Path) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    rows = values(place)
    old = f"{place}__old_{compact(lake, name).run}"
    rollback(lake, name)
    Path(place).rename(old)  # a step of a dead process, heard late
    write_parquet(lake, f"{place}/new.parquet", events(100, 1))  # an engine makes the directory anew
    expect_refusal(lake, name, tmp_path, f"file:{old} came back after the run was undone", runs=["undone"])
    with pytest.raises(RecoveryError, match="decide by hand which of them holds the rows"):
        recover(lake, table=name)
    (Path(place) / "new.parquet").rename(f"{old}/new.parquet")
    Path(place).rmdir()
    recover(lake, table=name)
    cleanup(lake, name)
    assert set(rows) < set(values(place))
    assert len(values(place)) == 11
