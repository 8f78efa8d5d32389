"""One directory that a run replaces: where it is, where its two other names are, and what is known of its files."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from indextables.hive.names import HIDDEN_STAGING, old_suffix, staging_suffix, switched_location

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SWITCHED = "location"
"""What a run's staging is called where the Metastore is pointed at the replacements."""

_LOCATION = "lakekeeper.location"
_BEFORE = "lakekeeper.before"
_AFTER = "lakekeeper.after"
_FILES = "lakekeeper.files"
_ROWS = "lakekeeper.rows"
_STATISTICS = "lakekeeper.statistics"


@dataclass(frozen=True, kw_only=True)
class Directory:
    """One directory that a run replaces.

    Attributes:
        name: The partition's name, or nothing for a flat table.
        location: Where it is, and stays unless the Metastore is to be pointed elsewhere.
        old: Where its original files go; the location itself, where they stay.
        staging: Where its replacement is written; where it stays, if the Metastore is pointed at it.
        before: Fingerprint of the original files.
        after: Fingerprint of the replacement's files; empty until it is verified.
        files: Numbers of the replacement's files, and their ending, as in `0-2,1000.parquet`.
        rows: How many rows were verified; -1 until then.
        statistics: The Metastore's statistics before the run.
    """

    name: str
    location: str
    old: str
    staging: str
    before: str
    after: str = ""
    files: str = ""
    rows: int = -1
    statistics: tuple[tuple[str, str], ...] = ()

    @property
    def replaced_at(self) -> str:
        """Where the table finds the replacement after the swap."""
        return self.staging if self.old == self.location else self.location

    def new_names(self) -> frozenset[str]:
        """Return the names of the replacement's files."""
        ranges, _, ending = self.files.rpartition(".")
        names = set()
        for part in filter(None, ranges.split(",")):
            first, _, last = part.partition("-")
            names |= {f"part-{number:05d}.{ending}" for number in range(int(first), int(last or first) + 1)}
        return frozenset(names)

    def properties(self) -> dict[str, str]:
        """Return what is written into the backup."""
        held = {_LOCATION: self.location, _BEFORE: self.before, _AFTER: self.after, _FILES: self.files}
        return {**held, _ROWS: str(self.rows), _STATISTICS: json.dumps(dict(self.statistics))}


def compress_names(names: Iterable[str]) -> str:
    """Return file names `part-<number>.<ending>` in the short form of `Directory.files`."""
    endings = {name.rpartition(".")[2] for name in names}
    numbers = sorted(int(name.partition("-")[2].partition(".")[0]) for name in names)
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return f"{text}.{endings.pop()}" if endings else ""


def read_directory(properties: Mapping[str, str], *, name: str, root: str, run: str, staging: str) -> Directory:
    """Return the directory that these properties of a backup describe."""
    location = properties[_LOCATION]
    old, fresh = places(location, root=root, run=run, staging=staging)
    return Directory(
        name=name,
        location=location,
        old=old,
        staging=fresh,
        before=properties.get(_BEFORE, ""),
        after=properties.get(_AFTER, ""),
        files=properties.get(_FILES, ""),
        rows=int(properties.get(_ROWS, -1)),
        statistics=tuple(json.loads(properties.get(_STATISTICS, "{}")).items()),
    )


def with_replacement(directory: Directory, *, after: str, names: Iterable[str], rows: int) -> Directory:
    """Return a directory whose replacement is verified."""
    return replace(directory, after=after, files=compress_names(list(names)), rows=rows)


def places(location: str, *, root: str, run: str, staging: str) -> tuple[str, str]:
    """Return where a directory's original files and its replacement go.

    Args:
        location: The directory.
        root: The table's root.
        run: The run.
        staging: `sibling`: beside the directory; `hidden`: into the table's hidden directory; `location`: the original files stay.
    """
    if staging == SWITCHED:
        return location, switched_location(location, root=root, run=run)
    base = location
    if staging == "hidden" and location.startswith(f"{root}/"):
        base = f"{root}/{HIDDEN_STAGING}/{run}/{location[len(root) + 1 :]}"
    return base + old_suffix(run), base + staging_suffix(run)
