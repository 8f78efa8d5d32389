"""Anything that a table can do, in any order, under faults, crashes and wrong clocks, held against a list of multisets.

More effort is more steps.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from indextables.log.layout import CHECKPOINT_DIRECTORY, POINTER
from indextables.log.repair import repair_store
from indextables.storage.paths import is_below
from indextables.table.merge_group import merge_group
from indextables.table.merge_run import MergeRun
from indextables.table.merging import MergePolicy
from indextables.table.partitions import drop
from indextables.table.purging import purge_files
from indextables.table.rebuild import rebuild_adds
from indextables.testing.models import MODELS, Model, S3Model
from tests.faults.upkeep_clock import DAY_MS, HOUR_MS
from tests.stateful.outside import COLUMNS, Row, rows_of
from tests.stateful.world import (
    CRASHES,
    TROUBLES,
    Actor,
    Client,
    Fault,
    Inline,
    Said,
    Version,
    World,
    schema_of,
)
from tests.support.effort import times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

STEPS_ON_A_STORE = times(3500)
RUNS_OF_A_TURN, STEPS_OF_A_RUN = 44, 50
LONG = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    deadline=None,
)
PARTS = ("a", "b", None)
APPS = ("one", "two")

clients = st.integers(0, 1)
calls = st.sampled_from((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30, 40))
seeds = st.integers(0, 1000)
crashes = st.builds(Fault, kind=st.sampled_from(CRASHES), call=calls, seed=seeds, power=st.booleans())
troubles = st.builds(Fault, kind=st.sampled_from(TROUBLES), call=calls, seed=seeds)
actors = st.builds(Actor, who=clients, fault=st.none() | st.none() | crashes | troubles)
values = st.none() | st.integers(0, 9)
rows = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(PARTS), values, values), min_size=1, max_size=4)


class TableMachine(RuleBasedStateMachine):
    """A client does something, sees what it was told, and the table must be what the model says."""

    make: ClassVar[type[Model]] = S3Model
    figures: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.world = World(self.make)
        self.batches = 0

    @rule(by=actors, new=rows)
    def append(self, by: Actor, new: list[Row]) -> None:
        self._write(by, new, lambda table, data: table.append(data), keep=lambda _: True)

    @rule(by=actors, new=rows, app=st.sampled_from(APPS), again=st.booleans())
    def append_a_batch(self, by: Actor, new: list[Row], app: str, again: bool) -> None:
        newest = self.world.newest
        done = newest.batches.get(app, -1)
        batch = done if again and done >= 0 else done + 1
        data, cut = self._data(new)
        then = newest if batch == done else _after(newest, newest.rows + cut, {**newest.batches, app: batch})
        self._act(by, lambda client: _said(client.table.append(data, app=app, batch=batch)), then)

    @rule(by=actors, new=rows | st.just([]))
    def overwrite(self, by: Actor, new: list[Row]) -> None:
        self._write(by, new, lambda table, data: table.overwrite(data), keep=lambda _: False)

    @rule(by=actors, new=rows | st.just([]), part=st.sampled_from(PARTS[:2]))
    def overwrite_a_partition(self, by: Actor, new: list[Row], part: str) -> None:
        inside = [(row[0], part, *row[2:]) for row in new]
        self._write(
            by,
            inside,
            lambda table, data: table.overwrite(data, where=f"part = '{part}'"),
            keep=lambda row: row[1] != part,
        )

    @rule(by=actors, least=st.integers(0, 10))
    def delete_rows(self, by: Actor, least: int) -> None:
        self._remove(by, lambda client: client.table.delete(f"id >= {least}"), keep=lambda row: row[0] < least)

    @rule(by=actors, part=st.sampled_from(PARTS[:2]))
    def delete_a_partition(self, by: Actor, part: str) -> None:
        self._remove(by, lambda client: client.table.delete(f"part = '{part}'"), keep=lambda row: row[1] != part)

    @rule(by=actors, part=st.sampled_from(PARTS))
    def drop_a_partition(self, by: Actor, part: str | None) -> None:
        where = "part IS NULL" if part is None else f"part = '{part}'"
        self._remove(
            by,
            lambda client: drop(client.table.log, where, settings=client.settings, runtime=client.runtime),
            keep=lambda row: row[1] != part,
        )

    @rule(by=actors)
    def merge(self, by: Actor) -> None:
        before = len(self.world.versions) - 1

        def work(client: Client) -> Said:
            run = MergeRun(
                client.table.log,
                client.store,
                client.settings,
                lambda groups, task: (
                    merge_group(client.store, group, task, runtime=client.runtime) for group in groups
                ),
                runtime=client.runtime,
            )
            version = run.run(MergePolicy(target_size=1_000_000)).version
            return Said(version, version > before)

        self._act(by, work, self.world.newest, many=True)

    @rule(by=actors)
    def checkpoint(self, by: Actor) -> None:
        self._act(by, lambda client: _nothing(client.table.checkpoint()))

    @rule(by=actors)
    def cleanup(self, by: Actor) -> None:
        self._act(by, lambda client: _nothing(client.table.cleanup()))

    @rule(by=actors)
    def purge(self, by: Actor) -> None:
        self._act(
            by,
            lambda client: _nothing(
                purge_files(
                    client.store, settings=client.settings, runtime=client.runtime, older_than_ms=DAY_MS, dry_run=False
                )
            ),
        )

    @rule(by=actors, back=st.integers(0, 5))
    def restore(self, by: Actor, back: int) -> None:
        world = self.world
        version = max(world.outside.floor, len(world.versions) - 1 - back)
        target = world.versions[version]
        then = replace(world.newest, rows=target.rows, width=target.width)

        def work(client: Client) -> Said:
            done = client.table.restore(version)
            return Said(done.version, done.written)

        self._act(by, work, then)

    @precondition(lambda self: self.world.newest.width < len(COLUMNS))
    @rule(by=actors)
    def add_a_column(self, by: Actor) -> None:
        wider = replace(self.world.newest, width=self.world.newest.width + 1)

        def work(client: Client) -> Said:
            done = client.table.log.update_metadata(schema=schema_of(wider.width))
            return Said(done.version, done.written)

        self._act(by, work, wider)

    @precondition(lambda self: self.world.outside.files[-1])
    @rule(by=actors, number=st.integers(0, 9))
    def skip_a_file(self, by: Actor, number: int) -> None:
        files = sorted(self.world.outside.files[-1])
        path = files[number % len(files)]

        def work(client: Client) -> Said:
            done = client.table.log.record_skipped_file(path, reason="made up", operation="merge")
            return Said(done.version, done.written)

        self._act(by, work, self.world.newest)

    @rule(number=st.integers(0, 9), cut=st.booleans())
    def damage_what_only_saves_time(self, number: int, cut: bool) -> None:
        """The pointer is a hint; and while every commit is there, so are checkpoints."""
        model = self.world.model
        found = [path for path in model.tree() if path == POINTER or is_below(path, CHECKPOINT_DIRECTORY)]
        if self.world.outside.floor:
            found = [path for path in found if path == POINTER]
        if found:
            path = found[number % len(found)]
            if cut:
                model.put(path, model.get(path)[:-7])
            else:
                model.delete(path)

    @rule(by=actors)
    def repair(self, by: Actor) -> None:
        before = len(self.world.versions) - 1

        def work(client: Client) -> Said:
            result = repair_store(
                client.store,
                settings=client.settings,
                dry_run=False,
                rebuild=partial(rebuild_adds, settings=client.settings),
                runtime=client.runtime,
            )
            return Said(result.version, result.version > before)

        self._act(by, work, self.world.newest, many=True)

    @rule(who=clients)
    def restart(self, who: int) -> None:
        self.world.restart(who)

    @rule(who=clients, skew_ms=st.integers(-HOUR_MS, HOUR_MS))
    def set_a_clock_wrong(self, who: int, skew_ms: int) -> None:
        self.world.clients[who].skew_ms = skew_ms

    @rule(hours=st.sampled_from((0.001, 1, 25, 80)))
    def wait(self, hours: float) -> None:
        self.world.clock.forward(hours=hours)

    @rule(who=clients, back=st.integers(0, 9), by_time=st.booleans())
    def travel_in_time(self, who: int, back: int, by_time: bool) -> None:
        world = self.world
        version = max(world.outside.floor, len(world.versions) - 1 - back)
        at = {"timestamp": world.outside.times[version]} if by_time else {"version": version}
        table = world.clients[who].open(**at)
        assert rows_of(table.to_arrow()) == world.versions[version].rows
        assert table.version == version

    @invariant()
    def the_table_is_what_it_must_be(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        self.world.finish()
        self.figures["steps"] += self.world.looks - 1
        self.figures["faults that struck"] += self.world.struck
        self.figures["versions"] += len(self.world.versions)

    def _write(
        self, by: Actor, new: Sequence[Row], write: Callable[[Any, pa.Table], Any], *, keep: Callable[[Row], bool]
    ) -> None:
        newest = self.world.newest
        data, cut = self._data(new)
        kept = Counter({row: count for row, count in newest.rows.items() if keep(row)})
        self._act(by, lambda client: _said(write(client.table, data)), _after(newest, kept + cut))

    def _remove(self, by: Actor, remove: Callable[[Client], Any], *, keep: Callable[[Row], bool]) -> None:
        newest = self.world.newest
        kept = Counter({row: count for row, count in newest.rows.items() if keep(row)})
        self._act(by, lambda client: _said(remove(client)), _after(newest, kept))

    def _data(self, new: Sequence[Row]) -> tuple[pa.Table, Counter[Row]]:
        """Return rows as a client has them, with the columns that the table has, and as they will be read."""
        schema = schema_of(self.world.newest.width)
        columns = [[row[at] for row in new] for at in range(len(schema))]
        nulls = (None,) * (len(COLUMNS) - len(schema))
        return pa.table(columns, schema=schema), Counter((*row[: len(schema)], *nulls) for row in new)

    def _act(
        self, by: Actor, work: Callable[[Client], Said | None], then: Version | None = None, *, many: bool = False
    ) -> None:
        self.world.act(by, work, then, many=many)


def _after(newest: Version, rows: Counter[Row], batches: dict[str, int] | None = None) -> Version:
    return replace(newest, rows=rows, batches=newest.batches if batches is None else batches)


def _said(result: Any) -> Said:
    return Said(result.version, result.committed)


def _nothing(_: object) -> None:
    return None


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    threads = pa.cpu_count()
    pa.set_cpu_count(1)
    for name, module in list(sys.modules.items()):
        if name.startswith("indextables.") and hasattr(module, "ThreadPoolExecutor"):
            monkeypatch.setattr(module, "ThreadPoolExecutor", Inline)
    yield
    pa.set_cpu_count(threads)


@pytest.mark.slow
@pytest.mark.parametrize("make", MODELS)
def test_whatever_happens_a_table_is_what_its_clients_were_told(
    make: type[Model], record_property: Callable[[str, object], None]
) -> None:
    figures: Counter[str] = Counter()
    machine = type("Machine", (TableMachine,), {"make": make, "figures": figures})
    length = settings(LONG, max_examples=RUNS_OF_A_TURN, stateful_step_count=STEPS_OF_A_RUN)
    # A run in which Hypothesis repeats much of an earlier one is shorter, so it is steps that are counted, and not runs.
    turns = 0
    while figures["steps"] < STEPS_ON_A_STORE:
        if settings().derandomize:
            seed(MODELS.index(make) + len(MODELS) * turns)(machine)  # or every store would live through the same
        run_state_machine_as_test(machine, settings=length)
        turns += 1
        assert figures["steps"] > turns * RUNS_OF_A_TURN * STEPS_OF_A_RUN / 2
    for name, count in figures.items():
        record_property(f"stateful: {name}", count)


def _keeps_nothing(files: Any, **_: Any) -> int:
    return int(files.versions[-1])


def _needs_nothing(_: Any, paths: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.is_null(paths)


MISTAKES: dict[str, Callable[..., Any]] = {
    "indextables.log.cleanup.oldest_kept": _keeps_nothing,
    "indextables.table.references.References.needed": _needs_nothing,
    "indextables.table.change.removes_of": lambda *_, **__: [],
}


@pytest.mark.parametrize("place", MISTAKES)
def test_a_mistake_in_the_product_is_noticed(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, MISTAKES[place])
    quick = settings(LONG, max_examples=400, derandomize=True, database=None, phases=[Phase.generate])
    with pytest.raises(AssertionError, match=r"I\d|P\d"):
        run_state_machine_as_test(TableMachine, settings=settings(quick, report_multiple_bugs=False))
