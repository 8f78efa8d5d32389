"""How quickly the lines of the log become columns, beside the two obvious ways, and how much smaller gzip makes them.

Run: PYTHONPATH=. python benchmarks/bench_decode.py [--quick] [--adds 100000] [--rounds 7] [--json PATH]
"""

from __future__ import annotations

import argparse
import json
import random
import time
import uuid
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.measured import Median, Result, add_option, result, save
from indextables.log import codec
from indextables.log.actions import Add
from indextables.log.bulk_decode import decode_commits
from indextables.log.bulk_encode import encode_adds
from indextables.log.columns import ActionKeys
from indextables.log.lines import format_lines, parse_lines

if TYPE_CHECKING:
    from collections.abc import Callable

ADDS_A_COMMIT = 50
HOUR_US = 3_600_000_000
KEYS = ActionKeys(
    partition=("date", "hour"), statistics=("timestamp", "level", "user_id", "latency"), tags=("indextables.writer",)
)


def realistic_adds(count: int) -> list[Add]:
    """Return adds with two partition columns, statistics of four columns, and random names and sizes."""
    rng = random.Random(7)
    adds = []
    for n in range(count):
        date, hour = f"2024-{1 + n // 8400 % 12:02}-{1 + n // 300 % 28:02}", f"{n // 12 % 24:02}"
        size, user, start = (
            rng.randrange(50_000_000, 150_000_000),
            rng.randrange(10**9),
            1_704_067_200_000_000 + n * 360_000_000,
        )
        name = uuid.UUID(int=rng.getrandbits(128), version=4)
        latencies = sorted((rng.random() * 10_000, rng.random() * 10_000))
        adds.append(
            Add(
                path=f"date={date}/hour={hour}/{name}.split",
                partition_values={"date": date, "hour": hour},
                size=size,
                modification_time=1_704_067_200_000 + n * 37,
                data_change=True,
                tags={"indextables.writer": "0.1.0"},
                min_values={
                    "timestamp": str(start),
                    "level": "DEBUG",
                    "user_id": str(user),
                    "latency": str(latencies[0]),
                },
                max_values={
                    "timestamp": str(start + HOUR_US - 1),
                    "level": "WARN",
                    "user_id": str(user + rng.randrange(10**6)),
                    "latency": str(latencies[1]),
                },
                num_records=rng.randrange(50_000, 150_000),
                footer_start_offset=size - rng.randrange(2000, 9000),
                footer_end_offset=size,
                has_footer_offsets=True,
                uncompressed_size_bytes=size * 3,
            )
        )
    return adds


def seconds(action: Callable[[], object], rounds: int) -> Median:
    """Return the median time of an action, after one round that does not count."""
    action()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return Median(times)


def by_json_loads(contents: list[bytes]) -> list[object]:
    return [json.loads(line) for content in contents for line in content.splitlines()]


class _Line(msgspec.Struct):
    add: Add


def by_msgspec(contents: list[bytes]) -> list[_Line]:
    decode = msgspec.json.Decoder(_Line).decode
    return [decode(line) for content in contents for line in content.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adds", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="a tenth of the adds, three rounds")
    add_option(parser)
    arguments = parser.parse_args()
    adds, rounds = realistic_adds(arguments.adds), arguments.rounds
    if arguments.quick:
        adds, rounds = adds[: len(adds) // 10], 3
    results: list[Result] = []
    console = Console()

    one = [format_lines(adds)]
    many = [format_lines(adds[n : n + ADDS_A_COMMIT]) for n in range(0, len(adds), ADDS_A_COMMIT)]
    table = Table(title=f"{len(adds):,} adds, {len(one[0]) / 1e6:.0f} MB of lines, median of {rounds} rounds")
    for heading in ("commits", "stored", "ratio", "bulk", "msgspec objects", "", "json.loads", ""):
        table.add_column(heading, justify="right")
    for contents in (many, one):
        for name in ("none", "gzip", "zstd"):
            stored = [codec.encode(content, codec=name) for content in contents]
            files = list(enumerate(stored))

            def opened(stored: list[bytes] = stored) -> list[bytes]:
                return [codec.decode(data, path="") for data in stored]

            def bulk(files: list[tuple[int, bytes]] = files) -> object:
                return decode_commits(files, path_of=str, keys=KEYS)

            quick = seconds(bulk, rounds)
            objects = seconds(lambda opened=opened: by_msgspec(opened()), rounds)  # type: ignore[misc]
            naive = seconds(lambda opened=opened: by_json_loads(opened()), max(rounds // 2, 1))  # type: ignore[misc]
            what = f"{len(adds):,} adds of {len(contents):,} commits, {'plain' if name == 'none' else name}, to columns"
            results += [
                result(what, quick, objects, beside="msgspec objects"),
                result(what, quick, naive, beside="json.loads"),
            ]
            ratio = sum(map(len, contents)) / sum(map(len, stored))
            table.add_row(
                f"{len(contents):,}",
                "plain" if name == "none" else name,
                f"{ratio:.1f}x",
                f"{quick:.3f} s",
                f"{objects:.3f} s",
                f"{objects / quick:.1f}x",
                f"{naive:.3f} s",
                f"{naive / quick:.1f}x",
            )
    console.print(table)

    columns = decode_commits([(0, one[0])], path_of=str, keys=KEYS)
    unknown = seconds(lambda: decode_commits(list(enumerate(many)), path_of=str), rounds)
    exact = seconds(lambda: parse_lines(one[0], path="p"), max(rounds // 2, 1))
    written = seconds(lambda: encode_adds(columns.adds), rounds)
    console.print(f"bulk decode of {len(many):,} plain commits whose keys nobody named: {unknown:.3f} s")
    console.print(f"checked line by line: {exact:.3f} s, {len(adds) / exact:,.0f} adds/s")
    console.print(f"columns back to lines: {written:.3f} s, {len(adds) / written:,.0f} adds/s")
    save(arguments.json, "decode", __doc__, results, is_quick=arguments.quick)


if __name__ == "__main__":
    main()
