"""Two to four clients at once, in every order that matters: nobody is lost, nobody is doubled, and losers are told why.

Two clients are tried in every interleaving with up to three preemptions, or with up to two where others like them have three; with
more effort all have three, and with ten times the effort four. More clients are tried in interleavings drawn by chance. The choices that a failure prints
repeat it, as the last test shows.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from indextables.errors import AlreadyExistsError, ConcurrentWriteError, SchemaError, TableExistsError
from indextables.testing.faulty import FaultStore
from indextables.testing.models import HdfsModel, PosixModel, S3Model
from indextables.testing.schedule import Actor, Scheduler, explore, random_runs
from indextables.testing.virtual import virtual_runtime
from tests.faults.clients import OTHER_SCHEMA, SETTINGS, UNCACHED, WIDER_SCHEMA, Client, retrying
from tests.faults.invariants import violations
from tests.faults.scenarios import FIRST, SECOND, THIRD, opens_as_written, start
from tests.support.effort import EFFORT, times
from tests.support.history import Call, History, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from indextables.config import Settings
    from indextables.runtime import Runtime
    from indextables.storage.base import Store
    from indextables.testing.models import Model
    from indextables.testing.schedule import Outcome

LEAST_OF_TWO = 5_000
LEAST_OF_MORE = 2_000
DEEP = 3 if EFFORT < 10 else 4


class Stage:
    """Makes the same actors again and again, each time on a fresh copy of the same table.

    Args:
        works: What each client does; they are called a, b, c and so on.
        make: The kind of store.
        empty: Whether there is no table yet.
        settings: The settings of the logs.
        warm: Whether the clients have read the table before.
        wrap: Makes their stores repeat calls; tests of the tests put something broken here.
    """

    def __init__(
        self,
        works: Sequence[Callable[[Client], object]],
        *,
        make: Callable[[], Model] = S3Model,
        empty: bool = False,
        settings: Settings = SETTINGS,
        warm: bool = False,
        wrap: Callable[[Store, Runtime], Store] | None = None,
    ) -> None:
        self._works = works
        self._begin = start(make, empty=empty)
        self._settings = settings
        self._warm = warm
        self._wrap = wrap
        self.model: Model = self._begin.model
        self.history = History()

    def actors(self, runtime: Runtime) -> list[Actor]:
        self.model, self.history = self._begin.model.clone(), self._begin.history.copy()
        return [self._actor(name, work, runtime) for name, work in zip("abcd", self._works, strict=False)]

    def _actor(self, name: str, work: Callable[[Client], object], runtime: Runtime) -> Actor:
        own = replace(virtual_runtime(zlib.crc32(name.encode())), sleep=runtime.sleep)
        client = Client(name, self.model, self.history, settings=self._settings, runtime=own, wrap=self._wrap)
        if self._warm:
            client.log.snapshot()

        def run(handle: Store) -> object:
            client.line.lead_to(handle)
            return work(client)

        return Actor(self.model, run)

    def problems(self, outcome: Outcome) -> list[str]:
        """Return what is wrong after a run, whoever took part in it."""
        found = [repr(error) for error in outcome.errors if error is not None]
        tree = self.model.tree()
        found += violations(tree, self.history)
        return found if found or opens_as_written(tree) else ["I7: the table is not what its bytes say"]

    def calls(self, name: str) -> list[Call]:
        return [call for call in self.history.calls if call.token.startswith(name)]


def both_done(first: Call, second: Call) -> bool:
    return first.told is second.told is Told.DONE and first.written and second.written


def one_wins(first: Call, second: Call) -> bool:
    """One is done; the other is told which version and which files stand against it, or saw that the files are gone."""
    for winner, loser in ((first, second), (second, first)):
        if winner.told is Told.DONE and loser.told is Told.FAILED:
            if isinstance(loser.error, ConcurrentWriteError):
                return loser.error.version == winner.version and loser.error.files == (SECOND,)
            return isinstance(loser.error, SchemaError)
    return False


def first_may_lose(first: Call, second: Call) -> bool:
    """The second is done in any case; the first may be told that it stands against it."""
    if second.told is not Told.DONE:
        return False
    if first.told is Told.FAILED:
        return isinstance(first.error, ConcurrentWriteError) and first.error.version == second.version
    return first.told is Told.DONE


def same_commit(first: Call, second: Call) -> bool:
    return (
        first.told is second.told is Told.DONE and first.version == second.version and first.written != second.written
    )


def same_table(first: Call, second: Call) -> bool:
    return first.told is second.told is Told.DONE and first.version == second.version == 0


def one_creates(first: Call, second: Call) -> bool:
    errors = [call.error for call in (first, second) if call.told is Told.FAILED]
    return len(errors) == 1 and isinstance(errors[0], TableExistsError)


@dataclass(frozen=True)
class Pair:
    """Two clients, and what may become of their calls."""

    first: Callable[[Client], object]
    second: Callable[[Client], object]
    expects: Callable[[Call, Call], bool]
    empty: bool = False


PAIRS = {
    "append, append": Pair(Client.append, Client.append, both_done),
    "overwrite, append": Pair(Client.overwrite, Client.append, first_may_lose),
    "merge, append": Pair(lambda client: client.merge(FIRST, SECOND), Client.append, both_done),
    "merge, merge": Pair(
        lambda client: client.merge(FIRST, SECOND), lambda client: client.merge(SECOND, THIRD), one_wins
    ),
    "remove, merge": Pair(lambda client: client.remove(SECOND), lambda client: client.merge(FIRST, SECOND), one_wins),
    "skip, skip": Pair(lambda client: client.skip(FIRST), lambda client: client.skip(FIRST), both_done),
    "describe, append": Pair(Client.describe, Client.append, both_done),
    "append, widen": Pair(Client.append, lambda client: client.describe(WIDER_SCHEMA), first_may_lose),
    "batch, same batch": Pair(
        lambda client: client.append(batch=("app", 1)), lambda client: client.append(batch=("app", 1)), same_commit
    ),
    "create, create": Pair(Client.create, Client.create, same_table, empty=True),
    "create, create other": Pair(Client.create, lambda client: client.create(OTHER_SCHEMA), one_creates, empty=True),
}


@dataclass(frozen=True)
class Variant:
    """How clients are prepared, which pairs of them then run, and how many interleavings that gives at least.

    Attributes:
        pairs: The pairs, and how many preemptions there are at most.
        least: How many interleavings the pairs have at least.
        make: The kind of store.
        settings: The settings of the logs.
        warm: Whether the clients have read the table before.
    """

    pairs: Mapping[str, int]
    least: int
    make: Callable[[], Model]
    settings: Settings = SETTINGS
    warm: bool = False


LIKE_OTHERS = frozenset({"remove, merge", "skip, skip", "batch, same batch"}) if EFFORT == 1 else frozenset()
VARIANTS = {
    "cold": Variant({name: 2 if name in LIKE_OTHERS else DEEP for name in PAIRS}, 4_000, S3Model),
    "warm": Variant(
        {name: 2 if EFFORT == 1 else DEEP for name, pair in PAIRS.items() if not pair.empty}, 500, PosixModel, warm=True
    ),
    "uncached": Variant(
        dict.fromkeys(["append, append", "describe, append", "append, widen"], DEEP),
        1_500,
        HdfsModel,
        settings=UNCACHED,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_two_clients_keep_every_promise_in_every_interleaving(
    variant: Variant, record_property: Callable[[str, object], None]
) -> None:
    runs = Counter[str]()
    broken = []
    for name, preemptions in variant.pairs.items():
        pair = PAIRS[name]
        stage = Stage(
            (pair.first, pair.second),
            make=variant.make,
            empty=pair.empty,
            settings=variant.settings,
            warm=variant.warm,
        )
        for outcome in explore(stage.actors, preemptions=preemptions):
            runs[name] += 1
            problems = stage.problems(outcome)
            (first,), (second,) = stage.calls("a"), stage.calls("b")
            if not problems and not pair.expects(first, second):
                problems = [f"{first}; {second}"]
            if problems:
                broken.append(f"{name}, choices {outcome.choices}: {problems}")
    record_property("interleavings of two", runs.total())
    print(f"{runs.total()} interleavings of two clients, {len(broken)} with broken promises: {dict(runs)}")
    assert not broken, "\n".join(broken[:20])
    assert runs.total() >= variant.least


def test_the_variants_have_as_many_interleavings_as_promised() -> None:
    assert sum(variant.least for variant in VARIANTS.values()) >= LEAST_OF_TWO


def write_and_write(client: Client) -> None:
    client.append()
    client.overwrite()


def read_three_times(client: Client) -> None:
    for _ in range(3):
        client.read()


@pytest.mark.parametrize(("settings", "preemptions"), [(SETTINGS, 2), (UNCACHED, 1)], ids=["cached", "uncached"])
def test_a_reader_sees_whole_versions_and_never_goes_back(settings: Settings, preemptions: int) -> None:
    stage = Stage((write_and_write, read_three_times), settings=settings)
    seen = set()
    for outcome in explore(stage.actors, preemptions=preemptions):
        assert not stage.problems(outcome), outcome.choices
        seen.add(tuple(look.view.version for look in stage.history.looks if look.view))
    assert {(2, 2, 2), (2, 4, 4), (4, 4, 4)} < seen


def move_until_done(source: str, target: str) -> Callable[[Client], object]:
    """Return a client that moves a row and tries again as often as others come first."""

    def work(client: Client) -> None:
        for _ in range(4):
            if client.move_row(source, target).told is Told.DONE:
                return

    return work


def append_twice(client: Client) -> None:
    client.append()
    client.append()


ONE, TWO, THREE = (path.rpartition("/")[2] for path in (FIRST, SECOND, THIRD))
CROWDS: dict[str, Sequence[Callable[[Client], object]]] = {
    "appenders, merger, reader": (
        append_twice,
        Client.append,
        lambda client: client.merge(FIRST, SECOND),
        read_three_times,
    ),
    "appender, overwriter, merger": (append_twice, Client.overwrite, lambda client: client.merge(FIRST, SECOND)),
    "skippers, merger, appender": (
        lambda client: client.skip(FIRST),
        lambda client: client.skip(FIRST),
        lambda client: client.merge(FIRST, SECOND),
        Client.append,
    ),
    "describers, remover, appender": (
        Client.describe,
        Client.describe,
        lambda client: client.remove(FIRST),
        Client.append,
    ),
    "same batch thrice, reader": (
        lambda client: client.append(batch=("app", 1)),
        lambda client: client.append(batch=("app", 1)),
        lambda client: client.append(batch=("app", 1)),
        read_three_times,
    ),
    "movers of rows in a ring": (move_until_done(ONE, TWO), move_until_done(TWO, THREE), move_until_done(THREE, ONE)),
    "creators": (Client.create, Client.create, lambda client: client.create(OTHER_SCHEMA)),
}
RUNS_OF_A_CROWD = times(300)


@pytest.mark.parametrize("name", CROWDS)
def test_three_and_four_clients_keep_every_promise(name: str, record_property: Callable[[str, object], None]) -> None:
    broken = []
    stage = Stage(CROWDS[name], empty=name == "creators")
    for outcome in random_runs(stage.actors, seed=zlib.crc32(name.encode()), runs=RUNS_OF_A_CROWD):
        problems = stage.problems(outcome)
        last = {call.token[0]: call for call in stage.history.calls}
        problems += [
            f"{call} need not have failed"
            for call in last.values()
            if call.wish.verb in {"append", "move", "skip"} and call.told is not Told.DONE
        ]
        if problems:
            broken.append(f"choices {outcome.choices}: {problems}")
    record_property("interleavings of more", RUNS_OF_A_CROWD)
    print(f"{RUNS_OF_A_CROWD} interleavings of {len(CROWDS[name])} clients, {len(broken)} with broken promises")
    assert not broken, "\n".join(broken[:20])


def test_the_crowds_have_as_many_interleavings_as_promised() -> None:
    assert len(CROWDS) * RUNS_OF_A_CROWD >= LEAST_OF_MORE


class CheckThenWrite(FaultStore):
    """A store that looks whether a path is free and then writes: the classic mistake."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        if self.exists(path):
            raise AlreadyExistsError(path)
        self.put(path, data)


def test_the_judge_notices_a_store_that_checks_and_then_writes() -> None:
    stage = Stage((Client.append, Client.append), wrap=lambda store, runtime: retrying(CheckThenWrite(store), runtime))
    found = {text for outcome in explore(stage.actors, preemptions=1) for text in stage.problems(outcome)}
    assert any(text.startswith("I4") for text in found), found


@pytest.mark.parametrize(
    ("name", "invariants"),
    [("merge, merge", {"I3", "I6"}), ("overwrite, append", {"I6"}), ("remove, merge", {"I3", "I6"})],
)
def test_the_judge_notices_conflicts_that_nobody_looks_for(
    name: str, invariants: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indextables.log.commit.find_conflict", lambda *_, **__: None)
    pair = PAIRS[name]
    stage = Stage((pair.first, pair.second))
    found = {text[:2] for outcome in explore(stage.actors, preemptions=1) for text in stage.problems(outcome)}
    assert invariants <= found


def test_a_run_can_be_repeated_by_its_choices() -> None:
    stage = Stage((Client.append, Client.append))
    outcomes = list(explore(stage.actors, preemptions=1))
    with Scheduler() as scheduler:
        again = scheduler.run(stage.actors(scheduler.runtime(0)), outcomes[-1].choices)
    assert again.trace == outcomes[-1].trace
