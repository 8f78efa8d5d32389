"""A long run of mixed work by real processes on the local disk: four writers, two readers, a merger, a cleaner and a killer.

    python -m tests.soak.soak --seconds 1800

Two writers and a reader live from the beginning to the end, so that memory and handles that grow would show. All others are
killed at moments that nothing decides, and begin a new life. In the end the histories are held against each other and against
the table; the report goes to the standard output as JSON, and the exit code is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from indextables.errors import VersionNotFoundError
from indextables.log.repair import Way
from indextables.table import Table
from indextables.table.mending import repair
from tests.soak.histories import Verdict, check, read
from tests.soak.workers import SCHEMA, Job, launched, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.launcher import Processes

    Role = Literal["writer", "reader", "merger", "cleaner"]

_MB = 1024 * 1024
_SAMPLE_S = 0.25
_WARM_UP = 0.4
"""The part of a run after which memory must have stopped growing."""

_MOST_GROWTH_MB = 24.0
_MOST_GROWTH_HANDLES = 3.0
_ROLES: dict[str, Role] = {
    **{f"writer-{number}": "writer" for number in range(4)},
    **{f"reader-{number}": "reader" for number in range(2)},
    "merger": "merger",
    "cleaner": "cleaner",
}
SURVIVORS = ("writer-0", "writer-1", "reader-0")
"""Who is never killed."""


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """How a figure of a process went after the warm-up: its first and last, and by how much a straight line through it grows."""

    first: float
    last: float
    growth: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a soak was, and what it found."""

    seconds: float
    versions: int
    oldest_version: int
    kills: int
    lives: int
    verdict: Verdict
    data_files: int
    log_files: int
    rss_mb: dict[str, Trend]
    handles: dict[str, Trend]


@dataclass
class Soak:
    """A run.

    Attributes:
        work: An empty directory, for the table and the histories.
        seconds: How long it lasts.
        seed: Decides who dies when.
    """

    work: Path
    seconds: float
    seed: int = 0
    kills: int = 0
    lives: int = 0
    _alive: dict[str, int] = field(default_factory=dict)
    _failed: list[str] = field(default_factory=list)
    _samples: dict[str, list[tuple[float, float, float]]] = field(default_factory=lambda: defaultdict(list))

    def run(self) -> Report:
        """Do it, and return what came of it."""
        Table(self._table, options=self._options).log.initialize(SCHEMA, ["who"])
        started = time.monotonic()
        with launched() as processes:
            try:
                for name in _ROLES:
                    self._start(processes, name)
                self._disturb(processes, started)
            finally:
                (self.work / "stop").touch()
                self._failed += [name for name, pid in self._alive.items() if processes.wait(pid)]
        return self._report(time.monotonic() - started)

    @property
    def _table(self) -> str:
        return str(self.work / "table")

    @property
    def _options(self) -> dict[str, str]:
        """Caches are small, so that they are full when the warm-up is over; the log is short, so that it is cleaned up."""
        return {
            "spark.indextables.transaction.cache.maxSize": "8M",
            "spark.indextables.transaction.cache.expirationSeconds": "10",
            "spark.indextables.transaction.retry.baseDelayMs": "5",
            "spark.indextables.transaction.retry.maxDelayMs": "200",
            "spark.indextables.transaction.retry.maxAttempts": "100",
            "spark.indextables.checkpoint.retention": "20",
            "spark.indextables.logRetention.duration": str(int(self.seconds * 1000 / 6)),
            "spark.indextables.checkpointRetention.duration": str(int(self.seconds * 1000 / 6)),
        }

    def _start(self, processes: Processes[Job], name: str) -> None:
        self.lives += 1
        role = _ROLES[name]
        history = f"{name}.{self.lives}" if role == "reader" else name
        self._alive[name] = processes.start(
            Job(
                role=role,
                name=name,
                life=self.lives,
                table=self._table,
                options=self._options,
                history=str(self.work / f"{history}.history"),
                stop=str(self.work / "stop"),
                purge_ms=int(self.seconds * 1000 / 2),
            )
        )

    def _disturb(self, processes: Processes[Job], started: float) -> None:
        """Kill and replace until the time is over, and write down what the survivors take."""
        chance = random.Random(self.seed)
        mortals = [name for name in _ROLES if name not in SURVIVORS]
        next_death = started
        while (now := time.monotonic()) < started + self.seconds:
            for name in SURVIVORS:
                self._samples[name].append((now - started, *_taken_by(self._alive[name])))
            if now >= next_death:
                victim = chance.choice(mortals)
                if processes.kill(self._alive.pop(victim)):
                    self.kills += 1
                else:
                    self._failed.append(victim)
                self._start(processes, victim)
                next_death = now + chance.uniform(0.2, 1.0)
            time.sleep(_SAMPLE_S)

    def _report(self, seconds: float) -> Report:
        table = Table(self._table)
        names = [name for name, role in _ROLES.items() if role == "writer"]
        writers = {name: read(self.work / f"{name}.history") for name in names}
        readers = {path.name: read(path) for path in self.work.glob("reader-*.history")}
        verdict = check(writers, readers, {name: rows_of(table, name) for name in names})
        verdict.problems.extend(f"{name} failed; what it said is above" for name in self._failed)
        verdict.problems.extend(self._look())
        rss, handles = ({name: _trend(samples, column) for name, samples in self._samples.items()} for column in (1, 2))
        verdict.problems.extend(
            f"{name} takes {trend.growth:.1f} MB more than after the warm-up"
            for name, trend in rss.items()
            if trend.growth > _MOST_GROWTH_MB
        )
        verdict.problems.extend(
            f"{name} holds {trend.growth:.1f} handles more than after the warm-up"
            for name, trend in handles.items()
            if trend.growth > _MOST_GROWTH_HANDLES
        )
        files = [path for path in Path(self._table).rglob("*") if path.is_file()]
        in_log = sum("_transaction_log" in path.parts for path in files)
        return Report(
            seconds=round(seconds, 1),
            versions=table.version,
            oldest_version=table.log.versions()[0],
            kills=self.kills,
            lives=self.lives,
            verdict=verdict,
            data_files=len(files) - in_log,
            log_files=in_log,
            rss_mb=rss,
            handles=handles,
        )

    def _look(self) -> list[str]:
        """Return what is wrong with the table that is left."""
        table = Table(self._table)
        versions, problems = table.log.versions(), []
        if versions != list(range(versions[0], versions[-1] + 1)):
            problems.append(f"I1: a gap in {versions}")
        for version in versions:
            try:
                missing = [path for path in _paths(table, version) if not Path(self._table, path).exists()]
            except VersionNotFoundError:
                missing = ["the version itself"]
            if missing:
                problems.append(f"I9: version {version} lacks {missing}")
        if table.verify_stats().num_rows:
            problems.append("statistics do not hold")
        if repair(self._table).way is not Way.NOTHING:
            problems.append("I7: the table needs a repair")
        return problems


def _paths(table: Table, version: int) -> list[str]:
    paths: list[str] = table.log.snapshot(version).files["path"].to_pylist()
    return paths


def _taken_by(pid: int) -> tuple[float, float]:
    """Return the resident memory of a process in MB, and how many handles it has open."""
    process = Path(f"/proc/{pid}")
    pages = int((process / "statm").read_text().split()[1])
    return pages * 4096 / _MB, float(len(list((process / "fd").iterdir())))


def _trend(samples: Sequence[tuple[float, float, float]], column: int) -> Trend:
    late = np.array([sample for sample in samples if sample[0] >= _WARM_UP * samples[-1][0]])
    moments, figures = late[:, 0], late[:, column]
    slope = float(np.polyfit(moments, figures, 1)[0])
    return Trend(
        first=round(float(figures[0]), 1),
        last=round(float(figures[-1]), 1),
        growth=round(slope * float(moments[-1] - moments[0]), 1),
    )


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="indextables-soak-") as work:
        report = Soak(Path(work), options.seconds, options.seed).run()
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n")
    return 1 if report.verdict.problems else 0


if __name__ == "__main__":
    sys.exit(main())
