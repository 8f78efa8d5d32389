"""What engines that remember lists of files must be told after a swap, partition by partition.

Impala keeps the files of every table that it has read, and a long-lived Spark session those of its cached relations. Both fail, or
read files that will be gone, until they are told. A lake's `on_swapped` is called with these statements whenever directories have
changed for good: after a run, after its rollback, after recovery.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from indextables.hive.names import DEFAULT_PARTITION, parse_partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.hive.connect import Lake
    from indextables.hive.directory import Directory
    from indextables.hive.model import HiveTable

_MOST = 1000  # more statements take longer than one for the whole table
_PLAIN = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean")
_PLAIN_VALUE = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?|true|false", re.IGNORECASE)


def refresh_statements(table: HiveTable, names: Sequence[str]) -> tuple[str, ...]:
    """Return the statements for Impala; Spark's is always `REFRESH TABLE` with the table's name.

    Args:
        table: The table.
        names: The names of its partitions that have changed; of a flat table, an empty one.
    """
    shown = f"{_quoted(table.database)}.{_quoted(table.name)}"
    if not table.keys or len(names) > _MOST:
        return (f"REFRESH {shown}",)
    types = {key.name.lower(): key.type.lower() for key in table.keys}
    found = []
    for name in names:
        parts = (f"{_quoted(key)}={_literal(value, types[key])}" for key, value in parse_partition(name))
        found.append(f"REFRESH {shown} PARTITION ({', '.join(parts)})")
    return tuple(found)


def announce(lake: Lake, table: HiveTable, directories: Sequence[Directory]) -> None:
    """Tell whoever wants to know that directories of a table have changed for good."""
    lake.on_swapped(table.full_name, refresh_statements(table, [directory.name for directory in directories]))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _literal(value: str, kind: str) -> str:
    if value == DEFAULT_PARTITION:
        return "NULL"
    # A Metastore takes any text as the value of a number; what is none must not become part of the statement.
    if kind.startswith(_PLAIN) and _PLAIN_VALUE.fullmatch(value):
        return value
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"DATE '{quoted}'" if kind == "date" else f"'{quoted}'"
