"""How quickly a predicate finds its files among a million, beside delta-rs in the same run and on the same statistics.

Both have the statistics of all files in memory before the clock starts: ours as columns, delta-rs in an open `DeltaTable`. Then both turn
SQL text into the paths of the files that may hold a row: ours by `bind`, `may_match` and picking the paths, delta-rs by
`file_uris(file_pruning_predicate=…)`. Files are clustered by time, as a table that is written all day is. The answers are compared.

Run: PYTHONPATH=. python benchmarks/bench_prune.py [--quick] [--json PATH]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from rich.console import Console
from rich.table import Table

from benchmarks.measured import Median, Result, add_option, result, save
from indextables.predicate import FileStatistics, bind

if TYPE_CHECKING:
    from collections.abc import Callable

START = 1_704_067_200_000_000
"""2024-01-01 in microseconds."""

TS = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([("ts", TS), ("level", pa.string()), ("id", pa.int64())])
LEVELS = ["DEBUG", "ERROR", "INFO", "WARN"]
TARGET_MS = 50
TARGET_RATIO = 5

QUERIES = {
    "ts BETWEEN … AND level = …": (
        "ts BETWEEN TIMESTAMP '2024-03-01 00:00:00Z' AND TIMESTAMP '2024-03-01 06:00:00Z' AND level = 'ERROR'",
        "ts BETWEEN '2024-03-01T00:00:00Z' AND '2024-03-01T06:00:00Z' AND level = 'ERROR'",
    ),
    "level < …, a quarter stays": ("level < 'E'", "level < 'E'"),
    "id IN (20 values)": (
        f"id IN ({', '.join(str(value) for value in range(0, 20_000_000, 1_000_000))})",
        f"id IN ({', '.join(str(value) for value in range(0, 20_000_000, 1_000_000))})",
    ),
}


def make_files(number: int) -> pa.Table:
    """Return paths and bounds of files: clustered by time over a year, levels and ids at random."""
    rng = np.random.default_rng(7)
    # Whole seconds, so that the texts of a Delta log lose nothing and both know the same.
    begin = START + np.sort(rng.integers(0, 365 * 86_400, number)) * 1_000_000
    low = rng.integers(0, 4, number)
    levels = pa.array(LEVELS)
    ids = rng.integers(0, 10**9, number)
    return pa.table(
        {
            "path": pc.binary_join_element_wise("part-", pa.array(np.arange(number)).cast(pa.string()), ".parquet", ""),
            "records": pa.array(rng.integers(1000, 100_000, number)),
            "min_ts": pa.array(begin),
            "max_ts": pa.array(begin + 60_000_000),
            "min_level": levels.take(pa.array(low)),
            "max_level": levels.take(pa.array(np.maximum(low, rng.integers(0, 4, number)))),
            "min_id": pa.array(ids),
            "max_id": pa.array(ids + 100_000),
        }
    )


def as_statistics(files: pa.Table) -> FileStatistics:
    """Return the statistics as a snapshot holds them."""
    zeros = pa.array(np.zeros(len(files), np.int64))
    return FileStatistics(
        num_files=len(files),
        num_records=files["records"],
        min_values={"ts": files["min_ts"].cast(TS), "level": files["min_level"], "id": files["min_id"]},
        max_values={"ts": files["max_ts"].cast(TS), "level": files["max_level"], "id": files["max_id"]},
        null_counts={"ts": zeros, "level": zeros, "id": zeros},
    )


def write_delta_log(path: Path, files: pa.Table) -> None:
    """Write the same files as one Delta commit."""
    log = path / "_delta_log"
    log.mkdir(parents=True)
    kinds = {"ts": "timestamp", "level": "string", "id": "long"}
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds.items()]
    metadata = {
        "id": "00000000-0000-0000-0000-000000000000",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
    }
    head = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]

    def text(name: str) -> pa.ChunkedArray:
        return files[name].cast(pa.string())

    def stamp(name: str) -> pa.ChunkedArray:
        return pc.strftime(files[name].cast(pa.timestamp("us")), format="%Y-%m-%dT%H:%M:%SZ")

    quote = r"\""
    pieces = [
        '{"add":{"path":"',
        text("path"),
        '","partitionValues":{},"size":1000000,"modificationTime":1704067200000,"dataChange":true,"stats":"{\\"numRecords\\":',
        text("records"),
        f",{quote}minValues{quote}:{{{quote}ts{quote}:{quote}",
        stamp("min_ts"),
        f"{quote},{quote}level{quote}:{quote}",
        text("min_level"),
        f"{quote},{quote}id{quote}:",
        text("min_id"),
        f"}},{quote}maxValues{quote}:{{{quote}ts{quote}:{quote}",
        stamp("max_ts"),
        f"{quote},{quote}level{quote}:{quote}",
        text("max_level"),
        f"{quote},{quote}id{quote}:",
        text("max_id"),
        f"}},{quote}nullCount{quote}:{{{quote}ts{quote}:0,{quote}level{quote}:0,{quote}id{quote}:0}}}}",
        '"}}',
    ]
    lines = pc.binary_join_element_wise(*pieces, "")
    with (log / "00000000000000000000.json").open("w") as file:
        file.writelines(json.dumps(action) + "\n" for action in head)
        for chunk in lines.chunks:
            file.write("\n".join(chunk.to_pylist()) + "\n")


def median_ms(call: Callable[[], object], rounds: int) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the files")
    add_option(parser)
    arguments = parser.parse_args()
    number = 100_000 if arguments.quick else 1_000_000
    results: list[Result] = []
    files = make_files(number)
    known, paths = as_statistics(files), files["path"]
    report = Table(
        title=f"{number:,} files; medians; {os.cpu_count()} cores; beside delta-rs {deltalake.__version__}",
        title_justify="left",
    )
    for name in ("what", "files left", "ours", "delta-rs", "ratio", "target"):
        report.add_column(name, justify="left" if name == "what" else "right")
    with tempfile.TemporaryDirectory() as directory:
        write_delta_log(Path(directory), files)
        delta = DeltaTable(directory)
        for what, (ours_sql, delta_sql) in QUERIES.items():

            def ours(sql: str = ours_sql) -> list[str]:
                return paths.filter(bind(sql, SCHEMA).may_match(known)).to_pylist()  # type: ignore[no-any-return]

            def peer(sql: str = delta_sql) -> list[str]:
                return delta.file_uris(file_pruning_predicate=sql)

            left = set(ours())
            assert left == {uri.rpartition("/")[2] for uri in peer()}, f"the answers to {what} differ"
            # Turns, so that whatever else the machine does meets both.
            rounds = [(median_ms(ours, 3), median_ms(peer, 1)) for _ in range(5)]
            mine, theirs = (Median(column) for column in zip(*rounds, strict=True))
            asked = what.startswith("ts BETWEEN")
            met = mine <= TARGET_MS and theirs / mine >= TARGET_RATIO
            seconds = Median(ours_ms / 1000 for ours_ms, _ in rounds)
            name = f"{what} among {number:,} files"
            ratio_asked = TARGET_RATIO if asked else None
            results.append(
                result(name, seconds, theirs / 1000, beside=f"delta-rs {deltalake.__version__}", asked=ratio_asked)
            )
            report.add_row(
                what,
                f"{len(left):,}",
                f"{mine:.1f} ms",
                f"{theirs:.0f} ms",
                f"{theirs / mine:.1f}x",
                f"≤ {TARGET_MS} ms, ≥ {TARGET_RATIO}x: {'met' if met else 'MISSED'}" if asked else "",
            )
    Console(width=140).print(report)
    save(arguments.json, "prune", __doc__, results, is_quick=arguments.quick)


if __name__ == "__main__":
    main()
