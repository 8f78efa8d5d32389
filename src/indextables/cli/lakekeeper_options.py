"""What commands of `lakekeeper` have in common."""

from __future__ import annotations

from typing import Final

import click

from indextables.config.quantities import Milliseconds
from indextables.errors import ConfigError
from indextables.hive.configuration import parse_size


def _size(_: click.Context, parameter: click.Parameter, value: str) -> int:
    try:
        return parse_size(parameter.opts[-1], value)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error


def age(_: click.Context, __: click.Parameter, value: str) -> int:
    """Return the milliseconds of an age that people write as `7d`."""
    kind = Milliseconds()
    try:
        return kind.read(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not an age: {kind.allowed}") from error


table_option: Final = click.option("--table", required=True, help="The table, as database.table.")
one_table_option: Final = click.option("--table", help="The table, as database.table.")
database_option: Final = click.option("--database", help="Every table of this database.")
partition_option: Final = click.option(
    "--partition", "partitions", multiple=True, help="A partition, whole or in part: date=2026-02-23/ref=A. Repeatable."
)
where_option: Final = click.option("--where", help="A condition on the partition keys: \"date >= '2026-02-01'\".")
dry_run_option: Final = click.option("--dry-run", is_flag=True, help="Only say what would be done.")
json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
threshold_option: Final = click.option(
    "--threshold", callback=_size, default="128MB", show_default=True, help="Average size below which it is worth it."
)
target_size_option: Final = click.option(
    "--target-size", callback=_size, default="128MB", show_default=True, help="Size of the new files."
)
