"""The work on one group of files: read them, write one, and read that one back before anybody relies on it.

It runs in a Spark task or in a thread, so everything it needs and everything it answers can be pickled. A file that cannot be read
is set aside and named; the others are merged without it. Whatever else goes wrong is this group's failure and nobody else's.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import IndexTablesError, NotFoundError, SplitCorruptionError
from indextables.runtime import SYSTEM, Runtime
from indextables.split import SplitAddress, SplitFile, new_split_path, open_split, write_split
from indextables.storage.paths import partition_path
from indextables.table.conform import complete
from indextables.table.parallel import in_order
from indextables.table.write import Staged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.config import Settings
    from indextables.storage.base import Store
    from indextables.table.merging import Group

_READERS: Final = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeTask:
    """What the work on each group of a table needs besides the group.

    Attributes:
        schema: The columns of the table.
        partition_columns: Those of them that are not in the files.
        table_id: Noted in the new files.
        settings: Which columns get statistics, and how long they may be.
    """

    schema: pa.Schema
    partition_columns: tuple[str, ...]
    table_id: str
    settings: Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of a group.

    Attributes:
        file: The new file, which belongs to nobody yet; None where nothing was written.
        merged: The paths of the files whose rows it holds.
        unreadable: Files that were set aside, each with what is wrong with it.
        failure: Why the group could not be merged at all.
    """

    file: SplitFile | None = None
    merged: tuple[str, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    failure: str | None = None


def merge_group(store: Store, group: Group, task: MergeTask, *, runtime: Runtime = SYSTEM) -> Outcome:
    """Write the rows of a group's files into one new file, in their order."""
    try:
        return _merged(store, group, task, runtime)
    except IndexTablesError as error:
        return Outcome(failure=str(error))


def _merged(store: Store, group: Group, task: MergeTask, runtime: Runtime) -> Outcome:
    schema = pa.schema([field for field in task.schema if field.name not in task.partition_columns])
    tables: list[pa.Table] = []
    merged: list[str] = []
    unreadable: list[tuple[str, str]] = []
    with ThreadPoolExecutor(max_workers=_READERS) as pool:
        read = in_order(pool, lambda source: _read(store, source, schema), group.sources, ahead=2 * _READERS)
        for source, found in zip(group.sources, read, strict=True):
            if isinstance(found, str):
                unreadable.append((source.path, found))
            else:
                tables.append(found)
                merged.append(source.path)
    if len(tables) < 2:
        return Outcome(unreadable=tuple(unreadable))
    directory = partition_path((name, group.partition_values.get(name)) for name in task.partition_columns)
    staged = Staged(store, paths=[new_split_path(directory, runtime=runtime)])
    with staged.writing():
        file = _written(staged, pa.concat_tables(tables), group, task, runtime)
    return Outcome(file=file, merged=tuple(merged), unreadable=tuple(unreadable))


def _written(staged: Staged, rows: pa.Table, group: Group, task: MergeTask, runtime: Runtime) -> SplitFile:
    file = write_split(
        staged.store,
        staged.paths[0],
        rows,
        settings=task.settings,
        table_id=task.table_id,
        partition_values=group.partition_values,
        merge_ops=group.merge_ops,
        runtime=runtime,
    )
    address = SplitAddress(
        path=file.path, size=file.size, footer_start=file.footer_start, footer_checksum=file.footer_checksum
    )
    back = _rows(staged.store, address, rows.schema)
    if different := differing_columns(rows, back):
        raise SplitCorruptionError(
            file.path,
            f"what was written is not what was read, in {', '.join(different)}",
            way_out="The merge was given up, and the table is as it was; please report this",
        )
    return file


def _read(store: Store, source: SplitAddress, schema: pa.Schema) -> pa.Table | str:
    """Return the rows of a file, or what is wrong with it."""
    try:
        return _rows(store, source, schema)
    except SplitCorruptionError as error:
        return error.reason
    except NotFoundError:
        return "it is not there"


def _rows(store: Store, source: SplitAddress, schema: pa.Schema) -> pa.Table:
    split = open_split(store, source)
    stored = split.read(range(split.num_row_groups), schema.names)
    return complete(stored, split.num_records, schema, {}, path=source.path)


def differing_columns(one: pa.Table, other: pa.Table) -> list[str]:
    """Return the columns in which two tables differ, row by row; NaN is the same as NaN here."""
    if one.num_rows != other.num_rows:
        return [f"the number of rows, {one.num_rows} and {other.num_rows}"]
    return [
        name
        for name in one.column_names
        if any(not mine.equals(theirs) for mine, theirs in zip(_parts(one[name]), _parts(other[name]), strict=True))
    ]


def _parts(column: Any) -> Iterator[Any]:
    """Yield what a column consists of, down to simple values, in forms that compare as they are stored."""
    kind = column.type
    if pa.types.is_floating(kind):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]
        yield pa.chunked_array([chunk.view(bits) for chunk in column.chunks], bits)
    elif pa.types.is_struct(kind):
        yield pc.is_null(column)
        for index in range(kind.num_fields):
            yield from _parts(pc.struct_field(column, index))
    elif pa.types.is_map(kind):
        entry = pa.struct([pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)])
        yield from _parts(column.cast(pa.list_(entry)))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield pc.list_value_length(column)
        yield from _parts(pc.list_flatten(column))
    else:
        yield column
