"""The `lakekeeper` command: analyze, compact, roll back, recover and clean up Hive tables from a shell.

Exit codes: 0 done; 1 the command failed, and nothing is lost; 2 it was called wrongly; 3 of many tables, some failed;
130 interrupted, and everything is back as it was.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from indextables.cli.lakekeeper_session import Session
from indextables.config.quantities import Milliseconds
from indextables.errors import ConfigError, IndexTablesError
from indextables.hive import (
    Options,
    analyze,
    analyze_database,
    cleanup,
    compact,
    compact_all,
    doctor,
    list_runs,
    load_configuration,
    recover,
    rollback,
)
from indextables.hive.configuration import parse_size
from indextables.hive.options import CODECS

if TYPE_CHECKING:
    from collections.abc import Iterator


_SOME_FAILED = 3
_INTERRUPTED = 130

_table = click.option("--table", required=True, help="The table, as database.table.")
_one_table = click.option("--table", help="The table, as database.table.")
_database = click.option("--database", help="Every table of this database.")
_partition = click.option(
    "--partition", "partitions", multiple=True, help="A partition, whole or in part: date=2026-02-23/ref=A. Repeatable."
)
_where = click.option("--where", help="A condition on the partition keys: \"date >= '2026-02-01'\".")
_dry_run = click.option("--dry-run", is_flag=True, help="Only say what would be done.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def _size(_: click.Context, parameter: click.Parameter, value: str) -> int:
    try:
        return parse_size(parameter.opts[-1], value)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error


def _age(_: click.Context, __: click.Parameter, value: str) -> int:
    kind = Milliseconds()
    try:
        return kind.read(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not an age: {kind.allowed}") from error


_threshold = click.option(
    "--threshold", callback=_size, default="128MB", show_default=True, help="Average size below which it is worth it."
)
_target_size = click.option(
    "--target-size", callback=_size, default="128MB", show_default=True, help="Size of the new files."
)


class _Commands(click.Group):
    """Turns errors into one line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except IndexTablesError as error:
            notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
            click.echo(f"lakekeeper: {error}{notes}", err=True)
            ctx.exit(1)
        except KeyboardInterrupt as error:
            notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
            click.echo(f"lakekeeper: interrupted; what had begun is undone{notes}", err=True)
            ctx.exit(_INTERRUPTED)


@click.group(cls=_Commands)
@click.option("--metastore", envvar="LAKEKEEPER_METASTORE", help="The Metastore: thrift://host:9083.")
@click.option("--spark/--no-spark", "use_spark", default=False, help="Rewrite large runs as a Spark job.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
@click.version_option(package_name="indextables")
@click.pass_context
def main(ctx: click.Context, metastore: str | None, use_spark: bool, quiet: bool) -> None:
    """Compact Hive tables, and never lose a row."""
    ctx.obj = Session(metastore, use_spark=use_spark, quiet=quiet)
    ctx.call_on_close(ctx.obj.close)


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


@main.command("analyze")
@_one_table
@_database
@_partition
@_where
@_threshold
@_target_size
@_json
@click.pass_obj
def analyze_command(
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
    _require_one(table, database)
    output = session.output(as_json=as_json)
    if database:
        reports = list(
            output.follow(
                analyze_database(session.lake, database, threshold=threshold, target_size=target_size), "Tables"
            )
        )
        output.table_reports(sorted(reports, key=lambda report: -report.objects_saved))
        return
    with output.progress("Partitions") as advance:
        report = analyze(
            session.lake,
            table or "",
            partitions=partitions,
            where=where,
            threshold=threshold,
            target_size=target_size,
            on_progress=advance,
        )
    output.table_report(report)


@main.command("compact")
@_one_table
@_partition
@_where
@_threshold
@_target_size
@click.option("--codec", type=click.Choice(CODECS, case_sensitive=False), help="Compression. Default: as it is.")
@click.option("--sort-by", multiple=True, help="Sort the rows of each new file by this column. Repeatable.")
@click.option("--staging", type=click.Choice(["sibling", "hidden"]), default="sibling", help="Where directories go.")
@click.option("--config", "config_path", type=click.Path(), help="A YAML file that names many tables.")
@_dry_run
@_json
@click.pass_obj
def compact_command(
    session: Session,
    table: str | None,
    partitions: tuple[str, ...],
    where: str | None,
    threshold: int,
    target_size: int,
    codec: str | None,
    sort_by: tuple[str, ...],
    staging: str,
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
            outcomes = compact_all(session.lake, load_configuration(config_path), dry_run=dry_run, spark=session.spark)
            output.outcomes(outcomes)
            if any(outcome.error for outcome in outcomes):
                raise SystemExit(_SOME_FAILED)
            return
        options = Options(threshold=threshold, target_size=target_size, codec=codec, sort_by=sort_by, staging=staging)
        with output.progress("Files") as advance:
            lake = session.lake
            result = compact(
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


@main.command("rollback")
@_table
@click.option("--run", help="The run; it must be the newest complete one.")
@click.option("--keep-newer", is_flag=True, help="Carry files that were added since into the restored table.")
@_json
@click.pass_obj
def rollback_command(session: Session, table: str, run: str | None, keep_newer: bool, as_json: bool) -> None:
    """Take the newest run back: the table is what it was before."""
    output = session.output(as_json=as_json)
    output.recoveries([rollback(session.lake, table, run=run, keep_newer=keep_newer)])


@main.command("recover")
@_one_table
@_database
@_json
@click.pass_obj
def recover_command(session: Session, table: str | None, database: str | None, as_json: bool) -> None:
    """Bring runs that were cut off to an end. Without a table or database: all of them."""
    session.output(as_json=as_json).recoveries(recover(session.lake, table=table, database=database))


@main.command("cleanup")
@_table
@click.option("--older-than", callback=_age, default="0", help="Only runs at least this old, for example 7d.")
@_dry_run
@_json
@click.pass_obj
def cleanup_command(session: Session, table: str, older_than: int, dry_run: bool, as_json: bool) -> None:
    """Drop the backups of finished runs and delete the original files that they keep."""
    output = session.output(as_json=as_json)
    output.cleanup(cleanup(session.lake, table, older_than_ms=older_than, dry_run=dry_run))


@main.command("list-runs")
@_one_table
@_database
@_json
@click.pass_obj
def list_runs_command(session: Session, table: str | None, database: str | None, as_json: bool) -> None:
    """List runs and their states, oldest first."""
    session.output(as_json=as_json).runs(list_runs(session.lake, table=table, database=database))


@main.command("doctor")
@_one_table
@_database
@_json
@click.pass_obj
def doctor_command(session: Session, table: str | None, database: str | None, as_json: bool) -> None:
    """Look for what would hurt. Exits with 1 if something was found."""
    findings = doctor(session.lake, table=table, database=database)
    session.output(as_json=as_json).findings(findings)
    if findings:
        raise SystemExit(1)


def _require_one(table: str | None, database: str | None) -> None:
    if (table is None) == (database is None):
        raise click.UsageError("Name either --table or --database.")


if __name__ == "__main__":
    main()
