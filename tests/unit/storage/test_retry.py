from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from indextables.errors import (
    AlreadyExistsError,
    OutcomeUnknownError,
    PermissionDeniedError,
    StorageError,
    StorageUnavailableError,
)
from indextables.runtime import SYSTEM
from indextables.storage.retry import RetryingStore, RetryPolicy
from indextables.testing.models import S3Model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from indextables.storage.base import ObjectMeta

UNKNOWN = OutcomeUnknownError("a")
UNAVAILABLE = StorageUnavailableError("a")
EXISTS = AlreadyExistsError("a")
DENIED = PermissionDeniedError("a")


class Scripted(S3Model):
    """Answers its first calls as told: an error, or an error after the effect."""

    def __init__(self, puts: list[tuple[StorageError | None, bool]], gets: list[StorageError] | None = None) -> None:
        super().__init__()
        self.puts, self.gets, self.sent = puts, gets or [], 0

    def put_if_absent(self, path: str, data: bytes) -> None:
        self.sent += 1
        error, effect = self.puts.pop(0) if self.puts else (None, True)
        if effect:
            super().put_if_absent(path, data)
        if error:
            raise error

    def get(self, path: str) -> bytes:
        if self.gets:
            raise self.gets.pop(0)
        return super().get(path)


def retrying(inner: S3Model, *, attempts: int = 4) -> tuple[RetryingStore, list[float]]:
    slept: list[float] = []
    runtime = replace(SYSTEM, sleep=slept.append)
    return RetryingStore(inner, policy=RetryPolicy(attempts=attempts), runtime=runtime), slept


class TestConditionalWrites:
    def test_a_lost_answer_whose_effect_happened_is_done(self) -> None:
        inner = Scripted([(UNKNOWN, True)])
        retrying(inner)[0].put_if_absent("a", b"ours")
        assert inner.sent == 1

    def test_a_lost_answer_whose_effect_did_not_happen_is_sent_again(self) -> None:
        inner = Scripted([(UNKNOWN, False)])
        retrying(inner)[0].put_if_absent("a", b"ours")
        assert inner.sent == 2
        assert inner.get("a") == b"ours"

    def test_exists_said_of_our_own_bytes_is_done(self) -> None:
        inner = Scripted([(EXISTS, True)])
        retrying(inner)[0].put_if_absent("a", b"ours")

    def test_exists_said_of_nothing_is_sent_again(self) -> None:
        inner = Scripted([(EXISTS, False)])
        retrying(inner)[0].put_if_absent("a", b"ours")
        assert inner.sent == 2

    def test_foreign_bytes_after_a_lost_answer_mean_that_another_won(self) -> None:
        inner = Scripted([(UNKNOWN, False)])
        S3Model.put_if_absent(inner, "a", b"theirs")
        with pytest.raises(AlreadyExistsError):
            retrying(inner)[0].put_if_absent("a", b"ours")

    def test_answers_that_stay_lost_stay_unknown(self) -> None:
        inner = Scripted([(UNKNOWN, False)] * 4)
        with pytest.raises(OutcomeUnknownError):
            retrying(inner)[0].put_if_absent("a", b"ours")
        assert inner.sent == 4

    def test_a_store_that_never_takes_it_is_unavailable(self) -> None:
        inner = Scripted([(UNAVAILABLE, False)] * 4)
        with pytest.raises(StorageUnavailableError, match="4 attempts failed"):
            retrying(inner)[0].put_if_absent("a", b"ours")

    def test_one_lost_answer_among_refusals_leaves_it_unknown(self) -> None:
        inner = Scripted([(UNKNOWN, False), (UNAVAILABLE, False), (UNAVAILABLE, False), (UNAVAILABLE, False)])
        with pytest.raises(OutcomeUnknownError):
            retrying(inner)[0].put_if_absent("a", b"ours")

    def test_rights_lost_before_anything_was_sent_are_just_that(self) -> None:
        with pytest.raises(PermissionDeniedError):
            retrying(Scripted([(DENIED, False)]))[0].put_if_absent("a", b"ours")

    def test_rights_lost_after_a_lost_answer_leave_it_unknown(self) -> None:
        with pytest.raises(OutcomeUnknownError):
            retrying(Scripted([(UNKNOWN, True)], gets=[DENIED]))[0].put_if_absent("a", b"ours")

    def test_a_read_back_that_fails_is_tried_again(self) -> None:
        inner = Scripted([(UNKNOWN, True)], gets=[UNAVAILABLE])
        retrying(inner)[0].put_if_absent("a", b"ours")
        assert inner.sent == 2

    def test_bytes_that_a_power_cut_could_take_are_sent_again_until_they_are_safe(self) -> None:
        unsafe = OutcomeUnknownError("a", readable_is_durable=False)
        inner = Scripted([(unsafe, True), (unsafe, False), (EXISTS, False)])
        retrying(inner)[0].put_if_absent("a", b"ours")
        assert inner.sent == 3

    def test_bytes_that_stay_unsafe_stay_unknown(self) -> None:
        unsafe = OutcomeUnknownError("a", readable_is_durable=False)
        with pytest.raises(OutcomeUnknownError):
            retrying(Scripted([(unsafe, True), *[(unsafe, False)] * 3]))[0].put_if_absent("a", b"ours")

    def test_a_late_first_attempt_does_no_harm(self) -> None:
        inner = Scripted([(UNKNOWN, False)])
        retrying(inner)[0].put_if_absent("a", b"ours")
        with pytest.raises(AlreadyExistsError):
            S3Model.put_if_absent(inner, "a", b"ours")
        assert inner.get("a") == b"ours"


class TestReads:
    def test_are_repeated_until_they_succeed(self) -> None:
        inner = Scripted([], gets=[UNAVAILABLE, UNAVAILABLE])
        inner.put("a", b"x")
        store, slept = retrying(inner)
        assert store.get("a") == b"x"
        assert len(slept) == 2

    def test_are_given_up_when_the_budget_is_used(self) -> None:
        inner = Scripted([], gets=[UNAVAILABLE] * 4)
        with pytest.raises(StorageUnavailableError):
            retrying(inner)[0].get("a")
        assert inner.gets == []

    @pytest.mark.parametrize(
        "call", [lambda store: store.get("a"), lambda store: store.head("a"), lambda store: store.get_range("a", 0, 1)]
    )
    def test_of_what_is_not_there_are_not_repeated(self, call: Callable[[RetryingStore], object]) -> None:
        store, slept = retrying(S3Model())
        with pytest.raises(FileNotFoundError):
            call(store)
        assert slept == []

    def test_a_listing_that_breaks_off_goes_on_where_it_was(self) -> None:
        class Breaking(S3Model):
            breaks = 2

            def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
                for number, meta in enumerate(super().list_from(prefix, start_after)):
                    if number == 2 and self.breaks:
                        self.breaks -= 1
                        raise UNAVAILABLE
                    yield meta

        inner = Breaking()
        for name in "abcdefg":
            inner.put(name, b"")
        assert [meta.path for meta in retrying(inner)[0].list_from("")] == list("abcdefg")


class TestPatience:
    def test_delays_double_up_to_the_maximum_and_vary(self) -> None:
        policy = RetryPolicy(attempts=10, base_delay_s=0.1, max_delay_s=5.0)
        longest = [policy.delay(attempt, replace(SYSTEM, uniform=lambda _, high: high)) for attempt in range(8)]
        shortest = [policy.delay(attempt, replace(SYSTEM, uniform=lambda low, _: low)) for attempt in range(8)]
        assert longest == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0])
        assert shortest == pytest.approx([value / 2 for value in longest])

    def test_a_store_that_keeps_failing_is_spoken_of_while_it_is_waited_for(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        inner = Scripted([], gets=[UNAVAILABLE] * 3)
        inner.put("a", b"x")
        retrying(inner)[0].get("a")
        (record,) = caplog.records  # the first two failures are nothing unusual
        assert (record.levelname, record.name) == ("WARNING", "indextables.storage.retry")
        assert f"{inner.url}: attempt 3 of 4 failed, the next follows in 0." in record.getMessage()
