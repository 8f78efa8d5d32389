"""The `indextables` command: which commands there are."""

from __future__ import annotations

import sys
from typing import Final

import click

from indextables.cli.group import Commands
from indextables.cli.interrupts import end_at_ctrl_c
from indextables.cli.lean import without_pandas
from indextables.version import VERSION

_SECTIONS: Final = {
    "Look at a table": {
        "describe": ("inspect", "What the table is: version, files, rows, size, protocol."),
        "schema": ("inspect", "The columns."),
        "history": ("inspect", "What was committed, newest first."),
        "skips": ("inspect", "Files that a merge could not use, and when they are tried again."),
        "files": ("query", "The data files, all or those that a condition leaves."),
        "head": ("query", "The first rows."),
        "count": ("query", "How many rows there are."),
        "explain": ("query", "Which files a condition skips, and why the others stay."),
        "report": ("report", "A page about the table: growth, sizes, partitions, queries, what to do."),
    },
    "Keep it in shape": {
        "checkpoint": ("upkeep", "Sum the log up, so that opening the table is quick."),
        "cleanup": ("upkeep", "Delete files of the log that are older than they are kept."),
        "restore": ("upkeep", "Make the table what it was at an earlier version."),
        "merge": ("rewrite", "Make few large files of many small ones."),
        "purge": ("rewrite", "Delete data files that no version needs any more."),
        "convert": ("rewrite", "Make a directory of Parquet files a table, without copying."),
    },
    "When something is wrong": {
        "verify": ("mend", "Check everything that can be checked: log, checkpoints, files, statistics."),
        "repair": ("mend", "Mend a damaged log, or undo that."),
        "doctor": ("doctor", "Whether this machine, and a store, have what is needed."),
        "config": ("settings", "Every setting, its value here, and where it came from."),
    },
}
_EPILOG: Final = """\b
Examples:
  indextables describe events
  indextables head s3://lake/events --where "level = 'ERROR'" -n 5
  indextables verify events --json

A table is a local path, or s3://, gs://, abfss:// or hdfs://. Exit codes: 0 done, 1 it cannot be done, 2 called wrongly,
3 damage found, 4 a fault of this program, 130 interrupted."""


@click.command(
    cls=Commands,
    sections=_SECTIONS,
    name="indextables",
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(VERSION, "-V", "--version", message="indextables %(version)s")
def commands() -> None:
    """Look at, keep and mend transactional tables. Nothing starts Spark but --spark."""


def main() -> None:
    """Run the command that this process was started for."""
    end_at_ctrl_c()
    if "--spark" not in sys.argv:
        without_pandas()
    commands(prog_name="indextables")
