"""What a writer is told that took so long that cleanup may have gone past its version."""

from __future__ import annotations

import pytest

from indextables.errors import CommitUnknownError, ConcurrentWriteError
from indextables.log.commit import CommitResult
from indextables.log.floor import raise_floor, read_floor
from indextables.log.layout import commit_path
from indextables.log.outcome import check_won
from indextables.testing.faulty import FaultKind, FaultStore, Plan
from indextables.testing.models import S3Model

HOUR_MS = 3_600_000


@pytest.fixture
def store() -> S3Model:
    model = S3Model()
    for version in range(6):
        model.put(commit_path(version), b"{}\n")
    return model


def won(version: int) -> CommitResult:
    return CommitResult(version=version, commit_id="ours", timestamp=1)


def test_a_version_above_the_floor_is_won_if_the_one_before_it_is_there(store: S3Model) -> None:
    check_won(store, won(5), kept_ms=HOUR_MS)
    store.delete(commit_path(4))
    with pytest.raises(CommitUnknownError, match="the version before it is gone"):
        check_won(store, won(5), kept_ms=HOUR_MS)


def test_a_version_below_the_floor_was_never_seen_if_it_is_younger_than_the_mark(store: S3Model) -> None:
    raise_floor(store, 4)
    store.put(commit_path(3), b"late\n")
    with pytest.raises(ConcurrentWriteError):
        check_won(store, won(3), kept_ms=HOUR_MS)
    assert not store.exists(commit_path(3))


def test_a_version_below_the_floor_that_went_with_the_others_may_have_been_seen(store: S3Model) -> None:
    raise_floor(store, 4)
    store.delete(commit_path(3))
    with pytest.raises(CommitUnknownError, match="cleaned up since"):
        check_won(store, won(3), kept_ms=HOUR_MS)


def test_a_floor_that_cannot_be_read_leaves_the_outcome_unknown(store: S3Model) -> None:
    broken = FaultStore(store, Plan(1, FaultKind.UNAVAILABLE, mode="forever"))
    with pytest.raises(CommitUnknownError, match="it took long, and then"):
        check_won(broken, won(3), kept_ms=HOUR_MS)


def test_two_cleaners_that_raise_the_floor_to_the_same_version_agree(store: S3Model) -> None:
    raise_floor(store, 4)
    raise_floor(store, 4)
    assert read_floor(store) == 4
