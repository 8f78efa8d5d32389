"""The frozen tables that the original implementation wrote, and where they are.

They are part of what must pass: where they are missing the tests fail, and never just run less.
"""

from __future__ import annotations

import os
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_ORIGINAL = "indextables4spark-0.3.2"


def fixture_tables() -> list[Path]:
    """Return the directory of each frozen table."""
    home = Path(os.environ.get("INDEXTABLES_FIXTURES") or _ROOT.parent / "shared" / "fixtures")
    tables = sorted(path.parent for path in (home / _ORIGINAL).glob("*/_transaction_log"))
    if not tables:
        raise FileNotFoundError(f"There are no tables in {home / _ORIGINAL}. Set INDEXTABLES_FIXTURES to their home.")
    return tables


def log_files(table: Path) -> list[Path]:
    """Return the commits and the checkpoints of a table, in the order of their names."""
    return sorted((table / "_transaction_log").glob("[0-9]*.json"))
