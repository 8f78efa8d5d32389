"""How quickly a log opens, refreshes and commits, and what it takes in memory, beside delta-rs in the same run.

Both logs hold the same files with the same statistics, are read from version 0, and have no checkpoints. Ours is compressed, as
it is by default; Delta's has the form in which delta-rs writes it. Delta's files are listed the way its users do it: by
`file_uris()`, and with their statistics by `get_add_actions(flatten=True)`.

Run: PYTHONPATH=. python benchmarks/bench_log.py [--quick] [--json PATH]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import deltalake
import numpy as np
import pyarrow as pa
from deltalake import DeltaTable
from rich.console import Console

from benchmarks.contest import Report, as_ms, interleaved, status_mb
from benchmarks.made_logs import append_to_delta_log, as_actions, make_files, write_delta_log, write_our_log
from benchmarks.measured import add_option, result, save
from indextables.log import open as open_log

if TYPE_CHECKING:
    from indextables.log import TransactionLog

_DELTA = f"delta-rs {deltalake.__version__}"


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    commits: int = 2_000
    adds: int = 50
    rounds: int = 7
    few_versions: int = 10
    many_versions: int = 10_000
    latency_rounds: int = 40
    memory_commits: int = 2_000
    memory_adds: int = 500


QUICK = Scale(commits=100, adds=20, rounds=3, many_versions=500, latency_rounds=5, memory_commits=100, memory_adds=200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small run that shows only that everything works")
    parser.add_argument("--memory-of", metavar="TABLE", help=argparse.SUPPRESS)
    add_option(parser)
    arguments = parser.parse_args()
    if arguments.memory_of:
        print(json.dumps(memory_of(arguments.memory_of)))
        return
    scale = QUICK if arguments.quick else Scale()
    report = Report(
        f"{scale.commits:,} commits x {scale.adds} adds with statistics of 4 columns; medians of {scale.rounds} rounds\n"
        f"in random order; {os.cpu_count()} cores; beside delta-rs {deltalake.__version__}",
        is_judged=not arguments.quick,
    )
    with tempfile.TemporaryDirectory(prefix="bench-log-") as name:
        work = Path(name)
        cold = measure_opening(report, work, scale)
        measure_refresh(report, work, scale, cold=cold)
        measure_commits(report, work, scale)
        measure_memory(report, work, scale)
    Console(width=140).print(report.table())
    save(arguments.json, "log", __doc__, report.results, is_quick=arguments.quick)


def measure_opening(report: Report, work: Path, scale: Scale) -> float:
    """Compare opening both logs from nothing, and return our seconds."""
    files = make_files(scale.commits * scale.adds)
    ours, delta = work / "ours", work / "delta"
    write_our_log(ours, files, commits=scale.commits)
    write_delta_log(delta, files, commits=scale.commits)
    listed = set(open_log(str(ours)).list_files()["path"].to_pylist())
    assert len(listed) == files.num_rows
    assert listed == {uri.partition("delta/")[2] for uri in DeltaTable(delta).file_uris()}

    seconds = interleaved(
        {
            "list": lambda: open_log(str(ours)).list_files(),
            "delta list": lambda: DeltaTable(delta).file_uris(),
            "typed": lambda: with_statistics(open_log(str(ours))),
            "delta typed": lambda: DeltaTable(delta).get_add_actions(flatten=True),
        },
        rounds=scale.rounds,
    )
    ratio = seconds["delta list"] / seconds["list"]
    report.add(
        "cold open and list of files",
        as_ms(seconds["list"]),
        as_ms(seconds["delta list"]),
        ratio=f"{ratio:.1f}x",
        target=">= 8x",
        met=ratio >= 8,
        data=result("cold open and list of files", seconds["list"], seconds["delta list"], beside=_DELTA, asked=8),
    )
    report.add(
        "cold open and typed statistics",
        as_ms(seconds["typed"]),
        as_ms(seconds["delta typed"]),
        ratio=f"{seconds['delta typed'] / seconds['typed']:.1f}x",
        data=result("cold open and typed statistics", seconds["typed"], seconds["delta typed"], beside=_DELTA),
    )
    return seconds["list"]


def with_statistics(log: TransactionLog) -> tuple[pa.Table, ...]:
    snapshot = log.snapshot()
    return snapshot.files, snapshot.min_values, snapshot.max_values, snapshot.partition_values


def measure_refresh(report: Report, work: Path, scale: Scale, *, cold: float) -> None:
    """Compare what one more commit costs a reader that has the table open."""
    ours, delta = work / "ours", work / "delta"
    writer, reader, peer = open_log(str(ours)), open_log(str(ours)), DeltaTable(delta)
    reader.list_files()
    seeds = count(8)

    def commit_once() -> None:
        batch = make_files(scale.adds, seed=next(seeds))
        writer.add_files(as_actions(batch))
        append_to_delta_log(delta, batch, version=peer.version() + 1)

    def update() -> object:
        peer.update_incremental()
        return peer.get_add_actions(flatten=True)

    seconds = interleaved({"ours": reader.list_files, "delta": update}, rounds=2 * scale.rounds, prepare=commit_once)
    warm = interleaved({"ours": reader.list_files}, rounds=10 * scale.rounds)["ours"]
    assert reader.list_files().num_rows == peer.get_add_actions().num_rows
    ratio = cold / seconds["ours"]
    report.add(
        "refresh after one commit, beside our cold open",
        as_ms(seconds["ours"]),
        as_ms(cold),
        ratio=f"{ratio:.1f}x",
        target=">= 20x",
        met=ratio >= 20,
        data=result("refresh after one commit", seconds["ours"], cold, beside="our cold open", asked=20),
    )
    report.add(
        "refresh after one commit, beside update_incremental()",
        as_ms(seconds["ours"]),
        as_ms(seconds["delta"]),
        ratio=f"{seconds['delta'] / seconds['ours']:.1f}x",
        data=result(
            "refresh after one commit", seconds["ours"], seconds["delta"], beside=f"{_DELTA} update_incremental"
        ),
    )
    report.add(
        "list of files when nothing changed", as_ms(warm), data=result("list of files when nothing changed", warm)
    )


def measure_commits(report: Report, work: Path, scale: Scale) -> None:
    """Compare committing to a short log with committing to a long one."""
    tables = {"short": (work / "short", scale.few_versions), "long": (work / "long", scale.many_versions)}
    for path, versions in tables.values():
        write_our_log(path, make_files(versions), commits=versions)
    logs = {name: open_log(str(path)) for name, (path, _) in tables.items()}
    supply = iter(as_actions(make_files(10 * scale.latency_rounds + 10, seed=9)))

    warm = interleaved(
        {name: lambda log=log: log.add_files([next(supply)]) for name, log in logs.items()},  # type: ignore[misc]
        rounds=scale.latency_rounds,
    )
    cold = interleaved(
        {name: lambda path=path: open_log(str(path)).add_files([next(supply)]) for name, (path, _) in tables.items()},  # type: ignore[misc]
        rounds=scale.latency_rounds // 2,
    )
    what = f"at {scale.many_versions:,} versions, beside {scale.few_versions}"
    short = f"the same at {scale.few_versions}"
    ratio = warm["long"] / warm["short"]
    report.add(
        f"commit {what}",
        as_ms(warm["long"]),
        as_ms(warm["short"]),
        ratio=f"{ratio:.2f}x",
        target="<= 1.5x",
        met=ratio <= 1.5,
        data=result(
            f"commit at {scale.many_versions:,} versions", warm["long"], warm["short"], beside=short, asked=1 / 1.5
        ),
    )
    report.add(
        f"open and commit {what}",
        as_ms(cold["long"]),
        as_ms(cold["short"]),
        ratio=f"{cold['long'] / cold['short']:.2f}x",
        data=result(f"open and commit at {scale.many_versions:,} versions", cold["long"], cold["short"], beside=short),
    )


def measure_memory(report: Report, work: Path, scale: Scale) -> None:
    """Load a large log in a process of its own, and report how it grew."""
    files = scale.memory_commits * scale.memory_adds
    write_our_log(work / "large", make_files(files), commits=scale.memory_commits, gzip_level=1)
    command = [sys.executable, __file__, "--memory-of", str(work / "large")]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert answer["files"] == files
    limit = 700
    report.add(
        f"memory for {files:,} files",
        f"{answer['grown']:.0f} MB",
        target=f"<= {limit} MB",
        met=answer["grown"] <= limit,
        data=result(f"memory for {files:,} files", answer["grown"], unit="MB", asked=limit),
    )
    report.add(
        "  its peak during replay",
        f"{answer['peak']:.0f} MB",
        target=f"<= {2 * limit} MB",
        met=answer["peak"] <= 2 * limit,
        data=result(f"memory at its peak during replay of {files:,} files", answer["peak"], unit="MB", asked=2 * limit),
    )
    report.add(
        "  its columns alone, and the time to load them", f"{answer['columns']:.0f} MB", f"{answer['seconds']:.1f} s"
    )


def memory_of(table: str) -> dict[str, float]:
    """Load a table and return by how many megabytes this process grew, at the end and at most."""
    pa.array(np.zeros(1))  # what pyarrow imports for its first array is not part of the log
    before = status_mb("VmRSS")
    started = time.perf_counter()
    snapshot = open_log(table).snapshot()
    return {
        "seconds": time.perf_counter() - started,
        "files": snapshot.num_files,
        "grown": status_mb("VmRSS") - before,
        "peak": status_mb("VmHWM") - before,
        "columns": snapshot.files.nbytes / 1e6,
    }


if __name__ == "__main__":
    main()
