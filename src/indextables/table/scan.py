"""Reading many splits at once: footers first, then the row groups that may hold wanted rows, in the order of the files."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from indextables.split.reader import Split, SplitAddress, open_split
from indextables.table.conform import complete
from indextables.table.groups import matching_row_groups
from indextables.table.parallel import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from indextables.predicate import Predicate
    from indextables.storage.base import Store

_PIECE_BYTES: Final = 64 * 1024 * 1024
_THREADS: Final = max(3, os.cpu_count() or 1)

_R = TypeVar("_R")


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanFile:
    """A file to read.

    Attributes:
        address: Where it is.
        constants: The values of its partition columns.
        whole: Whether the predicate is known to be true for every row, so that none has to be looked at.
    """

    address: SplitAddress
    constants: Mapping[str, pa.Scalar]
    whole: bool = False


class Piece(NamedTuple):
    """Row groups of one file that are read together."""

    file: ScanFile
    split: Split
    row_groups: list[int]

    @property
    def rows(self) -> int:
        """How many rows they have."""
        return self.split.rows_of(self.row_groups)


class Scan:
    """The rows of some files that a predicate is true for, or with `inverted` those that it is not true for.

    Args:
        store: Where the table is.
        schema: All columns of the table.
        columns: Those that are wanted, in that order.
        files: The files, in the order of their rows.
        predicate: Which rows are wanted; all if not given.
        inverted: Take the rows for which the predicate is false or unknown.
        sparing: Read no more than what is asked for next, for somebody who will stop early.
    """

    def __init__(
        self,
        store: Store,
        *,
        schema: pa.Schema,
        columns: Sequence[str],
        files: Sequence[ScanFile],
        predicate: Predicate | None = None,
        inverted: bool = False,
        sparing: bool = False,
    ) -> None:
        self._store = store
        self._table_schema = schema
        self._files = files
        self._predicate = predicate
        self._inverted = inverted
        self._sparing = sparing
        self.schema = pa.schema([schema.field(name) for name in columns])
        self._tested = pa.schema([schema.field(name) for name in (top_level(predicate, schema) if predicate else [])])

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows, a table for each part of a file that has any."""
        for _, table in self._run(self._rows):
            if table.num_rows:
                yield table

    def counts(self) -> dict[str, int]:
        """Return how many rows of each file are wanted, by path; only what the predicate needs is read."""
        counts = dict.fromkeys((file.address.path for file in self._files), 0)
        for piece, count in self._run(self._count):
            counts[piece.file.address.path] += count
        return counts

    def _run(self, work: Callable[[Piece], _R]) -> Iterator[tuple[Piece, _R]]:
        ahead = 1 if self._sparing else 2 * _THREADS
        with ThreadPoolExecutor(max_workers=_THREADS) as pool:
            opened = in_order(pool, self._open, self._files, ahead=2 * ahead)
            pieces = (piece for several in opened for piece in several)
            yield from in_order(pool, lambda piece: (piece, work(piece)), pieces, ahead=ahead)

    def _open(self, file: ScanFile) -> list[Piece]:
        split = open_split(self._store, file.address)
        groups: Sequence[int] = range(split.num_row_groups)
        if self._predicate is not None and not file.whole and not self._inverted:
            groups = matching_row_groups(split, self._predicate, file.constants, self._table_schema)
        return [
            Piece(file, split, several) for several in _gathered(split, groups, 0 if self._sparing else _PIECE_BYTES)
        ]

    def _rows(self, piece: Piece) -> pa.Table:
        if self._takes_all(piece):
            return self._read(piece, self.schema)
        tested = self._read(piece, self._tested)
        mask = self._mask(tested)
        if not pc.any(mask).as_py():
            return self.schema.empty_table()
        others = self._read(piece, pa.schema([field for field in self.schema if field.name not in self._tested.names]))
        columns = [(tested if name in self._tested.names else others)[name] for name in self.schema.names]
        return pa.Table.from_arrays(columns, schema=self.schema).filter(mask)

    def _count(self, piece: Piece) -> int:
        if self._takes_all(piece):
            return piece.rows
        return int(pc.sum(self._mask(self._read(piece, self._tested))).as_py() or 0)

    def _takes_all(self, piece: Piece) -> bool:
        return self._predicate is None or (piece.file.whole and not self._inverted)

    def _mask(self, tested: pa.Table) -> pa.Array | pa.ChunkedArray:
        """Return which rows are wanted."""
        if self._predicate is None:
            return pa.repeat(pa.scalar(True), tested.num_rows)
        mask = pc.fill_null(self._predicate.evaluate(tested), fill_value=False)
        return pc.invert(mask) if self._inverted else mask

    def _read(self, piece: Piece, schema: pa.Schema) -> pa.Table:
        stored = piece.split.read(piece.row_groups, [name for name in schema.names if name not in piece.file.constants])
        return complete(stored, piece.rows, schema, piece.file.constants, path=piece.split.path)


def top_level(predicate: Predicate, schema: pa.Schema) -> list[str]:
    """Return the columns of the table that a predicate looks at or into; one at least, since rows without any have no number."""
    known = set(schema.names)
    prefixes = (
        ".".join(parts[: end + 1])
        for path in predicate.columns
        for parts in [path.split(".")]
        for end in range(len(parts))
    )
    return list(dict.fromkeys(name for name in prefixes if name in known)) or schema.names[:1]


def _gathered(split: Split, groups: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield row groups in handfuls that are worth a request and have no more bytes than that, or are one row group."""
    several: list[int] = []
    held = 0
    for group in groups:
        size = split.footer.metadata.row_group(group).total_byte_size
        if several and held + size > most:
            yield several
            several, held = [], 0
        several.append(group)
        held += size
    if several:
        yield several
