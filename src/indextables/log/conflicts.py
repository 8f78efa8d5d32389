"""Whether a commit still holds on top of the commits that overtook it.

The answer is a table, and the table is data: a row for what we do, a column for what they did, each cell with its reason. The
same table is printed in the documentation, and a test tries every cell on a real log.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow.compute as pc

from indextables.log.actions import Add, MetaData, Protocol, Remove

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from indextables.log.actions import Action
    from indextables.log.columns import ActionColumns


class Kind(enum.StrEnum):
    """What a commit does to a table, as far as other commits care."""

    APPEND = "append"
    OVERWRITE = "overwrite"
    REMOVE = "remove"
    MERGE = "merge"
    METADATA = "metadata"
    PROTOCOL = "protocol"
    SKIP = "skip"


class Verdict(enum.Enum):
    """What follows when ours meets theirs."""

    HOLDS = "holds"
    FILES = "conflicts if both remove the same file"
    CONFLICTS = "conflicts"


@dataclass(frozen=True, slots=True)
class Cell:
    """A verdict and why."""

    verdict: Verdict
    reason: str


_PROTOCOL = Cell(Verdict.CONFLICTS, "the table's protocol moved")
_SAME_FILES = Cell(Verdict.FILES, "a file that we remove is gone")
_SKIP = Cell(Verdict.HOLDS, "a skip changes no data")
_SIDE_BY_SIDE = Cell(Verdict.HOLDS, "new files stand beside ours")
_COMPATIBLE = Cell(Verdict.HOLDS, "a schema only grows by columns that may be null")
_ANY_FILES = Cell(Verdict.HOLDS, "a schema that only grows fits their files")
_SKIPPED_GONE = Cell(Verdict.HOLDS, "skips of files that are gone are dropped")

MATRIX: Final[dict[Kind, dict[Kind, Cell]]] = {
    Kind.APPEND: {
        Kind.APPEND: _SIDE_BY_SIDE,
        Kind.OVERWRITE: Cell(Verdict.HOLDS, "an append that lands later counts as made later"),
        Kind.REMOVE: Cell(Verdict.HOLDS, "an append depends on no file"),
        Kind.MERGE: Cell(Verdict.HOLDS, "an append depends on no file"),
        Kind.METADATA: Cell(Verdict.CONFLICTS, "our files were written with another schema"),
        Kind.PROTOCOL: _PROTOCOL,
        Kind.SKIP: _SKIP,
    },
    Kind.OVERWRITE: {
        Kind.APPEND: Cell(Verdict.CONFLICTS, "it added files that our overwrite did not see"),
        Kind.OVERWRITE: Cell(Verdict.CONFLICTS, "it added files that our overwrite did not see"),
        Kind.REMOVE: _SAME_FILES,
        Kind.MERGE: _SAME_FILES,
        Kind.METADATA: Cell(Verdict.CONFLICTS, "our files were written with another schema"),
        Kind.PROTOCOL: _PROTOCOL,
        Kind.SKIP: _SKIP,
    },
    Kind.REMOVE: {
        Kind.APPEND: _SIDE_BY_SIDE,
        Kind.OVERWRITE: _SAME_FILES,
        Kind.REMOVE: _SAME_FILES,
        Kind.MERGE: _SAME_FILES,
        Kind.METADATA: _COMPATIBLE,
        Kind.PROTOCOL: _PROTOCOL,
        Kind.SKIP: _SKIP,
    },
    Kind.MERGE: {
        Kind.APPEND: _SIDE_BY_SIDE,
        Kind.OVERWRITE: _SAME_FILES,
        Kind.REMOVE: _SAME_FILES,
        Kind.MERGE: _SAME_FILES,
        Kind.METADATA: _COMPATIBLE,
        Kind.PROTOCOL: _PROTOCOL,
        Kind.SKIP: _SKIP,
    },
    Kind.METADATA: {
        Kind.APPEND: _ANY_FILES,
        Kind.OVERWRITE: _ANY_FILES,
        Kind.REMOVE: _ANY_FILES,
        Kind.MERGE: _ANY_FILES,
        Kind.METADATA: Cell(Verdict.CONFLICTS, "it changed the metadata that ours replaces"),
        Kind.PROTOCOL: _PROTOCOL,
        Kind.SKIP: _SKIP,
    },
    Kind.PROTOCOL: {
        Kind.APPEND: Cell(Verdict.HOLDS, "files of before fit the new protocol"),
        Kind.OVERWRITE: Cell(Verdict.HOLDS, "files of before fit the new protocol"),
        Kind.REMOVE: Cell(Verdict.HOLDS, "files of before fit the new protocol"),
        Kind.MERGE: Cell(Verdict.HOLDS, "files of before fit the new protocol"),
        Kind.METADATA: Cell(Verdict.CONFLICTS, "it changed the metadata that ours repeats"),
        Kind.PROTOCOL: _PROTOCOL,
        Kind.SKIP: _SKIP,
    },
    Kind.SKIP: {
        Kind.APPEND: _SKIP,
        Kind.OVERWRITE: _SKIPPED_GONE,
        Kind.REMOVE: _SKIPPED_GONE,
        Kind.MERGE: _SKIPPED_GONE,
        Kind.METADATA: _SKIP,
        Kind.PROTOCOL: _PROTOCOL,
        Kind.SKIP: Cell(Verdict.HOLDS, "both count; the later count builds on the earlier one"),
    },
}


class Shape(NamedTuple):
    """The schema and the partition columns of a table."""

    schema: str
    partition_columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflict:
    """Why a commit does not hold."""

    kind: Kind
    reason: str
    files: tuple[str, ...] = ()


def kinds_of(actions: Iterable[Action]) -> set[Kind]:
    """Return what a commit does, judged by its actions."""
    kinds: set[Kind] = set()
    adds = removes = changes = False
    for action in actions:
        match action:
            case Add():
                adds, changes = True, changes or action.data_change
            case Remove():
                removes, changes = True, changes or action.data_change
            case MetaData():
                kinds.add(Kind.METADATA)
            case Protocol():
                kinds.add(Kind.PROTOCOL)
            case _:
                kinds.add(Kind.SKIP)
    return kinds | _file_kinds(adds=adds, removes=removes, changes=changes)


def _file_kinds(*, adds: bool, removes: bool, changes: bool) -> set[Kind]:
    if adds and removes:
        return {Kind.OVERWRITE if changes else Kind.MERGE}
    if removes:
        return {Kind.REMOVE}
    return {Kind.APPEND} if adds else set()


def find_conflict(
    ours: Iterable[Kind], removes: frozenset[str], theirs: ActionColumns, *, basis: Shape
) -> Conflict | None:
    """Return why ours does not hold on top of one commit of theirs, or None if it does.

    Args:
        ours: What we do.
        removes: The files that we remove.
        theirs: The actions of the commit that overtook us.
        basis: The schema that ours was made for: metadata that keeps it conflicts with nobody's files.
    """
    gone = frozenset(theirs.removes["path"].to_pylist()) & removes if removes else frozenset()
    for mine in sorted(ours):
        for other in _kinds_of_columns(theirs, basis, metadata_matters=mine in {Kind.METADATA, Kind.PROTOCOL}):
            cell = MATRIX[mine][other]
            if cell.verdict is Verdict.CONFLICTS:
                return Conflict(kind=other, reason=cell.reason)
            if cell.verdict is Verdict.FILES and gone:
                return Conflict(kind=other, reason=cell.reason, files=tuple(sorted(gone)))
    return None


def _kinds_of_columns(theirs: ActionColumns, basis: Shape, *, metadata_matters: bool) -> Iterator[Kind]:
    if theirs.protocols:
        yield Kind.PROTOCOL
    if theirs.metadatas and (metadata_matters or any(shape(entry.action) != basis for entry in theirs.metadatas)):
        yield Kind.METADATA
    if theirs.skips.num_rows:
        yield Kind.SKIP
    adds, removes = theirs.adds, theirs.removes
    changes = any(pc.any(actions["data_change"]).as_py() for actions in (adds, removes) if actions.num_rows)
    yield from _file_kinds(adds=bool(adds.num_rows), removes=bool(removes.num_rows), changes=bool(changes))


def shape(metadata: MetaData) -> Shape:
    """Return the part of the metadata that files are written for."""
    return Shape(metadata.schema_string, tuple(metadata.partition_columns))
