"""The reference page of all settings, generated from their declarations: `python -m indextables.config.docs`."""

from __future__ import annotations

import sys
from itertools import groupby

from indextables.config.settings import Entry, Settings, registry

_HEAD = """\
# Settings

<!-- Generated from the declarations in indextables.config: python -m indextables.config.docs > docs/reference/settings.md -->

Each setting is looked for in four places, and the first that has it decides:

1. an option of the read or write, such as `.option("spark.indextables.checkpoint.interval", "20")`;
2. the Spark session, `spark.conf.set("spark.indextables.checkpoint.interval", "20")`;
3. the Hadoop configuration;
4. its default.

Keys are compared without regard to case. A value that is not allowed is an error that names the key, the value and what is
allowed. A key that does not exist is ignored with one warning, which names the closest one that does.

Durations and sizes are plain numbers, in the unit that the table names, or numbers with a unit: `500ms`, `30s`, `10m`, `2h`,
`30d`; `64KB`, `128MB`, `5G`, where 1 KB is 1024 bytes. Secrets are masked wherever they could be shown.
"""


def render() -> str:
    """Return the page as Markdown."""
    parts = [_HEAD]
    for group, entries in groupby(registry().values(), key=lambda entry: entry.group):
        parts.append(_section(group, list(entries)))
    return "\n".join(parts)


def _section(group: str, entries: list[Entry]) -> str:
    title = group.capitalize() if group != "aws" else "S3"
    intro = (type(getattr(Settings(), group)).__doc__ or "").strip()
    rows = "\n".join(map(_row, entries))
    return (
        f"## {title}\n\n{intro}\n\n"
        f"| Key | Type | Default | Allowed | Meaning |\n| --- | --- | --- | --- | --- |\n{rows}\n"
    )


def _row(entry: Entry) -> str:
    setting = entry.setting
    written = setting.kind.write(entry.default)
    default = f"`{written}`" if written else "not set"
    return f"| `{setting.key}` | {setting.kind.name} | {default} | {setting.kind.allowed} | {setting.doc} |"


if __name__ == "__main__":
    sys.stdout.write(render())
