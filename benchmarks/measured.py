"""What the benchmarks measured, as data: for the page that people read, and for the check that nothing became slower.

A ratio is always theirs divided by ours, so more is better, whatever is counted: seconds, megabytes or bytes. Machines differ and
ratios of two things measured in turns on the same one hardly do, so the check compares these and never the figures themselves.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

FOLDER: Final = Path(__file__).parent / "results"
QUICK: Final = FOLDER / "quick"
_PACKAGES: Final = ("indextables", "pyarrow", "pyspark", "deltalake", "numpy")


class Median(float):
    """The median of some rounds, which remembers how far apart they lay.

    Attributes:
        spread: Half the distance between the quartiles, as a share of the median; 0 for a single round.
    """

    spread: float

    def __new__(cls, values: Iterable[float]) -> Self:
        """Return the median of values."""
        known = sorted(values)
        middle = statistics.median(known)
        made = super().__new__(cls, middle)
        quarters = statistics.quantiles(known, n=4, method="inclusive") if len(known) > 1 else [middle] * 3
        made.spread = (quarters[2] - quarters[0]) / 2 / middle if middle else 0.0
        return made


@dataclass(frozen=True, kw_only=True)
class Result:
    """One line of a benchmark.

    Attributes:
        name: What was done.
        ours: What it took us.
        peer: What it took the other, or None where there is no other.
        beside: Who the other is.
        unit: `s`, `MB` or `bytes`.
        ratio: How many times better we are: theirs divided by ours.
        spread: Of our rounds; see `Median`.
        asked: The least ratio that counts as good, or where there is no other, the most that it may take us.
        is_limit: Whether the other is what the machine can do at best.
    """

    name: str
    ours: float
    peer: float | None = None
    beside: str = ""
    unit: str = "s"
    ratio: float | None = None
    spread: float | None = None
    asked: float | None = None
    is_limit: bool = False

    @property
    def met(self) -> bool | None:
        """Whether what was asked for was reached; None if nothing was."""
        if self.asked is None:
            return None
        return self.ours <= self.asked if self.ratio is None else self.ratio >= self.asked


def result(
    name: str,
    ours: float,
    peer: float | None = None,
    *,
    beside: str = "",
    unit: str = "s",
    asked: float | None = None,
    is_limit: bool = False,
) -> Result:
    """Return a line, with the ratio and the spread that follow from what was measured."""
    return Result(
        name=name.strip(),
        ours=float(ours),
        peer=None if peer is None else float(peer),
        beside=beside,
        unit=unit,
        ratio=None if peer is None or not ours else peer / ours,
        spread=ours.spread if isinstance(ours, Median) else None,
        asked=asked,
        is_limit=is_limit,
    )


@dataclass(frozen=True, kw_only=True)
class Run:
    """All lines of one benchmark, and where they were measured.

    Attributes:
        bench: The benchmark's name, such as `log`.
        about: What it measures, for the page.
        command: How to repeat it.
        is_quick: Whether the sizes were small, so that only the check may use it.
        machine: What it ran on.
        results: The lines.
    """

    bench: str
    about: str
    command: str
    is_quick: bool
    machine: dict[str, str]
    results: list[Result] = field(default_factory=list)


def machine() -> dict[str, str]:
    """Return what a reader has to know about this machine, and nothing that tells whose it is."""
    facts = {"cores": str(os.cpu_count())}
    memory = Path("/proc/meminfo")
    if memory.is_file():
        facts["memory"] = f"{int(memory.read_text().split()[1]) / 2**20:.0f} GB"
    cpu = Path("/proc/cpuinfo")
    models = [line for line in cpu.read_text().splitlines() if line.startswith("model name")] if cpu.is_file() else []
    facts["processor"] = models[0].partition(":")[2].strip() if models else platform.machine()
    facts["system"] = platform.system()
    facts["python"] = platform.python_version()
    for package in _PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    return facts


def add_option(parser: argparse.ArgumentParser) -> None:
    """Give a benchmark the option that all have."""
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results there, as data")


def save(path: Path | None, bench: str, about: str | None, results: list[Result], *, is_quick: bool) -> None:
    """Write a run, if a path was given."""
    if path is None:
        return
    run = Run(
        bench=bench,
        about=" ".join((about or "").strip().partition("\n\nRun:")[0].split("\n\n")[0].split()),
        command=f"PYTHONPATH=. .venv/bin/python benchmarks/bench_{bench}.py",
        is_quick=is_quick,
        machine=machine(),
        results=results,
    )
    store(path, run)


def store(path: Path, run: Run) -> None:
    """Write a run to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(run), indent=1, ensure_ascii=False) + "\n")


def load(path: Path) -> Run:
    """Read a run back."""
    held: dict[str, Any] = json.loads(path.read_text())
    return Run(**{**held, "results": [Result(**line) for line in held["results"]]})
