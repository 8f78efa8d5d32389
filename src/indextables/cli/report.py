"""The command that writes a page about a table."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from indextables.cli.options import examples, table_options
from indextables.cli.output import progress, say, show_json, wants_json
from indextables.report.words import counted, size


def _in_a_directory(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
    # Before the work, which can take a while.
    if value is not None and not value.parent.is_dir():
        raise click.BadParameter(f"there is no directory {value.parent}. Create it, or name another file")
    return value


output_file: Final = click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    callback=_in_a_directory,
    help="Where the page goes; with --json it may be left out.",
)


@click.command(
    epilog=examples(
        "indextables report events -o report.html",
        "indextables report events -o report.html --where \"day = '2024-01-31'\" --where \"level = 'ERROR'\"",
        "indextables report s3://lake/events --json",
    )
)
@output_file
@click.option(
    "--where",
    "where",
    multiple=True,
    metavar="SQL",
    help="Tell how many files this condition reads; repeatable.",
)
@table_options
def report(path: str, options: dict[str, str], where: tuple[str, ...], output: Path | None) -> None:
    """Write one page about a table, to look at in a browser and to send around: it needs no network and holds no script.

    It shows growth over versions, sizes of files, partitions, what conditions read, the state of log and checkpoints, skipped
    files, and what to do with the command for each. No data file is read, and nothing is changed. --json prints the same figures.
    """
    from indextables.report.gather import table_figures  # noqa: PLC0415 - help waits for no Arrow
    from indextables.report.table_page import table_page  # noqa: PLC0415

    if output is None and not wants_json():
        raise click.UsageError("Missing option '-o': where does the page go?")
    with progress("Looking at the table"):
        figures = table_figures(path, where=where, options=options)
    if output is not None:
        output.write_text(table_page(figures), encoding="utf-8")
    if wants_json():
        show_json(figures)
    elif output is not None:
        say(f"{output}: {size(output.stat().st_size)}, {counted(len(figures.advice), 'thing')} to do.")
