"""How the `lakekeeper` command shows results: tables and progress for people, JSON for programs."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from indextables.hive import (
        CleanupResult,
        CompactionResult,
        Finding,
        Recovery,
        RunReport,
        TableOutcome,
        TableReport,
    )

T = TypeVar("T")

_UNITS = ("B", "KB", "MB", "GB", "TB")
_STEP = 1024
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
        self._console = Console(soft_wrap=True, highlight=False)
        self._progress_console = Console(stderr=True)

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None] | None]:
        """Show how far work has come, where somebody watches."""
        if self._quiet or not self._progress_console.is_terminal:
            yield None
            return
        with Progress(console=self._progress_console, transient=True) as bar:
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
        shown = Table("partition", "files", "size", "average", "needs_compaction", "target_files", title=report.table)
        for one in report.partitions:
            shown.add_row(
                one.name or "(whole table)",
                f"{one.files:,}",
                size(one.bytes),
                size(one.average),
                str(one.needs_compaction) if not one.refused else f"refused: {one.refused}",
                f"{one.target_files:,}",
            )
        if report.partitions:
            self._console.print(shown)
        self._console.print(
            f"{report.table}: {report.files:,} files, {size(report.bytes)}, threshold={size(report.threshold)}, "
            f"needs_compaction={report.needs_compaction}, target_files={report.target_files:,}, "
            f"NameNode objects saved: {report.objects_saved:,}"
        )
        for reason in report.refused:
            self._console.print(f"refused: {reason}")
        for warning in report.warnings:
            self._console.print(f"note: {warning}")

    def table_reports(self, reports: Sequence[TableReport]) -> None:
        """Show tables, those with the most to save first."""
        if self._as_json:
            self._json([_report_as_dict(report) for report in reports])
            return
        shown = Table("table", "files", "size", "target_files", "objects saved", "needs_compaction")
        for report in reports:
            verdict = f"refused: {'; '.join(report.refused)}" if report.refused else str(report.needs_compaction)
            shown.add_row(
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
            self._console.print(f"left alone: {name or result.table}: {reason}")
        if result.run:
            self._console.print(f"Run {result.run}; the original files are kept by {result.backup}.")
            self._console.print(f"No directory was missing for longer than {result.longest_gap * 1000:.0f} ms.")
            self._console.print(f"Undo: lakekeeper rollback --table {result.table}")
            self._console.print(f"Keep: lakekeeper cleanup --table {result.table}")
        elif not result.partitions:
            self._console.print("Nothing needs compaction.")

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
                self._console.print(f"failed: {one.error}")

    def recoveries(self, recoveries: Sequence[Recovery]) -> None:
        """Show what was done about runs."""
        if self._as_json:
            self._json([_as_dict(one) for one in recoveries])
            return
        for one in recoveries:
            self._console.print(
                f"{one.table}: run {one.run} was {one.found} and is {one.state} ({one.directories:,} directories)"
            )
            for name in one.carried:
                self._console.print(f"  carried over: {name}")
        if not recoveries:
            self._console.print("Nothing to recover.")

    def cleanup(self, result: CleanupResult) -> None:
        """Show what was deleted."""
        if self._as_json:
            self._json(_as_dict(result))
            return
        verb = "would be freed" if result.dry_run else "freed"
        self._console.print(
            f"{result.table}: {len(result.runs)} runs, {len(result.directories):,} directories, {result.files:,} files, "
            f"{size(result.bytes)} {verb}"
        )
        for place in result.directories if result.dry_run else ():
            self._console.print(f"  {place}")

    def runs(self, runs: Sequence[RunReport]) -> None:
        """Show runs."""
        if self._as_json:
            self._json([_as_dict(run) for run in runs])
            return
        shown = Table("table", "run", "state", "directories", "rows", "backup")
        for run in runs:
            rows = f"{run.rows:,}" if run.rows >= 0 else ""
            shown.add_row(run.table, run.run, run.state, f"{run.directories:,}", rows, run.backup)
        self._console.print(shown)

    def findings(self, findings: Sequence[Finding]) -> None:
        """Show what would hurt."""
        if self._as_json:
            self._json([_as_dict(finding) for finding in findings])
            return
        for one in findings:
            self._console.print(f"{one.table}: {one.text}. {one.advice}.")
        if not findings:
            self._console.print("Nothing was found.")

    def _summary(self, results: Sequence[CompactionResult], *, dry_run: bool) -> None:
        shown = Table("table", "directories", "files", "size", "rows", "seconds", title="dry run" if dry_run else None)
        for one in results:
            after = size(one.bytes_after) if one.run else "?"
            shown.add_row(
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


def size(count: int) -> str:
    """Return a number of bytes for people."""
    amount = float(count)
    for unit in _UNITS:
        if amount < _STEP or unit == _UNITS[-1]:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _STEP
    raise AssertionError


def _as_dict(value: Any) -> dict[str, Any]:
    return asdict(value)


def _report_as_dict(report: TableReport) -> dict[str, Any]:
    held = _as_dict(report) | {key: getattr(report, key) for key in _TABLE_PROPERTIES}
    for one, shown in zip(report.partitions, held["partitions"], strict=True):
        shown |= {"average": one.average, "objects_saved": one.objects_saved}
    return held
