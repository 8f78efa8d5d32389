"""Tables in Spark: read, write, and the data source. Importing this imports no Spark; the first use of a name does."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indextables.spark.native import read
    from indextables.spark.results import WriteResult
    from indextables.spark.source import register
    from indextables.spark.writer import write

__all__ = ["WriteResult", "read", "register", "write"]

_HOMES = {"WriteResult": "results", "read": "native", "register": "source", "write": "writer"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
