"""The `lakekeeper` command: analyze, compact, roll back, recover and clean up Hive tables from a shell.

Exit codes: 0 done; 1 the command failed, and nothing is lost; 2 it was called wrongly; 3 of many tables, some failed; 4 a fault of
this program; 130 interrupted, and everything is back as it was.
"""

from __future__ import annotations

from typing import Any, Final

import click

from indextables.cli.endings import INTERRUPTED
from indextables.cli.group import Commands
from indextables.cli.options import debug_option
from indextables.cli.text import one_line
from indextables.version import VERSION

_SECTIONS: Final = {
    "Look": {
        "analyze": ("lakekeeper_commands", "Say what compaction would do. Reads no data."),
        "list-runs": ("lakekeeper_commands", "List runs and their states, oldest first."),
        "report": ("lakekeeper_report", "A page about a database: what compaction saves, runs, backups."),
        "doctor": ("lakekeeper_commands", "Look for what would hurt."),
    },
    "Compact": {
        "compact": ("lakekeeper_commands", "Compact a table, or every table that a file names."),
        "cleanup": ("lakekeeper_commands", "Drop backups, and delete the original files that they keep."),
    },
    "Go back": {
        "rollback": ("lakekeeper_commands", "Take the newest run back."),
        "recover": ("lakekeeper_commands", "Bring runs that were cut off to an end."),
    },
}
_EPILOG: Final = """\b
Examples:
  lakekeeper --metastore thrift://metastore:9083 analyze --database sales
  lakekeeper compact --table sales.events --dry-run
  lakekeeper rollback --table sales.events

Exit codes: 0 done, 1 failed and nothing is lost, 2 called wrongly, 3 of many tables some failed, 4 a fault of this program,
130 interrupted and everything is back as it was."""


class _Lakekeeper(Commands):
    """Says of an interruption that what had begun is undone."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            notes = "".join(f"\n  {one_line(note)}" for note in getattr(error, "__notes__", ()))
            click.echo(f"lakekeeper: interrupted; what had begun is undone{notes}", err=True)
            ctx.exit(INTERRUPTED)


@click.command(
    cls=_Lakekeeper,
    sections=_SECTIONS,
    name="lakekeeper",
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.option("--metastore", envvar="LAKEKEEPER_METASTORE", help="The Metastore: thrift://host:9083.")
@click.option("--spark/--no-spark", "use_spark", default=False, help="Rewrite large runs as a Spark job.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
@debug_option
@click.version_option(VERSION, "-V", "--version", message="lakekeeper %(version)s")
@click.pass_context
def main(ctx: click.Context, metastore: str | None, use_spark: bool, quiet: bool) -> None:
    """Compact Hive tables, and never lose a row."""
    from indextables.cli.lakekeeper_session import Session  # noqa: PLC0415 - help waits for no table

    ctx.obj = Session(metastore, use_spark=use_spark, quiet=quiet)
    ctx.call_on_close(ctx.obj.close)


if __name__ == "__main__":
    main()
