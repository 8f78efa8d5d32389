"""Results on standard output: tables and facts for people, one JSON document for programs.

In a terminal tables have colours and fit its width. Elsewhere lines are as long as they need to be, so that `grep` finds whole
paths, and nothing is coloured.
"""

# ruff: noqa: PLC0415 - JSON does not wait for what draws tables, and no table for what shows progress

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from indextables.cli.endings import FAILED, State
from indextables.cli.text import cell, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

_UNLIMITED: Final = 1_000_000
_BATCH: Final = 10_000


def wants_json() -> bool:
    """Tell whether the command that runs is to print JSON."""
    return click.get_current_context().ensure_object(State).as_json


def say(text: str) -> None:
    """Print a line."""
    click.echo(plain(text))


def note(text: str) -> None:
    """Print a remark beside the result, where it disturbs nobody who reads that."""
    click.echo(plain(text), err=True)


def end_with(failures: Sequence[str], *, words: str) -> None:
    """End a command: well, or where a part of its work failed with a line for each failure and the exit code for that."""
    for failure in failures:
        note(f"{words}: {failure}")
    if failures:
        click.get_current_context().exit(FAILED)


def show_json(value: Any) -> None:
    """Print one value as JSON."""
    import msgspec

    document = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))


def show_json_rows(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print rows as one JSON array, a row a line, as they come."""
    import msgspec

    line = b"["
    for row in rows:
        click.echo(line)
        line = msgspec.json.encode(row) + b","
    click.echo(line.rstrip(b","))
    click.echo(b"]")


def rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of an Arrow table as Python values, a batch at a time."""
    for start in range(0, table.num_rows, _BATCH):
        batch = table.slice(start, _BATCH)
        columns = [_values(column) for column in batch.columns]
        for values in zip(*columns, strict=True):
            yield dict(zip(table.column_names, values, strict=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (ValueError, OverflowError):  # dates beyond Python's years
        import pyarrow as pa

        return column.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]


def show_facts(facts: Sequence[tuple[str, object]]) -> None:
    """Print names and values, one pair a line."""
    if not sys.stdout.isatty() and not os.environ.get("FORCE_COLOR"):
        width = max((len(plain(name)) for name, _ in facts), default=0)
        for name, value in facts:
            click.echo(f"{plain(name).ljust(width)}  {cell(value)}")
        return
    console = _console()
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(name, cell(value))
    console.print(grid)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()) -> None:
    """Print rows under their names; `right` names the columns of numbers."""
    console = _console()
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    shown = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False)
    for name in columns:
        shown.add_column(plain(name), justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(cell(value) for value in row))
    console.print(shown)


def _console() -> Any:
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    return (
        console
        if console.is_terminal
        else Console(markup=False, highlight=False, emoji=False, color_system=None, width=_UNLIMITED)
    )


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show how far work has come, where somebody watches: a callback for done and total, or None where nobody does."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
