"""Clients of a table as they are in production, except that everything they do is written down.

A client is a process of its own: its own log, clock and source of ids, and its own line to the store.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import msgspec

from indextables.config import Settings
from indextables.log.actions import Add
from indextables.log.conflicts import Kind
from indextables.log.layout import commit_version
from indextables.log.log import TransactionLog
from indextables.log.removal import removes_of, rows_of
from indextables.storage.retry import RetryingStore, RetryPolicy
from indextables.testing.faulty import FaultStore
from indextables.testing.virtual import virtual_runtime
from tests.support.history import View, Wish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from indextables.log.actions import Action
    from indextables.log.commit import CommitResult
    from indextables.runtime import Runtime
    from indextables.storage.base import Store
    from tests.support.history import Call, History, Look

ATTEMPTS = 4
_PREFIX = "spark.indextables."
# Threads of a reader would make their calls in any order, and a case must be the same case every time. Checkpoints are on trial
# in tests of their own; here the commits alone are.
_CALM: dict[str, object] = {
    f"{_PREFIX}checkpoint.parallelism": 1,
    f"{_PREFIX}checkpoint.enabled": False,
    f"{_PREFIX}transaction.retry.maxAttempts": ATTEMPTS,
}
SETTINGS = Settings.resolve(_CALM)
UNCACHED = Settings.resolve(_CALM | {f"{_PREFIX}transaction.cache.enabled": False})
PLAIN = Settings.resolve(_CALM | {f"{_PREFIX}transaction.useOptimized": False})


def _schema(*columns: str) -> str:
    fields = ",".join(f'{{"name":"{name}","type":"long","nullable":true,"metadata":{{}}}}' for name in columns)
    return f'{{"type":"struct","fields":[{fields}]}}'


SCHEMA, OTHER_SCHEMA, WIDER_SCHEMA = _schema("id"), _schema("key"), _schema("id", "more")


class Line(FaultStore):
    """A client's line to a store: others can get in right before its first commit, and it can be laid elsewhere."""

    def __init__(self, inner: Store, *, before_commit: Callable[[], object] | None = None) -> None:
        super().__init__(inner)
        self._before_commit = before_commit

    def lead_to(self, inner: Store) -> None:
        self._inner = inner

    def put_if_absent(self, path: str, data: bytes) -> None:
        if self._before_commit is not None and commit_version(path) is not None:
            meddle, self._before_commit = self._before_commit, None
            meddle()
        super().put_if_absent(path, data)


class Client:
    """One process that works on the table and has everything written down.

    Args:
        name: Tells it from the others; its ids follow from it.
        store: The store.
        history: Where it is written down.
        settings: The settings of its log.
        runtime: Its clock and ids; by default one of its own.
        before_commit: Happens right before its first commit is sent.
        wrap: Makes its store repeat calls; tests of the tests put something broken here.
    """

    def __init__(
        self,
        name: str,
        store: Store,
        history: History,
        *,
        settings: Settings = SETTINGS,
        runtime: Runtime | None = None,
        before_commit: Callable[[], object] | None = None,
        wrap: Callable[[Store, Runtime], Store] | None = None,
    ) -> None:
        self.name = name
        self.line = Line(store, before_commit=before_commit)
        runtime = runtime or virtual_runtime(zlib.crc32(name.encode()))
        self.log = TransactionLog((wrap or retrying)(self.line, runtime), settings=settings, runtime=runtime)
        self._history = history
        self._calls = 0

    def create(self, schema: str = SCHEMA) -> Call:
        token = self._token()
        wish = Wish(verb="create", schema=schema)
        return self._history.change(token, wish, lambda: self.log.initialize(schema, description=token))

    def append(self, *, files: int = 1, batch: tuple[str, int] | None = None) -> Call:
        token = self._token()
        adds = self._files(token, [(f"{token}#{number}",) for number in range(files)])
        app, number = batch or (None, None)
        wish = Wish(verb="append", adds=self._rows(adds), batch=batch)
        return self._history.change(token, wish, lambda: self.log.add_files(adds, app=app, batch=number))

    def append_with_metadata(self) -> Call:
        """Append a file and note something in the table's properties, in one commit."""
        token = self._token()
        adds = self._files(token, [(f"{token}#0",)])

        def act() -> CommitResult:
            metadata = self.log.metadata
            noted = msgspec.structs.replace(metadata, configuration={**(metadata.configuration or {}), "note": token})
            return self.log.commit([noted, *adds], operation=Kind.APPEND)

        return self._history.change(token, Wish(verb="append", adds=self._rows(adds)), act)

    def overwrite(self) -> Call:
        token = self._token()
        adds = self._files(token, [(f"{token}#0",)])
        wish = Wish(verb="overwrite", adds=self._rows(adds))
        return self._history.change(token, wish, lambda: self.log.overwrite_files(adds))

    def remove(self, *paths: str) -> Call:
        token = self._token()
        wish = Wish(verb="remove", takes=tuple(row for path in paths for row in self._history.rows[path]))
        return self._history.change(token, wish, lambda: self.log.remove_files(paths, user_metadata=token))

    def merge(self, *paths: str) -> Call:
        token = self._token()
        adds = self._files(token, [tuple(row for path in paths for row in self._history.rows[path])])
        return self._history.change(token, Wish(verb="merge"), lambda: self.log.merge_files(paths, adds))

    def skip(self, path: str) -> Call:
        token = self._token()
        wish = Wish(verb="skip")
        return self._history.change(
            token, wish, lambda: self.log.record_skipped_file(path, reason=f"{token} cannot", operation="merge")
        )

    def describe(self, schema: str | None = None) -> Call:
        token = self._token()
        wish = Wish(verb="describe")
        return self._history.change(token, wish, lambda: self.log.update_metadata(schema=schema, description=token))

    def move_row(self, source: str, target: str) -> Call:
        """Move a row from one file to another: both are read, and written anew under the same names elsewhere."""
        token = self._token()

        def act() -> CommitResult:
            snapshot = self.log.snapshot()
            old = {path.rpartition("/")[2]: path for path in snapshot.files["path"].to_pylist()}
            giver, taker = self._history.rows[old[source]], self._history.rows[old[target]]
            if giver:
                giver, taker = giver[1:], (*taker, giver[0])
            adds = self._files(token, [giver, taker], names=(source, target))
            removes = removes_of(rows_of(snapshot.files, [old[source], old[target]]), now_ms=0, data_change=True)
            actions: list[Action] = [*removes, *adds]
            return self.log.commit(actions, operation="move", read_version=snapshot.version)

        return self._history.change(token, Wish(verb="move"), act)

    def read(self) -> Look:
        return self._history.look(self.name, self._view)

    def _view(self) -> View:
        snapshot = self.log.snapshot()
        skips = snapshot.skips
        return View(
            snapshot.version,
            tuple(sorted(snapshot.files["path"].to_pylist())),
            tuple(sorted(zip(skips["path"].to_pylist(), skips["skip_count"].to_pylist(), strict=True))),
            snapshot.metadata.description or None,
            tuple(sorted((app, batch.number, batch.version) for app, batch in snapshot.transactions.items())),
        )

    def _token(self) -> str:
        self._calls += 1
        return f"{self.name}{self._calls}"

    def _files(
        self, token: str, contents: Sequence[tuple[str, ...]], *, names: Iterable[str] | None = None
    ) -> list[Add]:
        adds = []
        for name, rows in zip(names or [f"{token}-{number}" for number in range(len(contents))], contents, strict=True):
            path = f"{token}/{name}"
            self._history.rows[path] = rows
            adds.append(
                Add(
                    path=path, partition_values={}, size=9, modification_time=0, data_change=True, num_records=len(rows)
                )
            )
        return adds

    def _rows(self, adds: Sequence[Add]) -> tuple[str, ...]:
        return tuple(row for add in adds for row in self._history.rows[add.path])


def retrying(store: Store, runtime: Runtime) -> Store:
    """Return the store as a log wants it."""
    return RetryingStore(store, policy=RetryPolicy(attempts=ATTEMPTS), runtime=runtime)
