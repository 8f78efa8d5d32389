"""What the model found, on the product itself: writers that sleep past retention when their commit is there already.

In each case the commit landed, others went on, and cleanup took its version away while the writer slept. It must not be told
that it failed, for it would delete files that the table needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indextables.errors import AlreadyExistsError, CommitUnknownError, OutcomeUnknownError
from indextables.log.layout import commit_path, commit_version
from tests.faults.test_upkeep_floor import others_go_on
from tests.faults.upkeep_judge import STORES, Witnessed, broken, floor_of
from tests.faults.upkeep_scenarios import Yard, start
from tests.support.history import Told

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.clients import Client

every_store = pytest.mark.parametrize("make", STORES)


def after_its_commit(yard: Yard, happen: Callable[[str], None]) -> Client:
    """Return a client to whom something happens right after its first commit arrived in the store."""
    client = yard.client("a")
    put = client.line.put_if_absent
    sent: list[str] = []

    def put_if_absent(path: str, data: bytes) -> None:
        put(path, data)
        if commit_version(path) is not None and not sent:
            sent.append(path)
            happen(path)

    client.line.put_if_absent = put_if_absent  # type: ignore[method-assign]
    return client


@every_store
def test_a_writer_that_won_and_slept_is_not_told_that_it_lost(make: type[Witnessed]) -> None:
    yard = start(make, "ready").yard()
    others = others_go_on(yard, before=2, after=3)
    call = after_its_commit(yard, lambda _: others()).append()
    assert floor_of(yard.model.tree()) > 6
    assert call.told is Told.UNKNOWN
    assert broken(yard.model, yard.history) == []


@every_store
def test_a_writer_that_slept_in_doubt_is_not_told_that_it_lost(make: type[Witnessed]) -> None:
    yard = start(make, "ready").yard()
    others = others_go_on(yard, before=2, after=3)

    def lose_the_answer(path: str) -> None:
        others()
        raise OutcomeUnknownError(path)

    call = after_its_commit(yard, lose_the_answer).append()
    assert floor_of(yard.model.tree()) > 6
    assert call.told is Told.UNKNOWN
    assert broken(yard.model, yard.history) == []


@every_store
def test_a_writer_that_slept_after_it_met_its_own_write_is_not_told_that_it_lost(make: type[Witnessed]) -> None:
    """A hidden retry says of our own commit that it exists; when we come to read it, it has been cleaned up."""
    yard = start(make, "ready").yard()
    others = [others_go_on(yard, before=2, after=3)]

    def refuse(path: str) -> None:
        raise AlreadyExistsError(path)

    client = after_its_commit(yard, refuse)
    get = client.line.get

    def sleep_and_get(path: str) -> bytes:
        if others and path == commit_path(6):
            others.pop()()
        return get(path)

    client.line.get = sleep_and_get  # type: ignore[method-assign]
    call = client.append()
    assert floor_of(yard.model.tree()) > 6
    assert call.told is Told.UNKNOWN
    assert broken(yard.model, yard.history) == []


@every_store
def test_a_late_write_to_a_cleaned_version_does_not_settle_what_was_there_before(make: type[Witnessed]) -> None:
    yard = start(make, "ready").yard()
    call = yard.client("a").append()
    assert call.version == 6
    assert call.commit_id is not None
    others_go_on(yard, before=2, after=3)()
    yard.model.put(commit_path(6), yard.model.seen[7])
    unknown = CommitUnknownError("the table", version=6, commit_id=call.commit_id, detail="its answer was lost")
    with pytest.raises(CommitUnknownError, match="cleaned up since"):
        yard.client("z").log.resolve_commit(unknown)
