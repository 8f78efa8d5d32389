"""Tables in memory: logs opened on them as separate processes would, commits of other software, and what the calls cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pyarrow as pa

from indextables.config import Settings
from indextables.log.actions import Add, MetaData
from indextables.log.codec import encode
from indextables.log.commit_info import COMMIT_TAG
from indextables.log.layout import LOG_DIRECTORY, commit_path, commit_version
from indextables.log.log import TransactionLog
from indextables.storage.retry import RetryingStore, RetryPolicy
from indextables.testing.faulty import FaultStore, Plan
from indextables.testing.models import S3Model
from indextables.testing.virtual import virtual_runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from indextables.log.actions import Action
    from indextables.runtime import Runtime
    from indextables.testing.faults import Op
    from indextables.testing.faulty import _Strike
    from indextables.testing.models import Model

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])
PARTITIONED = pa.schema([("id", pa.int64()), ("text", pa.string()), ("day", pa.date32())])

Codec = Literal["none", "gzip", "zstd", "lz4", "snappy"]


class WatchedStore(FaultStore):
    """Tells of each call before it happens, so that a test can let something else happen first."""

    def __init__(self, inner: Model, plan: Plan | None, before: Callable[[str, str], object] | None) -> None:
        super().__init__(inner, plan)
        self._before = before

    def _strike(self, op: Op, path: str) -> _Strike | None:
        if self._before:
            self._before(op, path)
        return super()._strike(op, path)


@dataclass(frozen=True)
class Opened:
    """A log as one process holds it, and the store that counts its calls."""

    log: TransactionLog
    store: FaultStore

    def cost(self, work: Callable[[], object]) -> Counter[str]:
        """Return the calls that some work takes, by name; an existence check is a `head`, as real stores do it."""
        before = len(self.store.calls)
        work()
        return Counter("head" if op == "exists" else op for op, _ in self.store.calls[before:])


@dataclass
class Place:
    """Where a table is, or will be.

    Attributes:
        model: The store.
        runtime: The clock and the chance that every process here shares, so that time passes for all of them at once.
        checkpoints: Whether logs write checkpoints by themselves, and start from them; off, the commits alone count.
    """

    model: Model = field(default_factory=S3Model)
    runtime: Runtime = field(default_factory=lambda: virtual_runtime(0))
    checkpoints: bool = False

    def open(
        self,
        settings: Settings | None = None,
        *,
        plan: Plan | None = None,
        before: Callable[[str, str], object] | None = None,
        attempts: int = 10,
    ) -> Opened:
        """Return the log as a process that has just started sees it.

        Args:
            settings: Its settings.
            plan: What goes wrong with its calls.
            before: Called with the name and the path of each of its calls, before it happens.
            attempts: How often a call is tried.
        """
        settings = settings or Settings()
        if not self.checkpoints:
            settings = replace(settings, checkpoint=replace(settings.checkpoint, enabled=False))
        store = WatchedStore(self.model, plan, before)
        retrying = RetryingStore(store, policy=RetryPolicy(attempts=attempts), runtime=self.runtime)
        return Opened(TransactionLog(retrying, settings=settings, runtime=self.runtime), store)

    def log(self, settings: Settings | None = None) -> TransactionLog:
        """Return the same without what counts the calls."""
        return self.open(settings).log

    def commits(self) -> int:
        """Return how many commit files there are."""
        return sum(commit_version(path) is not None for path in self.model.tree())

    def write(self, version: int, *actions: dict[str, Any], codec: Codec = "none") -> None:
        """Write a commit as other software would, whatever it says."""
        lines = b"".join(msgspec.json.encode(action) + b"\n" for action in actions)
        self.write_bytes(version, encode(lines, codec=codec))

    def write_bytes(self, version: int, data: bytes) -> None:
        """Write the bytes of a commit file, over what is there."""
        self.model.put(commit_path(version), data)

    def drop(self) -> None:
        """Delete the table's log, as somebody who removes the directory does."""
        for path in self.model.tree():
            if path.startswith(f"{LOG_DIRECTORY}/"):
                self.model.delete(path)


def new_table(
    schema: pa.Schema | str = SCHEMA, partition_columns: tuple[str, ...] = (), *, files: int = 0
) -> tuple[Place, TransactionLog]:
    """Return a table in memory with that many appended files, a commit each, and the log that made it."""
    place = Place()
    log = place.log()
    log.initialize(schema, partition_columns)
    for number in range(files):
        log.add_files([add(f"f{number}")])
    return place, log


def add(path: str, **fields: Any) -> Add:
    """Return an add action of which nothing but the path matters, unless it is given."""
    return Add(
        **{
            "path": path,
            "partition_values": {},
            "size": 100,
            "modification_time": 1_700_000_000_000,
            "data_change": True,
            **fields,
        }
    )


def foreign_add(path: str, **fields: Any) -> dict[str, Any]:
    """Return the JSON of an add as other software writes it: without our tag."""
    known = {
        "path": path,
        "partitionValues": {},
        "size": 100,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
    }
    return {"add": {**known, **fields}}


def paths(log: TransactionLog) -> list[str]:
    """Return the paths of the active files, sorted."""
    return sorted(log.list_files()["path"].to_pylist())


def kinds(actions: list[Action]) -> list[str]:
    """Return the keys of actions, in order."""
    return [action.key for action in actions]


def facts(actions: Sequence[Action]) -> list[dict[str, Any]]:
    """Return everything that actions say about the commit that they are in, one entry for each action that says anything."""
    texts = []
    for action in actions:
        place = action.configuration if isinstance(action, MetaData) else getattr(action, "tags", None)
        if isinstance(place, dict) and (text := place.get(COMMIT_TAG)) is not None:
            texts.append(text)
    return [msgspec.json.decode(text, type=dict) for text in texts]
