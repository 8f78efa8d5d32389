"""How the `lakekeeper` command shows results: tables and progress for people, JSON for programs."""

# ruff: noqa: PLC0415 - JSON does not wait for what draws tables

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import click

from indextables.cli.text import plain
from indextables.report.words import counted, size

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    from indextables.hive import (
        CleanupResult,
        CompactionResult,
        Finding,
        Recovery,
        RunReport,
        TableOutcome,
        TableReport,
    )
    from indextables.report.lake_figures import LakeFigures

T = TypeVar("T")

_TABLE_PROPERTIES = ("files", "bytes", "needs_compaction", "target_files", "objects_saved")


class Output:
    """Where results go.

    Args:
        as_json: Print JSON, and nothing else on standard output.
        quiet: Show no progress.
    """

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self._as_json = as_json
        self._quiet = quiet or as_json

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(soft_wrap=True, highlight=False, markup=False, emoji=False)

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None] | None]:
        """Show how far work has come, where somebody watches."""
        if self._quiet or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    def follow(self, items: Iterable[T], what: str) -> Iterator[T]:
        """Pass items on and show how many there were."""
        with self.progress(what) as advance:
            for count, item in enumerate(items, start=1):
                if advance:
                    advance(count, count)
                yield item

    def table_report(self, report: TableReport) -> None:
        """Show a table partition by partition."""
        if self._as_json:
            self._json(_report_as_dict(report))
            return
        shown = _table("partition", "files", "size", "average", "needs_compaction", "target_files", title=report.table)
        for one in report.partitions:
            _add_row(
                shown,
                one.name or "(whole table)",
                f"{one.files:,}",
                size(one.bytes),
                size(one.average),
                str(one.needs_compaction) if not one.refused else f"refused: {one.refused}",
                f"{one.target_files:,}",
            )
        if report.partitions:
            self._console.print(shown)
        self._say(
            f"{report.table}: {report.files:,} files, {size(report.bytes)}, threshold={size(report.threshold)}, "
            f"needs_compaction={report.needs_compaction}, target_files={report.target_files:,}, "
            f"NameNode objects saved: {report.objects_saved:,}"
        )
        for reason in report.refused:
            self._say(f"refused: {reason}")
        for warning in report.warnings:
            self._say(f"note: {warning}")

    def table_reports(self, reports: Sequence[TableReport]) -> None:
        """Show tables, those with the most to save first."""
        if self._as_json:
            self._json([_report_as_dict(report) for report in reports])
            return
        shown = _table("table", "files", "size", "target_files", "objects saved", "needs_compaction")
        for report in reports:
            verdict = f"refused: {'; '.join(report.refused)}" if report.refused else str(report.needs_compaction)
            _add_row(
                shown,
                report.table,
                f"{report.files:,}",
                size(report.bytes),
                f"{report.target_files:,}",
                f"{report.objects_saved:,}",
                verdict,
            )
        self._console.print(shown)

    def compaction(self, result: CompactionResult, *, dry_run: bool) -> None:
        """Show what a run did."""
        if self._as_json:
            self._json({**_as_dict(result), "dry_run": dry_run})
            return
        self._summary([result], dry_run=dry_run)
        for name, reason in result.skipped:
            self._say(f"left alone: {name or result.table}: {reason}")
        if result.run:
            self._say(f"Run {result.run}; the original files are kept by {result.backup}.")
            self._say(f"No directory was missing for longer than {result.longest_gap * 1000:.0f} ms.")
            self._say(f"Undo: lakekeeper rollback --table {result.table}")
            self._say(f"Keep: lakekeeper cleanup --table {result.table}")
        elif not result.partitions:
            self._say("Nothing needs compaction.")

    def outcomes(self, outcomes: Sequence[TableOutcome]) -> None:
        """Show what became of many tables."""
        if self._as_json:
            self._json(
                [
                    {
                        "table": one.table,
                        "result": _as_dict(one.result) if one.result else None,
                        "error": str(one.error) if one.error else None,
                    }
                    for one in outcomes
                ]
            )
            return
        self._summary([one.result for one in outcomes if one.result], dry_run=False)
        for one in outcomes:
            if one.error:
                self._say(f"failed: {one.error}")

    def recoveries(self, recoveries: Sequence[Recovery]) -> None:
        """Show what was done about runs."""
        if self._as_json:
            self._json([_as_dict(one) for one in recoveries])
            return
        for one in recoveries:
            self._say(
                f"{one.table}: run {one.run} was {one.found} and is {one.state} ({one.directories:,} directories)"
            )
            for name in one.carried:
                self._say(f"  carried over: {name}")
        if not recoveries:
            self._say("Nothing to recover.")

    def cleanup(self, result: CleanupResult) -> None:
        """Show what was deleted."""
        if self._as_json:
            self._json(_as_dict(result))
            return
        verb = "would be freed" if result.dry_run else "freed"
        self._say(
            f"{result.table}: {len(result.runs)} runs, {len(result.directories):,} directories, {result.files:,} files, "
            f"{size(result.bytes)} {verb}"
        )
        for place in result.directories if result.dry_run else ():
            self._say(f"  {place}")

    def runs(self, runs: Sequence[RunReport]) -> None:
        """Show runs."""
        if self._as_json:
            self._json([_as_dict(run) for run in runs])
            return
        shown = _table("table", "run", "state", "directories", "rows", "backup")
        for run in runs:
            rows = f"{run.rows:,}" if run.rows >= 0 else ""
            _add_row(shown, run.table, run.run, run.state, f"{run.directories:,}", rows, run.backup)
        self._console.print(shown)

    def findings(self, findings: Sequence[Finding]) -> None:
        """Show what would hurt."""
        if self._as_json:
            self._json([_as_dict(finding) for finding in findings])
            return
        for one in findings:
            self._say(f"{one.table}: {one.text}. {one.advice}.")
        if not findings:
            self._say("Nothing was found.")

    def report(self, figures: LakeFigures, output: Path | None) -> None:
        """Show the figures of a report, or where its page is."""
        if self._as_json:
            # Moments are what json does not know, and every one of them is in UTC.
            click.echo(json.dumps(_as_dict(figures), indent=2, ensure_ascii=False, default=_moment))
        elif output is not None:
            self._say(
                f"{output}: {size(output.stat().st_size)}, {counted(len(figures.tables), 'table')}, "
                f"{counted(len(figures.advice), 'thing')} to do."
            )

    def _say(self, text: str) -> None:
        """Print a line, of which a terminal obeys nothing."""
        self._console.print(plain(text))

    def _summary(self, results: Sequence[CompactionResult], *, dry_run: bool) -> None:
        shown = _table("table", "directories", "files", "size", "rows", "seconds", title="dry run" if dry_run else None)
        for one in results:
            after = size(one.bytes_after) if one.run else "?"
            _add_row(
                shown,
                one.table,
                f"{len(one.partitions):,}",
                f"{one.files_before:,} → {one.files_after:,}",
                f"{size(one.bytes_before)} → {after}",
                f"{one.rows:,}" if one.run else "",
                f"{one.seconds:.1f}" if one.run else "",
            )
        self._console.print(shown)

    def _json(self, value: Any) -> None:
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def _moment(value: dt.datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")


def _add_row(shown: Table, *cells: str) -> None:
    shown.add_row(*(plain(cell) for cell in cells))


def _table(*columns: str, title: str | None = None) -> Table:
    from rich.table import Table

    return Table(*columns, title=title)


def _as_dict(value: Any) -> dict[str, Any]:
    return asdict(value)


def _report_as_dict(report: TableReport) -> dict[str, Any]:
    held = _as_dict(report) | {key: getattr(report, key) for key in _TABLE_PROPERTIES}
    for one, shown in zip(report.partitions, held["partitions"], strict=True):
        shown |= {"average": one.average, "objects_saved": one.objects_saved}
    return held
