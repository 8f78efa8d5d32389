"""Lakekeeper: compact the Hive tables that people already have, and never lose a row.

lake = connect("thrift://metastore:9083")
report = analyze(lake, "sales.events")
result = compact(lake, "sales.events")
rollback(lake, "sales.events")         # or, after a week without complaints:
cleanup(lake, "sales.events")
"""

from __future__ import annotations

from indextables.hive.cleanup import CleanupResult, cleanup
from indextables.hive.compact import CompactionResult, compact
from indextables.hive.configuration import Configuration, TableOutcome, compact_all, load_configuration
from indextables.hive.connect import Lake, connect
from indextables.hive.doctor import Finding, doctor
from indextables.hive.options import Options
from indextables.hive.plan import PartitionReport, TableReport, analyze, analyze_database
from indextables.hive.recover import RunReport, list_runs, recover, rollback
from indextables.hive.undo import Recovery

__all__ = [
    "CleanupResult",
    "CompactionResult",
    "Configuration",
    "Finding",
    "Lake",
    "Options",
    "PartitionReport",
    "Recovery",
    "RunReport",
    "TableOutcome",
    "TableReport",
    "analyze",
    "analyze_database",
    "cleanup",
    "compact",
    "compact_all",
    "connect",
    "doctor",
    "list_runs",
    "load_configuration",
    "recover",
    "rollback",
]
