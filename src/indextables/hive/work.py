"""What a run will do, decided before anything is written: which directories, and every reason to refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.errors import TableRefusedError, UnfinishedRunError
from indextables.hive.directory import SWITCHED, Directory, places
from indextables.hive.eligible import format_of, layout_refusals, place_refusal, refusals, sharing_tables
from indextables.hive.filesystem import Entry, data_files, fingerprint
from indextables.hive.journal import UNFINISHED, Journal
from indextables.hive.names import switching_run
from indextables.hive.plan import Listing, PartitionReport, report_partition, survey
from indextables.hive.shape import shape_of
from indextables.hive.statistics import statistics_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.hive.connect import Lake
    from indextables.hive.model import HiveTable
    from indextables.hive.options import Options

_FEW = 16


@dataclass(frozen=True, kw_only=True)
class Work:
    """One directory to replace, with what was listed of it."""

    listing: Listing
    report: PartitionReport
    entries: list[Entry]
    directory: Directory


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run will do.

    Attributes:
        run: The run's name: its second since the epoch.
        work: The directories to replace.
        skipped: Partitions that cannot be compacted, each with the reason.
    """

    run: str
    work: list[Work]
    skipped: list[tuple[str, str]]


def refuse_table(lake: Lake, table: HiveTable, options: Options) -> None:
    """Raise why a table as a whole is not compacted, if there is a reason.

    Raises:
        TableRefusedError: It is of a kind, or set up in a way, that is not compacted.
        UnfinishedRunError: An earlier run must be recovered first.
    """
    if reasons := refusals(lake, table, swap=options.swap):
        raise TableRefusedError(table.full_name, "; ".join(reasons))
    for run in Journal(lake).runs(table.database, table.name):
        if run.state in UNFINISHED:
            raise UnfinishedRunError(table.full_name, run=run.id, state=run.state)
    if table.parameters.get("discover.partitions", "").lower() == "true" and staging_of(options) == "sibling":
        raise TableRefusedError(
            table.full_name,
            "Hive discovers its partitions by itself and would take the directories of a run for some",
            way_out="Pass --staging hidden",
        )


def plan_work(lake: Lake, table: HiveTable, options: Options, *, partitions: Sequence[str], where: str | None) -> Plan:
    """Return which directories a run replaces.

    Raises:
        TableRefusedError: Directories cannot be renamed, or others use them, too.
        ConfigError: A partition or condition cannot be understood.
    """
    chosen, skipped, places_held = [], [], []
    for listing in survey(lake, table, partitions=partitions, where=where):
        report = report_partition(listing, threshold=options.threshold, target_size=options.target_size)
        places_held.append((report.name, report.location))
        if refused := report.refused or place_refusal(lake, report.location, swap=options.swap):
            skipped.append((report.name, refused))
        elif report.needs_compaction and _fewer_would_do(lake, listing):
            chosen.append((listing, report))
    run = _free_run(lake, table, [location for _, location in places_held])
    work = [_work(table, listing, report, run=run, staging=staging_of(options)) for listing, report in chosen]
    if work:
        reasons = layout_refusals(table, places_held) + sharing_tables(lake, table, [w.report.location for w in work])
        for one in work:
            reasons += lake.systems.at(one.report.location).obstacles(one.report.location, added=one.report.bytes)
        if reasons:
            raise TableRefusedError(table.full_name, "; ".join(dict.fromkeys(reasons)))
    if skipped and not table.keys:
        raise TableRefusedError(table.full_name, skipped[0][1])
    return Plan(run=run, work=work, skipped=skipped)


def _fewer_would_do(lake: Lake, listing: Listing) -> bool:
    """Tell whether a few files can be merged at all: those of unlike shapes cannot, and would be rewritten for ever."""
    files = data_files(listing.entries or ())
    if len(files) > _FEW or format_of(listing.storage) != "parquet":
        return True
    shapes = set()
    for entry in files:
        with lake.systems.at(listing.location).open_input(f"{listing.location}/{entry.path}", entry.length) as source:
            try:
                shapes.add(shape_of(pq.ParquetFile(source)))
            except (OSError, ValueError, pa.ArrowException):
                return True  # the rewrite says what is wrong with it
    return len(shapes) < len(files)


def _work(table: HiveTable, listing: Listing, report: PartitionReport, *, run: str, staging: str) -> Work:
    entries = listing.entries or []
    old, fresh = places(listing.location, root=table.location, run=run, staging=staging)
    parameters = listing.partition.parameters if listing.partition else table.parameters
    directory = Directory(
        name=listing.name,
        location=listing.location,
        old=old,
        staging=fresh,
        before=fingerprint(entries),
        statistics=statistics_of(parameters),
    )
    return Work(listing=listing, report=report, entries=entries, directory=directory)


def staging_of(options: Options) -> str:
    """Return where a run's directories go, as its journal says it."""
    return SWITCHED if options.swap == "location" else options.staging


def _free_run(lake: Lake, table: HiveTable, locations: Sequence[str]) -> str:
    """Return the present second, or the next one that no run of this table has taken, a forgotten one included."""
    taken = {run.id for run in Journal(lake).runs(table.database, table.name)}
    taken |= {run for location in locations if (run := switching_run(location, root=table.location))}
    second = lake.runtime.now_ms() // 1000
    while str(second) in taken:
        second += 1
    return str(second)
