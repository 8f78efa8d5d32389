"""What a store on S3 says when the network lies: first one attempt alone, then with the read-back that settles the doubt."""

from __future__ import annotations

import itertools
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from indextables.errors import (
    AlreadyExistsError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    StorageError,
    StorageUnavailableError,
    UnsupportedStoreError,
)
from indextables.runtime import SYSTEM
from indextables.storage.object_store import ObjectStore, open_object_store
from indextables.storage.retry import RetryingStore, RetryPolicy
from tests.support.proxy import (
    Exchange,
    Fault,
    FaultProxy,
    Reply,
    cut_body,
    delay_until,
    echo,
    fault_proxy,
    lose_answer,
    lose_request,
    refuse,
    send_twice,
)
from tests.support.s3 import S3Endpoint, moto_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from indextables.storage.base import Store

CANARY = "canary-secret-do-not-show"
CONFLICT = refuse(409, code="ConditionalRequestConflict")
SLOW_DOWN = refuse(503, code="SlowDown")
NOT_DONE = {"lost request": lose_request, "409": CONFLICT, "503": SLOW_DOWN}
DONE_UNHEARD = {"lost answer": lose_answer, "sent twice": send_twice}
ECHOED = [400, 401, 403, 404, 409, 412, 416, 500, 503]
IMPATIENT = replace(SYSTEM, sleep=lambda _: None)

READS: dict[str, Callable[[Store], object]] = {
    "get": lambda store: store.get("a"),
    "get_range": lambda store: store.get_range("a", 2, 3),
    "head": lambda store: store.head("a"),
    "list": lambda store: list(store.list_from("")),
}
WRITES: dict[str, Callable[[Store], object]] = {
    "put_if_absent": lambda store: store.put_if_absent("new", b"ours"),
    "put": lambda store: store.put("new", b"ours"),
    "delete": lambda store: store.delete("a"),
}


@dataclass(frozen=True)
class Lab:
    """A store behind a proxy, and the same store without it, which tells the truth."""

    proxy: FaultProxy
    store: ObjectStore
    truth: ObjectStore

    def retrying(self, attempts: int = 10) -> RetryingStore:
        return RetryingStore(self.store, policy=RetryPolicy(attempts=attempts), runtime=IMPATIENT)


@pytest.fixture(scope="module")
def server() -> Iterator[S3Endpoint]:
    with moto_server() as endpoint:
        yield endpoint


def open_lab(proxy: FaultProxy, bucket: S3Endpoint) -> Lab:
    url = f"s3://{bucket.bucket}/table"
    through = replace(bucket, endpoint=proxy.endpoint)
    return Lab(
        proxy, open_object_store(url, options=through.options()), open_object_store(url, options=bucket.options())
    )


@pytest.fixture
def lab(server: S3Endpoint) -> Iterator[Lab]:
    with fault_proxy(server.endpoint) as proxy:
        yield open_lab(proxy, server.new_bucket())
        assert proxy.pending() == 0, "a fault was planned and never met"


class TestOneAttemptToCreate:
    def test_a_lost_answer_is_unknown_and_the_object_is_there(self, lab: Lab) -> None:
        lab.proxy.inject(lose_answer)
        with pytest.raises(OutcomeUnknownError, match="Read it back") as caught:
            lab.store.put_if_absent("a", b"ours")
        assert caught.value.path == "a"
        assert lab.truth.get("a") == b"ours"

    def test_a_lost_request_is_unknown_and_nothing_is_there(self, lab: Lab) -> None:
        lab.proxy.inject(lose_request)
        with pytest.raises(OutcomeUnknownError):
            lab.store.put_if_absent("a", b"ours")
        assert not lab.truth.exists("a")

    def test_a_delayed_request_is_unknown_and_may_happen_later(self, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
        store = impatient_store(lab, monkeypatch)
        released = threading.Event()
        lab.proxy.inject(delay_until(released))
        with pytest.raises(OutcomeUnknownError):
            store.put_if_absent("a", b"ours")
        assert not lab.truth.exists("a")
        released.set()
        lab.proxy.settle()
        assert lab.truth.get("a") == b"ours"

    def test_a_request_sent_twice_is_refused_although_the_bytes_are_ours(self, lab: Lab) -> None:
        lab.proxy.inject(send_twice)
        with pytest.raises(AlreadyExistsError, match="412 Precondition Failed"):
            lab.store.put_if_absent("a", b"ours")
        assert lab.truth.get("a") == b"ours"

    def test_a_mere_collision_is_refused_while_nothing_is_there(self, lab: Lab) -> None:
        lab.proxy.inject(CONFLICT)
        with pytest.raises(AlreadyExistsError, match="409 Conflict, ConditionalRequestConflict"):
            lab.store.put_if_absent("a", b"ours")
        assert not lab.truth.exists("a")

    def test_a_failed_condition_is_refused(self, lab: Lab) -> None:
        lab.proxy.inject(refuse(412, code="PreconditionFailed"))
        with pytest.raises(AlreadyExistsError, match="412 Precondition Failed, PreconditionFailed"):
            lab.store.put_if_absent("a", b"ours")

    @pytest.mark.parametrize("answer", [*NOT_DONE, *DONE_UNHEARD])
    def test_is_one_request_whatever_happens_and_however_large(self, lab: Lab, answer: str) -> None:
        lab.proxy.inject((NOT_DONE | DONE_UNHEARD)[answer])
        with pytest.raises(StorageError):
            lab.store.put_if_absent("a", b"ours" * 4_000_000)
        assert lab.proxy.take_seen() == ["PUT"]


class TestOneAttemptToChange:
    @pytest.mark.parametrize("status", [409, 412, 429, 500, 502, 503, 504])
    @pytest.mark.parametrize("call", ["put", "delete"])
    def test_a_failure_is_unknown_and_changes_nothing(self, lab: Lab, call: str, status: int) -> None:
        lab.truth.put("a", b"old")
        lab.proxy.inject(refuse(status, code="Made.Up"))
        with pytest.raises(OutcomeUnknownError, match=f"the server answered {status}"):
            WRITES[call](lab.store)
        assert lab.truth.get("a") == b"old"
        assert not lab.truth.exists("new")

    @pytest.mark.parametrize("status", [500, 503, 429])
    def test_a_failed_creation_is_unknown(self, lab: Lab, status: int) -> None:
        lab.proxy.inject(refuse(status))
        with pytest.raises(OutcomeUnknownError, match=f"the server answered {status}"):
            lab.store.put_if_absent("a", b"ours")

    def test_a_replacement_with_a_lost_answer_is_unknown_and_done(self, lab: Lab) -> None:
        lab.truth.put("a", b"old")
        lab.proxy.inject(lose_answer)
        with pytest.raises(OutcomeUnknownError):
            lab.store.put("a", b"new")
        assert lab.truth.get("a") == b"new"

    def test_a_deletion_with_a_lost_answer_is_unknown_and_done(self, lab: Lab) -> None:
        lab.truth.put("a", b"old")
        lab.proxy.inject(lose_answer)
        with pytest.raises(OutcomeUnknownError):
            lab.store.delete("a")
        assert not lab.truth.exists("a")

    def test_a_replacement_or_a_deletion_may_be_sent_twice(self, lab: Lab) -> None:
        lab.proxy.inject(send_twice, send_twice)
        lab.store.put("a", b"new")
        assert lab.truth.get("a") == b"new"
        lab.store.delete("a")
        assert not lab.truth.exists("a")

    def test_a_replacement_is_one_request_however_large(self, lab: Lab) -> None:
        lab.store.put("a", b"ours" * 4_000_000)
        assert lab.proxy.take_seen() == ["PUT"]

    def test_a_write_does_not_follow_a_redirect(self, lab: Lab, server: S3Endpoint) -> None:
        with fault_proxy(server.endpoint) as elsewhere:
            location = f"{elsewhere.endpoint}/elsewhere/a"
            lab.proxy.inject(refuse(307, headers=(("Location", location),)))
            with pytest.raises(OutcomeUnknownError, match="307 Temporary Redirect"):
                lab.store.put_if_absent("a", b"ours")
            assert elsewhere.take_seen() == []


class TestOneAttemptToRead:
    @pytest.mark.parametrize("call", READS)
    @pytest.mark.parametrize("status", [409, 412, 416, 429, 500, 503])
    def test_a_failure_is_unavailable(self, lab: Lab, call: str, status: int) -> None:
        lab.truth.put("a", b"0123456789")
        lab.proxy.inject(refuse(status))
        with pytest.raises(StorageUnavailableError, match=f"the server answered {status}"):
            READS[call](lab.store)

    @pytest.mark.parametrize("call", READS)
    @pytest.mark.parametrize("fault", [lose_answer, lose_request])
    def test_no_answer_is_unavailable(self, lab: Lab, call: str, fault: Fault) -> None:
        lab.truth.put("a", b"0123456789")
        lab.proxy.inject(fault)
        with pytest.raises(StorageUnavailableError):
            READS[call](lab.store)

    @pytest.mark.parametrize("call", ["get", "get_range", "list"])
    def test_a_body_that_breaks_off_is_unavailable_never_short(self, lab: Lab, call: str) -> None:
        lab.truth.put("a", b"0123456789")
        lab.proxy.inject(cut_body)
        with pytest.raises(StorageUnavailableError):
            READS[call](lab.store)

    def test_a_range_that_fails_is_not_taken_for_the_end(self, lab: Lab) -> None:
        lab.truth.put("a", b"0123456789")
        lab.proxy.inject(SLOW_DOWN, SLOW_DOWN)
        with pytest.raises(StorageUnavailableError):
            lab.store.get_range("a", 20, 3)
        assert lab.proxy.take_seen() == ["GET", "HEAD"]

    def test_a_range_of_an_object_that_vanishes_is_not_found(self, lab: Lab) -> None:
        lab.proxy.inject(SLOW_DOWN)
        with pytest.raises(NotFoundError):
            lab.store.get_range("a", 0, 3)

    def test_a_listing_out_of_order_is_refused(self, lab: Lab) -> None:
        lab.proxy.inject(lambda exchange: exchange.answer(listing(exchange, ["table/b", "table/a"])))
        with pytest.raises(UnsupportedStoreError, match="it lists objects out of order"):
            list(lab.store.list_from(""))

    def test_a_listing_that_repeats_an_object_is_refused(self, lab: Lab) -> None:
        lab.proxy.inject(lambda exchange: exchange.answer(listing(exchange, ["table/a", "table/a"])))
        with pytest.raises(UnsupportedStoreError):
            list(lab.store.list_from(""))


class TestRefusals:
    @pytest.mark.parametrize("call", READS | WRITES)
    @pytest.mark.parametrize("status", [401, 403])
    def test_a_refusal_is_permission_denied(self, lab: Lab, call: str, status: int) -> None:
        # A listing asks for the bucket as well before it blames the credentials.
        lab.proxy.inject(*[refuse(status, code="AccessDenied")] * (2 if call == "list" else 1))
        with pytest.raises(PermissionDeniedError, match=f"the server answered {status}"):
            (READS | WRITES)[call](lab.store)

    @pytest.mark.parametrize(
        ("call", "status"),
        # That there is nothing to delete is no error.
        sorted(set(itertools.product(READS | WRITES, ECHOED)) - {("delete", 404)}),
    )
    def test_no_error_tells_a_secret_though_the_server_repeats_them_all(
        self, server: S3Endpoint, call: str, status: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(0)
        options = server.options() | {
            "spark.indextables.aws.secretKey": CANARY,
            "spark.indextables.aws.sessionToken": CANARY,
        }
        with fault_proxy(server.endpoint) as proxy:
            store = open_object_store(
                f"s3://{server.bucket}", options=options | {"spark.indextables.aws.endpoint": proxy.endpoint}
            )
            seen: list[str] = []
            proxy.inject(*[witness(echo(status), seen)] * 3)
            with pytest.raises(StorageError) as caught:
                (READS | WRITES)[call](store)
        assert CANARY in "".join(seen), "the request did carry the secret"
        error = caught.value
        shown = "".join(traceback.format_exception(error)) + repr(vars(error)) + caplog.text
        for secret in (CANARY, "AWS4-HMAC-SHA256", "Signature="):
            assert secret not in shown

    def test_keys_of_an_option_are_not_joined_by_a_token_of_the_environment(
        self, lab: Lab, server: S3Endpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_SESSION_TOKEN", CANARY)
        monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
        seen: list[str] = []
        lab.proxy.inject(witness(lambda exchange: exchange.answer(exchange.forward()), seen))
        through = replace(server, endpoint=lab.proxy.endpoint)
        open_object_store(f"s3://{server.bucket}", options=through.options()).put("a", b"x")
        assert CANARY not in "".join(seen)
        assert "AWS4-HMAC-SHA256" in "".join(seen)


class TestCreateWithRetries:
    def test_lost_answers_end_in_success_exactly_once(self, lab: Lab, record_property: Callable[..., None]) -> None:
        before = [faults for count in range(3) for faults in itertools.product(NOT_DONE.values(), repeat=count)]
        reading_back: list[list[Fault]] = [[], [lose_answer], [SLOW_DOWN]]
        sizes = [0, 100, 100_000]
        store, cases = lab.retrying(), 0
        for faults, unheard, reads, size in itertools.product(before, DONE_UNHEARD.values(), reading_back, sizes):
            path, data = f"log/{cases:020d}.json", f"commit {cases}".encode() + b"x" * size
            lab.proxy.inject(*faults, unheard, method="PUT")
            lab.proxy.inject(*reads, method="GET")
            store.put_if_absent(path, data)
            assert lab.proxy.pending() == 0
            assert lab.truth.get(path) == data
            with pytest.raises(AlreadyExistsError):
                store.put_if_absent(path, b"of another writer")
            assert lab.truth.get(path) == data
            cases += 1
        record_property("lost answers settled", cases)
        assert cases == 234
        assert len(list(lab.truth.list_from("log"))) == cases
        assert set(lab.proxy.take_seen()) == {"PUT", "GET"}

    @pytest.mark.parametrize("reading_back", [None, "lost request", "lost answer", "503"])
    @pytest.mark.parametrize("answer", [*NOT_DONE, *DONE_UNHEARD])
    def test_a_foreign_winner_is_recognised_behind_any_answer(
        self, lab: Lab, answer: str, reading_back: str | None
    ) -> None:
        lab.truth.put_if_absent("a", b"theirs")
        lab.proxy.inject((NOT_DONE | DONE_UNHEARD)[answer], method="PUT")
        if reading_back:
            lab.proxy.inject((NOT_DONE | DONE_UNHEARD)[reading_back], method="GET")
        with pytest.raises(AlreadyExistsError):
            lab.retrying().put_if_absent("a", b"ours")
        assert lab.truth.get("a") == b"theirs"

    def test_a_late_first_attempt_does_no_harm(self, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
        released = threading.Event()
        lab.proxy.inject(delay_until(released))
        RetryingStore(impatient_store(lab, monkeypatch), runtime=IMPATIENT).put_if_absent("a", b"ours")
        assert lab.truth.get("a") == b"ours"
        released.set()
        lab.proxy.settle()
        assert lab.truth.get("a") == b"ours"
        assert lab.proxy.take_seen() == ["PUT", "GET", "PUT"]

    def test_when_the_budget_is_used_up_the_outcome_stays_unknown_and_nothing_is_deleted(self, lab: Lab) -> None:
        lab.proxy.inject(lose_request, lose_request, lose_request, method="PUT")
        with pytest.raises(OutcomeUnknownError):
            lab.retrying(attempts=3).put_if_absent("a", b"ours")
        assert lab.proxy.take_seen() == ["PUT", "GET"] * 3

    def test_a_missing_bucket_is_not_asked_again(self, lab: Lab) -> None:
        lab.proxy.inject(refuse(404, code="NoSuchBucket"))
        with pytest.raises(NotFoundError, match="the bucket does not exist"):
            lab.retrying().put_if_absent("a", b"ours")
        assert lab.proxy.take_seen() == ["PUT"]


class TestOtherCallsWithRetries:
    @pytest.mark.parametrize("call", READS)
    def test_a_read_succeeds_at_last(self, lab: Lab, call: str) -> None:
        lab.truth.put("a", b"0123456789")
        expected = READS[call](lab.truth)
        method = "HEAD" if call == "head" else "GET"
        lab.proxy.inject(lose_answer, SLOW_DOWN, lose_request, method=method)
        assert READS[call](lab.retrying()) == expected

    def test_a_body_is_fetched_again_when_it_broke_off(self, lab: Lab) -> None:
        lab.truth.put("a", b"0123456789" * 1000)
        lab.proxy.inject(cut_body, cut_body)
        assert lab.retrying().get("a") == b"0123456789" * 1000

    def test_replacing_and_deleting_succeed_at_last(self, lab: Lab) -> None:
        store = lab.retrying()
        lab.proxy.inject(lose_answer, SLOW_DOWN, CONFLICT, method="PUT")
        store.put("a", b"new")
        assert lab.truth.get("a") == b"new"
        lab.proxy.inject(lose_answer, SLOW_DOWN, method="DELETE")
        store.delete("a")
        assert not lab.truth.exists("a")


MANY = [f"l/{number:05d}" for number in range(1_100)]


@pytest.fixture(scope="module")
def full_bucket(server: S3Endpoint) -> S3Endpoint:
    """More objects than fit on one page."""
    bucket = server.new_bucket()
    store = open_object_store(f"s3://{bucket.bucket}/table", options=bucket.options())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: store.put(name, b"x"), MANY))
    return bucket


class TestLongListings:
    def test_a_page_is_fetched_only_when_it_is_needed(self, full_bucket: S3Endpoint) -> None:
        with fault_proxy(full_bucket.endpoint) as proxy:
            listed = open_lab(proxy, full_bucket).store.list_from("l")
            assert proxy.take_seen() == []
            assert next(listed).path == MANY[0]
            assert proxy.take_seen() == ["GET"]
            assert [meta.path for meta in listed] == MANY[1:]
            assert proxy.take_seen() == ["GET"]

    @pytest.mark.parametrize("fault", [lose_request, lose_answer, cut_body])
    def test_a_listing_that_breaks_off_goes_on_where_it_was(self, full_bucket: S3Endpoint, fault: Fault) -> None:
        with fault_proxy(full_bucket.endpoint) as proxy:
            listed = open_lab(proxy, full_bucket).retrying().list_from("l")
            seen = [next(listed).path]
            proxy.inject(fault, fault, method="GET")
            seen += [meta.path for meta in listed]
            assert proxy.pending() == 0
        assert seen == MANY


def impatient_store(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """Return the lab's store with a client that waits no longer than a moment for an answer."""
    monkeypatch.setattr("indextables.storage.object_store._ATTEMPT_TIMEOUT", timedelta(milliseconds=500))
    bucket = lab.store.url.split("/")[2]
    endpoint = S3Endpoint(lab.proxy.endpoint, "test", "testtest", bucket)
    return open_object_store(lab.store.url, options=endpoint.options())


def witness(fault: Fault, seen: list[str]) -> Fault:
    """Let a fault happen and write down what the client sent."""

    def watched(exchange: Exchange) -> None:
        seen.extend(f"{name}: {value}" for name, value in exchange.headers)
        fault(exchange)

    return watched


def listing(exchange: Exchange, keys: list[str]) -> Reply:
    """Return a page of a listing as S3 writes it, with these keys in this order."""
    assert "list-type=2" in exchange.target
    entries = "".join(
        f"<Contents><Key>{key}</Key><Size>1</Size><LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
        for key in keys
    )
    return Reply(200, (), f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>".encode())
