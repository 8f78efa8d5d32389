"""Contestants take turns, and what comes of it is a table for people and data for the page."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks.measured import Median

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.measured import Result


@dataclass
class Report:
    """Results, a row each; targets are for the full size, so a quick run is not judged by them."""

    title: str
    is_judged: bool
    rows: list[tuple[str, ...]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def add(
        self,
        what: str,
        *figures: str,
        ratio: str = "",
        target: str = "",
        met: bool | None = None,
        data: Result | None = None,
    ) -> None:
        """Add a row: our figure, and if there is one the other figure that it is compared with."""
        if data is not None:
            self.results.append(data)
        ours, other = (*figures, "")[:2]
        verdict = "" if met is None else "[green]met[/]" if met else "[red]missed[/]"
        self.rows.append((what, ours, other, ratio, *((target, verdict) if self.is_judged else ("", ""))))

    def table(self) -> Table:
        """Return the rows for people."""
        table = Table(title=self.title, title_justify="left")
        for heading in ("", "ours", "beside", "ratio", "target", "verdict"):
            table.add_column(heading, justify="right" if heading else "left")
        for row in self.rows:
            table.add_row(*row)
        return table


def interleaved(
    contestants: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    prepare: Callable[[], object] = lambda: None,
) -> dict[str, Median]:
    """Return the median seconds of each contestant; a round runs all of them in random order, so that noise hits all.

    A first round does not count, and neither does what prepares a round or drops a result.
    """
    chance = random.Random(1)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        prepare()
        for name in chance.sample(list(contestants), len(contestants)):
            started = time.perf_counter()
            result = contestants[name]()
            seconds = time.perf_counter() - started
            del result
            if number:
                times[name].append(seconds)
    return {name: Median(values) for name, values in times.items()}


def status_mb(name: str) -> float:
    """Return a figure of this process in megabytes. `ru_maxrss` would do for the peak if it did not begin at the parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{name}:"))


def as_ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
