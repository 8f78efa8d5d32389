"""Commands that keep a log short, and the one that goes back to an earlier version."""

from __future__ import annotations

import click

from indextables.cli.options import examples, table_options
from indextables.cli.output import end_with, progress, say, show_json, wants_json
from indextables.log.open import open_log
from indextables.report.words import counted, size


@click.command(
    epilog=examples(
        "indextables checkpoint events",
        "indextables checkpoint events --option spark.indextables.checkpoint.format=json",
    )
)
@table_options
def checkpoint(path: str, options: dict[str, str]) -> None:
    """Write a checkpoint of the newest version, and read it back.

    Writers do so by themselves every few commits; this is for tables that are about to be read a lot.
    """
    result = open_log(path, options).checkpoint()
    if wants_json():
        show_json(result)
        return
    say(
        f"Checkpoint of version {result.version}: {counted(result.files, 'file')} in {counted(result.parts, 'part')}, "
        f"{size(result.bytes)} of {result.format}, {result.seconds:.2f} s."
    )


@click.command(
    epilog=examples(
        "indextables cleanup events --dry-run",
        "indextables cleanup events --option spark.indextables.logRetention.duration=7d",
    )
)
@click.option("--dry-run", is_flag=True, help="Only tell what would be deleted.")
@table_options
def cleanup(path: str, options: dict[str, str], dry_run: bool) -> None:
    """Delete commits and checkpoints that are older than they are kept. Data files are never touched.

    How long they are kept is set by spark.indextables.logRetention.duration and its neighbours.
    """
    with progress("Deleting") as advance:
        result = open_log(path, options).cleanup(dry_run=dry_run, progress=advance)
    if wants_json():
        show_json(result)
        end_with(result.failures, words="Not deleted")
        return
    say(
        f"{'Would delete' if dry_run else 'Deleted'} {counted(result.commits, 'commit')}, "
        f"{counted(result.checkpoints, 'checkpoint')} and {counted(result.leftovers, 'other file')} "
        f"({size(result.bytes_freed)}); the oldest version is {result.oldest_version}."
    )
    end_with(result.failures, words="Not deleted")


@click.command(epilog=examples("indextables restore events 12"))
@table_options
@click.argument("version", type=click.IntRange(min=0))
def restore(path: str, options: dict[str, str], version: int) -> None:
    """Make a table what it was at an earlier VERSION, as a new version on top; nothing in between is forgotten."""
    result = open_log(path, options).restore(version)
    if wants_json():
        show_json(result)
    elif result.written:
        say(f"Version {result.version} is as version {version} was.")
    else:
        say(f"Nothing to do: version {result.version} is as version {version} was.")
