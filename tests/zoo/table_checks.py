"""A detector of what becomes of rows and data files when the answers to a table's writes get lost, or its reads are damaged."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.errors import AlreadyExistsError, IndexTablesError, OutcomeUnknownError, StorageUnavailableError
from indextables.storage.retry import RetryingStore, RetryPolicy
from indextables.table import Table
from indextables.testing.faulty import FaultKind, FaultStore, sweep
from indextables.testing.models import S3Model
from indextables.testing.virtual import virtual_runtime
from tests.unit.table import test_merging
from tests.zoo.detectors import Detector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from indextables.storage.base import Store
    from indextables.testing.models import Model

_ATTEMPTS = 2


def _patient(store: Store) -> Store:
    return RetryingStore(store, policy=RetryPolicy(attempts=_ATTEMPTS), runtime=virtual_runtime(1))


def _opened(store: Store, *, seed: int = 2) -> Table:
    """Open a table as a process of its own: with another seed it gives its files other names."""
    return Table.at_store(_patient(store), runtime=virtual_runtime(seed))


def _append(store: Store) -> None:
    _opened(store).append(pa.table({"id": [5, 6]}))


def _overwrite(store: Store) -> None:
    _opened(store).overwrite(pa.table({"id": [7]}))


def _delete(store: Store) -> None:
    _opened(store).delete("id = 2")


def _merge(store: Store) -> None:
    test_merging.merge(_patient(store))


AFTER: dict[Callable[[Store], None], list[int]] = {
    _append: [1, 2, 3, 4, 5, 6],
    _overwrite: [7],
    _delete: [1, 3, 4],
    _merge: [1, 2, 3, 4],
}


class GoesSilent(FaultStore):
    """A line that breaks in the middle of a commit: neither its answer nor any later read of it comes through."""

    def __init__(self, inner: Store, *, lands: bool) -> None:
        super().__init__(inner)
        self._lands = lands
        self._sent: set[str] = set()

    def put_if_absent(self, path: str, data: bytes) -> None:
        self._sent.add(path)
        if self._lands:
            with suppress(AlreadyExistsError):
                super().put_if_absent(path, data)
        raise OutcomeUnknownError(path, store=self.url)

    def get(self, path: str) -> bytes:
        if path in self._sent:
            raise StorageUnavailableError(path, store=self.url)
        return super().get(path)


def _table() -> S3Model:
    model = S3Model()
    first = _opened(model, seed=3)
    for rows in ([1, 2], [3, 4]):
        first.append(pa.table({"id": rows}))
    return model


def _judged(work: Callable[[Store], None], model: Model, what: object) -> Iterator[str]:
    """I3, I9: the table is as it was or as it was to be, and every data file of every version that it shows is there."""
    survivor = Table.at_store(model)
    for version in survivor.log.versions():
        paths = survivor.log.snapshot(version).files["path"].to_pylist()
        if gone := [path for path in paths if not model.exists(path)]:
            yield f"I9: {work.__name__}, {what}: version {version} needs {gone}, which are gone"
            return
    seen = sorted(survivor.to_arrow()["id"].to_pylist())
    if seen not in ([1, 2, 3, 4], AFTER[work]):
        yield f"I3: {work.__name__}, {what}: the rows are {seen}"


def _silenced(_: Path) -> Iterator[str]:
    begin = _table()
    for work in AFTER:
        for lands in (True, False):
            model = begin.clone()
            with suppress(IndexTablesError):
                work(GoesSilent(model, lands=lands))
            yield from _judged(work, model, f"the commit {'landed' if lands else 'got lost'} unheard")


def _misread(_: Path) -> Iterator[str]:
    begin = _table()
    for case in sweep(_merge, stores=[begin.clone], kinds=(FaultKind.BIT_FLIP, FaultKind.TRUNCATED_READ)):
        model = case.make()
        with suppress(IndexTablesError):
            _merge(FaultStore(model, case.plan))
        yield from _judged(_merge, model, case)


SILENCED = Detector("commits of unknown outcome", "every write to a table, landed and lost", _silenced)
MISREAD = Detector("fault sweep", "a merge whose reads are damaged", _misread)
