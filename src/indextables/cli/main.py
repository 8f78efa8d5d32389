"""The `indextables` command: which commands there are, and how each of them ends.

A command's module is imported when the command runs, and what the module needs is imported when it is needed: looking at a
table must not wait for code that merges one. For the same reason the list of commands has its own words for each.
"""

from __future__ import annotations

import difflib
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from indextables.cli.endings import PIPE_CLOSED, State, ending_of, logging_to_stderr, quiet_stdout, write_anything
from indextables.cli.interrupts import end_at_ctrl_c
from indextables.cli.lean import without_pandas
from indextables.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_COMMANDS: Final = {name: module for section in _SECTIONS.values() for name, (module, _) in section.items()}
_EPILOG: Final = """\b
Examples:
  indextables describe events
  indextables head s3://lake/events --where "level = 'ERROR'" -n 5
  indextables verify events --json

A table is a local path, or s3://, gs://, abfss:// or hdfs://. Exit codes: 0 done, 1 it cannot be done, 2 called wrongly,
3 damage found, 4 a fault of this program, 130 interrupted."""


class Commands(click.Group):
    """Finds commands by name, and turns whatever goes wrong into one sentence and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return every command, in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Return a command, whose module is imported now."""
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(import_module(f"indextables.cli.{_COMMANDS[cmd_name]}"), cmd_name)
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that a line names; a name that is nearly right is answered with the right one."""
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, _COMMANDS, n=1)
            ctx.fail(f"There is no command {name!r}{f'; did you mean {near[0]}?' if near else '.'}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the list of commands without importing any."""
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, words) for name, (_, words) in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands without importing any."""
        found = [
            CompletionItem(name, help=words)
            for commands in _SECTIONS.values()
            for name, (_, words) in commands.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; that nobody reads the end of its output is no error worth a sentence."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            quiet_stdout()
            raise click.exceptions.Exit(PIPE_CLOSED) from None
        return result

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run a command line to its end, and leave with its exit code."""
        state = State()
        extra["obj"] = state
        extra["standalone_mode"] = False
        write_anything()
        with logging_to_stderr():
            try:
                result = super().main(args, *rest, **extra)
                code = result if isinstance(result, int) else 0
            except Exception as error:  # noqa: BLE001 - the end of every command, whatever came
                code = ending_of(error, state)
        raise SystemExit(code)


@click.command(
    cls=Commands,
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
