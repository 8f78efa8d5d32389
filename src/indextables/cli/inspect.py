"""Commands that look at a table without reading its data: what it is, its columns, its history, its skipped files."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import click

from indextables.cli.options import examples, table_options, time_travel
from indextables.cli.output import (
    note,
    rows_of,
    say,
    show_facts,
    show_json,
    show_json_rows,
    show_table,
    wants_json,
)
from indextables.log.open import open_log
from indextables.log.skips import readable
from indextables.report.words import number, size

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.log.snapshot import Snapshot

_SHOWN = 50


def _snapshot(path: str, options: dict[str, str], version: int | None, timestamp: str | None) -> Snapshot:
    return open_log(path, options).snapshot(version, timestamp)


@click.command(
    epilog=examples("indextables describe events", "indextables describe s3://lake/events --version 12 --json")
)
@time_travel
@table_options
def describe(path: str, options: dict[str, str], version: int | None, timestamp: str | None) -> None:
    """Show what a table is: version, files, rows, size, partitions, protocol, properties."""
    snapshot = _snapshot(path, options, version, timestamp)
    metadata, protocol = snapshot.metadata, snapshot.protocol
    committed = dt.datetime.fromtimestamp(snapshot.timestamp / 1000, dt.UTC)
    description: dict[str, Any] = {
        "path": snapshot.url,
        "id": metadata.id,
        "name": metadata.name or None,
        "description": metadata.description or None,
        "version": snapshot.version,
        "committed": committed,
        "files": snapshot.num_files,
        "rows": snapshot.num_records,
        "bytes": snapshot.size_in_bytes,
        "columns": len(snapshot.schema),
        "partition_columns": snapshot.partition_columns,
        "skipped_files": snapshot.skips.num_rows,
        "removed_files": snapshot.removes.num_rows,
        "min_reader_version": protocol.min_reader_version,
        "min_writer_version": protocol.min_writer_version,
        "properties": snapshot.configuration,
    }
    if wants_json():
        show_json(description)
        return
    average = f", {size(snapshot.size_in_bytes // snapshot.num_files)} a file" if snapshot.num_files else ""
    facts: list[tuple[str, object]] = [
        ("table", snapshot.url),
        ("id", metadata.id),
        ("name", description["name"]),
        ("description", description["description"]),
        ("version", f"{snapshot.version}, committed {committed.isoformat(' ', 'seconds').replace('+00:00', 'Z')}"),
        ("files", f"{number(snapshot.num_files)}, {size(snapshot.size_in_bytes)}{average}"),
        ("rows", number(snapshot.num_records)),
        ("columns", len(snapshot.schema)),
        ("partitioned by", snapshot.partition_columns),
        ("skipped files", number(snapshot.skips.num_rows)),
        ("removed files", f"{number(snapshot.removes.num_rows)} that a purge has not deleted yet"),
        ("protocol", f"reader {protocol.min_reader_version}, writer {protocol.min_writer_version}"),
        *((f"property {key}", value) for key, value in snapshot.configuration.items()),
    ]
    unsaid = {"skipped files": "0", "removed files": "0 that a purge has not deleted yet"}
    show_facts([(name, value) for name, value in facts if value not in (None, []) and unsaid.get(name) != value])


@click.command(epilog=examples("indextables schema events", "indextables schema events --version 3"))
@time_travel
@table_options
def schema(path: str, options: dict[str, str], version: int | None, timestamp: str | None) -> None:
    """Show the columns of a table: name, Spark's type, whether it may be null, whether it is a partition column."""
    snapshot = _snapshot(path, options, version, timestamp)
    columns, partitions = snapshot.schema, snapshot.partition_columns
    fields = json.loads(snapshot.metadata.schema_string)["fields"]
    if wants_json():
        show_json_rows({**field, "partition": field["name"] in partitions} for field in fields)
        return
    types = [field["type"] for field in fields]
    show_table(
        ["column", "type", "nullable", "partition"],
        [
            (field.name, name if isinstance(name, str) else str(field.type), field.nullable, field.name in partitions)
            for field, name in zip(columns, types, strict=True)
        ],
    )


@click.command(epilog=examples("indextables history events", "indextables history events --limit 1 --json"))
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="No more versions than this.")
@table_options
def history(path: str, options: dict[str, str], limit: int | None) -> None:
    """Show what was committed, newest first.

    Without --limit the newest 50 versions are shown, and with --json all of them.
    """
    log = open_log(path, options)
    if wants_json():
        show_json_rows(rows_of(log.history(limit=limit)))
        return
    commits = log.history(limit=limit or _SHOWN)
    show_table(
        ["version", "committed", "operation", "added", "removed", "rows", "size", "note"],
        [
            (
                row["version"],
                row["timestamp"].replace(microsecond=0),
                row["operation"],
                number(row["files_added"]),
                number(row["files_removed"]),
                number(row["rows_added"]),
                size(row["bytes_added"]),
                row["user_metadata"],
            )
            for row in rows_of(commits)
        ],
        right=("version", "added", "removed", "rows", "size"),
    )
    if limit is None and commits.num_rows == _SHOWN and commits["version"][-1].as_py() > 0:
        note(f"The newest {_SHOWN} versions; --limit shows more.")


@click.command(epilog=examples("indextables skips events", "indextables skips events --json"))
@time_travel
@table_options
def skips(path: str, options: dict[str, str], version: int | None, timestamp: str | None) -> None:
    """Show the files that an operation could not use, why, and when they are tried again.

    They stay in the table and are read as ever; merges leave them alone until their time has come.
    """
    found = readable(_snapshot(path, options, version, timestamp).skips)
    rows = [_with_moments(row) for row in rows_of(_chosen(found))]
    if wants_json():
        show_json_rows(rows)
    elif rows:
        show_table(list(rows[0]), [tuple(row.values()) for row in rows], right=("skip_count",))
    else:
        say("No file is skipped.")


def _chosen(skipped: pa.Table) -> pa.Table:
    wanted = ("path", "operation", "reason", "skip_count", "skip_timestamp", "retry_after")
    return skipped.select([name for name in wanted if name in skipped.column_names])


def _with_moments(row: dict[str, Any]) -> dict[str, Any]:
    times = {
        name: dt.datetime.fromtimestamp(value // 1000, dt.UTC)
        for name, value in row.items()
        if name in ("skip_timestamp", "retry_after") and value is not None
    }
    return {**row, **times}
