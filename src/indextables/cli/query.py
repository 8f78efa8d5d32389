"""Commands that take a condition: which files it leaves, which rows, how many, and why."""

from __future__ import annotations

import click

from indextables.cli.options import examples, table_options, time_travel, where_option
from indextables.cli.output import note, rows_of, say, show_json, show_json_rows, show_table, wants_json
from indextables.report.words import number, size
from indextables.table import Table

_SHOWN = 50


def _table(path: str, options: dict[str, str], version: int | None, timestamp: str | None) -> Table:
    return Table(path, version=version, timestamp=timestamp, options=options)


@click.command(
    epilog=examples("indextables files events", "indextables files events --where \"day = '2024-01-31'\" --json")
)
@where_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="No more files than this.")
@time_travel
@table_options
def files(
    path: str,
    options: dict[str, str],
    where: str | None,
    limit: int | None,
    version: int | None,
    timestamp: str | None,
) -> None:
    """Show the data files of a table, or those that may hold rows for which a condition is true.

    Without --limit 50 files are shown, and with --json all of them, each with its bounds.
    """
    found = _table(path, options, version, timestamp).files(where=where)
    if wants_json():
        show_json_rows(rows_of(found.slice(0, limit) if limit else found))
        return
    partitioned = bool(found.schema.field("partition_values").type.num_fields)
    names = ["path", "size", "rows", "modified", *(["partition"] if partitioned else [])]
    chosen = found.slice(0, limit or _SHOWN).select(
        ["path", "size", "num_records", "modification_time", *(["partition_values"] if partitioned else [])]
    )
    show_table(
        names,
        [
            (
                row["path"],
                size(row["size"]),
                number(row["num_records"]),
                row["modification_time"].replace(microsecond=0),
                *([row["partition_values"]] if partitioned else []),
            )
            for row in rows_of(chosen)
        ],
        right=("size", "rows"),
    )
    if chosen.num_rows < found.num_rows:
        note(f"{chosen.num_rows:,} of {found.num_rows:,} files; --limit shows more.")


@click.command(
    epilog=examples(
        "indextables head events",
        "indextables head events --columns id,level --where \"level = 'ERROR'\" -n 5",
        "indextables head events --timestamp 2024-01-31T12:00:00Z --json",
    )
)
@click.option("--columns", multiple=True, metavar="A,B", help="Only these columns, in this order; repeatable.")
@where_option
@click.option("-n", "--rows", "limit", type=click.IntRange(min=1), default=10, show_default=True, help="How many rows.")
@time_travel
@table_options
def head(
    path: str,
    options: dict[str, str],
    columns: tuple[str, ...],
    where: str | None,
    limit: int,
    version: int | None,
    timestamp: str | None,
) -> None:
    """Show the first rows of a table, or the first for which a condition is true."""
    wanted = [name.strip() for part in columns for name in part.split(",")] or None
    found = _table(path, options, version, timestamp).to_arrow(columns=wanted, where=where, limit=limit)
    if wants_json():
        show_json_rows(rows_of(found))
        return
    show_table(found.column_names, [tuple(row.values()) for row in rows_of(found)])


@click.command(epilog=examples("indextables count events", "indextables count events --where \"level = 'ERROR'\""))
@where_option
@time_travel
@table_options
def count(path: str, options: dict[str, str], where: str | None, version: int | None, timestamp: str | None) -> None:
    """Show how many rows a table has, or how many rows a condition is true for.

    Files whose statistics settle it are not read.
    """
    rows = _table(path, options, version, timestamp).count(where=where)
    if wants_json():
        show_json({"rows": rows})
    else:
        say(str(rows))


@click.command(epilog=examples("indextables explain events --where \"day = '2024-01-31' AND level = 'ERROR'\""))
@click.option("--where", required=True, metavar="SQL", help="The condition, for example \"level = 'ERROR'\".")
@time_travel
@table_options
def explain(path: str, options: dict[str, str], where: str, version: int | None, timestamp: str | None) -> None:
    """Show how many files a condition leaves to be read, what rules the others out, and why the rest stay."""
    explanation = _table(path, options, version, timestamp).explain(where)
    if wants_json():
        show_json(explanation)
        return
    for line in str(explanation).splitlines():
        say(line)
