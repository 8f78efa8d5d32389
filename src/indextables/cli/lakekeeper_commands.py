"""The commands of `lakekeeper` that work on tables and runs."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from indextables import hive
from indextables.cli.lakekeeper_options import (
    age,
    database_option,
    dry_run_option,
    json_option,
    one_table_option,
    partition_option,
    table_option,
    target_size_option,
    threshold_option,
    where_option,
)
from indextables.cli.options import examples
from indextables.hive.options import CODECS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.cli.lakekeeper_session import Session

_SOME_FAILED: Final = 3


@contextmanager
def _termination_interrupts() -> Iterator[None]:
    """Let a request to end (SIGTERM) undo what has begun, as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@click.command(
    epilog=examples(
        "lakekeeper analyze --table sales.events --where \"date >= '2026-02-01'\"",
        "lakekeeper analyze --database sales --json",
    )
)
@one_table_option
@database_option
@partition_option
@where_option
@threshold_option
@target_size_option
@json_option
@click.pass_obj
def analyze(
    session: Session,
    table: str | None,
    database: str | None,
    partitions: tuple[str, ...],
    where: str | None,
    threshold: int,
    target_size: int,
    as_json: bool,
) -> None:
    """Say what compaction would do. Reads no data."""
    if (table is None) == (database is None):
        raise click.UsageError("Name either --table or --database.")
    output = session.output(as_json=as_json)
    if database:
        reports = list(
            output.follow(
                hive.analyze_database(session.lake, database, threshold=threshold, target_size=target_size), "Tables"
            )
        )
        output.table_reports(sorted(reports, key=lambda report: -report.objects_saved))
        return
    with output.progress("Partitions") as advance:
        report = hive.analyze(
            session.lake,
            table or "",
            partitions=partitions,
            where=where,
            threshold=threshold,
            target_size=target_size,
            on_progress=advance,
        )
    output.table_report(report)


@click.command(
    epilog=examples(
        "lakekeeper compact --table sales.events --dry-run",
        "lakekeeper compact --table sales.events --partition date=2026-02-23 --codec zstd",
        "lakekeeper compact --config lakekeeper.yaml",
    )
)
@one_table_option
@partition_option
@where_option
@threshold_option
@target_size_option
@click.option("--codec", type=click.Choice(CODECS, case_sensitive=False), help="Compression. Default: as it is.")
@click.option("--sort-by", multiple=True, help="Sort the rows of each new file by this column. Repeatable.")
@click.option("--staging", type=click.Choice(["sibling", "hidden"]), default="sibling", help="Where directories go.")
@click.option(
    "--swap",
    type=click.Choice(["rename", "location"]),
    default="rename",
    help="location points the Metastore at new directories instead of renaming.",
)
@click.option("--config", "config_path", type=click.Path(), help="A YAML file that names many tables.")
@dry_run_option
@json_option
@click.pass_obj
def compact(
    session: Session,
    table: str | None,
    partitions: tuple[str, ...],
    where: str | None,
    threshold: int,
    target_size: int,
    codec: str | None,
    sort_by: tuple[str, ...],
    staging: str,
    swap: str,
    config_path: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Compact a table, or every table that a configuration file names."""
    if (table is None) == (config_path is None):
        raise click.UsageError("Name either --table or --config.")
    output = session.output(as_json=as_json)
    with _termination_interrupts():
        if config_path is not None:
            wanted = hive.load_configuration(config_path)
            outcomes = hive.compact_all(session.lake, wanted, dry_run=dry_run, spark=session.spark)
            output.outcomes(outcomes)
            if any(outcome.error for outcome in outcomes):
                raise SystemExit(_SOME_FAILED)
            return
        options = hive.Options(
            threshold=threshold, target_size=target_size, codec=codec, sort_by=sort_by, staging=staging, swap=swap
        )
        with output.progress("Files") as advance:
            lake = session.lake
            result = hive.compact(
                lake,
                table or "",
                options=options,
                partitions=partitions,
                where=where,
                dry_run=dry_run,
                spark=session.spark,
                on_progress=advance,
            )
    output.compaction(result, dry_run=dry_run)


@click.command(epilog=examples("lakekeeper rollback --table sales.events"))
@table_option
@click.option("--run", help="The run; it must be the newest complete one.")
@click.option("--keep-newer", is_flag=True, help="Carry files that were added since into the restored table.")
@json_option
@click.pass_obj
def rollback(session: Session, table: str, run: str | None, keep_newer: bool, as_json: bool) -> None:
    """Take the newest run back: the table is what it was before."""
    output = session.output(as_json=as_json)
    output.recoveries([hive.rollback(session.lake, table, run=run, keep_newer=keep_newer)])


@click.command(epilog=examples("lakekeeper recover", "lakekeeper recover --table sales.events"))
@one_table_option
@database_option
@json_option
@click.pass_obj
def recover(session: Session, table: str | None, database: str | None, as_json: bool) -> None:
    """Bring runs that were cut off to an end. Without a table or database: all of them."""
    session.output(as_json=as_json).recoveries(hive.recover(session.lake, table=table, database=database))


@click.command(epilog=examples("lakekeeper cleanup --table sales.events --older-than 7d --dry-run"))
@table_option
@click.option("--older-than", callback=age, default="0", help="Only runs at least this old, for example 7d.")
@dry_run_option
@json_option
@click.pass_obj
def cleanup(session: Session, table: str, older_than: int, dry_run: bool, as_json: bool) -> None:
    """Drop the backups of finished runs and delete the original files that they keep."""
    output = session.output(as_json=as_json)
    output.cleanup(hive.cleanup(session.lake, table, older_than_ms=older_than, dry_run=dry_run))


@click.command("list-runs", epilog=examples("lakekeeper list-runs --database sales"))
@one_table_option
@database_option
@json_option
@click.pass_obj
def list_runs(session: Session, table: str | None, database: str | None, as_json: bool) -> None:
    """List runs and their states, oldest first."""
    session.output(as_json=as_json).runs(hive.list_runs(session.lake, table=table, database=database))


@click.command(epilog=examples("lakekeeper doctor --database sales"))
@one_table_option
@database_option
@json_option
@click.pass_obj
def doctor(session: Session, table: str | None, database: str | None, as_json: bool) -> None:
    """Look for what would hurt. Exits with 1 if something was found."""
    findings = hive.doctor(session.lake, table=table, database=database)
    session.output(as_json=as_json).findings(findings)
    if findings:
        raise SystemExit(1)
