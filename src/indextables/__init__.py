"""Transactional tables for Spark data lakes, and safe compaction of the Hive tables you already have."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from indextables.errors import IndexTablesError
from indextables.version import VERSION

if TYPE_CHECKING:
    from indextables.spark import read, register, write
    from indextables.spark.convert import convert
    from indextables.spark.merge import merge_splits
    from indextables.spark.purge import purge
    from indextables.spark.sql import sql
    from indextables.table import Table
    from indextables.table.mending import repair
    from indextables.table.partitions import drop_partitions

__version__ = VERSION

__all__ = [
    "IndexTablesError",
    "Table",
    "__version__",
    "convert",
    "drop_partitions",
    "merge_splits",
    "purge",
    "read",
    "register",
    "repair",
    "sql",
    "write",
]

# Spark takes a second to import and the log does not need it, so a name is imported when somebody uses it.
_HOMES = {
    "Table": "indextables.table",
    "convert": "indextables.spark.convert",
    "drop_partitions": "indextables.table.partitions",
    "merge_splits": "indextables.spark.merge",
    "purge": "indextables.spark.purge",
    "read": "indextables.spark",
    "register": "indextables.spark",
    "repair": "indextables.table.mending",
    "sql": "indextables.spark.sql",
    "write": "indextables.spark",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
