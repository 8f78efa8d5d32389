"""Deleting data files that no version needs: of removed files when their last version is gone, and of writers that never committed.

A file goes only if all of this holds: the listing shows it inside the table, its name is one that our writers give, no version
that can still be loaded needs it, and it is old by the store's clock and by ours. Age is what protects a writer that has not
committed yet, so the files of one run are as old as the youngest of them, and a limit of less than a day must be forced. The log is read
after the listing, and again before files are deleted, so a commit that lands meanwhile keeps its files.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config.quantities import DAY_MS, Milliseconds
from indextables.errors import ConfigError, StorageError
from indextables.log.layout import LOG_DIRECTORY
from indextables.log.log import TransactionLog
from indextables.storage.paths import is_below
from indextables.table.references import References
from indextables.table.store_files import SCHEMA, list_data_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.config import Settings
    from indextables.log.snapshot import Snapshot
    from indextables.runtime import Runtime
    from indextables.storage.base import Store

_LOG = logging.getLogger(__name__)
_UUID: Final = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_STAGED: Final = f"^_staging/(?P<run>{_UUID})/"
# In the table itself or in directories of partitions, which all have a `=`; Hadoop's local file system adds a checksum file.
_SPLIT: Final = rf"^(?:[^/]*=[^/]*/)*\.?(?:part-[0-9]+-[0-9]+-)?(?P<run>{_UUID})\.split(?:\.crc)?$"
_SIDECAR: Final = r"(^|/)\.([^/]*\.split)\.crc$"
_RUN_LENGTH: Final = 24
_FLOOR_MS: Final = DAY_MS
_BATCH: Final = 1_000
_WORKERS: Final = 16
_MOST_ABSENT: Final = 0.1
_NEVER: Final = "no version holds it"
_REMOVED: Final = "no version needs it any more"
_UNFINISHED: Final = "a writer ended before it was complete"

FILES_SCHEMA: Final = pa.schema(
    [("path", pa.string()), ("size", pa.int64()), ("modified", pa.timestamp("ms", "UTC")), ("reason", pa.string())]
)


@dataclass(frozen=True, kw_only=True, eq=False)
class PurgeResult:
    """What a purge deleted, or would delete.

    Attributes:
        files: A row a file: `path`, `size`, when it was `modified`, and the `reason`.
        bytes: How large they are together.
        failures: What could not be deleted, and why; a later purge tries again.
        held_files: How many files only older versions need; they can go when cleanup has taken those versions away.
        held_bytes: How large those are.
        seconds: How long it took.
        dry_run: Whether it only looked.
    """

    files: pa.Table
    bytes: int
    failures: tuple[str, ...]
    held_files: int
    held_bytes: int
    seconds: float
    dry_run: bool


def parse_age(name: str, value: str, *, force: bool) -> int:
    """Return the milliseconds of an age that people write as `7d`.

    Raises:
        ConfigError: It is none, or so short that it could hit files of a writer at work.
    """
    kind = Milliseconds()
    try:
        age = kind.read(value.strip())
    except (ValueError, AttributeError) as error:
        raise ConfigError(name, value, f"{kind.allowed}, such as 7d") from error
    if age < _FLOOR_MS and not force:
        raise ConfigError(name, value, "24h or more, or force it when nobody writes to the table")
    return age


def purge_files(
    store: Store,
    *,
    settings: Settings,
    runtime: Runtime,
    older_than_ms: int,
    dry_run: bool,
    progress: Callable[[int, int], None] | None = None,
) -> PurgeResult:
    """Delete what nobody needs; see the module.

    Args:
        store: Where the table is.
        settings: How the log is read.
        runtime: Clock.
        older_than_ms: What is younger stays.
        dry_run: Only look. Nothing is written then, so the store's clock is not asked and ours decides alone.
        progress: Called with how many files are deleted, and of how many.

    Raises:
        TableNotFoundError: There is no table.
        LogCorruptionError: The log has a gap or is damaged; nothing was deleted.
        StorageError: The listing lacks files that it must have; nothing was deleted.
    """
    began = runtime.monotonic()
    now = runtime.now_ms() if dry_run else min(runtime.now_ms(), _store_clock(store, runtime))
    before = TransactionLog(store, settings=settings, runtime=runtime).snapshot()
    listed = list_data_files(store, before.files["path"])
    references = References(store, settings, runtime)
    _check_listing(store, listed, before, references.newest)
    ours = _ours(listed)
    free = ours.filter(pc.invert(references.needed(ours["subject"])))
    active = pc.is_in(ours["path"], value_set=references.newest.files["path"].combine_chunks())
    held = ours.filter(pc.and_(references.needed(ours["path"]), pc.invert(active)))
    doomed = pa.concat_tables(
        [_old(free, references.newest, now - older_than_ms), _unpublished(store, now - older_than_ms)]
    )
    failures = [] if dry_run else _delete(store, doomed, references, progress)
    result = PurgeResult(
        files=doomed,
        bytes=int(pc.sum(doomed["size"]).as_py() or 0),
        failures=tuple(failures),
        held_files=held.num_rows,
        held_bytes=int(pc.sum(held["size"]).as_py() or 0),
        seconds=runtime.monotonic() - began,
        dry_run=dry_run,
    )
    _LOG.info(
        "%s %d files of %s, %d bytes", "Would purge" if dry_run else "Purged", doomed.num_rows, store.url, result.bytes
    )
    return result


def _store_clock(store: Store, runtime: Runtime) -> int:
    """Return the time by the clock that stamps the files."""
    path = f"_staging/{runtime.new_id()}/clock"
    store.put(path, b"")
    try:
        return store.head(path).modified_ms
    finally:
        with suppress(StorageError):  # what stays is a leftover like any other
            store.delete(path)


def _check_listing(store: Store, listed: pa.Table, before: Snapshot, now: Snapshot) -> None:
    """Refuse to go on if the listing does not show what must be there: then it cannot tell what may go either."""
    paths = before.files["path"]
    still = paths.filter(pc.is_in(paths, value_set=now.files["path"].combine_chunks()))
    absent = len(still) - int(pc.sum(pc.is_in(still, value_set=listed["path"].combine_chunks())).as_py() or 0)
    if absent > _MOST_ABSENT * len(still):
        raise StorageError(
            "",
            store=store.url,
            detail=f"{absent} of {len(still)} files of the table are not in its listing; nothing was deleted",
            way_out="Check that the address is the one that the table was written to, and restore what is missing",
        )


def _ours(listed: pa.Table) -> pa.Table:
    """Return the files with names that our writers give, each with its run and the data file that it stands or falls with."""
    runs = [pc.struct_field(pc.extract_regex(listed["path"], pattern), "run") for pattern in (_STAGED, _SPLIT)]
    run = pc.utf8_slice_codeunits(pc.coalesce(*runs), 0, _RUN_LENGTH)
    subject = pc.replace_substring_regex(listed["path"], _SIDECAR, r"\1\2")
    return listed.append_column("run", run).append_column("subject", subject).filter(pc.is_valid(run))


def _old(free: pa.Table, newest: Snapshot, limit: int) -> pa.Table:
    """Return those of some files whose whole run is old, and that were not removed only lately."""
    runs = free.group_by("run").aggregate([("modified_ms", "max")])
    at = pc.index_in(free["run"], value_set=runs["run"].combine_chunks())
    youngest = runs["modified_ms_max"].take(at)
    removes = newest.removes
    lately = removes.filter(pc.greater(pc.fill_null(removes["deletion_timestamp"], 0), limit))
    spared = pc.is_in(free["subject"], value_set=lately["path"].combine_chunks())
    known = pc.is_in(free["subject"], value_set=removes["path"].combine_chunks())
    mask = pc.and_(pc.less_equal(youngest, limit), pc.invert(spared))
    reasons = pc.if_else(known, _REMOVED, _NEVER)
    return _shown(free.select(SCHEMA.names).filter(mask), reasons.filter(mask))


def _unpublished(store: Store, limit: int) -> pa.Table:
    """Return what writers left that ended in the middle of a file; the log looks after its own."""
    metas = [
        meta for meta in store.list_staged("") if meta.modified_ms <= limit and not is_below(meta.path, LOG_DIRECTORY)
    ]
    columns = [[meta.path for meta in metas], [meta.size for meta in metas], [meta.modified_ms for meta in metas]]
    table = pa.Table.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )
    return _shown(table, pa.repeat(pa.scalar(_UNFINISHED), len(metas)))


def _shown(files: pa.Table, reasons: pa.Array | pa.ChunkedArray) -> pa.Table:
    times = files["modified_ms"].cast(pa.timestamp("ms", "UTC"))
    return pa.Table.from_arrays([files["path"], files["size"], times, reasons], schema=FILES_SCHEMA)


def _delete(
    store: Store, doomed: pa.Table, references: References, progress: Callable[[int, int], None] | None
) -> list[str]:
    failures: list[str] = []

    def delete(path: str) -> None:
        try:
            store.delete(path)
        except StorageError as error:
            failures.append(f"{path}: {error.problem}")

    with ThreadPoolExecutor(max_workers=_WORKERS) as pool:
        for start in range(0, doomed.num_rows, _BATCH):
            references.look_again()
            batch = doomed["path"].slice(start, _BATCH)
            still = np.asarray(references.needed(batch).to_numpy(), bool)
            list(pool.map(delete, batch.filter(pa.array(~still)).to_pylist()))
            if progress is not None:
                progress(min(start + _BATCH, doomed.num_rows), doomed.num_rows)
    return failures
