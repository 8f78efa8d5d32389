"""A table, the clients that work on it, what must be in it, and how one operation on it is judged.

Two clients live on for many operations, each with its own caches and its own wrong clock. Before an operation a fault may be laid
at one of its calls to the store; what the client is then told decides which outcomes are allowed: done, not done, or either.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pyarrow as pa

from indextables.errors import CommitUnknownError, IndexTablesError
from indextables.storage.retry import RetryingStore, RetryPolicy
from indextables.table import Table
from indextables.testing.faulty import Crash, FaultKind, FaultStore, Plan, applicable
from indextables.testing.virtual import dice
from tests.faults.upkeep_clock import DAY_MS, Clock, configured
from tests.stateful.outside import COLUMNS, Outside, Rows, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.config import Settings
    from indextables.log.log import TransactionLog
    from indextables.runtime import Runtime
    from indextables.testing.faults import Op
    from indextables.testing.faulty import _Strike
    from indextables.testing.models import Model

_R = TypeVar("_R")

KEPT_DAYS = 2
KEPT_VERSIONS = 3
_OPTIONS = {
    "checkpoint__parallelism": 1,
    "checkpoint__interval": 8,
    "checkpoint__retention": KEPT_VERSIONS,
    "logRetention__duration": KEPT_DAYS * DAY_MS,
    "transaction__retry__maxAttempts": 4,
}
SETTINGS = configured(**_OPTIONS)
PLAIN = configured(**_OPTIONS, transaction__useOptimized=False)
"""Reads the log file by file: another way to the same answer, and the quicker one while a log is small."""
WAYS = (SETTINGS, PLAIN)
"""How each of the two clients works."""

CRASHES = (FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER, FaultKind.TORN_WRITE)
TROUBLES = (
    FaultKind.ANSWER_LOST_DONE,
    FaultKind.ANSWER_LOST_NOT_DONE,
    FaultKind.LATE_EFFECT,
    FaultKind.DUPLICATE,
    FaultKind.CONFLICT_409,
    FaultKind.UNAVAILABLE,
    FaultKind.PERMISSION,
    FaultKind.DISK_FULL,
    FaultKind.CLOSE_FAILS,
    FaultKind.SYNC_FAILS,
)


class Inline(Executor):
    """A pool without threads: the calls of an operation come in one order, so a case is the same case every time."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, fn: Callable[..., _R], /, *args: Any, **kwargs: Any) -> Future[_R]:
        future: Future[_R] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it, crashes too
            future.set_exception(error)
        return future


class Fault(NamedTuple):
    """What goes wrong in an operation: the kind, at which of the calls that it can strike at, and whether power goes, too."""

    kind: FaultKind
    call: int
    seed: int
    power: bool = False


class Actor(NamedTuple):
    """Which client does something, and what goes wrong with it."""

    who: int
    fault: Fault | None


class Armed(FaultStore):
    """A store at which a fault is laid for one operation."""

    def __init__(self, inner: Model) -> None:
        super().__init__(inner)
        self._fault: Fault | None = None
        self._passed = 0

    def arm(self, fault: Fault | None) -> None:
        """Lay a fault, or take it away."""
        self._fault, self._passed, self._plan, self.fired = fault, 0, None, 0

    def _strike(self, op: Op, path: str) -> _Strike | None:
        fault = self._fault
        if fault is not None and not self.fired and applicable(fault.kind, op):
            self._passed += 1
            if self._passed == fault.call:
                self._plan = Plan(len(self.calls) + 1, fault.kind, seed=fault.seed)
        return super()._strike(op, path)


class Told(Enum):
    """What a client was told."""

    DONE = "done"
    FAILED = "not done"
    UNKNOWN = "nothing"


@dataclass(frozen=True)
class Version:
    """What a version must be: its rows, how many of the columns it has, and the batches of applications that it knows."""

    rows: Rows
    width: int = 2
    batches: dict[str, int] = field(default_factory=dict)


class Said(NamedTuple):
    """What an operation that came back says of itself: the newest version, and whether it wrote one."""

    version: int
    written: bool


class Client:
    """One process on the table: its store, its clock, its caches."""

    def __init__(self, model: Model, clock: Clock, life: int, settings: Settings) -> None:
        self.skew_ms = 0
        self.armed = Armed(model)
        self.runtime: Runtime = replace(clock.runtime(life), now_ms=lambda: clock.ms + self.skew_ms)
        self.store = RetryingStore(self.armed, policy=RetryPolicy(attempts=4), runtime=self.runtime)
        self.settings = settings
        self.table = self.open()

    def open(self, **at: int) -> Table:
        """Return the table, now or at a `version` or `timestamp`."""
        return Table.at_store(self.store, settings=self.settings, runtime=self.runtime, **at)


class World:
    """Everything that a run is about.

    Attributes:
        model: The store.
        clock: The true time.
        versions: What each version must be.
        born: When each came to be.
        struck: How many faults struck.
        looks: How often the table was checked.
    """

    def __init__(self, make: type[Model]) -> None:
        self.clock = Clock()
        self.model = make(now_ms=self.clock.now_ms)
        self.versions: list[Version] = []
        self.born: list[int] = []
        self.struck = 0
        self._lives = 0
        self.looks = 0
        self._checked: dict[str, bytes] = {}
        self.outside = Outside()
        self._start()
        self.clients[0].table.log.initialize(schema_of(2), ["part"])
        self.outside.look(self.model.tree())
        self._note(Version(Counter()), 1)

    @property
    def newest(self) -> Version:
        """What the table must be now."""
        return self.versions[-1]

    def restart(self, who: int) -> None:
        """Let a client end, and another begin in its place."""
        self.clients[who] = self._new_client(WAYS[who])

    def act(
        self, by: Actor, work: Callable[[Client], Said | None], then: Version | None = None, *, many: bool = False
    ) -> None:
        """Let a client do something, and check that what it was told is true.

        Args:
            by: The client, and what goes wrong with it.
            work: What it does.
            then: What a version that it writes must be; None if it may write none.
            many: Whether it may write any number of such versions.
        """
        who, fault = by
        client = self.clients[who]
        client.armed.arm(fault)
        said: Said | None = None
        told, crashed = Told.DONE, False
        try:
            said = work(client)
        except Crash:
            told, crashed = Told.UNKNOWN, True
        except CommitUnknownError:
            told = Told.UNKNOWN
        except IndexTablesError:
            if not client.armed.fired:
                raise  # nothing disturbed it
            told = Told.FAILED
        self.struck += client.armed.fired
        client.armed.arm(None)
        if fault is not None:
            self._settle(who, fault, crashed=crashed)
        before = len(self.versions)
        self.outside.look(self.model.tree())
        written = self.outside.versions - before
        if not (many and told is not Told.DONE):
            self._judge(told, said, written, then)
        assert written == 0 or then is not None, "I1: nobody asked for a version"
        if then is not None:
            self._note(then, written)

    def check(self) -> None:
        """Look at the table from outside, and where anything changed through the eyes of readers old and new."""
        self.looks += 1
        tree = self.model.tree()
        self.outside.look(tree)
        newest = len(self.versions) - 1
        chance = dice(self.looks, newest)
        for version in {newest, chance.randint(self.outside.floor, newest)}:
            self._same("I3: in the store", version, self.outside.rows(tree, version))
        if tree == self._checked:
            return
        self._same("I6: to a reader of old", newest, rows_of(self._reader.table.to_arrow()))
        log = self._new_client(PLAIN if chance.random() < 0.75 else SETTINGS).table.log
        shown = log.versions()
        assert shown == list(range(shown[0], newest + 1)), f"I7: the versions are {shown}, and {newest} is the newest"
        self._check_retention(shown[0])
        self._check_past(log, chance.choice(shown))
        self._checked = tree

    def finish(self) -> None:
        """Look at what only the data can tell."""
        wrong = self._reader.table.verify_stats()
        assert not wrong.num_rows, f"statistics do not hold: {wrong.to_pylist()}"

    def _judge(self, told: Told, said: Said | None, written: int, then: Version | None) -> None:
        before = len(self.versions) - 1
        if told is Told.FAILED:
            assert written == 0, f"I4: what failed is there {written} times"
        elif told is Told.UNKNOWN:
            assert written <= 1, f"I1: one operation became {written} versions"
        elif said is None:
            assert written == 0, f"I1: {written} versions came from what writes none"
        elif said.written:
            assert said.version == before + written, f"I4: told of version {said.version}, {before + written} is there"
            assert written, "I4: what was told done is not there"
        else:
            assert not written, "I4: a version came from what was told to have written none"
            assert then is not None, "I4: what writes no versions spoke of one"
            assert then.rows == self.newest.rows, "I4: what was told done changed nothing"

    def _check_retention(self, oldest: int) -> None:
        wanted = max(0, len(self.versions) - KEPT_VERSIONS)
        assert oldest <= wanted, f"P4: versions from {oldest} are left, of {len(self.versions)}"
        young = [v for v, born in enumerate(self.born) if self.clock.ms - born <= KEPT_DAYS * DAY_MS]
        assert oldest <= min(young, default=oldest), f"P4: version {min(young)} was cleaned up too early"

    def _check_past(self, log: TransactionLog, version: int) -> None:
        snapshot = log.snapshot(version)
        paths = snapshot.files["path"].to_pylist()
        assert sorted(paths) == sorted(self.outside.files[version]), f"I10: version {version} has other files"
        assert snapshot.schema.names == list(COLUMNS[: self.versions[version].width])
        done = {app: batch.number for app, batch in snapshot.transactions.items()}
        assert done == self.versions[version].batches, f"I13: version {version} knows the batches {done}"

    def _same(self, whose: str, version: int, found: Rows) -> None:
        wanted = self.versions[version].rows
        assert found == wanted, f"{whose}, version {version} lacks {wanted - found} and has {found - wanted} too many"

    def _settle(self, who: int, fault: Fault, *, crashed: bool) -> None:
        if crashed and fault.power:
            self.outside.forget(len(self.versions))
            self.model.crash(fault.seed)
            self._start()
            return
        self.model.settle(fault.seed)
        if crashed:
            self.restart(who)

    def _start(self) -> None:
        self.clients = [self._new_client(settings) for settings in WAYS]
        self._reader = self._new_client(PLAIN)

    def _new_client(self, settings: Settings) -> Client:
        self._lives += 1
        return Client(self.model, self.clock, self._lives, settings)

    def _note(self, version: Version, times: int) -> None:
        self.versions += [version] * times
        self.born += [self.clock.ms] * times


def schema_of(width: int) -> pa.Schema:
    """Return the schema of a table with so many of the columns."""
    return pa.schema([(name, pa.string() if name == "part" else pa.int64()) for name in COLUMNS[:width]])
