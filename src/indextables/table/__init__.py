"""Tables without Spark: open, inspect, read and change."""

from __future__ import annotations

from indextables.table.explain import Explanation
from indextables.table.results import WriteResult
from indextables.table.table import Table

__all__ = ["Explanation", "Table", "WriteResult"]
