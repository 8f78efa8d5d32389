"""The quick reading of many lines: Arrow's JSON reader, given only what it can be trusted with.

With an exact schema it is the quickest parser at hand, and a careless one: it takes a byte order mark, two objects on a line
or one object on two, does not look at UTF-8, and ends the process on a line that is just `null`. So it gets lines of the one
shape that writers write, told by their first and last bytes. A newline between `}}` and `{"` can only stand between two
objects; with every newline such a one, and a row for each line, each line was one object. Anything else is not read here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from indextables.log.actions import Add, Remove, Skip
from indextables.log.columns import ActionKeys, Row, columns_of, present_columns, schema_of, width_of, wire_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from indextables.log.regular import RegularReader

    _Places = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]

KINDS: tuple[type[Row], ...] = (Add, Remove, Skip)
_ADD = KINDS.index(Add)

# Eight bytes tell the kinds apart, and compare as one number.
_HEADS = np.frombuffer(b"".join((b'{"%b":{' % kind.key.encode())[:8] for kind in KINDS), dtype=np.uint64)
_SHORTEST_LINE = len(b'{"add":{}}')
_SPARE_CELLS = 1 << 22
_BLOCK_BYTES = 4 << 20


class Run(NamedTuple):
    """Lines that stand together in one file: its version, how many actions come before them, and their bytes."""

    version: int
    before: int
    lines: bytes | memoryview


def read_runs(runs: Sequence[Run], *, keys: ActionKeys, regular: RegularReader) -> dict[type[Row], pa.Table] | None:
    """Return the actions of all runs as one table for each kind, in order, or None where the line reader must decide.

    Args:
        runs: Whole lines, each with its newline.
        keys: All keys that the maps may have.
        regular: What reads lines that are alike.
    """
    buffer = runs[0].lines if len(runs) == 1 else b"".join(run.lines for run in runs)
    if not buffer:
        return {}
    lines = _index(buffer)
    if lines is None:
        return None
    starts, kinds = lines
    if is_too_wide(len(starts), max(width_of(KINDS[index], keys) for index in np.unique(kinds)), len(buffer)):
        return None
    places = _places(runs, starts)
    rows = np.flatnonzero(kinds == _ADD)
    arrays = regular.read(buffer, starts, rows, keys=keys) if len(rows) else None
    if arrays is None:
        return _parse(buffer, kinds, places, keys)
    unknown = pa.nulls(len(rows), pa.string())
    columns = [*arrays, *(place[rows] for place in places), unknown]
    found: dict[type[Row], pa.Table] = {Add: pa.Table.from_arrays(columns, schema=schema_of(Add, keys))}
    if len(rows) == len(starts):
        return found
    others = kinds != _ADD
    rest = np.frombuffer(buffer, np.uint8)[np.repeat(others, np.diff(starts, append=len(buffer)))]
    read = _parse(rest.data, kinds[others], (places[0][others], places[1][others]), keys)
    return None if read is None else found | read


def _parse(
    buffer: bytes | memoryview, kinds: npt.NDArray[np.int64], places: _Places, keys: ActionKeys
) -> dict[type[Row], pa.Table] | None:
    """Return the actions of lines whose kinds and places are known, by way of Arrow's reader."""
    present = [index for index in range(len(KINDS)) if (kinds == index).any()]
    objects = _objects(buffer, [KINDS[index] for index in present], keys)
    if objects is None or objects.num_rows != len(kinds):
        return None
    tables = {}
    for column, index in zip(objects.columns, present, strict=True):
        table = _flatten(column, KINDS[index], kinds == index, places, keys)
        if table is None:
            return None
        tables[KINDS[index]] = table
    return tables


def is_too_wide(rows: int, width: int, size: int) -> bool:
    """Tell whether the children of map columns would cost far more than the text that they came from.

    A file of a few thousand keys that occur once each would otherwise give every row of the table thousands of nulls. In a
    table whose rows have the same keys, a child costs at least eight bytes of text.
    """
    return rows * width > 2 * size + _SPARE_CELLS


def _index(buffer: bytes | memoryview) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Return the start and the kind of each line, or None if a line has any other shape than `{"add":{…}}`."""
    octets = np.frombuffer(buffer, dtype=np.uint8)
    newlines = octets == ord("\n")
    if int(np.count_nonzero(newlines)) * _SHORTEST_LINE > len(octets):
        return None  # before a file of nothing but newlines gets an index eight times its size
    ends = np.flatnonzero(newlines)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), ends[:-1] + 1))
    if int((ends - starts).min()) < _SHORTEST_LINE:
        return None
    if (octets[ends - 1] != ord("}")).any() or (octets[ends - 2] != ord("}")).any():
        return None
    heads = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(octets, 8)[starts]).view(np.uint64)
    matches = heads == _HEADS
    return (starts, matches.argmax(axis=1)) if matches.any(axis=1).all() else None


def _objects(buffer: bytes | memoryview, kinds: list[type[Row]], keys: ActionKeys) -> pa.Table | None:
    schema = pa.schema([(kind.key, wire_type(kind, keys)) for kind in kinds])
    # Fields are never inferred: inference turns texts into timestamps, and deep nesting into a crash.
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    try:
        # In the thread that asks, for others read other batches; and where it does not take them, which is usual for new keys,
        # threads of its own would go on without it: a program that ends meanwhile is sometimes aborted by them.
        read_options = pj.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES)
        table = pj.read_json(pa.BufferReader(buffer), read_options=read_options, parse_options=options)
        if int(np.frombuffer(buffer, dtype=np.uint8).max()) > 0x7F:
            table.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return table


def _places(runs: Sequence[Run], starts: npt.NDArray[np.int64]) -> _Places:
    """Return the version and the ordinal of each line."""
    lasts = np.searchsorted(starts, np.cumsum([len(run.lines) for run in runs]))
    firsts = np.concatenate(([0], lasts[:-1]))
    counts = lasts - firsts
    versions = np.repeat(np.array([run.version for run in runs], dtype=np.int64), counts)
    offsets = np.repeat(np.array([run.before for run in runs]) - firsts, counts)
    return versions, (np.arange(len(starts)) + offsets).astype(np.int32)


def _flatten(
    column: pa.ChunkedArray,
    kind: type[Row],
    mask: npt.NDArray[np.bool_],
    places: _Places,
    keys: ActionKeys,
) -> pa.Table | None:
    """Return the rows of one kind as a table, or None if a line is not what its first bytes said, or lacks a field."""
    versions, ordinals = places
    if column.null_count or not mask.all():
        if not np.array_equal(column.is_valid().to_numpy(), mask):
            return None
        column = column.filter(pa.array(mask))
        versions, ordinals = versions[mask], ordinals[mask]
    read = dict(zip(present_columns(kind, keys), column.flatten(), strict=True))
    if any(array.null_count for field, array in read.items() if field.required):
        return None
    schema = schema_of(kind, keys)
    arrays = [
        read[field] if field in read else pa.nulls(len(column), schema.field(field.name).type)
        for field in columns_of(kind)
    ]
    unknown = pa.nulls(len(column), pa.string())
    return pa.Table.from_arrays([*arrays, versions, ordinals, unknown], schema=schema)
