"""Which files of one version a scan reads: the log's columns, filtered, and packed for the JVM.

A DataFrame names a version and no more. Its columns are looked up when Spark plans, and loaded again if they were dropped in the
meantime, so that a thousand DataFrames over a large table hold one list of files and not a thousand.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from functools import cached_property, reduce
from operator import and_
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import PredicateError, SchemaError, TableNotFoundError
from indextables.predicate import bind, parse_v2
from indextables.spark.partitions import numbered
from indextables.spark.question import pack_files, pack_partitions
from indextables.table.pruning import prune
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from indextables.log import TransactionLog
    from indextables.log.snapshot import Snapshot
    from indextables.predicate import Predicate
    from indextables.spark.question import Question

_LOG = logging.getLogger(__name__)


class Listing:
    """Files of one version, with the number of the partition that each belongs to.

    Args:
        snapshot: The version.
        rows: The numbers of the files; all if not given.
    """

    def __init__(self, snapshot: Snapshot, rows: pa.Array | None = None) -> None:
        self.snapshot = snapshot
        self._rows = None if rows is None else np.unique(rows.to_numpy(zero_copy_only=False))

    @cached_property
    def _numbered(self) -> tuple[npt.NDArray[np.int32], pa.Table]:
        """The number of each file's partition, and the distinct partitions by number."""
        snapshot = self.snapshot
        for name in snapshot.partition_columns:
            if snapshot.doubtful_partition(name) is not None:
                raise SchemaError(
                    f"Partition column {name} of {snapshot.url} holds values that its type does not know",
                    columns=[name],
                    way_out="Remove the files in those partitions, or write them anew",
                )
        return numbered(snapshot.partition_values, snapshot.num_files)

    @cached_property
    def packed_partitions(self) -> bytes:
        """The distinct partitions, as the JVM reads them."""
        return pack_partitions(self._numbered[1])

    @cached_property
    def size_in_bytes(self) -> int:
        """How large the files are together."""
        if self._rows is None:
            return self.snapshot.size_in_bytes
        return int(pc.sum(self.snapshot.files["size"].take(pa.array(self._rows))).as_py() or 0)

    @cached_property
    def num_rows(self) -> int | None:
        """How many rows they hold together; None if the log does not vouch for all of them."""
        counts = self.snapshot.trusted_records
        if self._rows is not None:
            counts = counts.take(pa.array(self._rows))
        return None if counts.null_count else int(pc.sum(counts).as_py() or 0)

    @property
    def num_files(self) -> int:
        """How many there are."""
        return self.snapshot.num_files if self._rows is None else len(self._rows)

    def answer(self, question: Question) -> bytes:
        """Return the files that may hold rows for a scan."""
        with span("indextables.spark.plan", table=self.snapshot.url, version=self.snapshot.version) as noted:
            files, number = self.snapshot.files, self._numbered[0]
            rows = self._chosen(question.filters)
            if rows is not None:
                number = number[rows]
            if not question.partitions.all():
                kept = np.flatnonzero(question.partitions[number])
                rows = kept if rows is None else rows[kept]
                number = number[kept]
            noted.note(files=len(number))
            wanted = files.select(["path", "size", "modification_time"])
            return pack_files(wanted if rows is None else wanted.take(pa.array(rows)), number)

    def _chosen(self, filters: Sequence[str]) -> npt.NDArray[np.int64] | None:
        """Return the numbers of the files that data filters leave; None means all of them."""
        predicate = _predicate(filters, self.snapshot)
        if predicate is None:
            return self._rows
        rows: npt.NDArray[np.int64] = prune(self.snapshot, predicate).rows.to_numpy(zero_copy_only=False)
        return rows if self._rows is None else np.intersect1d(rows, self._rows, assume_unique=True)


def _predicate(filters: Sequence[str], snapshot: Snapshot) -> Predicate | None:
    """Return what filters say together. Spark checks them again, so one that is not understood is left out."""
    known = []
    for text in filters:
        expression = parse_v2(text)
        if expression is None:
            continue
        try:
            bind(expression, snapshot.schema)
        except (PredicateError, SchemaError) as error:
            _LOG.debug("The filter %s does not choose files: %s", text, error)
            continue
        known.append(expression)
    return bind(reduce(and_, known), snapshot.schema) if known else None


class Listings:
    """The listings used last, as many as fit into a number of bytes, and at least one."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[str, str, int], Listing] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, snapshot: Snapshot) -> Listing:
        """Return the listing of a snapshot."""
        key = (snapshot.url, snapshot.metadata.id, snapshot.version)
        with self._lock:
            listing = self._kept.get(key)
            if listing is None:
                listing = self._kept[key] = Listing(snapshot)
            self._kept.move_to_end(key)
            size = sum(kept.snapshot.files.nbytes for kept in self._kept.values())
            while size > self._max_bytes and len(self._kept) > 1:
                size -= self._kept.popitem(last=False)[1].snapshot.files.nbytes
        return listing

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._kept.clear()

    def find(self, url: str, table: str, version: int) -> Listing | None:
        """Return a listing if it is still kept."""
        with self._lock:
            listing = self._kept.get((url, table, version))
            if listing is not None:
                self._kept.move_to_end((url, table, version))
        return listing


LISTINGS: Final = Listings(max_bytes=2**30)
"""Those of this process."""


class TableSource:
    """One version of one table, and the way to its files."""

    def __init__(self, log: TransactionLog, snapshot: Snapshot) -> None:
        self._log = log
        self._url = snapshot.url
        self._table = snapshot.metadata.id
        self._version = snapshot.version

    def answer(self, question: Question) -> bytes:
        """Return the files that may hold rows for a scan.

        Raises:
            TableNotFoundError: Another table was made in its place.
        """
        return self.listing().answer(question)

    def listing(self) -> Listing:
        """Return the listing of this version, loaded again if it was dropped."""
        listing = LISTINGS.find(self._url, self._table, self._version)
        if listing is None:
            snapshot = self._log.snapshot(self._version)
            if snapshot.metadata.id != self._table:
                raise TableNotFoundError(self._url, detail="another one was made in its place since it was read")
            listing = LISTINGS.of(snapshot)
        return listing
