"""What a repair found, and what it did or would do about it: values for programs, and lines for people.

A repair that does not say exactly what is lost invites nobody's trust. So every damage is one finding with its place, and the
result names the versions, lines and files concerned instead of counting them away.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Problem(enum.StrEnum):
    """What can be wrong with a log."""

    COMMIT_DAMAGED = "damaged commit"
    COMMIT_MISSING = "missing commit"
    CHECKPOINT_DAMAGED = "damaged checkpoint"
    CHECKPOINT_MISSING = "missing checkpoint"
    CHECKPOINT_FOREIGN = "checkpoint of other software"
    CHECKPOINT_AHEAD = "checkpoint of a missing commit"
    POINTER = "bad pointer"
    METADATA_LOST = "metadata lost"
    FILE_MISSING = "missing data file"
    FILE_CHANGED = "data file of another size"
    FILE_DOUBTFUL = "data file that may have been removed"
    FILE_UNREFERENCED = "data file that the log does not name"
    UNFINISHED = "unfinished repair"


class Way(enum.StrEnum):
    """How a log is repaired, from the least change to the greatest."""

    NOTHING = "nothing to repair"
    DROP = "take missing data files out of the table"
    CHECKPOINTS = "write checkpoints and pointer anew"
    TRIM = "let the log begin after the damage"
    FINISH = "finish an earlier repair"
    REWRITE = "write what survives as a new version"
    COPY = "write what survives as a new log"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        problem: What.
        path: Where, relative to the table.
        version: The version concerned, if it is one.
        lines: The lines that are lost, counted from 1.
        detail: Why, and what follows from it.
    """

    problem: Problem
    path: str
    version: int | None = None
    lines: tuple[int, ...] = ()
    detail: str = ""

    def __str__(self) -> str:
        lines = f", lines {_ranges(self.lines)}" if self.lines else ""
        return f"{self.problem}: {self.path}{lines}{f': {self.detail}' if self.detail else ''}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RepairResult:
    """What a repair found, and what it did, or would do.

    Attributes:
        source: The table whose log was examined.
        target: The table that the repaired log was written for; None for a repair in place.
        dry_run: Whether it only looked.
        way: How the log is repaired.
        changed: Whether anything was written.
        exact: Whether the newest version is known to be complete, so that only history is lost, if anything.
        findings: Everything that is wrong, data files included.
        steps: What was done, or would be, in order.
        version: The newest version after the repair.
        oldest_version: The oldest version that can be loaded after it; earlier ones are history that is lost.
        files: How many files the table has then.
        records: How many rows these say that they hold; None where one does not say.
        lost_versions: The versions of which something, or everything, is lost.
        lost_lines: How many lines are known to be lost in damaged commits; missing commits are not counted.
        missing_files: Active files that are not in the store.
        dropped_files: Those of them that the repair takes out of the table, because it was asked to.
        doubtful_files: Files that are kept although a lost commit may have removed them.
        unreferenced_files: Data files in the store that no surviving action names: what lost commits added is among them.
        backup: Where the old log is kept, for a repair in place that changed something.
    """

    source: str
    target: str | None
    dry_run: bool
    way: Way
    changed: bool = False
    exact: bool = True
    findings: tuple[Finding, ...] = ()
    steps: tuple[str, ...] = ()
    version: int = -1
    oldest_version: int = 0
    files: int = 0
    records: int | None = None
    lost_versions: tuple[int, ...] = ()
    lost_lines: int = 0
    missing_files: tuple[str, ...] = ()
    dropped_files: tuple[str, ...] = ()
    doubtful_files: tuple[str, ...] = ()
    unreferenced_files: tuple[str, ...] = ()
    backup: str | None = None

    @property
    def healthy(self) -> bool:
        """Whether there was nothing to repair; data files that are gone or unknown to the log are no damage of the log."""
        return self.way is Way.NOTHING

    @property
    def rows(self) -> list[dict[str, object]]:
        """The findings as rows, for a table on a screen."""
        return [
            {
                "problem": str(finding.problem),
                "version": finding.version,
                "path": finding.path,
                "lines": _ranges(finding.lines),
                "detail": finding.detail,
            }
            for finding in self.findings
        ]

    def __str__(self) -> str:
        head = f"{'Would repair' if self.dry_run else 'Repaired'} {self.source}: {self.way}"
        lines = [f"Nothing to repair in {self.source}" if self.healthy else head]
        lines += [f"  found    {finding}" for finding in self.findings]
        lines += [
            f"  {'would' if self.dry_run else 'did'}{'' if self.dry_run else '  '}    {step}" for step in self.steps
        ]
        records = "an unknown number of rows" if self.records is None else f"{self.records} rows"
        lines.append(f"  result   version {self.version} with {self.files} files, {records}")
        if self.lost_versions:
            lines.append(
                f"  lost     something of versions {_ranges(self.lost_versions)}, {self.lost_lines} known lines"
            )
        if not self.healthy and self.oldest_version:
            lines.append(f"  history  begins at version {self.oldest_version}")
        if self.backup:
            lines.append(f"  backup   {self.backup}")
        return "\n".join(lines)


def _ranges(numbers: tuple[int, ...]) -> str:
    """Return numbers as text, consecutive ones as a range."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)
