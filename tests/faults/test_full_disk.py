"""A disk that takes no more bytes in the middle of anything: the change is there or it is not, and nothing else is lost.

The limit is that of the process on the size of a file, which fails a write after so many bytes, as a full disk does, and needs no
rights and no disk of its own.
"""

from __future__ import annotations

import resource
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from indextables.config import Settings
from indextables.errors import IndexTablesError
from indextables.storage.open import open_store
from indextables.storage.temporary import is_temporary
from indextables.table import Table
from indextables.table.merge_group import merge_group
from indextables.table.merge_run import MergeRun
from indextables.table.merging import MergePolicy
from tests.faults.paused_worker import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LIMITS = (0, 1, 100, 300, 500, 700, 1000, 1500, 2500)
BEFORE = [0, 1, 2, 3, 4]
IMPATIENT = {
    "spark.indextables.transaction.retry.baseDelayMs": "1",
    "spark.indextables.transaction.retry.maxAttempts": "2",
}


def merge(table: Table) -> None:
    settings = Settings.resolve(IMPATIENT)
    store = open_store(table.path, settings=settings, properties={})
    run = MergeRun(
        table.log, store, settings, lambda groups, task: (merge_group(store, group, task) for group in groups)
    )
    result = run.run(MergePolicy(target_size=1_000_000))
    if result.failures:
        raise IndexTablesError("; ".join(result.failures), "Make room")


OPERATIONS: dict[str, tuple[Callable[[Table], Any], list[int]]] = {
    "append": (lambda table: table.append(numbers(*range(100, 400))), [*BEFORE, *range(100, 400)]),
    "overwrite": (lambda table: table.overwrite(numbers(7)), [7]),
    "delete": (lambda table: table.delete("id = 4"), [0, 1, 2, 3]),
    "checkpoint": (lambda table: table.checkpoint(), BEFORE),
    "merge": (merge, BEFORE),
    "restore": (lambda table: table.restore(1), [0]),
}


@contextmanager
def full_after(size: int) -> Iterator[None]:
    """Let no file become larger than that."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("full") / "table"
    table = Table(place)
    for number in BEFORE[:3]:
        table.append(numbers(number))
    table.append(numbers(*BEFORE[3:]))
    return place


def rows(place: Path) -> list[int]:
    found: list[int] = sorted(Table(place).to_arrow()["id"].to_pylist())
    return found


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_a_full_disk_stops_is_not_there_and_the_next_try_works(
    name: str, pattern: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    work, after = OPERATIONS[name]
    refused = 0
    for limit in LIMITS:
        place = tmp_path / str(limit)
        shutil.copytree(pattern, place)
        versions = Table(place).version
        table = Table(place, options=IMPATIENT)
        try:
            with full_after(limit):
                work(table)
        except IndexTablesError:
            refused += 1
            assert rows(place) == BEFORE, f"after {limit} bytes"
            assert Table(place).version == versions
            work(table)  # the same process goes on when there is room again
        assert rows(place) == after, f"after {limit} bytes"
        left = [path for path in place.rglob("*") if is_temporary(path.name)]
        assert not left, f"after {limit} bytes"
        assert Table(place).verify_stats().num_rows == 0
    record_property("operations on a full disk", refused)
    assert refused >= 3, "a commit has more than a hundred bytes"
