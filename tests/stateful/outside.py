"""A reader that owes nothing to the product: what a table holds, from the bytes in its store alone.

The log is replayed from its JSON and rows are read from the Parquet files by pyarrow itself. It remembers what commits said, so that
nothing can hide behind cleanup, and the bytes of data files, so that none can change unnoticed.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from tests.faults.invariants import read_commit, slots_of
from tests.faults.upkeep_judge import floor_of

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = ("id", "part", "x1", "x2")
"""All columns that a table of these tests can have; the first two are always there, and the second one is its partition."""

Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = Counter[Row]


class Outside:
    """What was seen of a table so far.

    Attributes:
        files: The data files of each version, each with its partition value.
        times: When each version says that it was committed.
        floor: The version below which commits are gone.
    """

    def __init__(self) -> None:
        self.files: list[dict[str, str | None]] = []
        self.times: list[int] = []
        self.floor = 0
        self._slots: list[bytes] = []
        self._data: dict[str, tuple[bytes, Rows]] = {}
        self._stated: dict[str, list[dict[str, Any]]] = {}

    @property
    def versions(self) -> int:
        """How many versions there have been."""
        return len(self._slots)

    def forget(self, version: int) -> None:
        """Forget what was seen of a version and of those after it: nobody was told of them, so a power cut may take them."""
        del self._slots[version:], self.files[version:], self.times[version:]

    def look(self, tree: Mapping[str, bytes]) -> None:
        """Take in what is in a store now, and check that it is a log: dense, and never different from before."""
        slots, self.floor = slots_of(tree), floor_of(tree)
        there = sorted(version for version in slots if version >= self.floor)
        assert there == list(range(self.floor, self.floor + len(there))), f"I1: a gap in {there}"
        assert there, "I1: no version is left"
        assert there[-1] >= self.versions - 1, f"I1: version {self.versions - 1} is gone, of {there}"
        for version in there:
            if version < self.versions:
                assert self._slots[version] == slots[version], f"I1: version {version} changed"
            else:
                self._take(version, slots[version])
        needed = {path for version in there for path in self.files[version]}
        missing = sorted(needed - tree.keys())
        assert not missing, f"I9: versions from {self.floor} on need {missing}"

    def rows(self, tree: Mapping[str, bytes], version: int) -> Rows:
        """Return the rows of a version."""
        total: Rows = Counter()
        for path, part in self.files[version].items():
            total.update(self._rows_of(path, tree[path], part))
        return total

    def _take(self, version: int, data: bytes) -> None:
        assert version == self.versions, f"I1: version {version} follows {self.versions - 1}"
        files = dict(self.files[-1]) if self.files else {}
        commit = read_commit(data)
        for kind, fields in commit.actions:
            if kind == "add":
                files[fields["path"]] = fields["partitionValues"].get("part")
                self._stated.setdefault(fields["path"], []).append(fields)
            elif kind == "remove":
                del files[fields["path"]]
        time = commit.facts.get("timestamp", 0)
        assert not self.times or time > self.times[-1], f"I1: the times {[*self.times, time]} do not grow"
        self.times.append(time)
        self.files.append(files)
        self._slots.append(data)

    def _rows_of(self, path: str, data: bytes, part: str | None) -> Rows:
        known = self._data.get(path)
        if known is None:
            table = pq.read_table(pa.BufferReader(data), use_threads=False)
            known = self._data[path] = (data, rows_of(table, part))
        assert known[0] == data, f"the data file {path} changed"
        for fields in self._stated.pop(path, []):
            _check_statistics(fields, known[1])
        return known[1]


def rows_of(table: pa.Table, part: str | None = None) -> Rows:
    """Return the rows of an Arrow table; columns that it lacks are null, the partition is `part`."""
    nothing = [None] * table.num_rows
    columns = {name: table[name].to_pylist() for name in table.column_names}
    if "part" not in columns:
        columns["part"] = [part] * table.num_rows
    return Counter(zip(*(columns.get(name, nothing) for name in COLUMNS), strict=True))


def _check_statistics(fields: dict[str, Any], rows: Rows) -> None:
    """What the log says of a file must be true of its rows, or a reader passes over rows that it should have read."""
    assert fields["numRecords"] == rows.total(), f"{fields['path']} has {rows.total()} rows, not {fields['numRecords']}"
    for at, name in enumerate(COLUMNS):
        present = [row[at] for row in rows if row[at] is not None]
        least, greatest = (fields.get(key, {}).get(name) for key in ("minValues", "maxValues"))
        if name != "part" and present and least is not None:
            assert int(least) <= min(present), f"{name} of {fields['path']} goes below {least}"
            assert int(greatest) >= max(present), f"{name} of {fields['path']} goes beyond {greatest}"
