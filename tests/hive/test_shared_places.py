"""Original files stay while anything in the Metastore points at them: however it writes the place, in any table and database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indextables.errors import MetastoreError, RecoveryError
from indextables.hive import Lake, Options, cleanup, compact
from indextables.hive.find import find_table
from indextables.hive.pointers import pointer_at
from tests.hive.tables import add_partition, create_table, events, fill, flat, new_database, read_table, values

if TYPE_CHECKING:
    from pathlib import Path

    from indextables.hive.model import HiveTable
    from tests.support.metastore import MetastoreService

SWAPS = pytest.mark.parametrize("swap", ["rename", "location"])


def compacted(lake: Lake, database: str, tmp_path: Path, swap: str = "rename") -> tuple[str, str]:
    """Return a compacted table of ten rows, and where its original files are."""
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    run = compact(lake, name, options=Options(swap=swap)).run
    return name, place if swap == "location" else f"{place}__old_{run}"


def expect_refusal(lake: Lake, name: str, who: str, place: str) -> None:
    with pytest.raises(RecoveryError, match=f"{who} points at file:{place}, or into it"):
        cleanup(lake, name)
    assert len(values(place)) == 10


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_a_partition_may_write_a_place_in_any_way(lake: Lake, database: str, tmp_path: Path, prefix: str) -> None:
    table = create_table(lake, f"{database}.p", f"{tmp_path}/p", keys=[("d", "string")])
    fill(lake, add_partition(lake, table, ["1"]), files=2, rows=3)
    run = compact(lake, table.full_name).run
    add_partition(lake, table, ["2"])
    (held,) = lake.metastore.partitions(table, ["d=2"])
    lake.metastore.alter_partitions(table, [held.changed(location=f"{prefix}{tmp_path}/p/d=1__old_{run}")])
    with pytest.raises(RecoveryError, match=f"the partition 2 of {table.full_name} points at"):
        cleanup(lake, table.full_name)
    assert read_table(lake, table.full_name).count == 12


@SWAPS
def test_a_partition_of_another_table_counts(lake: Lake, database: str, tmp_path: Path, swap: str) -> None:
    name, place = compacted(lake, database, tmp_path, swap)
    other = create_table(lake, f"{database}.other", f"{tmp_path}/other", keys=[("k", "string")])
    add_partition(lake, other, ["1"], location=place)
    expect_refusal(lake, name, f"the partition 1 of {database}.other", place)
    assert read_table(lake, other.full_name).count == 10


def test_a_partition_that_shared_the_files_before_they_were_switched_counts(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    name, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    other = create_table(lake, f"{database}.other", f"{tmp_path}/other", keys=[("k", "string")])
    add_partition(lake, other, ["1"], location=place)
    compact(lake, name, options=Options(swap="location"))
    expect_refusal(lake, name, f"the partition 1 of {database}.other", place)
    assert read_table(lake, other.full_name).count == read_table(lake, name).count == 10


@SWAPS
def test_a_table_of_another_database_counts(
    lake: Lake, metastore: MetastoreService, database: str, tmp_path: Path, swap: str
) -> None:
    name, place = compacted(lake, database, tmp_path, swap)
    with new_database(metastore, tmp_path / "elsewhere") as elsewhere:
        other = create_table(lake, f"{elsewhere}.other", place)
        expect_refusal(lake, name, f"the table {elsewhere}.other", place)
        assert read_table(lake, other.full_name).count == 10
        lake.metastore.drop(other)
        assert cleanup(lake, name).files == 2


@SWAPS
def test_a_table_inside_of_them_counts(lake: Lake, database: str, tmp_path: Path, swap: str) -> None:
    name, place = compacted(lake, database, tmp_path, swap)
    create_table(lake, f"{database}.inner", f"{place}/inner")
    expect_refusal(lake, name, f"the table {database}.inner", place)


class TestPointers:
    def test_what_is_not_said_of_a_place_could_be_anything(self, lake: Lake, database: str, tmp_path: Path) -> None:
        table = create_table(lake, f"{database}.one", f"{tmp_path}/one")
        for place in (
            f"file:{tmp_path}/one",
            f"{tmp_path}/one/",
            f"file://{tmp_path}/one",
            f"file://host{tmp_path}/one",
        ):
            assert pointer_at(lake, [place]) == (place, f"the table {table.full_name}")

    def test_another_store_is_another_place(self, lake: Lake, database: str, tmp_path: Path) -> None:
        create_table(lake, f"{database}.one", f"{tmp_path}/one")
        assert pointer_at(lake, [f"hdfs://host{tmp_path}/one", f"{tmp_path}/on", f"{tmp_path}/one1"]) is None

    def test_tables_that_are_named_do_not_count(self, lake: Lake, database: str, tmp_path: Path) -> None:
        table = create_table(lake, f"{database}.one", f"{tmp_path}/one")
        assert pointer_at(lake, [f"{tmp_path}/one"], apart_from=[table.full_name]) is None

    @pytest.mark.parametrize("dropped", [True, False])
    def test_a_table_that_is_dropped_meanwhile_points_nowhere(
        self, lake: Lake, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, dropped: bool
    ) -> None:
        table = create_table(lake, f"{database}.gone", f"{tmp_path}/gone", keys=[("k", "string")])

        def names(asked: HiveTable) -> list[str]:
            if dropped and asked.full_name == table.full_name:
                lake.metastore.drop(find_table(lake, table.full_name))
            raise MetastoreError("get_partition_names", kind="NoSuchObjectException", detail="it has gone away")

        monkeypatch.setattr(lake.metastore, "partition_names", names)
        if dropped:
            assert pointer_at(lake, [f"{tmp_path}/other"]) is None
        else:
            with pytest.raises(MetastoreError, match="it has gone away"):
                pointer_at(lake, [f"{tmp_path}/other"])
