"""The reference page of both commands, written from the commands themselves: `python -m indextables.cli.reference`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from indextables.cli.lakekeeper import main as lakekeeper
from indextables.cli.main import commands

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.cli.group import Commands

_INTRODUCTION: Final = """\
# The commands `indextables` and `lakekeeper`

<!-- Generated from the commands in indextables.cli: python -m indextables.cli.reference > docs/reference/command-line.md -->

`indextables` looks at tables, keeps them in shape and mends them. It works on every path that a table can have: a local one,
`s3://`, `gs://`, `abfss://` and `hdfs://`. No command starts Spark unless it is told to with `--spark`. `python -m indextables`
is the same command.

## What all commands have in common

**Settings and credentials** are given as `--option key=value`, repeated as often as needed: the keys of
[Settings](settings.md), and Hadoop's properties for stores, such as `fs.s3a.endpoint`. A key that does not exist is an error.
What is written on a command line can be seen by every user of the machine, so give secrets through the environment
(`AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_KEY`).

**Earlier versions.** Where it makes sense, `--version N` looks at a version and `--timestamp TIME` at the newest version of a
moment: a date (`2024-01-31`, its beginning in UTC), a time with its zone (`2024-01-31T12:00:00Z`), or milliseconds since 1970.

**Output** for people is a table or a few lines. In a terminal it has colours and fits the width; elsewhere lines are as long as
they need to be. `NO_COLOR=1` turns colours off. Long work shows its progress on standard error, in a terminal only.

**`--json`** prints one JSON document and nothing else on standard output: an object, or an array with a row a line. Moments are
in ISO 8601 and UTC, decimals are texts, bytes are in Base64; NaN and infinities, which JSON does not have, are null. Lists are
complete unless `--limit` is given, while for people they end after 50 rows and say so.

**Errors** are one sentence on standard error that says what is wrong and what to do. `--debug` adds the traceback, and what the
library logs. A condition that cannot be read is shown with a caret at the place:

```text
$ indextables count events --where "level ="
indextables: The predicate is not SQL: something is missing near '=', at character 7. A predicate compares columns with …
  level =
        ^
```

| Exit code | Meaning |
| --- | --- |
| 0 | Done. For `verify` and `doctor`: nothing is wrong. |
| 1 | It cannot be done, or only in part: no table there, a value that is not allowed, a conflict, a store that refuses. |
| 2 | The command line is wrong. |
| 3 | `verify` or `doctor` found something wrong. |
| 4 | A fault of the program itself. |
| 130 | Interrupted with Ctrl-C. |
| 141 | Whoever read the output closed it. |

Shells complete commands, options, keys of settings and directories: see [Shell completion](../how-to/shell-completion.md).
"""
_LAKEKEEPER: Final = """\
## lakekeeper

`lakekeeper` compacts the tables of a Hive Metastore: see [Lakekeeper](../lakekeeper.md). `--metastore`, `--spark`, `--quiet` and
`--debug` stand before the name of the command, `--json` behind it.

| Exit code | Meaning |
| --- | --- |
| 0 | Done. For `doctor`: nothing was found. |
| 1 | It failed, and nothing is lost. For `doctor`: something was found. |
| 2 | The command line is wrong. |
| 3 | Of many tables, some failed. |
| 4 | A fault of the program itself. |
| 130 | Interrupted with Ctrl-C or SIGTERM, and everything is back as it was. |

"""


def reference() -> str:
    """Return the page."""
    group = click.Context(lakekeeper, info_name="lakekeeper", terminal_width=120)
    return "\n".join(
        [
            _INTRODUCTION,
            *_sections(click.Context(commands, info_name="indextables", terminal_width=120), commands, prefix=""),
            _LAKEKEEPER + "\n".join([*_table(group, lakekeeper), ""]),
            *_sections(group, lakekeeper, prefix="lakekeeper "),
        ]
    )


def _sections(root: click.Context, group: Commands, *, prefix: str) -> Iterator[str]:
    for name in group.list_commands(root):
        command = group.get_command(root, name)
        if command is not None:
            yield _section(click.Context(command, info_name=name, parent=root), command, title=f"{prefix}{name}")


def _section(ctx: click.Context, command: click.Command, *, title: str) -> str:
    usage = command.get_usage(ctx).removeprefix("Usage: ")
    words = "\n".join(line.strip() for line in (command.help or "").strip().splitlines())
    examples = [line.strip() for line in (command.epilog or "").splitlines()[2:]]
    lines = [
        f"## {title}",
        "",
        words,
        "",
        "```text",
        usage,
        "```",
        "",
        "```text",
        *examples,
        "```",
        "",
        *_table(ctx, command),
        "",
    ]
    return "\n".join(lines)


def _table(ctx: click.Context, command: click.Command) -> list[str]:
    rows = [_row(parameter, ctx) for parameter in command.params if isinstance(parameter, click.Option)]
    return ["| Option | Meaning |", "| --- | --- |", *rows]


def _row(option: click.Option, ctx: click.Context) -> str:
    record: Any = option.get_help_record(ctx)
    names, meaning = record or (", ".join(option.opts), "")
    return f"| `{names}` | {' '.join(meaning.split()).replace('|', '&#124;')} |"


if __name__ == "__main__":
    sys.stdout.write(reference())
