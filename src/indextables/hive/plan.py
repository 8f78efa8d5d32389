"""What compaction would do: files and sizes of every partition, from listings alone.

Partitions are fetched some hundred at a time and listed by several threads; of each, only a few numbers stay in memory.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from indextables.errors import StorageError
from indextables.hive.eligible import content_refusals, format_of, layout_refusals, refusals
from indextables.hive.filesystem import Entry, data_files
from indextables.hive.find import find_database, find_table
from indextables.hive.metastore import BATCH
from indextables.hive.names import is_staging, parse_partition, partition_name
from indextables.hive.where import PartitionFilter
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from indextables.hive.connect import Lake
    from indextables.hive.model import HivePartition, HiveTable, Storage
    from indextables.tracing import Span

DEFAULT_SIZE = 128 << 20
"""Files smaller than this on average are worth compacting, and this is how large the new ones become."""

_OBJECTS_PER_FILE = 2  # the file and its block


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReport:
    """A partition, or a flat table, in numbers.

    Attributes:
        name: The partition's name; empty for a flat table.
        location: Its directory.
        files: How many files hold rows.
        bytes: Their size.
        needs_compaction: Whether they are smaller than the threshold on average, and fewer would do.
        target_files: How many would do.
        refused: Why it cannot be compacted; empty where it can.
    """

    name: str
    location: str
    files: int
    bytes: int
    needs_compaction: bool
    target_files: int
    refused: str = ""

    @property
    def average(self) -> int:
        """The average size of its files."""
        return self.bytes // self.files if self.files else 0

    @property
    def objects_saved(self) -> int:
        """How many objects fewer the NameNode would keep in memory."""
        return _OBJECTS_PER_FILE * (self.files - self.target_files) if self.needs_compaction else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReport:
    """A table in numbers.

    Attributes:
        table: The full name.
        location: The table's root.
        format: `parquet`, `orc`, or empty.
        threshold: Average size below which files are worth compacting.
        partitions: The partitions that were looked at; one without a name for a flat table.
        refused: Why the table cannot be compacted; empty where it can.
        warnings: What else one should know before compacting it.
    """

    table: str
    location: str
    format: str
    threshold: int
    partitions: tuple[PartitionReport, ...] = ()
    refused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """How many files hold rows."""
        return sum(partition.files for partition in self.partitions)

    @property
    def bytes(self) -> int:
        """Their size."""
        return sum(partition.bytes for partition in self.partitions)

    @property
    def needs_compaction(self) -> bool:
        """Whether any partition does."""
        return any(partition.needs_compaction for partition in self.partitions)

    @property
    def target_files(self) -> int:
        """How many files there would be."""
        return sum(p.target_files if p.needs_compaction else p.files for p in self.partitions)

    @property
    def objects_saved(self) -> int:
        """How many objects fewer the NameNode would keep in memory."""
        return sum(partition.objects_saved for partition in self.partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A directory as it was listed.

    Attributes:
        name: The partition's name; empty for a flat table.
        location: The directory.
        storage: How its files are stored.
        partition: The partition, or None for a flat table.
        entries: Everything in it, or None where it does not exist.
    """

    name: str
    location: str
    storage: Storage
    partition: HivePartition | None
    entries: list[Entry] | None = field(repr=False)


def analyze(
    lake: Lake,
    full_name: str,
    *,
    partitions: Sequence[str] = (),
    where: str | None = None,
    threshold: int = DEFAULT_SIZE,
    target_size: int = DEFAULT_SIZE,
    on_progress: Callable[[int, int], None] | None = None,
) -> TableReport:
    """Return what compaction would do with a table; no data is read.

    Args:
        lake: Metastore and file systems.
        full_name: `database.table`.
        partitions: Names of partitions, whole or in part (`date=2026-02-23`); without any, all.
        where: A condition on the partition keys, as in `date >= '2026-02-01'`.
        threshold: Average size below which files are worth compacting.
        target_size: How large the new files should become.
        on_progress: Called with partitions done and in total.

    Raises:
        TableNotFoundError: There is no such table.
        ConfigError: A partition or condition cannot be understood.
    """
    with span("lakekeeper.analyze", table=full_name) as noted:
        table = find_table(lake, full_name)
        listings = survey(lake, table, partitions=partitions, where=where, on_progress=on_progress)
        return _analyze(lake, table, listings, noted, threshold=threshold, target_size=target_size)


def analyze_database(
    lake: Lake, database: str, *, threshold: int = DEFAULT_SIZE, target_size: int = DEFAULT_SIZE
) -> Iterator[TableReport]:
    """Return a report for each table of a database but Lakekeeper's own backups, in the order of their names.

    Raises:
        ConfigError: There is no such database.
    """
    database = find_database(lake, database)
    for name in lake.metastore.table_names(database):
        table = lake.metastore.table(database, name)
        if table is None or "lakekeeper.run" in table.parameters:
            continue
        try:
            with span("lakekeeper.analyze", table=table.full_name) as noted:
                listings = survey(lake, table)
                report = _analyze(lake, table, listings, noted, threshold=threshold, target_size=target_size)
        except StorageError as error:
            report = _report(table, threshold, refused=[str(error)])
        yield report


def _analyze(
    lake: Lake, table: HiveTable, listings: Iterable[Listing], noted: Span, *, threshold: int, target_size: int
) -> TableReport:
    reasons = refusals(lake, table)
    if reasons:
        return _report(table, threshold, refused=reasons)
    found = [report_partition(listing, threshold=threshold, target_size=target_size) for listing in listings]
    reasons = layout_refusals(table, [(one.name, one.location) for one in found])
    report = _report(table, threshold, partitions=found, refused=reasons, warnings=_warnings(table, found))
    noted.note(partitions=len(found), files=report.files, bytes=report.bytes)
    return report


def survey(
    lake: Lake,
    table: HiveTable,
    *,
    partitions: Sequence[str] = (),
    where: str | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[Listing]:
    """List the directories of a table, several at a time."""
    if not table.keys:
        yield _list(lake, table, None)
        return
    names = select_partitions(table, lake.metastore.partition_names(table), partitions=partitions, where=where)
    with ThreadPoolExecutor(lake.threads, thread_name_prefix="lakekeeper-list") as pool:
        for start in range(0, len(names), BATCH):
            held = lake.metastore.partitions(table, names[start : start + BATCH])
            yield from pool.map(lambda one: _list(lake, table, one), held)
            if on_progress:
                on_progress(min(start + BATCH, len(names)), len(names))


def select_partitions(
    table: HiveTable, names: Iterable[str], *, partitions: Sequence[str] = (), where: str | None = None
) -> list[str]:
    """Return the names of the partitions that were asked for.

    Raises:
        ConfigError: A partition or condition cannot be understood.
    """
    chosen = PartitionFilter(table.keys, partitions=partitions, where=where)
    return [name for name in names if chosen.accepts(parse_partition(name))]


def report_partition(listing: Listing, *, threshold: int, target_size: int) -> PartitionReport:
    """Return a directory in numbers."""
    entries = listing.entries or []
    files = data_files(entries)
    size = sum(entry.length for entry in files)
    target = min(len(files), max(1, -(-size // target_size)))
    reasons = content_refusals(listing.location, entries)
    if format_of(listing.storage) is None:
        reasons.append(f"its files are neither Parquet nor ORC ({listing.storage.input_format})")
    return PartitionReport(
        name=listing.name,
        location=listing.location,
        files=len(files),
        bytes=size,
        needs_compaction=len(files) > target and size < threshold * len(files) and not reasons,
        target_files=target,
        refused="; ".join(reasons),
    )


def _list(lake: Lake, table: HiveTable, partition: HivePartition | None) -> Listing:
    storage = partition.storage if partition else table.storage
    entries = None
    if lake.systems.supports(storage.location):
        entries = lake.systems.at(storage.location).files(storage.location)
    name = partition_name([key.name for key in table.keys], partition.values) if partition else ""
    return Listing(name=name, location=storage.location, storage=storage, partition=partition, entries=entries)


def _warnings(table: HiveTable, partitions: Sequence[PartitionReport]) -> list[str]:
    found = []
    if any(partition.location.startswith(f"{table.location}/") for partition in partitions):
        found.append(
            "MSCK REPAIR and readers by path would take __old_ directories inside the table's root for partitions; "
            "--staging hidden keeps them out of sight"
        )
    if any(is_staging(part) for p in partitions for part in p.location.split("/")):
        found.append("a partition is registered at a directory that a run left behind; run lakekeeper doctor")
    return found


def _report(
    table: HiveTable,
    threshold: int,
    *,
    partitions: Sequence[PartitionReport] = (),
    refused: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> TableReport:
    return TableReport(
        table=table.full_name,
        location=table.location,
        format=format_of(table.storage) or "",
        threshold=threshold,
        partitions=tuple(partitions),
        refused=tuple(refused),
        warnings=tuple(warnings),
    )
