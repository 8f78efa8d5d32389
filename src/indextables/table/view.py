"""A table as a reader sees it. Everything that changes it is in `table.py`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Settings
from indextables.errors import ConfigError, SchemaError
from indextables.log.log import TransactionLog
from indextables.predicate import bind
from indextables.runtime import SYSTEM, Runtime
from indextables.storage.open import open_store
from indextables.table import display
from indextables.table.explain import Explanation, explain_pruning
from indextables.table.listing import list_files
from indextables.table.partial import snapshot_for
from indextables.table.progress import shown
from indextables.table.pruning import prune
from indextables.table.reading import scan_of
from indextables.table.verify import verify_statistics
from indextables.tracing import UNTRACED, Span, span

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping, Sequence

    from indextables.log.actions import MetaData, Protocol
    from indextables.log.cache import CacheStats
    from indextables.log.snapshot import Snapshot
    from indextables.predicate import Expression, Predicate
    from indextables.storage.base import Store

_FEW_ROWS: Final = 100_000


class TableView:
    """Reads a table; see `Table`.

    Args:
        path: A local path, or an address such as `s3://bucket/table`.
        version: Look at this version, for ever; it cannot be written then.
        timestamp: Look at the newest version of that moment instead.
        options: Settings under their full names, and credentials, as Spark options are given.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        version: int | None = None,
        timestamp: str | int | dt.date | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        settings = Settings.resolve(options)
        properties = {key: str(value) for key, value in (options or {}).items() if value is not None}
        store = open_store(os.fspath(path), settings=settings, properties=properties)
        self._set(store, settings, SYSTEM, version, timestamp)

    @classmethod
    def at_store(
        cls,
        store: Store,
        *,
        settings: Settings | None = None,
        runtime: Runtime = SYSTEM,
        version: int | None = None,
        timestamp: str | int | dt.date | None = None,
    ) -> Self:
        """Return the table in a store as `open_store` returns it, one that settles doubt, with settings that are resolved."""
        table = cls.__new__(cls)
        table._set(store, settings or Settings(), runtime, version, timestamp)  # noqa: SLF001 - this class's own
        return table

    def _set(
        self,
        store: Store,
        settings: Settings,
        runtime: Runtime,
        version: int | None,
        timestamp: str | int | dt.date | None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._runtime = runtime
        self._at = (version, timestamp)
        self._log = TransactionLog(store, settings=settings, runtime=runtime)

    @property
    def path(self) -> str:
        """Where the table is."""
        return self._store.url

    @property
    def log(self) -> TransactionLog:
        """The transaction log, for what the table itself does not offer."""
        return self._log

    def snapshot(self) -> Snapshot:
        """Return the table as it is now, or as of the version that it was opened at: unchanging, whatever others commit."""
        version, timestamp = self._at
        return self._log.snapshot(version, timestamp)

    @property
    def version(self) -> int:
        """The newest version, or the one that the table was opened at."""
        return self._log.latest_version() if self._at == (None, None) else self.snapshot().version

    @property
    def metadata(self) -> MetaData:
        """What the table says of itself."""
        return self._log.metadata if self._at == (None, None) else self.snapshot().metadata

    @property
    def protocol(self) -> Protocol:
        """What a reader and a writer of the table must understand."""
        return self._log.protocol if self._at == (None, None) else self.snapshot().protocol

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._log.schema if self._at == (None, None) else self.snapshot().schema

    @property
    def partition_columns(self) -> list[str]:
        """The columns that directories are named after, outermost first."""
        return list(self.metadata.partition_columns)

    def files(self, *, where: str | Expression | None = None) -> pa.Table:
        """Return the files that may hold rows for which a predicate is true, a row each, with statistics typed.

        Args:
            where: The predicate, as SQL or built with `col`; all files if not given.
        """
        snapshot = self._snapshot_for(where)
        return list_files(snapshot, prune(snapshot, _bound(where, snapshot)).rows)

    def history(self, *, limit: int | None = None) -> pa.Table:
        """Return what was committed, newest first: version, time, operation, and what it added and removed."""
        return self._log.history(limit=limit)

    def to_batches(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Expression | None = None,
        limit: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows batch by batch, with no more in memory than a few row groups; see `to_arrow`."""
        for table in self._tables(columns, where, limit)[1]:
            yield from table.to_batches()

    def to_arrow(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Expression | None = None,
        limit: int | None = None,
    ) -> pa.Table:
        """Return rows as an Arrow table.

        Args:
            columns: The columns, in that order; all if not given.
            where: Only rows for which this is true, as SQL (`"level = 'ERROR' AND day >= DATE '2024-01-01'"`) or built with `col`.
            limit: No more rows than this.

        Raises:
            SchemaError: A column does not exist.
            PredicateError: The predicate cannot be understood; it points at the place.
            SplitCorruptionError: A file is damaged; it names the file.
            TableNotFoundError: There is no table.
        """
        with span("indextables.scan", table=self.path) as noted:
            schema, tables = self._tables(columns, where, limit, noted)
            found = list(tables)
            rows = pa.concat_tables(found) if found else schema.empty_table()
            noted.note(rows=rows.num_rows)
            return rows

    def to_pandas(
        self,
        *,
        columns: Sequence[str] | None = None,
        where: str | Expression | None = None,
        limit: int | None = None,
    ) -> Any:
        """Return rows as a pandas frame; see `to_arrow`."""
        return self.to_arrow(columns=columns, where=where, limit=limit).to_pandas()

    def count(self, *, where: str | Expression | None = None) -> int:
        """Return how many rows there are; files whose statistics settle it are not read."""
        snapshot = self._snapshot_for(where)
        predicate = _bound(where, snapshot)
        chosen = prune(snapshot, predicate)
        known = snapshot.files["num_records"].take(chosen.rows)
        settled = pc.and_(chosen.whole, pc.is_valid(known))
        total = int(pc.sum(known.filter(settled)).as_py() or 0)
        scan = scan_of(self._store, snapshot, [], predicate, chosen.filtered(pc.invert(settled)))
        return total + sum(scan.counts().values())

    def explain(self, where: str | Expression) -> Explanation:
        """Tell how many files a predicate leaves, what removed the others, and why the rest stayed."""
        snapshot = self.snapshot()
        return explain_pruning(snapshot, bind(where, snapshot.schema))

    def skipped_files(self) -> pa.Table:
        """Return the files that an operation could not use, with their cooldown."""
        return self._log.skipped_files()

    def cache_stats(self) -> CacheStats:
        """Return how often the caches of the log had the answer."""
        return self._log.cache_stats()

    def verify_stats(self) -> pa.Table:
        """Read the data and return every statistic that could lose a row: file, column, and what is wrong. None is good."""
        return verify_statistics(self._store, self.snapshot())

    def __repr__(self) -> str:
        return display.as_text(self)

    def _repr_html_(self) -> str:
        return display.as_html(self)

    def _snapshot_for(self, where: str | Expression | None) -> Snapshot:
        """Return a snapshot that has every file in which a predicate may be true."""
        return self.snapshot() if where is None or self._at != (None, None) else snapshot_for(self._log, where)

    def _tables(
        self,
        columns: Sequence[str] | None,
        where: str | Expression | None,
        limit: int | None,
        noted: Span = UNTRACED,
    ) -> tuple[pa.Schema, Iterator[pa.Table]]:
        if limit is not None and limit < 0:
            raise ConfigError("limit", limit, "a number of rows, or leave it out")
        snapshot = self._snapshot_for(where)
        predicate = _bound(where, snapshot)
        wanted = _known(columns, snapshot.schema)
        chosen = prune(snapshot, predicate)
        noted.note(version=snapshot.version, files=len(chosen.rows))
        sparing = limit is not None and limit <= _FEW_ROWS
        scan = scan_of(self._store, snapshot, wanted, predicate, chosen, sparing=sparing)
        return scan.schema, _limited(shown(scan.tables(), files=len(chosen.rows)), limit)


def _bound(where: str | Expression | None, snapshot: Snapshot) -> Predicate | None:
    return None if where is None else bind(where, snapshot.schema)


def _known(columns: Sequence[str] | None, schema: pa.Schema) -> list[str]:
    if columns is None:
        return list(schema.names)
    if missing := [name for name in columns if name not in schema.names]:
        raise SchemaError(
            f"There are no columns {', '.join(missing)}",
            columns=missing,
            way_out=f"The table's columns are {', '.join(schema.names)}",
        )
    return list(dict.fromkeys(columns))


def _limited(tables: Iterator[pa.Table], limit: int | None) -> Iterator[pa.Table]:
    left = limit
    for table in tables:
        if left is None:
            yield table
            continue
        if left <= 0:
            return
        yield table.slice(0, left)
        left -= table.num_rows
