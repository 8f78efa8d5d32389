"""Runs that switched locations and cannot be taken back as things are: each is refused, and the table reads what it read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indextables.errors import RecoveryError
from indextables.hive import Lake, Options, compact, list_runs, recover, rollback
from indextables.hive.find import find_table
from tests.hive.moments import DiedError, acting, drop_partition, dying, tree
from tests.hive.tables import add_partition, create_table, events, fill, flat, read_table, values, write_parquet

if TYPE_CHECKING:
    from tests.support.metastore import MetastoreService

LOCATION = Options(swap="location")


def switched(lake: Lake, database: str, tmp_path: Path) -> tuple[str, Path, Path]:
    """Return a table of ten rows that was switched, where its original files are, and where it points now."""
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    result = compact(lake, name, options=LOCATION)
    return name, Path(place), Path(f"{place}__compacted_{result.run}")


def test_a_switch_is_not_taken_back_once_the_original_files_are_gone(lake: Lake, database: str, tmp_path: Path) -> None:
    name, original, _ = switched(lake, database, tmp_path)
    rows = read_table(lake, name)
    shutil.rmtree(original)
    before = tree(tmp_path)
    with pytest.raises(RecoveryError, match=f"file:{original}: its original files are gone"):
        rollback(lake, name, keep_newer=True)
    assert tree(tmp_path) == before
    assert read_table(lake, name) == rows
    assert [run.state for run in list_runs(lake, table=name)] == ["complete"]


@pytest.mark.parametrize("rewritten", [True, False])
def test_a_switch_is_not_taken_back_once_its_compacted_files_were_overwritten(
    lake: Lake, database: str, tmp_path: Path, *, rewritten: bool
) -> None:
    name, original, fresh = switched(lake, database, tmp_path)
    (fresh / "part-00000.parquet").unlink()
    write_parquet(lake, f"{fresh}/{'part-00000' if rewritten else 'overwritten'}.parquet", events(50, 3))
    before, rows = tree(tmp_path), read_table(lake, name)
    assert rows.count == 3
    with pytest.raises(RecoveryError, match=f"file:{original}: its compacted files were removed or rewritten since"):
        rollback(lake, name, keep_newer=True)
    assert tree(tmp_path) == before
    assert read_table(lake, name) == rows
    assert len(values(str(original))) == 10


def test_a_replacement_is_kept_when_a_late_switch_arrives_while_the_run_is_undone(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name, original, fresh = switched(lake, database, tmp_path)
    rows, late = read_table(lake, name), find_table(lake, name)
    with pytest.raises(RecoveryError, match=f"file:{original}: the Metastore points at its replacement, which is kept"):
        rollback(acting(lake, "point backup at live", lambda: lake.metastore.alter(late)), name)
    assert find_table(lake, name).location == f"file:{fresh}"
    assert read_table(lake, name) == rows
    assert len(values(str(original))) == 10
    assert [one.state for one in recover(lake, table=name)] == ["undone"]
    assert find_table(lake, name).location == f"file:{original}"
    assert read_table(lake, name) == rows
    assert not fresh.exists()


def test_no_partition_is_switched_back_while_another_is_no_longer_in_the_metastore(
    lake: Lake, metastore: MetastoreService, database: str, tmp_path: Path
) -> None:
    table = create_table(lake, f"{database}.p", f"{tmp_path}/p", keys=[("k", "string")])
    for index, value in enumerate(("a", "b")):
        fill(lake, add_partition(lake, table, [value]), files=2, rows=3, start=100 * index)
    run = compact(lake, table.full_name, options=LOCATION).run
    drop_partition(metastore, table, "a")
    before, rows = tree(tmp_path), read_table(lake, table.full_name)
    assert list(rows.rows) == ["k=b"]
    with pytest.raises(RecoveryError, match=r"/p/k=a: the partition k=a is no longer in the Metastore"):
        rollback(lake, table.full_name)
    assert tree(tmp_path) == before
    assert read_table(lake, table.full_name) == rows
    (held,) = lake.metastore.partitions(table, ["k=b"])
    assert held.location == f"{table.location}/_lakekeeper/{run}/k=b"
    assert [one.state for one in list_runs(lake, table=table.full_name)] == ["complete"]


@pytest.mark.parametrize("step", ["record replacements", "update statistics"])
def test_an_unfinished_switch_of_a_table_that_was_dropped_is_left_to_people(
    lake: Lake, database: str, tmp_path: Path, step: str
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    with pytest.raises(DiedError):
        compact(dying(lake, step), name, options=LOCATION)
    (run,) = list_runs(lake, table=name)
    lake.metastore.drop(find_table(lake, name))
    before = tree(tmp_path)
    with pytest.raises(RecoveryError, match=f"{name}.*run {run.run}: the table is no longer in the Metastore"):
        recover(lake, table=name)
    assert tree(tmp_path) == before
    assert list_runs(lake, table=name) == [run]
    assert values(place) == values(f"{place}__compacted_{run.run}")
    assert len(values(place)) == 10


@pytest.mark.parametrize("what", ["table", "partition"])
def test_a_switch_that_was_undone_stays_undone_when_what_it_switched_is_dropped(
    lake: Lake, metastore: MetastoreService, database: str, tmp_path: Path, what: str
) -> None:
    table = create_table(lake, f"{database}.p", f"{tmp_path}/p", keys=[("k", "string")])
    for value in ("a", "b"):
        fill(lake, add_partition(lake, table, [value]), files=2, rows=3)
    compact(lake, table.full_name, options=Options(swap="location"))
    rollback(lake, table.full_name)
    if what == "table":
        lake.metastore.drop(table)
    else:
        drop_partition(metastore, table, "a")
    assert recover(lake, database=database) == []


def test_that_a_table_was_dropped_is_said_once_however_many_partitions_it_had(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    table = create_table(lake, f"{database}.p", f"{tmp_path}/p", keys=[("k", "string")])
    for value in ("a", "b", "c"):
        fill(lake, add_partition(lake, table, [value]), files=2, rows=3)
    with pytest.raises(DiedError):
        compact(dying(lake, "update statistics"), table.full_name, options=LOCATION)
    lake.metastore.drop(table)
    with pytest.raises(RecoveryError) as caught:
        recover(lake, table=table.full_name)
    assert str(caught.value).count("the table is no longer in the Metastore") == 1
