"""How quickly a table is written and read without Spark, beside pyarrow on the same data, and what truncation does for the log.

Each pair of figures comes from rounds in which both sides take turns, so that a busy machine slows both. `pq.write_table` writes
with the same compression as ours and otherwise as it does by default; ours includes statistics, checksums, page index, the sync
to disk and the commit. The time of the processor is shown besides, since on a busy machine others decide about the rest.
`pyarrow.dataset` reads the very files that ours reads.

Run: PYTHONPATH=. python benchmarks/bench_table.py [--quick] [--json PATH]
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table as Printed

from benchmarks.measured import Median, Result, add_option, result, save
from indextables.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

_START_US = 1_704_067_200_000_000
_LEVELS = np.array(["DEBUG", "INFO", "WARN", "ERROR"])
_NO_TRUNCATION = {"spark.indextables.stats.truncation.enabled": "false"}


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    rows: int = 1_000_000
    files: int = 10
    rounds: int = 7
    adds: int = 100
    article: int = 60_000


QUICK = Scale(rows=50_000, files=4, rounds=3, adds=20, article=20_000)


def main() -> None:
    """Run all comparisons and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    add_option(parser)
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else Scale()
    printed = Printed(title=f"Tables, pyarrow {pa.__version__}", title_justify="left")
    for heading in ("", "ours", "beside", "theirs", "ratio", "target", "verdict"):
        printed.add_column(heading, justify="right" if heading else "left")
    with tempfile.TemporaryDirectory() as name:
        results = [*write(scale, Path(name)), *read(scale, Path(name)), *truncation(scale, Path(name))]
    for line in results:
        verdict = "[green]met[/]" if line.met else "[red]missed[/]"
        figures = [ms(value) if line.unit == "s" else size(value) for value in (line.ours, line.peer or 0)]
        judged = ("", "") if arguments.quick else (f"≥ {line.asked:.2f}x", verdict)
        printed.add_row(line.name, figures[0], line.beside, figures[1], f"{line.ratio:.2f}x", *judged)
    Console(width=160).print(printed)
    save(arguments.json, "table", __doc__, results, is_quick=arguments.quick)


def events(rows: int, first: int) -> pa.Table:
    """Return rows of an event log, ordered by time."""
    chance = np.random.default_rng(first)
    numbers = np.arange(first, first + rows)
    return pa.table(
        {
            "id": numbers,
            "ts": pa.array(numbers * 1000 + _START_US, pa.timestamp("us", "UTC")),
            "level": _LEVELS[chance.integers(0, 4, rows)],
            "score": chance.random(rows),
            "message": pa.array([f"request {number} took {number % 977} ms" for number in numbers]),
        }
    )


def turns(rounds: int, *works: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> list[Median]:
    """Return the median time of each work, in seconds; in every round each has its turn, in another order."""
    times: list[list[float]] = [[] for _ in works]
    chance = random.Random(0)
    for work in works:
        work()
    for _ in range(rounds):
        order = list(range(len(works)))
        chance.shuffle(order)
        for index in order:
            began = clock()
            works[index]()
            times[index].append(clock() - began)
    return [Median(taken) for taken in times]


def write(scale: Scale, directory: Path) -> list[Result]:
    """Append rows, beside writing them as one Parquet file."""
    data = events(scale.rows, 0)
    numbers = iter(range(10**6))
    table = Table(str(directory / "append"))

    def plain(codec: str) -> Callable[[], object]:
        return lambda: pq.write_table(data, directory / f"{next(numbers)}.parquet", compression=codec)

    works = (lambda: table.append(data), plain("zstd"), plain("snappy"))
    results = []
    for clock, name in ((time.perf_counter, ""), (time.process_time, ", processor time")):
        ours, *others = turns(scale.rounds, *works, clock=clock)
        results += [
            result(f"append {scale.rows:,} rows{name}", ours, other, beside=f"pq.write_table, {codec}", asked=1 / 1.2)
            for codec, other in zip(("zstd", "snappy"), others, strict=True)
        ]
    return results


def read(scale: Scale, directory: Path) -> list[Result]:
    """Scan everything, beside a dataset; then a thousandth of the rows, beside everything."""
    path = directory / "read"
    table = Table(str(path))
    for number in range(scale.files):
        table.append(events(scale.rows, number * scale.rows))
    total = scale.rows * scale.files
    files = [str(path / name) for name in table.files()["path"].to_pylist()]
    low = total // 2
    where = f"id >= {low} AND id < {low + total // 1000}"
    full, other, part = turns(
        scale.rounds,
        table.to_arrow,
        lambda: ds.dataset(files, format="parquet").to_table(),
        lambda: table.to_arrow(where=where),
    )
    return [
        result(
            f"scan {total:,} rows", full, other, beside="pyarrow.dataset on the same files", asked=0.9, is_limit=True
        ),
        result("find a thousandth of them", part, full, beside="the scan", asked=20),
    ]


def truncation(scale: Scale, directory: Path) -> list[Result]:
    """Write one commit of many adds with long articles, with statistics cut and whole."""
    data = articles(scale)
    sizes, tables = [], []
    for name, options in (("cut", {}), ("whole", _NO_TRUNCATION)):
        path = directory / name
        Table(str(path), options=options).append(data, partition_by=["part"])
        sizes.append(sum(file.stat().st_size for file in (path / "_transaction_log").glob("*.json")))
        tables.append(str(path))
    cut, whole = turns(scale.rounds, *(lambda path=path: Table(path).snapshot().files for path in tables))
    return [
        result(
            f"log of {scale.adds} adds with articles",
            *sizes,
            beside="statistics at full length",
            unit="bytes",
            asked=10,
        ),
        result("read that log", cut, whole, beside="statistics at full length", asked=10),
    ]


def articles(scale: Scale) -> pa.Table:
    """Return two long articles for each partition, of words from a small vocabulary, as prose has."""
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 11))) for _ in range(4000)]
    texts = [" ".join(chance.choices(words, k=scale.article // 7))[: scale.article] for _ in range(2 * scale.adds)]
    return pa.table(
        {"part": [number // 2 for number in range(2 * scale.adds)], "article": texts, "score": range(2 * scale.adds)}
    )


def ms(seconds: float) -> str:
    """Return a time for people."""
    return f"{seconds * 1000:,.1f} ms"


def size(count: float) -> str:
    """Return a size for people."""
    return f"{count / 1024:,.1f} KB"


if __name__ == "__main__":
    main()
