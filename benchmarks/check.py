"""Fails if something became slower: python -m benchmarks.check [--keep].

Every benchmark runs in its small size, and each ratio is compared with the one that is kept in benchmarks/results/quick. A busy machine
makes a single run unreliable, so a benchmark that seems slower runs twice more, and the best ratio of each line counts.
`--keep` writes down the ratios to compare with, the least of three runs for each line: a lucky run would be a bad measure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.measured import QUICK, Run, load, store

ROOT: Final = Path(__file__).parents[1]
BENCHES: Final = ("log", "checkpoint", "prune", "table", "decode", "spark")
"""Those that have a small size and need no network."""
_LEAST: Final = 0.8
_RUNS: Final = 3


def measure(bench: str, target: Path) -> Run:
    """Run a benchmark in its small size."""
    command = [sys.executable, f"benchmarks/bench_{bench}.py", "--quick", "--json", str(target)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return load(target)


def slower(kept: Run, runs: list[Run]) -> list[str]:
    """Return the lines whose best ratio of all runs is below the least share of what is kept, in words."""
    best: dict[tuple[str, str], float] = {}
    for run in runs:
        for line in run.results:
            if line.ratio is not None:
                key = (line.name, line.beside)
                best[key] = max(best.get(key, 0.0), line.ratio)
    found = []
    for line in kept.results:
        if line.ratio is None:
            continue
        now = best.get((line.name, line.beside))
        what = f"{line.name}, beside {line.beside}"
        if now is None:
            found.append(f"{what}: it is not measured any more")
        elif now < _LEAST * line.ratio:
            found.append(f"{what}: {now:.2f}x, and {line.ratio:.2f}x is kept")
    return found


def least(runs: list[Run]) -> Run:
    """Return a run with the least ratio of each line."""
    lines = zip(*(run.results for run in runs), strict=True)
    return replace(runs[0], results=[min(line, key=lambda result: result.ratio or 0.0) for line in lines])


def main() -> None:
    """Run the small sizes and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep the ratios instead of comparing them")
    keep = parser.parse_args().keep
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="bench-check-") as name:
        for bench in BENCHES:
            kept = QUICK / f"{bench}.json"
            if keep:
                store(kept, least([measure(bench, Path(name) / f"{bench}.json") for _ in range(_RUNS)]))
                continue
            runs: list[Run] = []
            found = ["nothing ran"]
            while found and len(runs) < _RUNS:
                runs.append(measure(bench, Path(name) / f"{bench}.json"))
                found = slower(load(kept), runs)
            print(f"{bench}: {'slower' if found else 'as quick as before'} after {len(runs)} runs", flush=True)
            problems += [f"{bench}: {problem}" for problem in found]
    if problems:
        raise SystemExit("\n".join(problems))


if __name__ == "__main__":
    main()
