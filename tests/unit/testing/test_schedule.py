"""The scheduler sees every interleaving once, repeats any of them, and finds the races that are there."""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from indextables.errors import AlreadyExistsError, StorageUnavailableError
from indextables.storage.base import ObjectMeta, Store
from indextables.testing.faulty import Crash, FaultKind, FaultStore, Plan
from indextables.testing.models import S3Model
from indextables.testing.schedule import Actor, ScheduleError, Scheduler, explore, random_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from indextables.runtime import Runtime


def calls(count: int) -> Callable[[Store], None]:
    def run(store: Store) -> None:
        for _ in range(count):
            store.exists("a")

    return run


def actors(*runs: Callable[[Store], object]) -> Callable[[Runtime], Sequence[Actor]]:
    def make(_: Runtime) -> Sequence[Actor]:
        model = S3Model()
        return [Actor(model, run) for run in runs]

    return make


class CheckThenWrite(Store):
    """A store that looks first and writes then, as some do."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner

    @property
    def url(self) -> str:
        return self._inner.url

    def put_if_absent(self, path: str, data: bytes) -> None:
        if self._inner.exists(path):
            raise AlreadyExistsError(path)
        self._inner.put(path, data)

    def put(self, path: str, data: bytes) -> None:
        self._inner.put(path, data)

    def get(self, path: str) -> bytes:
        return self._inner.get(path)

    def get_range(self, path: str, start: int, length: int) -> bytes:
        return self._inner.get_range(path, start, length)

    def head(self, path: str) -> ObjectMeta:
        return self._inner.head(path)

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        return self._inner.list_from(prefix, start_after)

    def delete(self, path: str) -> None:
        self._inner.delete(path)


class TestExploring:
    @pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 3), (2, 4), (0, 3), (0, 0)])
    def test_sees_each_interleaving_of_two_actors_exactly_once(self, first: int, second: int) -> None:
        outcomes = list(explore(actors(calls(first), calls(second)), preemptions=None))
        orders = {tuple(number for number, _, _ in outcome.trace) for outcome in outcomes}
        assert len(outcomes) == len(orders) == math.comb(first + second, first)

    def test_sees_each_interleaving_of_three_actors_exactly_once(self) -> None:
        outcomes = list(explore(actors(calls(2), calls(2), calls(2)), preemptions=None))
        assert len(outcomes) == len({outcome.choices for outcome in outcomes}) == math.factorial(6) // 8

    @pytest.mark.parametrize(("preemptions", "count"), [(0, 2), (1, 20), (2, 182), (3, 830)])
    def test_keeps_to_the_number_of_preemptions(self, preemptions: int, count: int) -> None:
        outcomes = list(explore(actors(calls(10), calls(10)), preemptions=preemptions))
        assert len(outcomes) == count
        assert max(outcome.preemptions for outcome in outcomes) == preemptions

    def test_stops_at_the_limit(self) -> None:
        assert len(list(explore(actors(calls(5), calls(5)), limit=7))) == 7

    def test_finds_the_lost_update_of_a_store_that_looks_first_and_writes_then(self) -> None:
        def creator(name: str, wrap: Callable[[Store], Store]) -> Callable[[Store], bool]:
            def run(store: Store) -> bool:
                try:
                    wrap(store).put_if_absent("log/0", name.encode())
                except AlreadyExistsError:
                    return False
                return True

            return run

        def winners(wrap: Callable[[Store], Store]) -> list[int]:
            make = actors(creator("a", wrap), creator("b", wrap))
            return [sum(map(bool, outcome.results)) for outcome in explore(make)]

        assert sorted(winners(CheckThenWrite)) == [1, 1, 2, 2, 2, 2]
        assert winners(lambda store: store) == [1, 1]

    def test_finds_a_race_that_takes_a_preemption_and_not_without(self) -> None:
        def make(_: Runtime) -> Sequence[Actor]:
            model = S3Model()
            model.put("counter", b"0")
            return [Actor(model, increment)] * 2

        def increment(store: Store) -> None:
            store.put("counter", str(int(store.get("counter")) + 1).encode())

        def totals(preemptions: int) -> set[bytes]:
            return {outcome.actors[0].store.get("counter") for outcome in explore(make, preemptions=preemptions)}

        assert totals(0) == {b"2"}
        assert totals(1) == {b"1", b"2"}


class TestRuns:
    def test_are_the_same_for_the_same_choices(self) -> None:
        make = actors(calls(4), calls(4), calls(4))
        with Scheduler() as scheduler:
            for outcome in random_runs(make, seed=3, runs=50):
                again = scheduler.run(make(scheduler.runtime(0)), outcome.choices)
                assert again.trace == outcome.trace
                assert again.choices == outcome.choices

    def test_by_chance_follow_from_the_seed_and_differ(self) -> None:
        make = actors(calls(4), calls(4), calls(4))
        first = [outcome.trace for outcome in random_runs(make, seed=1, runs=30)]
        assert first == [outcome.trace for outcome in random_runs(make, seed=1, runs=30)]
        assert first != [outcome.trace for outcome in random_runs(make, seed=2, runs=30)]
        assert len({tuple(trace) for trace in first}) > 25

    def test_switch_actors_at_every_kind_of_call_and_nowhere_else(self) -> None:
        log: list[str] = []

        def everything(name: str) -> Callable[[Store], None]:
            def run(store: Store) -> None:
                def step(_: object) -> None:
                    log.append(name)
                    log.append(name)

                step(store.url)
                step(store.put(f"{name}", b"12"))
                step(store.put_if_absent(f"{name}/new".replace("/", "-"), b""))
                step(store.get(name))
                step(store.get_range(name, 0, 1))
                step(store.head(name))
                step(store.exists(name))
                step(list(store.list_from("")))
                step(store.delete(name))

            return run

        ops = ["put", "put_if_absent", "get", "get_range", "head", "exists", "list_from", "delete"]
        for outcome in random_runs(actors(everything("a"), everything("b")), seed=0, runs=50):
            assert log[::2] == log[1::2]
            for number, name in enumerate("ab"):
                assert [op for who, op, _ in outcome.trace if who == number] == ops
                assert log.count(name) == 18
            log.clear()

    def test_report_results_and_errors_and_crashes(self) -> None:
        def make(_: Runtime) -> Sequence[Actor]:
            model = S3Model()
            return [
                Actor(model, lambda store: store.exists("a")),
                Actor(FaultStore(model, Plan(1, FaultKind.UNAVAILABLE)), lambda store: store.exists("a")),
                Actor(FaultStore(model, Plan(1, FaultKind.CRASH_AFTER)), lambda store: store.put("b", b"1")),
            ]

        for outcome in explore(make):
            assert outcome.results[0] is False
            assert [type(error) for error in outcome.errors] == [type(None), StorageUnavailableError, Crash]
            assert outcome.actors[0].store.get("b") == b"1"

    def test_reuse_their_threads(self) -> None:
        seen = set()

        def who(store: Store) -> None:
            store.exists("a")
            seen.add(threading.get_ident())

        for _ in explore(actors(who, who, who), limit=20):
            pass
        assert len(seen) == 3

    def test_end_their_threads(self) -> None:
        others = set(threading.enumerate())
        with Scheduler() as scheduler:
            scheduler.run(actors(calls(2), calls(2))(scheduler.runtime(0)))
            workers = set(threading.enumerate()) - others
        assert len(workers) == 2
        for worker in workers:
            worker.join(timeout=10)
            assert not worker.is_alive()
        with pytest.raises(ScheduleError, match="closed"):
            scheduler.run([])

    def test_leave_threads_of_an_actor_alone(self) -> None:
        def parallel(store: Store) -> int:
            store.put("a", b"1")
            with ThreadPoolExecutor(3) as pool:
                return len(b"".join(pool.map(store.get, ["a"] * 6)))

        outcomes = list(explore(actors(parallel, calls(1)), preemptions=None))
        assert len(outcomes) == 2
        assert all(outcome.results[0] == 6 for outcome in outcomes)


class TestSleep:
    def test_gives_way_and_lets_virtual_time_pass(self) -> None:
        def make(runtime: Runtime) -> Sequence[Actor]:
            def waiter(store: Store) -> float:
                start = runtime.monotonic()
                while not store.exists("flag"):
                    runtime.sleep(10)
                return runtime.monotonic() - start

            model = S3Model()
            return [Actor(model, waiter), Actor(model, lambda store: store.put("flag", b""))]

        waits = {outcome.results[0] for outcome in explore(make, preemptions=3)}
        assert waits == {0.0, 10.0, 20.0, 30.0, 40.0}

    def test_is_no_preemption(self) -> None:
        def make(runtime: Runtime) -> Sequence[Actor]:
            def run(store: Store) -> None:
                store.exists("a")
                runtime.sleep(1)

            return [Actor(S3Model(), run)] * 2

        outcomes = list(explore(make, preemptions=0))
        assert [outcome.preemptions for outcome in outcomes] == [0, 0]
        assert [[number for number, _, _ in outcome.trace] for outcome in outcomes] == [[0, 1, 0, 1], [1, 0, 1, 0]]

    def test_by_somebody_who_is_no_actor_just_passes(self) -> None:
        with Scheduler() as scheduler:
            runtime = scheduler.runtime(0)
            runtime.sleep(5)
            assert runtime.monotonic() == 5


class TestTrouble:
    def test_an_actor_that_never_ends_is_reported(self) -> None:
        def forever(store: Store) -> None:
            while True:
                store.exists("a")

        with Scheduler(max_calls=50) as scheduler:
            make = actors(forever, calls(1))
            with pytest.raises(ScheduleError, match="no end after 50 calls"):
                scheduler.run(make(scheduler.runtime(0)))
            assert scheduler.run(actors(calls(1))(scheduler.runtime(0))).errors == [None]

    def test_actors_that_wait_for_each_other_outside_the_store_are_reported(self) -> None:
        lock = threading.Lock()

        def holder(store: Store) -> None:
            with lock:
                store.exists("a")
                store.exists("a")

        with Scheduler(patience_s=0.2) as scheduler:
            with pytest.raises(ScheduleError, match="stuck"):
                scheduler.run(actors(holder, holder)(scheduler.runtime(0)), [])
            with pytest.raises(ScheduleError, match="closed"):
                scheduler.run([])

    @pytest.mark.parametrize("choices", [[5], [0] * 10])
    def test_choices_that_do_not_fit_are_reported(self, choices: list[int]) -> None:
        with Scheduler() as scheduler:
            make = actors(calls(2), calls(2))
            with pytest.raises(ScheduleError):
                scheduler.run(make(scheduler.runtime(0)), choices)
            assert len(scheduler.run(make(scheduler.runtime(0))).trace) == 4
