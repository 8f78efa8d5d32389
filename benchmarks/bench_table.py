"""How quickly a table is written and read without Spark, beside pyarrow on the same data, and what truncation does for the log.

Each pair of figures comes from rounds in which both sides take turns, so that a busy machine slows both. `pq.write_table` writes
with the same compression as ours and otherwise as it does by default; ours includes statistics, checksums, page index, the sync
to disk and the commit. The time of the processor is shown besides, since on a busy machine others decide about the rest.
`pyarrow.dataset` reads the very files that ours reads.

Run: python benchmarks/bench_table.py [--quick]
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table as Printed

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
    quick = parser.parse_args().quick
    scale = QUICK if quick else Scale()
    printed = Printed(title=f"Tables, pyarrow {pa.__version__}", title_justify="left")
    for heading in ("", "ours", "beside", "ratio", "target", "verdict"):
        printed.add_column(heading, justify="right" if heading else "left")
    with tempfile.TemporaryDirectory() as name:
        for row in (*write(scale, Path(name)), *read(scale, Path(name)), *truncation(scale, Path(name))):
            what, ours, beside, ratio, target, met = row
            verdict = "[green]met[/]" if met else "[red]missed[/]"
            printed.add_row(what, ours, beside, ratio, *(("", "") if quick else (target, verdict)))
    Console(width=140).print(printed)


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


def turns(rounds: int, *works: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> list[float]:
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
    return [statistics.median(taken) for taken in times]


def write(scale: Scale, directory: Path) -> list[tuple[Any, ...]]:
    """Append rows, beside writing them as one Parquet file."""
    data = events(scale.rows, 0)
    numbers = iter(range(10**6))
    table = Table(str(directory / "append"))

    def plain(codec: str) -> Callable[[], object]:
        return lambda: pq.write_table(data, directory / f"{next(numbers)}.parquet", compression=codec)

    works = (lambda: table.append(data), plain("zstd"), plain("snappy"))
    rows = []
    for clock, name in ((time.perf_counter, ""), (time.process_time, ", processor time")):
        ours, *others = turns(scale.rounds, *works, clock=clock)
        rows += [
            (
                f"append {scale.rows:,} rows, beside {codec}{name}",
                ms(ours),
                ms(other),
                f"{ours / other:.2f}x",
                "≤ 1.2x",
                ours <= 1.2 * other,
            )
            for codec, other in zip(("zstd", "snappy"), others, strict=True)
        ]
    return rows


def read(scale: Scale, directory: Path) -> list[tuple[Any, ...]]:
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
        (
            f"scan {total:,} rows, beside pyarrow.dataset",
            ms(full),
            ms(other),
            f"{other / full:.2f}x as fast",
            "≥ 0.9x",
            full <= other / 0.9,
        ),
        (
            "find a thousandth of them, beside the scan",
            ms(part),
            ms(full),
            f"{full / part:.0f}x as fast",
            "≥ 20x",
            full >= 20 * part,
        ),
    ]


def truncation(scale: Scale, directory: Path) -> list[tuple[Any, ...]]:
    """Write one commit of many adds with long articles, with statistics cut and whole."""
    data = articles(scale)
    sizes, tables = [], []
    for name, options in (("cut", {}), ("whole", _NO_TRUNCATION)):
        path = directory / name
        Table(str(path), options=options).append(data, partition_by=["part"])
        sizes.append(sum(file.stat().st_size for file in (path / "_transaction_log").glob("*.json")))
        tables.append(str(path))
    cut, whole = turns(scale.rounds, *(lambda path=path: Table(path).snapshot().files for path in tables))
    saved = 1 - sizes[0] / sizes[1]
    return [
        (
            f"log of {scale.adds} adds with articles, beside full length",
            size(sizes[0]),
            size(sizes[1]),
            f"{saved:.1%} smaller",
            "≥ 90 %",
            saved >= 0.9,
        ),
        (
            "read that log, beside full length",
            ms(cut),
            ms(whole),
            f"{whole / cut:.0f}x as fast",
            "≥ 10x",
            whole >= 10 * cut,
        ),
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


def size(count: int) -> str:
    """Return a size for people."""
    return f"{count / 1024:,.1f} KB"


if __name__ == "__main__":
    main()
