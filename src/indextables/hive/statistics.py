"""The Metastore's statistics of what a run replaced: right after the swap, and what they were after it is undone.

Some engines answer `count(*)` from them. So the number of rows stays only where the run has counted the same, and nothing is ever
marked as accurate that was not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.hive.filesystem import data_files
from indextables.hive.names import partition_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from indextables.hive.connect import Lake
    from indextables.hive.directory import Directory
    from indextables.hive.model import HiveTable

_FILES = "numFiles"
_SIZE = "totalSize"
_ROWS = "numRows"
_RAW_SIZE = "rawDataSize"
_ACCURATE = "COLUMN_STATS_ACCURATE"
_SPARK_SIZE = "spark.sql.statistics.totalSize"
_KEYS = (_FILES, _SIZE, _ROWS, _RAW_SIZE, _ACCURATE, _SPARK_SIZE)


def statistics_of(parameters: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what is to be remembered of a table's or partition's properties."""
    return tuple((key, parameters[key]) for key in _KEYS if key in parameters)


def update_statistics(lake: Lake, table: HiveTable, directories: Sequence[Directory]) -> None:
    """Write what is true after the swap."""
    sizes = {directory.name: _measure(lake, directory.replaced_at) for directory in directories}
    rows = {directory.name: directory.rows for directory in directories}

    def changed(name: str, parameters: dict[str, str]) -> dict[str, str]:
        files, size = sizes[name]
        updated = dict(parameters)
        for key, value in ((_FILES, files), (_SIZE, size), (_SPARK_SIZE, size)):
            if key in updated:
                updated[key] = str(value)
        known = updated.get(_ROWS, "-1")
        if known not in {"-1", str(rows[name])}:
            for key in (_ROWS, _RAW_SIZE, _ACCURATE):
                updated.pop(key, None)
        return updated

    _alter(lake, table, list(sizes), changed)


def restore_statistics(
    lake: Lake, table: HiveTable, directories: Sequence[Directory], carried: Mapping[str, object]
) -> None:
    """Write what was there before the run; where files were carried over, what is true of these directories now."""
    before = {directory.name: dict(directory.statistics) for directory in directories}
    sizes = {
        directory.name: _measure(lake, directory.location) for directory in directories if directory.name in carried
    }

    def changed(name: str, parameters: dict[str, str]) -> dict[str, str]:
        updated = {key: value for key, value in parameters.items() if key not in _KEYS} | before[name]
        if name in sizes:
            files, size = sizes[name]
            for key in (_ROWS, _RAW_SIZE, _ACCURATE):
                updated.pop(key, None)
            for key, value in ((_FILES, files), (_SIZE, size), (_SPARK_SIZE, size)):
                if key in updated:
                    updated[key] = str(value)
        return updated

    _alter(lake, table, list(before), changed)


def _measure(lake: Lake, location: str) -> tuple[int, int]:
    files = data_files(lake.systems.at(location).files(location) or ())
    return len(files), sum(entry.length for entry in files)


def _alter(
    lake: Lake, table: HiveTable, names: Sequence[str], changed: Callable[[str, dict[str, str]], dict[str, str]]
) -> None:
    """Change properties, as they are at this moment, of a flat table or of partitions; what stays the same is not sent."""
    if not table.keys:
        held = lake.metastore.table(table.database, table.name)
        if held is not None and (updated := changed("", held.parameters)) != held.parameters:
            lake.metastore.alter(held.changed(parameters=updated))
        return
    keys = [key.name for key in table.keys]
    partitions = [
        partition.changed(parameters=updated)
        for partition in lake.metastore.partitions(table, names)
        if (updated := changed(partition_name(keys, partition.values), partition.parameters)) != partition.parameters
    ]
    lake.metastore.alter_partitions(table, partitions)
