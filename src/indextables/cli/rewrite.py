"""Commands that work on data files: merge small ones, purge what nobody needs, adopt those of another table.

They work in this process, which is the quickest for tables of a few gigabytes. With `--spark` they use Spark instead: its
cluster for the work, its configuration for stores and settings, its catalog for names.
"""

# ruff: noqa: PLC0415 - help must not wait for Spark

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from indextables.cli.options import examples, output_options, settings_option, table_argument, where_option
from indextables.cli.output import end_with, note, progress, rows_of, say, show_json, show_table, wants_json
from indextables.report.words import counted, number, size

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 50
_spark = click.option(
    "--spark", "use_spark", is_flag=True, help="Use Spark; --option then takes its settings too, such as spark.master=…"
)


def _document(result: Any) -> dict[str, Any]:
    """Return a result whose tables are lists of rows."""
    import pyarrow as pa

    values = {field.name: getattr(result, field.name) for field in fields(result)}
    return {name: list(rows_of(value)) if isinstance(value, pa.Table) else value for name, value in values.items()}


@click.command(
    epilog=examples(
        "indextables merge events --dry-run",
        "indextables merge events --target-size 512MB --where \"day = '2024-01-31'\"",
        "indextables merge s3://lake/events --spark --option spark.master=yarn",
    )
)
@table_argument
@where_option
@click.option("--target-size", default="5G", show_default=True, metavar="SIZE", help="How large files become, at most.")
@click.option("--max-groups", type=click.IntRange(min=1), metavar="N", help="Write no more new files than this.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be merged.")
@_spark
@settings_option(spark=True)
@output_options
def merge(
    path: str,
    where: str | None,
    target_size: str,
    max_groups: int | None,
    dry_run: bool,
    use_spark: bool,
    options: dict[str, str],
) -> None:
    """Make few large files of many small ones, partition by partition. Rows stay as they are, and appends go on meanwhile.

    The small files stay on disk for readers of older versions, until a purge.
    """
    from indextables.cli.session import own_options, spark_session
    from indextables.spark.merge import merge_splits

    with spark_session(options, wanted=use_spark) as spark, progress("Merging"):
        result = merge_splits(
            spark,
            path,
            where=where,
            target_size=target_size,
            max_groups=max_groups,
            dry_run=dry_run,
            options=own_options(options),
        )
    if wants_json():
        show_json({**_document(result), "files_merged": result.files_merged, "files_added": result.files_added})
        end_with(result.failures, words="Failed")
        return
    if result.groups.num_rows:
        show_table(
            ["partition", "files", "rows", "before", "after"],
            [
                (
                    row["partition"],
                    number(row["files"]),
                    "" if row["rows"] is None else number(row["rows"]),
                    size(row["bytes_before"]),
                    "" if row["bytes_after"] is None else size(row["bytes_after"]),
                )
                for row in rows_of(result.groups.slice(0, _SHOWN))
            ],
            right=("files", "rows", "before", "after"),
        )
        _note_more(result.groups)
    say(
        f"{'Would merge' if dry_run else 'Merged'} {counted(result.files_merged, 'file')} into {result.files_added:,}; "
        f"{counted(result.left.num_rows, 'file')} left alone; version {result.version}."
    )
    for reason in result.left["reason"].value_counts().to_pylist():
        say(f"  {reason['counts']:,} left alone: {reason['values']}")
    end_with(result.failures, words="Failed")


@click.command(epilog=examples("indextables purge events", "indextables purge events --older-than 30d --no-dry-run"))
@table_argument
@click.option("--older-than", default="7d", show_default=True, metavar="AGE", help="Leave alone what is younger.")
@click.option("--dry-run/--no-dry-run", default=True, show_default=True, help="Only tell what would go, or delete it.")
@_spark
@settings_option(spark=True)
@output_options
def purge(path: str, older_than: str, dry_run: bool, use_spark: bool, options: dict[str, str]) -> None:
    """Delete data files that no version of the table needs, and what writers left that never committed.

    Removed files are needed as long as the log has a version that shows them: see cleanup.
    """
    from indextables.cli.session import own_options, spark_session
    from indextables.spark.purge import purge as purge_table

    with spark_session(options, wanted=use_spark) as spark, progress("Purging") as advance:
        result = purge_table(
            spark, path, older_than=older_than, dry_run=dry_run, options=own_options(options), progress=advance
        )
    if wants_json():
        show_json(_document(result))
        end_with(result.failures, words="Not deleted")
        return
    if result.files.num_rows:
        show_table(
            ["path", "size", "modified", "reason"],
            [
                (row["path"], size(row["size"]), row["modified"], row["reason"])
                for row in rows_of(result.files.slice(0, _SHOWN))
            ],
            right=("size",),
        )
        _note_more(result.files)
    say(
        f"{'Would delete' if dry_run else 'Deleted'} {counted(result.files.num_rows, 'file')}, {size(result.bytes)}; "
        f"older versions need {counted(result.held_files, 'file')}, {size(result.held_bytes)}."
    )
    if dry_run and result.files.num_rows:
        note("Nothing was deleted; --no-dry-run does it.")
    end_with(result.failures, words="Not deleted")


@click.command(
    epilog=examples(
        "indextables convert /lake/events",
        "indextables convert sales.events --spark --option spark.sql.catalogImplementation=hive",
    )
)
@click.argument("source")
@click.option("--partition-by", multiple=True, metavar="A,B", help="The columns that directories must be named after.")
@_spark
@settings_option(spark=True)
@output_options
def convert(source: str, partition_by: tuple[str, ...], use_spark: bool, options: dict[str, str]) -> None:
    """Make a directory of Parquet files a table, or with --spark a table of the catalog, without copying data.

    From then on the table changes through its log alone: files that others put into the directory are no part of it.
    """
    from indextables.cli.session import own_options, spark_session
    from indextables.spark.convert import convert as convert_source

    columns = [name.strip() for part in partition_by for name in part.split(",")] or None
    with spark_session(options, wanted=use_spark) as spark, progress("Reading footers"):
        result = convert_source(spark, source, partition_by=columns, options=own_options(options))
    if wants_json():
        show_json(result)
        return
    partitions = f", partitioned by {', '.join(result.partition_columns)}" if result.partition_columns else ""
    say(
        f"{result.path} is a table: version {result.version}, {counted(result.files, 'file')}, "
        f"{counted(result.rows, 'row')}, {size(result.bytes)}{partitions}."
    )


def _note_more(rows: pa.Table) -> None:
    if rows.num_rows > _SHOWN:
        note(f"The first {_SHOWN} of {rows.num_rows:,}; --json shows all.")
