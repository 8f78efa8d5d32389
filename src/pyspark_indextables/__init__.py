"""What Spark looks for by itself: a module named `pyspark_…` with a data source in it makes `format("indextables")` work unregistered."""

from __future__ import annotations

from indextables.spark.source import IndexTablesSource as DefaultSource

__all__ = ["DefaultSource"]
