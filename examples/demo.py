"""What the log does, on this machine, in a minute: write it, race for it, travel in it, damage it, read what is still true."""

from __future__ import annotations

import shutil
import tempfile
import threading
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from indextables import IndexTablesError
from indextables.log import TransactionLog
from indextables.log import open as open_log
from indextables.log.actions import Add
from indextables.log.layout import commit_path

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("level", pa.string()), ("message", pa.string()), ("date", pa.string())]
)
LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")

console = Console(highlight=False, soft_wrap=True)


def step(title: str, code: str) -> None:
    console.print()
    console.print(Panel(escape(code), title=title, title_align="left", border_style="cyan", expand=False))


def show(table: pa.Table, columns: list[str], *, rows: int = 8) -> None:
    shown = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in table.select(columns).slice(0, rows).to_pylist():
        shown.add_row(*(str(value) for value in row.values()))
    console.print(shown)


def split(number: int, *, day: int) -> Add:
    """Describe a split file; the log does not care whether the file itself is there yet."""
    date = f"2024-01-{day:02d}"
    return Add(
        path=f"date={date}/part-{number:05d}.split",
        partition_values={"date": date},
        size=1_000_000 + number,
        modification_time=1_704_067_200_000 + number,
        data_change=True,
        min_values={"level": "DEBUG", "message": f"event {number:05d}"},
        max_values={"level": LEVELS[number % 4], "message": f"event {number:05d} zzz"},
        num_records=1_000,
    )


def write(path: Path) -> TransactionLog:
    step(
        "1. Create a table and append to it",
        'log = indextables.log.open(path)\nlog.initialize(schema, ["date"])\nlog.add_files(splits)',
    )
    log = open_log(str(path))
    log.initialize(SCHEMA, ["date"])
    for day in range(1, 6):
        result = log.add_files([split(day * 10 + number, day=day) for number in range(4)], user_metadata=f"day {day}")
        console.print(f"committed version {result.version}: 4 files for 2024-01-{day:02d}")
    return log


def race(path: Path) -> None:
    step(
        "2. Eight writers at once, each with its own log object",
        "threading.Thread(target=lambda: indextables.log.open(path).add_files([…]))",
    )
    attempts: list[int] = []

    def writer(number: int) -> None:
        log = open_log(str(path))
        attempts.extend(log.add_files([split(1_000 + number * 10 + turn, day=6)]).attempts for turn in range(5))

    threads = [threading.Thread(target=writer, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    snapshot = open_log(str(path)).snapshot()
    if (snapshot.version, snapshot.num_files) != (45, 60):
        raise SystemExit(f"expected version 45 with 60 files, found {snapshot}")
    console.print(
        f"40 commits, {sum(attempts) - len(attempts)} of them had to give way and try the next version; "
        f"none lost, none doubled: version {snapshot.version}, {snapshot.num_files} files"
    )


def travel(log: TransactionLog) -> None:
    step("3. Travel in time, look at history", "log.snapshot(version=3)\nlog.history(limit=4)")
    for version in (1, 3, log.latest_version()):
        snapshot = log.snapshot(version)
        console.print(f"version {version}: {snapshot.num_files} files, {snapshot.num_records:,} rows")
    show(log.history(limit=4), ["version", "timestamp", "operation", "files_added", "rows_added"])


def merge(log: TransactionLog) -> None:
    step(
        "4. Merge small files; a file that cannot be read is left alone for a day",
        "log.merge_files(sources, [merged])\nlog.record_skipped_file(path, …)",
    )
    sources = log.list_files()["path"].to_pylist()[:4]
    log.merge_files(sources, [split(9_000, day=1)])
    bad = log.list_files()["path"].to_pylist()[0]
    log.record_skipped_file(bad, reason="Invalid footer offset", operation="merge")
    console.print(
        f"{len(sources)} files became one; version {log.latest_version()} has {log.snapshot().num_files} files"
    )
    show(log.skipped_files(), ["path", "reason", "skip_count", "retry_after"])


def damage(path: Path) -> None:
    step("5. Flip one byte of a commit, then lose a whole one", "indextables.log.open(path).snapshot()")
    victim = path / commit_path(4)
    data = victim.read_bytes()
    victim.write_bytes(data[:40] + bytes([data[40] ^ 0xFF]) + data[41:])
    explain(path)
    victim.unlink()
    explain(path)
    victim.write_bytes(data)
    snapshot = open_log(str(path)).snapshot()
    console.print(f"with the file put back: version {snapshot.version}, {snapshot.num_files} files")


def explain(path: Path) -> None:
    try:
        open_log(str(path)).snapshot()
    except IndexTablesError as error:
        console.print(f"[red]{type(error).__name__}[/red]: {str(error).replace(str(path), '<table>')}")
    else:
        raise SystemExit("the damage went unnoticed")


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="indextables-demo-"))
    try:
        path = folder / "events"
        log = write(path)
        race(path)
        travel(log)
        merge(log)
        damage(path)
    finally:
        shutil.rmtree(folder)
    console.print()
    console.print(
        "Next: README.md for the library, docs/spec for the format, make test for the proof, make bench for the speed."
    )


if __name__ == "__main__":
    main()
