"""Transactional tables for Spark data lakes, and safe compaction of the Hive tables you already have."""

from __future__ import annotations

from indextables.errors import IndexTablesError

__version__ = "0.1.0"

__all__ = ["IndexTablesError", "__version__"]
