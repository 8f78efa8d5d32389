"""What many partitions cost: between its two renames a directory waits for nobody, and a way back asks for a run's directories once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from indextables.hive import Lake, cleanup, compact, recover, rollback
from indextables.hive.metastore import Metastore
from tests.hive.moments import DiedError, dying
from tests.hive.tables import create_table, fill, partition_of

if TYPE_CHECKING:
    from pathlib import Path

    from indextables.hive.model import HiveTable

PARTITIONS = 12


@pytest.fixture
def wide(lake: Lake, database: str, tmp_path: Path) -> HiveTable:
    table = create_table(lake, f"{database}.wide", f"{tmp_path}/wide", keys=[("n", "string")])
    partitions = [partition_of(table, [f"{number:02d}"]) for number in range(PARTITIONS)]
    lake.metastore.add_partitions(table, partitions)
    for partition in partitions:
        fill(lake, partition.location, files=2, rows=1)
    return table


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Steps of runs, where a test notes them, and calls of the Metastore, in the order in which they happen."""
    found: list[str] = []
    plain = Metastore._call

    def call(metastore: Metastore, name: str, *arguments: Any) -> Any:
        found.append(name)
        return plain(metastore, name, *arguments)

    monkeypatch.setattr(Metastore, "_call", call)
    return found


def test_between_its_renames_a_directory_waits_for_one_call_and_for_no_other_directory(
    lake: Lake, wide: HiveTable, events: list[str]
) -> None:
    compact(replace(lake, threads=4, on_step=events.append), wide.full_name)
    begins = [index for index, event in enumerate(events) if event.startswith("rename to old: ")]
    assert len(begins) == PARTITIONS
    for begin in begins:
        name = events[begin].removeprefix("rename to old: ")
        assert events[begin + 1 : begin + 4] == [
            f"point backup at old: {name}",
            "alter_partitions_with_environment_context",
            f"rename to live: {name}",
        ]


def test_a_way_back_asks_for_the_directories_of_a_run_once(lake: Lake, wide: HiveTable, events: list[str]) -> None:
    compact(lake, wide.full_name)
    events.clear()
    rollback(lake, wide.full_name)
    calls = Counter(events)
    # The run's directories, where its backup points now, and the statistics of the table.
    assert (calls["get_partition_names"], calls["get_partitions_by_names"]) == (1, 3)
    assert calls["alter_partitions_with_environment_context"] == 1


def test_a_recovery_asks_for_them_once_too(lake: Lake, wide: HiveTable, events: list[str]) -> None:
    with pytest.raises(DiedError):
        compact(dying(lake, f"rename to live: n={PARTITIONS - 1:02d}"), wide.full_name)
    events.clear()
    assert len(recover(lake, table=wide.full_name)) == 1
    calls = Counter(events)
    assert (calls["get_partition_names"], calls["get_partitions_by_names"]) == (1, 3)
    assert calls["alter_partitions_with_environment_context"] == 1
    cleanup(lake, wide.full_name)
