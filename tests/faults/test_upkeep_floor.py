"""A writer that sleeps past retention: the slot that it goes for was used and cleaned up, and looks as if it never was.

Whatever it is told must be true: what it wrote below the floor is seen by nobody, and what it wrote above it is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indextables.errors import CommitUnknownError, ConcurrentWriteError
from indextables.log.layout import FLOOR_DIRECTORY, commit_path
from indextables.testing.faulty import FaultKind, FaultStore, Plan
from tests.faults.upkeep_judge import STORES, Witnessed, WitnessedS3, aftermath, floor_of, shown_wrongly, truth_of
from tests.faults.upkeep_scenarios import Yard, start
from tests.support.history import Told

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.clients import Client

every_store = pytest.mark.parametrize("make", STORES)


def others_go_on(yard: Yard, *, before: int, after: int) -> Callable[[], None]:
    """Return what happens while a writer sleeps: commits, forty days, more commits, and a cleanup."""

    def happen() -> None:
        other = yard.client("b")
        for _ in range(before):
            other.append()
        yard.clock.forward(days=40)
        for _ in range(after):
            other.append()
        other.log.checkpoint()
        other.log.cleanup()

    return happen


def sound(yard: Yard) -> bool:
    tree = yard.model.tree()
    return not shown_wrongly(tree, frozenset(truth_of(yard.model).items())) and not aftermath(
        yard.model, yard.history, seed=0
    )


@every_store
class TestAWriterThatWinsACleanedSlot:
    def test_is_told_that_it_did_not_commit(self, make: type[Witnessed]) -> None:
        yard = start(make, "ready").yard()
        call = yard.client("a", before_commit=others_go_on(yard, before=2, after=3)).append()
        assert floor_of(yard.model.tree()) > 6, "the slot was cleaned up"
        assert isinstance(call.error, ConcurrentWriteError)
        assert call.error.operation == "cleanup"
        assert commit_path(6) not in yard.model.tree()
        assert sound(yard)

    def test_can_try_again_at_once(self, make: type[Witnessed]) -> None:
        yard = start(make, "ready").yard()
        client = yard.client("a", before_commit=others_go_on(yard, before=2, after=3))
        client.append()
        assert client.append().told is Told.DONE
        assert sound(yard)

    def test_is_told_nothing_false_where_the_machine_slept_and_its_uptime_stood_still(
        self, make: type[Witnessed]
    ) -> None:
        yard = start(make, "ready").yard()
        client = yard.client("a", before_commit=others_go_on(yard, before=2, after=3))
        object.__setattr__(client.log._runtime, "monotonic", lambda: 0.0)
        assert isinstance(client.append().error, ConcurrentWriteError)


@every_store
class TestAWriterThatLosesItsSlot:
    def test_and_finds_what_it_built_on_cleaned_up_is_told_so(self, make: type[Witnessed]) -> None:
        """Its slot is taken, and the version before it is gone: the table was neither dropped nor made anew."""
        yard = start(make, "ready").yard()
        call = yard.client("a", before_commit=others_go_on(yard, before=1, after=1)).append()
        assert floor_of(yard.model.tree()) == 6, "the version before the slot was cleaned up, the slot was not"
        assert call.told is Told.DONE or isinstance(call.error, ConcurrentWriteError), call.error

    def test_and_finds_commits_cleaned_up_while_it_reads_them_is_told_so(self, make: type[Witnessed]) -> None:
        yard = start(make, "ready").yard()
        other = yard.client("b")
        first: list[Client] = []

        def overtake() -> None:
            other.append()
            other.append()
            first.append(other)

        client = yard.client("a", before_commit=overtake)
        get = client.line.get

        def clean_first(path: str) -> bytes:
            if first and path == commit_path(7):
                first.clear()
                others_go_on(yard, before=0, after=3)()
            return get(path)

        client.line.get = clean_first  # type: ignore[method-assign]
        call = client.append()
        assert call.told is Told.DONE or isinstance(call.error, ConcurrentWriteError), call.error


@every_store
class TestASlowCommitAboveTheFloor:
    def slow(self, yard: Yard) -> Client:
        return yard.client("a", before_commit=lambda: yard.clock.forward(days=20))

    def test_is_a_commit(self, make: type[Witnessed]) -> None:
        yard = start(make, "ready").yard()
        assert self.slow(yard).append().told is Told.DONE
        assert sound(yard)

    @pytest.mark.parametrize("kind", [FaultKind.UNAVAILABLE, FaultKind.PERMISSION])
    def test_is_in_doubt_where_the_floor_cannot_be_read(self, make: type[Witnessed], kind: FaultKind) -> None:
        begin = start(make, "ready")
        dry = FaultStore(begin.model.clone())
        self.slow(Yard(dry, begin.history.copy())).append()
        index = next(number for number, (_, path) in enumerate(dry.calls, 1) if path == FLOOR_DIRECTORY)
        yard = Yard(FaultStore(begin.model.clone(), Plan(index, kind, "forever")), begin.history.copy())
        call = self.slow(yard).append()
        assert commit_path(6) in yard.model.tree()
        assert call.told is Told.DONE or isinstance(call.error, CommitUnknownError), call.error


@pytest.mark.parametrize("kind", [FaultKind.STALE_LIST, FaultKind.TRUNCATED_LIST])
def test_a_listing_that_hides_the_mark_does_not_make_a_cleaned_slot_a_commit(kind: FaultKind) -> None:
    """A listing is a hint. That the version before the slot is gone says the same, and is asked for by name."""
    begin = start(WitnessedS3, "ready")

    def sleeper(yard: Yard) -> Client:
        def happen() -> None:
            others_go_on(Yard(yard.model, yard.history), before=2, after=3)()

        return yard.client("a", before_commit=happen)

    dry = FaultStore(begin.model.clone())
    sleeper(Yard(dry, begin.history.copy())).append()
    index = next(number for number, (_, path) in enumerate(dry.calls, 1) if path == FLOOR_DIRECTORY)
    yard = Yard(FaultStore(begin.model.clone(), Plan(index, kind)), begin.history.copy())
    call = sleeper(yard).append()
    assert call.told is not Told.DONE


@every_store
class TestALogThatWasOpenButIdleForLongerThanTheLogIsKept:
    """What it knows is the newest version of forty days ago, and a cleaner could not delete just that one."""

    def idle(self, yard: Yard) -> Client:
        client = yard.client("a")
        client.read()
        others_go_on(yard, before=3, after=3)()
        yard.model.put(commit_path(5), yard.model.seen[5])  # the file that could not be deleted, untouched
        return client

    def stay_the_same(self, yard: Yard) -> Client:
        """The same, with the very file: a delete that is refused leaves it as it was."""
        client = yard.client("a")
        client.read()
        delete = yard.model.delete

        def refuse(path: str) -> None:
            if path != commit_path(5):
                delete(path)

        yard.model.delete = refuse  # type: ignore[method-assign]
        others_go_on(yard, before=3, after=3)()
        del yard.model.delete
        return client

    def test_reads_the_newest_version(self, make: type[Witnessed]) -> None:
        yard = start(make, "ready").yard()
        client = self.stay_the_same(yard)
        assert commit_path(5) in yard.model.tree()
        assert commit_path(6) not in yard.model.tree()
        look = client.read()
        assert look.view is not None
        assert look.view.version == 11

    def test_commits_where_readers_look(self, make: type[Witnessed]) -> None:
        yard = start(make, "ready").yard()
        call = self.stay_the_same(yard).append()
        assert call.told is not Told.DONE or call.version == 12
        assert sound(yard)

    def test_notices_a_file_that_was_written_anew(self, make: type[Witnessed]) -> None:
        yard = start(make, "ready").yard()
        assert self.idle(yard).append().version == 12
