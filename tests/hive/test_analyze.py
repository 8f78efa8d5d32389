"""`analyze` looks at any number of partitions with the memory of some hundred, and asks for each table once."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING

from indextables.hive import Lake, analyze, analyze_database
from indextables.hive.filesystem import Entry, FileSystems
from indextables.hive.local import LocalFileSystem
from tests.hive.tables import create_table, partition_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from indextables.hive.model import HiveTable

PARTITIONS = 240
FILES = 200


class Crowded(LocalFileSystem):
    """A disk on which every directory is full of files."""

    def entries(self, location: str, *, recursive: bool = True) -> list[Entry]:  # noqa: ARG002 - all are alike
        return [Entry(f"part-{number:05d}-{location}.parquet", 10, number) for number in range(FILES)]


def test_memory_is_that_of_one_batch_however_many_partitions_there_are(
    lake: Lake, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indextables.hive.plan.BATCH", 20)
    table = create_table(lake, f"{database}.wide", f"{tmp_path}/wide", keys=[("n", "int")])
    lake.metastore.add_partitions(table, [partition_of(table, [str(number)]) for number in range(PARTITIONS)])
    crowded = replace(lake, systems=FileSystems({"file": lambda _: Crowded(), "": lambda _: Crowded()}))
    seen: list[tuple[int, int]] = []
    peaks = []
    for where in ("n < 40", None):
        tracemalloc.start()
        report = analyze(crowded, table.full_name, where=where, on_progress=lambda *heard: seen.append(heard))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert report.files == PARTITIONS * FILES
    assert seen == [(20, 40), (40, 40), *((done, PARTITIONS) for done in range(20, PARTITIONS + 1, 20))]
    assert peaks[1] < 1.5 * peaks[0], f"{PARTITIONS} partitions take {peaks[1]:,} bytes, 40 take {peaks[0]:,}"


def test_a_database_asks_for_each_table_once(
    lake: Lake, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("b", "a"):
        create_table(lake, f"{database}.{name}", f"{tmp_path}/{name}")
    asked: list[str] = []
    table_of = lake.metastore.table

    def counted(database: str, name: str) -> HiveTable | None:
        asked.append(name)
        return table_of(database, name)

    monkeypatch.setattr(lake.metastore, "table", counted)
    reports = list(analyze_database(lake, database))
    assert [report.table for report in reports] == [f"{database}.a", f"{database}.b"]
    assert asked == ["a", "b"]
