"""The command that writes a page about a database of Hive tables."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from indextables.cli.lakekeeper_options import json_option, target_size_option, threshold_option
from indextables.cli.options import examples
from indextables.cli.report import output_file
from indextables.report.lake_figures import lake_figures
from indextables.report.lake_page import lake_page

if TYPE_CHECKING:
    from pathlib import Path

    from indextables.cli.lakekeeper_session import Session


@click.command(
    epilog=examples("lakekeeper report --database sales -o report.html", "lakekeeper report --database sales --json")
)
@click.option("--database", required=True, help="The database.")
@output_file
@threshold_option
@target_size_option
@json_option
@click.pass_obj
def report(
    session: Session, database: str, output: Path | None, threshold: int, target_size: int, as_json: bool
) -> None:
    """Write one page about a database, to look at in a browser and to send around: it needs no network and holds no script.

    It ranks tables by the files that compaction saves, tells which are refused and why, and what runs and their backups hold. No
    data is read, and nothing is changed. --json prints the same figures.
    """
    if output is None and not as_json:
        raise click.UsageError("Missing option '-o': where does the page go?")
    shown = session.output(as_json=as_json)
    metastore = f" --metastore {shlex.quote(session.metastore)}" if session.metastore else ""
    with shown.progress("Tables") as advance:
        figures = lake_figures(
            session.lake,
            database,
            threshold=threshold,
            target_size=target_size,
            command=f"lakekeeper{metastore}",
            on_table=None if advance is None else lambda done: advance(done, done),
        )
    if output is not None:
        output.write_text(lake_page(figures), encoding="utf-8")
    shown.report(figures, output)
