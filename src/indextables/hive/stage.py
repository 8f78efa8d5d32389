"""Writing the replacements of all directories of a run, each verified and with the rights of what it replaces."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from indextables.errors import TableRefusedError
from indextables.hive.checksum import Check
from indextables.hive.directory import Directory, with_replacement
from indextables.hive.eligible import format_of
from indextables.hive.filesystem import data_files, fingerprint
from indextables.hive.rewrite import Group, Written, plan_groups, rewrite_locally, rewrite_on_spark
from indextables.hive.work import Work, staging_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from indextables.hive.connect import Lake
    from indextables.hive.model import HiveTable
    from indextables.hive.options import Options

_SUMMARIES = frozenset({"_metadata", "_common_metadata"})  # they name the files that they sum up


def stage(
    lake: Lake,
    table: HiveTable,
    work: Sequence[Work],
    options: Options,
    *,
    spark: SparkSession | None,
    on_progress: Callable[[int, int], None] | None,
) -> tuple[list[Directory], int]:
    """Write and verify every replacement.

    Returns:
        The directories with what is known of their replacements, and the size of these.

    Raises:
        TableRefusedError: Something about the files would not come out as it went in.
        VerificationError: What was written is not what was read.
    """
    groups = [group for one in work for group in _groups(table, one, options)]
    checks: dict[str, dict[str, Check]] = {one.directory.staging: {} for one in work}
    done = 0

    def note(written: Written) -> None:
        nonlocal done
        done += 1
        checks[written.target] |= written.files
        if on_progress:
            on_progress(done, len(groups))

    with ThreadPoolExecutor(lake.threads) as pool:
        reasons = list(filter(None, pool.map(lambda one: _make_staging(lake, one.directory, options), work)))
    if reasons:
        raise TableRefusedError(table.full_name, "; ".join(reasons))
    lake.on_step("write replacements")
    if spark is not None and sum(one.report.bytes for one in work) > options.spark_from:
        rewrite_on_spark(groups, spark=spark, done=note)
    else:
        rewrite_locally(groups, systems=lake.systems, threads=lake.threads, done=note)
    lake.on_step("restore rights")
    with ThreadPoolExecutor(lake.threads) as pool:
        ready = list(pool.map(lambda one: _finish(lake, one, checks[one.directory.staging]), work))
    return [directory for directory, _ in ready], sum(size for _, size in ready)


def _make_staging(lake: Lake, directory: Directory, options: Options) -> str:
    """Make the directory of a replacement; return why it could not take the original's place."""
    lake.on_step(f"make staging: {directory.name}")
    system = lake.systems.at(directory.location)
    if staging_of(options) != "sibling":
        system.make_directory(directory.staging.rpartition("/")[0], parents=True)
    system.make_directory(directory.staging)
    lake.on_step(f"probe: {directory.name}")
    return system.probe(directory.staging, directory.location)


def _groups(table: HiveTable, one: Work, options: Options) -> list[Group]:
    planned = plan_groups(data_files(one.entries), options.target_size)
    return [
        Group(
            table=table.full_name,
            source=one.directory.location,
            target=one.directory.staging,
            index=index,
            groups=len(planned),
            files=files,
            format=format_of(one.listing.storage) or "",
            codec=options.codec.upper() if options.codec else None,
            sort_by=options.sort_by,
        )
        for index, files in enumerate(planned)
    ]


def _finish(lake: Lake, one: Work, checks: dict[str, Check]) -> tuple[Directory, int]:
    """Copy hidden files, give the replacement the rights of the original, and take its fingerprint."""
    directory = one.directory
    system = lake.systems.at(directory.location)
    for entry in one.entries:
        # Markers such as _SUCCESS have readers of their own; summaries and checksums would be wrong from now on.
        if entry.is_dir or "/" in entry.path or not entry.is_hidden:
            continue
        if entry.path not in _SUMMARIES and not entry.path.endswith(".crc"):
            system.write(
                f"{directory.staging}/{entry.path}", system.read(f"{directory.location}/{entry.path}", entry.length)
            )
    rights = system.security(f"{directory.location}/{data_files(one.entries)[0].path}")
    for name in checks:
        system.secure(f"{directory.staging}/{name}", rights)
    system.secure(directory.staging, system.security(directory.location))
    written = [entry for entry in system.entries(directory.staging) if entry.path in checks]
    rows = Check.total(checks.values()).rows
    sealed = with_replacement(directory, after=fingerprint(written), names=checks, rows=rows)
    return sealed, sum(entry.length for entry in written)
