"""Transactional tables for Spark data lakes, and safe compaction of the Hive tables you already have."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from indextables.errors import IndexTablesError
from indextables.version import VERSION as __version__

if TYPE_CHECKING:
    from indextables.spark import read, register, write
    from indextables.table import Table

__all__ = ["IndexTablesError", "Table", "__version__", "read", "register", "write"]

# Spark takes a second to import and the log does not need it, so a name is imported when somebody uses it.
_HOMES = {
    "Table": "indextables.table",
    "read": "indextables.spark",
    "register": "indextables.spark",
    "write": "indextables.spark",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
