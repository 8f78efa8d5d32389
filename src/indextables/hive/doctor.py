"""What would hurt: leftovers, backups without data, directories that could be taken for partitions, statistics that are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.errors import StorageError
from indextables.hive.filesystem import data_files
from indextables.hive.find import find_database, find_table, split_name
from indextables.hive.journal import SOURCE, UNFINISHED, Journal, Run
from indextables.hive.names import BACKUP_PREFIX, is_staging
from indextables.hive.plan import survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.hive.connect import Lake
    from indextables.hive.model import HiveTable


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that would hurt.

    Attributes:
        table: The table's full name.
        kind: `unfinished`, `leftover`, `backup`, `partition` or `statistics`.
        text: What it is.
        advice: What to do about it.
    """

    table: str
    kind: str
    text: str
    advice: str


def doctor(lake: Lake, *, table: str | None = None, database: str | None = None) -> list[Finding]:
    """Look at a table, or at every table of a database."""
    if table is not None:
        return list(_examine(lake, find_table(lake, table)))
    found: list[Finding] = []
    for name in [find_database(lake, database)] if database else lake.metastore.databases():
        for one in lake.metastore.tables(name, lake.metastore.table_names(name)):
            if SOURCE not in one.parameters and lake.systems.supports(one.location) and one.location:
                found += _examine(lake, one)
    return found


def _examine(lake: Lake, table: HiveTable) -> Iterator[Finding]:
    runs = Journal(lake).runs(*split_name(table.full_name))
    known: set[str] = set()
    for run in runs:
        yield from _examine_run(lake, table, run, known)
    try:
        yield from _examine_partitions(lake, table)
        yield from _leftovers(lake, table, known)
    except StorageError as error:
        yield Finding(table=table.full_name, kind="leftover", text=str(error), advice="Check its location")


def _examine_run(lake: Lake, table: HiveTable, run: Run, known: set[str]) -> Iterator[Finding]:
    if run.state in UNFINISHED:
        yield Finding(
            table=table.full_name,
            kind="unfinished",
            text=f"run {run.id} was cut off in state {run.state}",
            advice=f"Run lakekeeper recover --table {table.full_name}",
        )
    for directory in Journal(lake).directories(run):
        known |= {directory.old, directory.staging}
    places = [p.location for p in Journal(lake).partitions(run)] if run.backup.keys else [run.backup.location]
    gone = [place for place in places if not lake.systems.at(place).is_directory(place)]
    if gone:
        yield Finding(
            table=table.full_name,
            kind="backup",
            text=f"{run.backup.full_name} points at {gone[0]}, which is not there",
            advice=f"Run lakekeeper cleanup --table {table.full_name} if its data is not needed",
        )


def _examine_partitions(lake: Lake, table: HiveTable) -> Iterator[Finding]:
    stale: list[str] = []
    for listing in survey(lake, table):
        if any(is_staging(part) for part in listing.location.split("/")):
            yield Finding(
                table=table.full_name,
                kind="partition",
                text=f"the partition {listing.name} is registered at {listing.location}, which belongs to a run",
                advice="Drop that partition: MSCK REPAIR took a directory of a run for one; --staging hidden prevents it",
            )
        held = listing.partition.parameters if listing.partition else table.parameters
        files = data_files(listing.entries or ())
        true = {"numFiles": len(files), "totalSize": sum(entry.length for entry in files)}
        if any(key in held and held[key] != str(value) for key, value in true.items()):
            stale.append(listing.name or table.name)
    if stale:
        yield Finding(
            table=table.full_name,
            kind="statistics",
            text=f"numFiles or totalSize is wrong for {len(stale)} of its directories, for example {stale[0]}",
            advice=f"Run ANALYZE TABLE {table.full_name} COMPUTE STATISTICS",
        )


def _leftovers(lake: Lake, table: HiveTable, known: set[str]) -> Iterator[Finding]:
    """Find directories called like those of a run that no run knows."""
    system = lake.systems.at(table.location)
    parent, _, base = table.location.rpartition("/")
    beside = [
        f"{parent}/{entry.path}"
        for entry in system.entries(parent, recursive=False)
        if entry.is_dir and entry.name.startswith(f"{base}__")
    ]
    inside = [f"{table.location}/{entry.path}" for entry in system.files(table.location) or () if entry.is_dir]
    for place in (*beside, *inside):
        if is_staging(place.rpartition("/")[2]) and place not in known:
            yield Finding(
                table=table.full_name,
                kind="leftover",
                text=f"{place} is called like a directory of a run, but no {BACKUP_PREFIX} table knows it",
                advice="Compare it with the table by hand; Lakekeeper deletes only what a run of its own wrote down",
            )
