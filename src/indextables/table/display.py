"""A table at a glance, for a prompt and for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from indextables.errors import IndexTablesError

if TYPE_CHECKING:
    from indextables.table.view import TableView

_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")
_MOST_COLUMNS = 20


def as_text(table: TableView) -> str:
    """Return one line: where the table is, which version, how many files, rows and bytes."""
    try:
        return f"Table({table.path!r}, {', '.join(f'{name}={value}' for name, value in _facts(table))})"
    except IndexTablesError as error:
        return f"Table({table.path!r}, {type(error).__name__})"


def as_html(table: TableView) -> str:
    """Return the same as a small table, with the columns."""
    try:
        facts, schema, partitions = _facts(table), table.schema, table.partition_columns
    except IndexTablesError as error:
        return f"<pre>{escape(str(error))}</pre>"
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in facts)
    columns = "".join(
        f"<tr><td>{escape(field.name)}</td><td>{escape(str(field.type))}"
        f"{' (partition)' if field.name in partitions else ''}</td></tr>"
        for field in list(schema)[:_MOST_COLUMNS]
    )
    more = f"<tr><td colspan=2>and {len(schema) - _MOST_COLUMNS} more</td></tr>" if len(schema) > _MOST_COLUMNS else ""
    return (
        f"<table><caption>{escape(table.path)}</caption>{rows}</table>"
        f"<table><tr><th>column</th><th>type</th></tr>{columns}{more}</table>"
    )


def _facts(table: TableView) -> list[tuple[str, object]]:
    snapshot = table.snapshot()
    rows = snapshot.num_records
    facts: list[tuple[str, object]] = [
        ("version", snapshot.version),
        ("files", f"{snapshot.num_files:,}"),
        ("rows", "unknown" if rows is None else f"{rows:,}"),
        ("size", _size(snapshot.size_in_bytes)),
    ]
    if snapshot.partition_columns:
        facts.append(("partitioned by", ", ".join(snapshot.partition_columns)))
    return facts


def _size(count: int) -> str:
    size = float(count)
    for unit in _UNITS:
        if size < 1024 or unit == _UNITS[-1]:
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return ""
