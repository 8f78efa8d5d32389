"""How quickly a log opens, refreshes and commits, and what it takes in memory, beside delta-rs in the same run.

Both logs hold the same files with the same statistics, are read from version 0, and have no checkpoints. Ours is compressed, as
it is by default; Delta's has the form in which delta-rs writes it. Delta's files are listed the way its users do it: by
`file_uris()`, and with their statistics by `get_add_actions(flatten=True)`.

Run: PYTHONPATH=. python benchmarks/bench_log.py [--quick] [--json PATH]
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import deltalake
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from rich.console import Console
from rich.table import Table

from benchmarks.measured import Median, Result, add_option, result, save
from indextables.log import codec
from indextables.log import open as open_log
from indextables.log.actions import Add
from indextables.log.bulk_encode import encode_adds
from indextables.log.columns import ActionKeys, schema_of
from indextables.log.commit_info import COMMIT_TAG, WRITER_TAG, CommitInfo
from indextables.log.layout import commit_path
from indextables.log.lines import parse_lines
from indextables.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy.typing as npt

    from indextables.log import TransactionLog

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ts", pa.timestamp("us", "UTC")),
        ("level", pa.string()),
        ("score", pa.float64()),
        ("date", pa.string()),
    ]
)
_DELTA_TYPES = {"id": "long", "ts": "timestamp", "level": "string", "score": "double", "date": "string"}
_STATISTICS = ("id", "ts", "level", "score")
_KEYS = ActionKeys(partition=("date",), statistics=_STATISTICS, tags=(WRITER_TAG, COMMIT_TAG))
_NO_NULLS = json.dumps({"nullCount": dict.fromkeys(_STATISTICS, 0)}, separators=(",", ":"))
_START_MS = 1_704_067_200_000
_HOUR_US = 3_600_000_000
_Numbers: TypeAlias = "npt.NDArray[Any]"
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


def status_mb(name: str) -> float:
    """Return a figure of this process in megabytes. `ru_maxrss` would do for the peak if it did not begin at the parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{name}:"))


def as_ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"


def as_actions(files: pa.Table) -> list[Add]:
    """Return adds as a writer is given them."""
    actions = parse_lines(encode_adds(files), path="")
    return [action for action in actions if isinstance(action, Add)]


def make_files(number: int, *, seed: int = 7) -> pa.Table:
    """Return adds as our writer makes them: one partition column, statistics and null counts of four columns."""
    rng = np.random.default_rng(seed)
    days = pc.strftime(
        pa.array(_START_MS + 86_400_000 * rng.integers(0, 365, number), pa.timestamp("ms")), format="%Y-%m-%d"
    ).cast(pa.string())
    names = pa.array([str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(number)])
    ids, stamps = rng.integers(0, 10**9, number), _START_MS * 1000 + rng.integers(0, 365 * 24 * _HOUR_US, number)
    scores, records = rng.random(number) * 100, rng.integers(1000, 100_000, number)
    levels = pa.array(["DEBUG", "INFO"]).take(pa.array(rng.integers(0, 2, number)))

    def bounds(id_: _Numbers, stamp: _Numbers, level: pa.Array, score: _Numbers) -> pa.Array:
        texts = [pa.array(id_).cast(pa.string()), pa.array(stamp).cast(pa.string()), level, _as_text(score)]
        return pa.StructArray.from_arrays(texts, names=_STATISTICS)

    columns = {
        "path": pc.binary_join_element_wise("date=", days, "/part-", names, ".split", ""),
        "partition_values": pa.StructArray.from_arrays([days], names=["date"]),
        "size": pa.array(rng.integers(10**6, 10**8, number)),
        "modification_time": pa.array(np.full(number, _START_MS)),
        "data_change": pa.repeat(pa.scalar(True), number),
        "stats": pa.repeat(_NO_NULLS, number),
        "tags": pa.StructArray.from_arrays(
            [pa.repeat(VERSION, number), pa.nulls(number, pa.string())], names=[WRITER_TAG, COMMIT_TAG]
        ),
        "min_values": bounds(ids, stamps, levels, scores),
        "max_values": bounds(ids + records, stamps + _HOUR_US, pa.repeat("WARN", number), scores + 5),
        "num_records": pa.array(records),
    }
    schema = schema_of(Add, _KEYS)
    return pa.table({name: columns.get(name, pa.nulls(number, schema.field(name).type)) for name in schema.names})


def _as_text(numbers: _Numbers) -> pa.Array:
    return pa.array([repr(number) for number in numbers.tolist()])


def write_our_log(path: Path, files: pa.Table, *, commits: int, gzip_level: int = 6) -> None:
    """Write a log that adds files in that many commits after the first one, byte for byte as commits write it."""
    open_log(str(path)).initialize(SCHEMA, ["date"])
    lines = encode_adds(files).splitlines(keepends=True)
    step = len(lines) // commits
    for version in range(1, commits + 1):
        part = lines[(version - 1) * step : version * step]
        content = _stamped(part[0], version) + b"".join(part[1:])
        (path / commit_path(version)).write_bytes(codec.encode(content, codec="gzip", level=gzip_level))


def _stamped(line: bytes, version: int) -> bytes:
    """Return the first line of a commit, with the facts about the commit."""
    info = CommitInfo(
        version=version,
        id=str(uuid.UUID(int=version)),
        timestamp=_START_MS + version,
        operation="append",
        metadata=0,
        protocol=0,
        read=version - 1,
    )
    text = msgspec.json.encode(msgspec.json.encode(info).decode())
    writer = b'"%b":"%b"' % (WRITER_TAG.encode(), VERSION.encode())
    return line.replace(writer, b'%b,"%b":%b' % (writer, COMMIT_TAG.encode(), text), 1)


def write_delta_log(path: Path, files: pa.Table, *, commits: int) -> None:
    """Write the same files as a Delta log, in the form in which delta-rs itself writes commits; no checkpoints."""
    log = path / "_delta_log"
    log.mkdir(parents=True)
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _DELTA_TYPES.items()]
    metadata = {
        "id": str(uuid.UUID(int=0)),
        "name": None,
        "description": None,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": ["date"],
        "createdTime": _START_MS,
        "configuration": {},
    }
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    _write_delta_commit(log, 0, [{"protocol": protocol}, {"metaData": metadata}])
    adds = _delta_adds(files)
    step = files.num_rows // commits
    for version in range(1, commits + 1):
        _write_delta_commit(log, version, [next(adds) for _ in range(step)])


def append_to_delta_log(path: Path, files: pa.Table, *, version: int) -> None:
    """Write one more commit to a Delta log."""
    _write_delta_commit(path / "_delta_log", version, list(_delta_adds(files)))


def _write_delta_commit(log: Path, version: int, actions: list[dict[str, object]]) -> None:
    info = {
        "timestamp": _START_MS + version,
        "operation": "WRITE",
        "operationParameters": {"mode": "Append", "partitionBy": '["date"]'},
        "engineInfo": "delta-rs:py",
        "clientVersion": "delta-rs.py",
    }
    encode = msgspec.json.Encoder().encode
    (log / f"{version:020}.json").write_bytes(b"\n".join(map(encode, [{"commitInfo": info}, *actions])))


def _delta_adds(files: pa.Table) -> Iterator[dict[str, object]]:
    columns = ("path", "partition_values", "size", "modification_time", "min_values", "max_values", "num_records")
    encode = msgspec.json.Encoder().encode
    for row in files.select(list(columns)).to_pylist():
        bounds = {
            "numRecords": row["num_records"],
            "minValues": _delta_bounds(row["min_values"]),
            "maxValues": _delta_bounds(row["max_values"]),
            "nullCount": dict.fromkeys(_STATISTICS, 0),
        }
        yield {
            "add": {
                "path": row["path"],
                "partitionValues": row["partition_values"],
                "size": row["size"],
                "modificationTime": row["modification_time"],
                "dataChange": True,
                "stats": encode(bounds).decode(),
                "tags": None,
                "baseRowId": None,
                "defaultRowCommitVersion": None,
                "clusteringProvider": None,
            }
        }


def _delta_bounds(texts: Mapping[str, str]) -> dict[str, object]:
    moment = dt.datetime.fromtimestamp(int(texts["ts"]) / 1e6, dt.UTC)
    return {
        "id": int(texts["id"]),
        "ts": f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z",
        "level": texts["level"],
        "score": float(texts["score"]),
    }


if __name__ == "__main__":
    main()
