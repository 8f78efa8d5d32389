"""The pictures of the compaction mechanism, asserted literally: names, counts, locations in the Metastore, rows.

They hold on every file system and with every Metastore, so the local and the HDFS tests share them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from indextables.hive import Lake, analyze, cleanup, compact, rollback
from indextables.hive.find import find_table
from indextables.hive.names import backup_name, partition_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from examples.lakekeeper_demo import DemoTable


class Album:
    """Looks at one of the demo tables at every step of a run."""

    def __init__(self, lake: Lake, table: DemoTable, base: str, count: Callable[[str], int]) -> None:
        self.table = table
        self.name = f"demo.{table.name}"
        self.root = f"{base}/{table.name}"
        self.directories = table.directories(base)
        self.lake = replace(lake, threads=1, on_step=self.on_step)
        self.count = count
        self.seen: list[str] = []
        self.run = ""

    @property
    def originals(self) -> list[str]:
        return [f"part-{index:05d}.parquet" for index in range(self.table.files)]

    def rows(self, places: list[str]) -> int:
        """Return how many rows the files in these directories have, by their footers."""
        total = 0
        for place in places:
            system = self.lake.systems.at(place)
            for entry in system.entries(place):
                with system.open_input(f"{place}/{entry.path}", entry.length) as source:
                    total += pq.read_metadata(source).num_rows
        return total

    def files(self, place: str) -> list[str] | None:
        entries = self.lake.systems.at(place).files(place)
        return None if entries is None else [entry.path for entry in entries if not entry.is_dir]

    def locations(self, name: str) -> list[str]:
        """Return the locations of a table's partitions, or of the table itself, in order."""
        table = find_table(self.lake, name)
        if not table.keys:
            return [table.location]
        names = sorted(self.lake.metastore.partition_names(table))
        return [partition.location for partition in self.lake.metastore.partitions(table, names)]

    def on_step(self, step: str) -> None:
        kind, _, name = step.partition(": ")
        self.seen.append(kind)
        index = self._names().index(name) if kind.startswith(("rename", "point")) and name in self._names() else None
        if kind == "create backup table":
            self.before()
        elif kind == "write replacements":
            self.after_step_1()
        elif index is not None and kind == "rename to old":
            self.after_step_2(index)
        elif index is not None and kind == "point backup at old":
            self.after_step_3a(index)
        elif index is not None and kind == "rename to live":
            self.after_step_3b(index)

    def _names(self) -> list[str]:
        return [partition_name(self.table.keys, values) if values else "" for values in self.table.partitions]

    @property
    def backup(self) -> str:
        names = self.lake.metastore.table_names("demo", like=f"__bkp_{self.table.name}_2*")
        return f"demo.{names[-1]}"

    def before(self) -> None:
        assert find_table(self.lake, self.name).location == self.root
        assert self.locations(self.name) == self.directories
        for place in self.directories:
            assert self.files(place) == self.originals
        assert self.rows(self.directories) == self.table.total_rows

    def after_step_1(self) -> None:
        """The backup exists beside the table, at the same places; nothing has been copied."""
        backup = find_table(self.lake, self.backup)
        self.run = backup.parameters["lakekeeper.run"]
        assert backup.name == backup_name(self.table.name, self.run)
        assert backup.type == "EXTERNAL_TABLE"
        assert backup.parameters["external.table.purge"] == "false"
        assert backup.location == self.root
        assert self.locations(self.backup) == self.directories == self.locations(self.name)
        for place in self.directories:
            assert self.files(place) == self.originals

    def after_step_2(self, index: int) -> None:
        """The compacted file lies in a sibling directory; originals are untouched."""
        place = self.directories[index]
        assert self.files(place) == self.originals
        assert self.files(f"{place}__compact_tmp_{self.run}") == ["part-00000.parquet"]
        assert self.files(f"{place}__old_{self.run}") is None

    def after_step_3a(self, index: int) -> None:
        place = self.directories[index]
        assert self.files(place) is None
        assert self.files(f"{place}__old_{self.run}") == self.originals
        assert self.locations(self.backup)[index] == place

    def after_step_3b(self, index: int) -> None:
        place = self.directories[index]
        assert self.files(place) is None
        assert self.locations(self.backup)[index] == f"{place}__old_{self.run}"
        assert self.locations(self.name) == self.directories

    def after_compaction(self) -> None:
        assert find_table(self.lake, self.name).location == self.root
        assert self.locations(self.name) == self.directories
        olds = [f"{place}__old_{self.run}" for place in self.directories]
        assert self.locations(self.backup) == olds
        for place, old in zip(self.directories, olds, strict=True):
            assert self.files(place) == ["part-00000.parquet"]
            assert self.files(old) == self.originals
            assert self.files(f"{place}__compact_tmp_{self.run}") is None
        assert self.rows(olds) == self.table.total_rows
        assert self.count(self.name) == self.table.total_rows

    def after_rollback(self) -> None:
        self.before()
        assert self.locations(self.backup) == self.directories
        for place in self.directories:
            assert self.files(f"{place}__old_{self.run}") is None
            assert self.files(f"{place}__compact_tmp_{self.run}") is None

    def after_cleanup(self) -> None:
        assert self.locations(self.name) == self.directories
        for place in self.directories:
            assert self.files(place) == ["part-00000.parquet"]
            assert self.files(f"{place}__old_{self.run}") is None
        assert self.lake.metastore.table_names("demo", like=f"__bkp_{self.table.name}_2*") == []
        assert self.count(self.name) == self.table.total_rows

    def show(self) -> None:
        """Go through the whole story."""
        report = analyze(self.lake, self.name)
        assert len(report.partitions) == len(self.directories)
        assert all(one.needs_compaction and one.target_files == 1 for one in report.partitions)
        result = compact(self.lake, self.name)
        assert (result.files_before, result.files_after) == (self.table.total_files, len(self.directories))
        assert result.rows == self.table.total_rows
        assert self.seen.count("rename to old") == self.seen.count("rename to live") == len(self.directories)
        self.after_compaction()
        if not self.table.keys:
            assert self.count(self.backup) == self.table.total_rows
        rollback(self.lake, self.name)
        self.after_rollback()
        self.run = str(compact(self.lake, self.name).run)
        self.after_compaction_of_second_run()

    def after_compaction_of_second_run(self) -> None:
        self.after_compaction()
        freed = cleanup(self.lake, self.name)
        assert freed.files == self.table.total_files
        self.after_cleanup()
