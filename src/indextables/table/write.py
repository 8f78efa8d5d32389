"""Rows become files, files become one commit, and what no commit took is cleared away.

A file that no commit mentions is invisible, so writing needs no care, only clearing up does: files are deleted when it is certain
that no commit holds them, and left alone when it is not. A purge collects what stays.
"""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING

from indextables.errors import (
    ConcurrentWriteError,
    ProtocolError,
    SchemaError,
    StorageError,
    TableNotFoundError,
    UnsafePathError,
)
from indextables.split.truncation import TruncationReport
from indextables.split.writer import new_split_path, write_split
from indextables.storage.paths import partition_path
from indextables.table.conform import conform
from indextables.table.parallel import in_order
from indextables.table.rows import partitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from indextables.config import Settings
    from indextables.log.actions import MetaData
    from indextables.runtime import Runtime
    from indextables.split.file import SplitFile
    from indextables.storage.base import Store

_LOG = logging.getLogger(__name__)
_REFUSALS = (ConcurrentWriteError, ProtocolError, SchemaError, TableNotFoundError, UnsafePathError)


@dataclass
class Staged:
    """Files that were written and that no commit holds yet.

    Attributes:
        store: Where they are.
        files: Those that are complete, in the order of their rows.
        paths: Every file that was begun, complete or not.
    """

    store: Store
    files: list[SplitFile] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def discard(self) -> None:
        """Delete them, as far as the store lets us."""
        for path in dict.fromkeys([*self.paths, *(file.path for file in self.files)]):
            try:
                self.store.delete(path)
            except StorageError as error:
                _LOG.warning("The unused file %s stays behind until a purge: %s", path, error)
        self.files.clear()
        self.paths.clear()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Delete the files if anything goes wrong before the commit begins."""
        try:
            yield
        except BaseException:
            self.discard()
            raise

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Delete the files if the commit was refused; where its outcome is open, they stay."""
        try:
            yield
        except _REFUSALS:
            self.discard()
            raise


def write_rows(
    staged: Staged,
    slabs: Iterable[pa.Table],
    *,
    schema: pa.Schema,
    metadata: MetaData,
    settings: Settings,
    runtime: Runtime,
) -> list[SplitFile]:
    """Write rows into new files, one or more a partition, in parallel.

    Args:
        staged: Takes note of each file that was written.
        slabs: The rows.
        schema: The table's columns.
        metadata: The table's metadata.
        settings: Which columns get statistics, and how long they may be.
        runtime: Names files and tells the time.

    Raises:
        SchemaError: The rows do not fit the table.
        StorageError: A file could not be written.
    """
    columns = metadata.partition_columns

    def write(part: tuple[dict[str, str | None], pa.Table]) -> SplitFile:
        values, rows = part
        path = new_split_path(partition_path((name, values[name]) for name in columns), runtime=runtime)
        staged.paths.append(path)
        return write_split(
            staged.store,
            path,
            rows,
            settings=settings,
            table_id=metadata.id,
            partition_values=values,
            runtime=runtime,
        )

    def parts() -> Iterator[tuple[dict[str, str | None], pa.Table]]:
        for slab in slabs:
            yield from partitions(conform(slab, schema), columns)

    waiting = parts()
    first = list(islice(waiting, 2))
    if len(first) < 2:
        files = [write(part) for part in first]
    else:
        workers = os.cpu_count() or 1
        with ThreadPoolExecutor(max_workers=workers) as pool:
            files = list(in_order(pool, write, chain(first, waiting), ahead=2 * workers))
    staged.files.extend(files)
    report_truncation(files)
    return files


def report_truncation(files: Sequence[SplitFile]) -> None:
    """Say in the log how much shorter statistics became, if any did."""
    total = sum((file.truncation for file in files), TruncationReport())
    if total.columns:
        _LOG.info(
            "Statistics truncated: %d columns, estimated size reduction: %d bytes",
            len(total.columns),
            total.bytes_saved,
        )
