"""Changes of a table: which files go, which come, and the one commit that makes it so.

Files that a predicate covers whole leave by their metadata alone. Of the others, only those that really hold such rows are written
anew, without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.log.conflicts import Kind
from indextables.log.removal import removes_of
from indextables.log.schema import parse_schema
from indextables.predicate import bind
from indextables.table.adds import add_of
from indextables.table.conform import check_names, conform
from indextables.table.pruning import prune
from indextables.table.reading import scan_of
from indextables.table.results import WriteResult, result_of
from indextables.table.rows import SLAB_BYTES
from indextables.table.write import Staged, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from indextables.config import Settings
    from indextables.log.actions import Action
    from indextables.log.log import TransactionLog
    from indextables.log.snapshot import Snapshot
    from indextables.predicate import Expression, Predicate
    from indextables.runtime import Runtime
    from indextables.storage.base import Store
    from indextables.table.rows import Rows

_DELETE = "delete"


def append_rows(
    log: TransactionLog,
    store: Store,
    rows: Rows,
    settings: Settings,
    runtime: Runtime,
    *,
    app: str | None = None,
    batch: int | None = None,
    commit_empty: bool = False,
) -> WriteResult:
    """Write rows and commit them; without rows there is a commit only if it is asked for."""
    # In this order: if the metadata changes in between, the commit sees a change after the version and refuses.
    version = log.latest_version()
    metadata = log.metadata
    schema = parse_schema(metadata.schema_string)
    check_names(rows.schema, schema)
    staged = Staged(store)
    with staged.writing():
        write_rows(staged, rows.slabs, schema=schema, metadata=metadata, settings=settings, runtime=runtime)
    actions: list[Action] = [add_of(file) for file in staged.files]
    if not actions and commit_empty:
        actions = [metadata]
    with staged.committing():
        done = log.commit(actions, operation=Kind.APPEND, read_version=version, table=metadata.id, app=app, batch=batch)
    if not done.written:
        staged.discard()
    return result_of(done, staged.files)


def overwrite_rows(
    log: TransactionLog,
    store: Store,
    rows: Rows,
    where: str | Expression | None,
    settings: Settings,
    runtime: Runtime,
) -> WriteResult:
    """Replace all rows, or those that a predicate is true for."""
    snapshot = log.snapshot()
    check_names(rows.schema, snapshot.schema)
    predicate = None if where is None else bind(where, snapshot.schema)
    staged = Staged(store)
    with staged.writing():
        slabs: Iterable[pa.Table] = rows.slabs
        if predicate is not None:
            slabs = _checked(slabs, predicate, snapshot.schema)
        work: dict[str, Any] = {
            "schema": snapshot.schema,
            "metadata": snapshot.metadata,
            "settings": settings,
            "runtime": runtime,
        }
        write_rows(staged, slabs, **work)
        gone, deleted = _without(staged, snapshot, predicate, work)
    return _commit(log, runtime, snapshot, gone, staged, Kind.OVERWRITE, deleted)


def delete_rows(
    log: TransactionLog, store: Store, where: str | Expression, settings: Settings, runtime: Runtime
) -> WriteResult:
    """Delete the rows that a predicate is true for."""
    snapshot = log.snapshot()
    predicate = bind(where, snapshot.schema)
    staged = Staged(store)
    with staged.writing():
        work: dict[str, Any] = {
            "schema": snapshot.schema,
            "metadata": snapshot.metadata,
            "settings": settings,
            "runtime": runtime,
        }
        gone, deleted = _without(staged, snapshot, predicate, work)
    return _commit(log, runtime, snapshot, gone, staged, _DELETE, deleted)


def _commit(
    log: TransactionLog,
    runtime: Runtime,
    snapshot: Snapshot,
    gone: pa.Array,
    staged: Staged,
    operation: str,
    deleted: int | None,
) -> WriteResult:
    removes = removes_of(snapshot.files.take(gone), now_ms=runtime.now_ms(), data_change=True)
    actions: list[Action] = [*removes, *(add_of(file) for file in staged.files)]
    with staged.committing():
        done = log.commit(actions, operation=operation, read_version=snapshot.version, table=snapshot.metadata.id)
    return result_of(done, staged.files, files_removed=len(gone), rows_deleted=deleted)


def _without(
    staged: Staged, snapshot: Snapshot, predicate: Predicate | None, work: dict[str, Any]
) -> tuple[pa.Array, int | None]:
    """Write anew what must stay of files that lose some rows; return which files go, and how many rows they lose."""
    chosen = prune(snapshot, predicate)
    whole = chosen.filtered(chosen.whole)
    sizes = snapshot.files["num_records"].take(whole.rows)
    deleted = None if sizes.null_count else int(pc.sum(sizes).as_py() or 0)
    doubtful = chosen.filtered(pc.invert(chosen.whole))
    if predicate is None or not len(doubtful.rows):
        return whole.rows, deleted
    counts = scan_of(staged.store, snapshot, [], predicate, doubtful).counts()
    paths = snapshot.files["path"].take(doubtful.rows)
    touched = doubtful.filtered(
        pc.is_in(paths, value_set=pa.array([path for path, n in counts.items() if n], pa.string()))
    )
    if len(touched.rows):
        kept = scan_of(staged.store, snapshot, snapshot.schema.names, predicate, touched, inverted=True)
        write_rows(staged, _slabs(kept.tables()), **work)
    lost = None if deleted is None else deleted + sum(counts.values())
    return pa.concat_arrays([whole.rows, touched.rows]), lost


def _slabs(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    held: list[pa.Table] = []
    size = 0
    for table in tables:
        held.append(table)
        size += table.nbytes
        if size >= SLAB_BYTES:
            yield pa.concat_tables(held)
            held, size = [], 0
    if held:
        yield pa.concat_tables(held)


def _checked(slabs: Iterable[pa.Table], predicate: Predicate, schema: pa.Schema) -> Iterator[pa.Table]:
    for slab in slabs:
        rows = conform(slab, schema)
        if not pc.all(pc.fill_null(predicate.evaluate(rows), fill_value=False)).as_py():
            raise SchemaError(
                "The new rows do not all lie in what they replace",
                way_out="Leave out the rows for which `where` is not true, or widen it",
            )
        yield rows
