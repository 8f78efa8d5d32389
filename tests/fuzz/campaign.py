"""Runs every target under atheris for its share of some minutes, as many at a time as there are cores, and shows what they found.

    python -m tests.fuzz.campaign --minutes 30 --json build/fuzz.json

The minutes are shared evenly; on a busy machine they are fewer of processor time, which is what is counted. The exit code is 1 if there
is a finding; its input is left in `tests/fuzz/found/`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.fuzz.targets import TARGETS

_ROOT = Path(__file__).parents[2]
_INPUTS = re.compile(r"stat::number_of_executed_units:\s+(\d+)")
_COVERED = re.compile(r"cov: (\d+)")


@dataclass(frozen=True)
class Outcome:
    """What came of one target: how many inputs it tried, how many places in the code they reached, and what it said if it failed."""

    target: str
    inputs: int
    covered: int
    finding: str

    @classmethod
    def of(cls, target: str, *, said: str, failed: bool) -> Outcome:
        """Read it from what the fuzzer printed."""
        counts = [int(count) for count in _INPUTS.findall(said)] or [0]
        covered = [int(count) for count in _COVERED.findall(said)] or [0]
        return cls(target, counts[-1], covered[-1], said[-2000:] if failed else "")


def fuzz(target: str, seconds: int) -> Outcome:
    """Fuzz one target in a process of its own, which a finding may end."""
    command = [sys.executable, "-m", "tests.fuzz.run", "--target", target, "--seconds", str(seconds)]
    done = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return Outcome.of(target, said=done.stdout.decode(errors="replace"), failed=done.returncode != 0)


def main() -> int:
    """Run all targets, print a table, and write the figures."""
    parser = argparse.ArgumentParser(description="Fuzz every target")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--json", type=Path, required=True)
    asked = parser.parse_args()
    seconds = max(1, round(asked.minutes * 60 / len(TARGETS)))
    table = Table("target", "inputs tried", "places reached", "finding", title=f"{seconds} s of fuzzing each")
    outcomes = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for outcome in pool.map(fuzz, TARGETS, [seconds] * len(TARGETS)):
            print(f"{outcome.target}: {outcome.inputs:,} inputs{', A FINDING' if outcome.finding else ''}", flush=True)
            table.add_row(outcome.target, f"{outcome.inputs:,}", f"{outcome.covered:,}", outcome.finding)
            outcomes.append(outcome)
    Console().print(table)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = {
        "fuzz: inputs": sum(outcome.inputs for outcome in outcomes),
        "fuzz: processor minutes": round((used.ru_utime + used.ru_stime) / 60),
    }
    asked.json.parent.mkdir(exist_ok=True)
    asked.json.write_text(json.dumps(figures))
    return any(outcome.finding for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
