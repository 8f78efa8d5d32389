from __future__ import annotations

import threading
from concurrent.futures import Future, as_completed
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from indextables.config import Checkpoint, Settings
from indextables.errors import NotFoundError, StorageUnavailableError
from indextables.log import reader
from indextables.log.layout import commit_path
from indextables.log.reader import read_commits
from indextables.testing.faulty import FaultStore
from indextables.testing.models import S3Model
from indextables.testing.virtual import virtual_runtime
from tests.support.logs import Place, new_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Gated(FaultStore):
    """Answers for some versions only once a gate is open, and remembers how many reads ran at once, and in which threads."""

    def __init__(self, inner: S3Model, closed: set[int]) -> None:
        super().__init__(inner)
        self.gate = threading.Event()
        self.waiting = threading.Semaphore(0)
        self.closed = {commit_path(version) for version in closed}
        self.running = self.most = 0
        self._count = threading.Lock()
        self.threads: set[threading.Thread] = set()

    def get(self, path: str) -> bytes:
        with self._count:
            self.running += 1
            self.most = max(self.most, self.running)
            self.threads.add(threading.current_thread())
        try:
            if path in self.closed:
                self.waiting.release()
                self.gate.wait(30)
            return super().get(path)
        finally:
            with self._count:
                self.running -= 1


@pytest.fixture
def model() -> S3Model:
    place, _ = new_table(files=40)
    assert isinstance(place.model, S3Model)
    return place.model


@pytest.fixture
def hanging(model: S3Model) -> Iterator[Gated]:
    store = Gated(model, {3, 17})
    yield store
    store.gate.set()


def test_commits_come_in_the_order_of_their_versions(model: S3Model) -> None:
    read = read_commits(model, range(41), parallelism=7, timeout_s=30)
    assert read == [(version, model.get(commit_path(version))) for version in range(41)]


def test_one_or_two_commits_take_no_threads(model: S3Model) -> None:
    store = Gated(model, set())
    assert [version for version, _ in read_commits(store, [3, 4], parallelism=8, timeout_s=30)] == [3, 4]
    assert read_commits(store, [], parallelism=8, timeout_s=30) == []
    assert store.threads == {threading.current_thread()}


@pytest.mark.parametrize("parallelism", [1, 4])
def test_no_more_reads_run_at_once_than_allowed(model: S3Model, parallelism: int) -> None:
    store = Gated(model, set())
    read_commits(store, range(41), parallelism=parallelism, timeout_s=30)
    assert store.most <= parallelism
    assert len(store.calls) == 41


def test_a_store_that_is_near_is_read_without_threads(model: S3Model) -> None:
    store = Gated(model, set())
    store.is_near = True
    read = read_commits(store, range(41), parallelism=4, timeout_s=30, runtime=virtual_runtime(0))
    assert [version for version, _ in read] == list(range(41))
    assert store.threads == {threading.current_thread()}


def test_a_store_that_is_near_and_slow_is_read_in_threads_after_the_first_block(model: S3Model) -> None:
    runtime = virtual_runtime(0)

    class Slow(Gated):
        def get(self, path: str) -> bytes:
            runtime.sleep(0.002)
            return super().get(path)

    store = Slow(model, set())
    store.is_near = True
    read = read_commits(store, range(41), parallelism=4, timeout_s=30, runtime=runtime)
    assert [version for version, _ in read] == list(range(41))
    assert threading.current_thread() in store.threads
    assert len(store.threads) > 1


@pytest.fixture
def times_out(hanging: Gated, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let the time limit pass when so many portions were read and nothing but the closed versions is under way."""

    def arrange(portions: int) -> None:
        def limited(futures: Sequence[Future[Any]], timeout: float) -> Iterator[Future[Any]]:
            assert timeout == 5
            yield from islice(as_completed(futures), portions)
            for _ in hanging.closed:
                assert hanging.waiting.acquire(timeout=30)
            raise TimeoutError

        monkeypatch.setattr(reader, "as_completed", limited)

    return arrange


def test_a_time_limit_ends_in_one_error_that_names_what_was_not_read(
    hanging: Gated, times_out: Callable[[int], None]
) -> None:
    times_out(39)
    with pytest.raises(StorageUnavailableError) as caught:
        read_commits(hanging, range(41), parallelism=41, timeout_s=5)
    assert "after 5 s these versions were not read: 3, 17." in str(caught.value)
    assert "raise spark.indextables.checkpoint.read.timeoutSeconds" in str(caught.value)
    assert caught.value.path == commit_path(3)


def test_versions_that_were_read_in_time_are_not_named(hanging: Gated, times_out: Callable[[int], None]) -> None:
    times_out(2)  # portions of five: one thread waits in the first one, the other in the fourth
    with pytest.raises(StorageUnavailableError, match=r"not read: 3, 4, 17, 18, 19, 20, 21, 22, .*, 34 and 6 more\."):
        read_commits(hanging, range(41), parallelism=2, timeout_s=5)


def test_a_log_says_the_same_when_it_is_opened(hanging: Gated, times_out: Callable[[int], None]) -> None:
    times_out(39)
    place = Place(hanging)  # type: ignore[arg-type]
    settings = Settings(checkpoint=Checkpoint(read_timeout_s=5, parallelism=41))
    with pytest.raises(StorageUnavailableError, match=r"these versions were not read: 3, 17\."):
        place.log(settings).list_files()


def test_a_store_that_never_answers_is_given_up_after_the_time_limit(hanging: Gated) -> None:
    with pytest.raises(StorageUnavailableError, match=r"after 0\.05 s these versions were not read: .*3"):
        read_commits(hanging, range(41), parallelism=41, timeout_s=0.05)


def test_a_missing_commit_is_named_at_once(model: S3Model) -> None:
    model.delete(commit_path(8))
    with pytest.raises(NotFoundError) as caught:
        read_commits(model, range(41), parallelism=4, timeout_s=30)
    assert caught.value.path == commit_path(8)
