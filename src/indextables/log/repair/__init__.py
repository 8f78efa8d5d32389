"""Repair of damaged logs: diagnosis, what survives, a new log from it, in place or elsewhere, and the way back."""

from __future__ import annotations

from indextables.log.repair.findings import Finding, Problem, RepairResult, Way
from indextables.log.repair.run import repair, repair_store, undo_repair
from indextables.log.repair.undo import UndoResult

__all__ = ["Finding", "Problem", "RepairResult", "UndoResult", "Way", "repair", "repair_store", "undo_repair"]
