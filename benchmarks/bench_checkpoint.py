"""What a checkpoint saves when a table is opened, beside replay and beside delta-rs with its own checkpoint, in the same run.

The logs are those of made_logs.py. A partition filter is asked of a table whose checkpoint has parts; the limit of what can be
reached is what pyarrow alone needs to read the same Parquet columns.

Run: PYTHONPATH=. python benchmarks/bench_checkpoint.py [--quick] [--json PATH]
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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from rich.console import Console

from benchmarks.contest import Report, as_ms, interleaved, status_mb
from benchmarks.made_logs import make_files, write_delta_log, write_our_log
from benchmarks.measured import add_option, result, save
from indextables.log import open as open_log
from indextables.log.layout import CHECKPOINT_DIRECTORY, json_checkpoint_path

if TYPE_CHECKING:
    import numpy.typing as npt

    from indextables.log.checkpoint.selection import PartRanges

_INTERVAL = "spark.indextables.checkpoint.interval"
_ENABLED = "spark.indextables.checkpoint.enabled"
_FORMAT = "spark.indextables.checkpoint.format"
_PART_SIZE = "spark.indextables.checkpoint.maxFileSize"
_BY_HAND = {_INTERVAL: "1000000"}


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    ages: tuple[int, ...] = (10, 100, 1_000, 10_000)
    files: int = 100_000
    commits: int = 2_000
    many_files: int = 1_000_000
    many_commits: int = 1_000
    part_mb: int = 4
    rounds: int = 7


QUICK = Scale(ages=(10, 100), files=2_000, commits=100, many_files=20_000, many_commits=20, part_mb=1, rounds=3)


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
        f"Opening from a checkpoint; medians of {scale.rounds} rounds in random order; {os.cpu_count()} cores;\n"
        f"beside delta-rs {deltalake.__version__}",
        is_judged=not arguments.quick,
    )
    with tempfile.TemporaryDirectory(prefix="bench-checkpoint-") as name:
        work = Path(name)
        measure_ages(report, work, scale)
        measure_beside_delta(report, work, scale)
        measure_json(report, work, scale)
        measure_large(report, work, scale)
    Console(width=140).print(report.table())
    save(arguments.json, "checkpoint", __doc__, report.results, is_quick=arguments.quick)


def listed(path: Path, **options: str) -> pa.Table:
    return open_log(str(path), {**_BY_HAND, **options}).list_files()


def measure_ages(report: Report, work: Path, scale: Scale) -> None:
    """Compare replay with a checkpoint, for tables of the same number of files and more and more commits."""
    for age in scale.ages:
        path = work / f"age-{age}"
        write_our_log(path, make_files(max(scale.ages)), commits=age)
        open_log(str(path), _BY_HAND).checkpoint()
        seconds = interleaved(
            {"checkpoint": partial(listed, path), "replay": partial(listed, path, **{_ENABLED: "false"})},
            rounds=scale.rounds,
        )
        ratio = seconds["replay"] / seconds["checkpoint"]
        target = {100: 2, 10_000: 50}.get(age)
        report.add(
            f"open at {age:,} commits, {max(scale.ages):,} files, beside replay",
            as_ms(seconds["checkpoint"]),
            as_ms(seconds["replay"]),
            ratio=f"{ratio:.1f}x",
            target=f">= {target}x" if target else "",
            met=ratio >= target if target else None,
            data=result(
                f"open {max(scale.ages):,} files at {age:,} commits",
                seconds["checkpoint"],
                seconds["replay"],
                beside="replay without a checkpoint",
                asked=target,
            ),
        )
    first, last = min(scale.ages), max(scale.ages)
    paths = {age: work / f"age-{age}" for age in (first, last)}
    seconds_by_age = interleaved(
        {str(age): partial(listed, path) for age, path in paths.items()}, rounds=2 * scale.rounds
    )
    ratio = seconds_by_age[str(last)] / seconds_by_age[str(first)]
    report.add(
        f"open at {last:,} commits beside {first}, same files",
        as_ms(seconds_by_age[str(last)]),
        as_ms(seconds_by_age[str(first)]),
        ratio=f"{ratio:.2f}x",
        target="<= 1.5x",
        met=ratio <= 1.5,
        data=result(
            f"open at {last:,} commits",
            seconds_by_age[str(last)],
            seconds_by_age[str(first)],
            beside=f"the same files at {first}",
            asked=1 / 1.5,
        ),
    )


def measure_beside_delta(report: Report, work: Path, scale: Scale) -> None:
    """Compare opening the same files from a checkpoint of either kind."""
    files = make_files(scale.files)
    ours, delta = work / "ours", work / "delta"
    write_our_log(ours, files, commits=scale.commits)
    open_log(str(ours), _BY_HAND).checkpoint()
    write_delta_log(delta, files, commits=scale.commits)
    DeltaTable(delta).create_checkpoint()
    assert listed(ours).num_rows == len(DeltaTable(delta).file_uris())
    seconds = interleaved(
        {"ours": partial(listed, ours), "delta": lambda: DeltaTable(delta).file_uris()}, rounds=scale.rounds
    )
    ratio = seconds["delta"] / seconds["ours"]
    report.add(
        f"open {scale.files:,} files from a checkpoint, beside delta-rs",
        as_ms(seconds["ours"]),
        as_ms(seconds["delta"]),
        ratio=f"{ratio:.1f}x",
        target=">= 10x",
        met=ratio >= 10,
        data=result(
            f"open {scale.files:,} files from a checkpoint",
            seconds["ours"],
            seconds["delta"],
            beside=f"delta-rs {deltalake.__version__}",
            asked=10,
        ),
    )


def measure_json(report: Report, work: Path, scale: Scale) -> None:
    """Say what compression saves of a checkpoint in JSON."""
    path = work / "ours"
    written = open_log(str(path), {**_BY_HAND, _FORMAT: "json"}).checkpoint()
    assert (path / json_checkpoint_path(written.version)).stat().st_size == written.bytes
    report.add(
        f"JSON checkpoint of {scale.files:,} files, beside its text",
        f"{written.bytes / 1e6:.1f} MB",
        f"{written.bytes * written.ratio / 1e6:.1f} MB",
        ratio=f"{written.ratio:.1f}x",
        target=">= 5x",
        met=written.ratio >= 5,
        data=result(
            f"JSON checkpoint of {scale.files:,} files",
            written.bytes,
            written.bytes * written.ratio,
            beside="its text",
            unit="bytes",
            asked=5,
        ),
    )


def measure_large(report: Report, work: Path, scale: Scale) -> None:
    """Open a large table from a checkpoint in parts, whole and for one partition in a hundred."""
    path = work / "large"
    write_our_log(path, make_files(scale.many_files), commits=scale.many_commits, gzip_level=1)
    command = [sys.executable, __file__, "--memory-of", str(path)]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    report.add(
        f"memory to write a checkpoint of {scale.many_files:,} files, above the snapshot",
        f"{answer['above']:.0f} MB",
        f"{answer['seconds']:.1f} s",
        target="<= 300 MB",
        met=answer["above"] <= 300,
        data=result(
            f"memory to write a checkpoint of {scale.many_files:,} files, above the snapshot",
            answer["above"],
            unit="MB",
            asked=300,
        ),
    )
    options = {_PART_SIZE: f"{scale.part_mb}MB"}
    written = open_log(str(path), {**_BY_HAND, **options}).checkpoint()
    parts = sorted((path / CHECKPOINT_DIRECTORY).glob("*.parquet"))
    parts = [part for part in parts if ".remove" not in part.name][-written.parts :]
    days = ("2024-03-01", "2024-03-03")

    def columns_alone() -> list[pa.Table]:
        return [pq.read_table(part) for part in parts]

    def for_some_days() -> pa.Table:
        def choose(ranges: PartRanges) -> npt.NDArray[np.bool_]:
            least, greatest = ranges.min_values["date"].to_pylist(), ranges.max_values["date"].to_pylist()
            return np.array([low <= days[1] and high >= days[0] for low, high in zip(least, greatest, strict=True)])

        return open_log(str(path), _BY_HAND).part_of_snapshot(choose).files

    assert listed(path).num_rows == scale.many_files
    some = for_some_days()
    seconds = interleaved(
        {"whole": partial(listed, path), "columns": columns_alone, "days": for_some_days},
        rounds=max(3, scale.rounds // 2),
    )
    ratio = seconds["whole"] / seconds["columns"]
    report.add(
        f"open {scale.many_files:,} files from {written.parts} parts, beside pyarrow reading the columns",
        as_ms(seconds["whole"]),
        as_ms(seconds["columns"]),
        ratio=f"{ratio:.1f}x",
        target="<= 8x",
        met=ratio <= 8,
        data=result(
            f"open {scale.many_files:,} files from {written.parts} parts",
            seconds["whole"],
            seconds["columns"],
            beside="pyarrow reading the same columns",
            asked=1 / 8,
            is_limit=True,
        ),
    )
    share = seconds["days"] / seconds["whole"]
    report.add(
        f"  the same for 3 of 365 days ({some.num_rows:,} files read), beside the whole",
        as_ms(seconds["days"]),
        as_ms(seconds["whole"]),
        ratio=f"{share:.2f}x",
        target="<= 0.1x",
        met=share <= 0.1,
        data=result(
            f"open 3 of 365 days of {scale.many_files:,} files",
            seconds["days"],
            seconds["whole"],
            beside="the whole",
            asked=10,
        ),
    )


def memory_of(table: str) -> dict[str, float]:
    """Write a checkpoint, and return by how many megabytes the process grew beyond what the snapshot takes."""
    log = open_log(table, _BY_HAND)
    log.snapshot()
    pa.default_memory_pool().release_unused()
    before = status_mb("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the highest point is counted from now on
    started = time.perf_counter()
    log.checkpoint()
    return {"above": status_mb("VmHWM") - before, "seconds": time.perf_counter() - started}


if __name__ == "__main__":
    main()
