"""From a report of branch coverage to a verdict: what must never lose data is covered whole, the rest at least by nine tenths.

python tools/covered.py build/coverage.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

LOG, HIVE = "src/indextables/log", "src/indextables/hive"
WHOLE = {
    "commit": (f"{LOG}/commit.py", f"{LOG}/outcome.py", f"{LOG}/conflicts.py", f"{LOG}/rebase.py"),
    "recovery": (f"{HIVE}/recover.py", f"{HIVE}/undo.py", f"{LOG}/restore.py"),
    "cleanup": (f"{LOG}/cleanup.py", f"{LOG}/floor.py", f"{HIVE}/cleanup.py"),
    "swap": (f"{HIVE}/swap.py", f"{HIVE}/switch.py"),
    "paths": ("src/indextables/storage/paths.py", f"{LOG}/safety.py"),
}
REST = 90.0


def main() -> int:
    files: dict[str, dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text())["files"]
    table = Table("what", "branch coverage", "asked", "not covered", title="Branch coverage", title_justify="left")
    verdict = 0
    named = {name for names in WHOLE.values() for name in names}
    for what, names in WHOLE.items():
        percent = share([files[name] for name in names])
        missing = [f"{Path(name).name}: {holes(files[name])}" for name in names if holes(files[name])]
        table.add_row(what, f"{percent:.1f} %", "100 %", "\n".join(missing))
        verdict |= percent < 100
    rest = share([entry for name, entry in files.items() if name not in named])
    table.add_row("everything else", f"{rest:.1f} %", f"{REST:.0f} %", "")
    Console(width=140).print(table)
    return verdict | (rest < REST)


def share(entries: list[dict[str, Any]]) -> float:
    """Return the percentage of lines and branches that ran, counted together."""
    sums = [entry["summary"] for entry in entries]
    total = sum(one["num_statements"] + one["num_branches"] for one in sums)
    return 100 * sum(one["covered_lines"] + one["covered_branches"] for one in sums) / total


def holes(entry: dict[str, Any]) -> str:
    """Return the lines, and the branches from line to line, that did not run."""
    branches = [f"{start}->{end}" for start, end in entry["missing_branches"] if start not in entry["missing_lines"]]
    return ", ".join([*map(str, entry["missing_lines"]), *branches])


if __name__ == "__main__":
    sys.exit(main())
