"""Whole tables on S3 behind a network that lies: every request of every operation, in every way in which one can go wrong.

The server is moto, which is no referee of races; here nobody races. What is judged is what a client was told against what a client
beside the network sees: done is there once, refused is not there, and what nobody knows is one of the two and stays so.
A run takes a sample of the cases, and with more effort all of them.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from indextables.config import Settings
from indextables.errors import CommitUnknownError, IndexTablesError
from indextables.runtime import SYSTEM
from indextables.storage.object_store import open_object_store
from indextables.storage.retry import RetryingStore, RetryPolicy
from indextables.table import Table
from indextables.table.merge_group import merge_group
from indextables.table.merge_run import MergeRun
from indextables.table.merging import MergePolicy
from tests.support.effort import sample
from tests.support.proxy import (
    Exchange,
    Fault,
    FaultProxy,
    cut_body,
    delay_until,
    fault_proxy,
    lose_answer,
    lose_request,
    refuse,
    send_twice,
)
from tests.support.s3 import S3Endpoint, moto_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.xdist_group("s3 tables")

IMPATIENT = replace(SYSTEM, sleep=lambda _: None)
SETTINGS = Settings.resolve(
    {"spark.indextables.checkpoint.parallelism": 1, "spark.indextables.checkpoint.interval": 1000}
)
MOST_REQUESTS = 200
SHARE = 1 / 17
_CONTENTS = re.compile(rb"<Contents>.*?</Contents>", re.DOTALL)


def short_page(exchange: Exchange) -> None:
    """The page of a listing lacks its end and says that it is the last one."""
    reply = exchange.forward()
    found = _CONTENTS.findall(reply.body)
    kept = b"".join(found[: len(found) // 2])
    body = re.sub(rb"<Contents>.*</Contents>", lambda _: kept, reply.body, flags=re.DOTALL)
    exchange.answer(replace(reply, body=body))


def passed_on(exchange: Exchange) -> None:
    exchange.answer(exchange.forward())


FAULTS: dict[str, Fault] = {
    "the request is lost": lose_request,
    "the answer is lost": lose_answer,
    "it is sent twice": send_twice,
    "the answer breaks off": cut_body,
    "409": refuse(409, code="ConditionalRequestConflict"),
    "503": refuse(503, code="SlowDown"),
    "the right is lost": refuse(403, code="AccessDenied"),
    "a page of a listing is short": short_page,
}


def merge(client: Client) -> None:
    run = MergeRun(
        client.table.log,
        client.store,
        SETTINGS,
        lambda groups, task: (merge_group(client.store, group, task) for group in groups),
    )
    run.run(MergePolicy(target_size=1_000_000))


def numbers(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


@dataclass(frozen=True)
class Operation:
    """What a client does with a row of its own, and what becomes of the rows."""

    work: Callable[[Client, int], object]
    then: Callable[[Counter[int], int], Counter[int]]
    many: bool = False
    fresh: bool = False


OPERATIONS = {
    "append": Operation(
        lambda client, row: client.table.append(numbers(row)).version, lambda rows, row: rows + Counter([row])
    ),
    "overwrite": Operation(
        lambda client, row: client.table.overwrite(numbers(row)).version, lambda _, row: Counter([row])
    ),
    "delete": Operation(
        lambda client, row: client.table.delete(f"id <> {row - 1}").version,
        lambda rows, row: Counter({row - 1: rows[row - 1]}),
    ),
    "checkpoint": Operation(lambda client, _: client.table.checkpoint(), lambda rows, _: rows),
    "merge": Operation(lambda client, _: merge(client), lambda rows, _: rows, many=True),
    "read": Operation(lambda client, _: client.table.to_arrow(), lambda rows, _: rows, fresh=True),
}


@dataclass
class Client:
    """A process that has just begun, on a way of its own to the server."""

    server: S3Endpoint
    endpoint: str
    table: Table = field(init=False)

    def __post_init__(self) -> None:
        options = replace(self.server, endpoint=self.endpoint).options()
        inner = open_object_store(f"s3://{self.server.bucket}/table", options=options)
        self.store = RetryingStore(inner, policy=RetryPolicy(attempts=4), runtime=IMPATIENT)
        self.table = Table.at_store(self.store, settings=SETTINGS, runtime=IMPATIENT)

    def rows(self) -> Counter[int]:
        return Counter(self.table.to_arrow()["id"].to_pylist())


@dataclass
class Lab:
    """A table on a bucket of its own, and what must be in it."""

    server: S3Endpoint
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(100, 10))
    rows: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.truth = Client(self.server, self.server.endpoint)
        for _ in range(2):
            self._prepare()

    def requests(self, operation: Operation) -> list[tuple[str, bool]]:
        """Return the requests of an operation: the method, and whether it is a listing."""
        seen: list[tuple[str, bool]] = []

        def watched(exchange: Exchange) -> None:
            seen.append((exchange.method, "list-type=2" in exchange.target))
            passed_on(exchange)

        row = self._prepare()
        with fault_proxy(self.server.endpoint) as proxy:
            client = self._client(operation, proxy)
            proxy.inject(*[watched] * MOST_REQUESTS)
            operation.work(client, row)
        self.rows = operation.then(self.rows, row)
        return seen

    def disturb(
        self, operation: Operation, index: int, fault: Fault, *, after: Callable[[], object] | None = None
    ) -> bool:
        """Let a request of an operation go wrong and judge what came of it; return whether it came so far."""
        row = self._prepare()
        versions = self.truth.table.version
        with fault_proxy(self.server.endpoint) as proxy:
            client = self._client(operation, proxy)
            proxy.inject(*[passed_on] * index, fault)
            outcomes = self._outcomes(operation, row, client)
            struck = proxy.pending() == 0
            if after is not None:
                after()
            proxy.settle()
        truth = self.truth
        found = truth.rows()
        assert found in outcomes, f"{found} is none of {outcomes}"
        assert operation.many or truth.table.version - versions <= 1, "one operation became several versions"
        assert truth.table.log.versions() == list(range(truth.table.version + 1))
        self.rows = found
        return struck

    def _outcomes(self, operation: Operation, row: int, client: Client) -> list[Counter[int]]:
        """Do it, and return what the rows may be after what the client was told."""
        done = operation.then(self.rows, row)
        try:
            answer: Any = operation.work(client, row)
        except CommitUnknownError:
            return [self.rows, done]
        except IndexTablesError:
            return [self.rows]
        if isinstance(answer, pa.Table):
            assert Counter(answer["id"].to_pylist()) == self.rows, "a reader saw something else"
        return [done]

    def _prepare(self) -> int:
        """Give the table one more small file, and return the row of the next operation."""
        row = next(self.numbers)
        version = self.truth.table.append(numbers(row - 1)).version
        self.rows[row - 1] += 1
        if version % 10 == 0:
            self.truth.table.checkpoint()
        return row

    def _client(self, operation: Operation, proxy: FaultProxy) -> Client:
        """Return a client that has just begun, or one that knows the table, so that an operation makes the same requests."""
        client = Client(self.server, proxy.endpoint)
        if not operation.fresh:
            client.table.snapshot()
        return client


@pytest.fixture(scope="module")
def server() -> Iterator[S3Endpoint]:
    with moto_server() as endpoint:
        yield endpoint


def is_met_by(fault: str, request: tuple[str, bool]) -> bool:
    method, listing = request
    if fault == "a page of a listing is short":
        return listing
    return method == "GET" if fault == "the answer breaks off" else True


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_what_a_client_is_told_is_true_whatever_the_network_does(
    name: str, server: S3Endpoint, record_property: Callable[[str, object], None]
) -> None:
    operation, lab = OPERATIONS[name], Lab(server.new_bucket())
    requests = lab.requests(operation)
    every = [
        (index, FAULTS[fault])
        for index, request in enumerate(requests)
        for fault in FAULTS
        if is_met_by(fault, request)
    ]
    struck = [lab.disturb(operation, index, fault) for index, fault in sample(every, SHARE, name=name)]
    record_property("requests of tables on S3 that went wrong", sum(struck))
    assert sum(struck) >= 0.8 * len(struck)


@pytest.mark.slow
def test_a_write_that_arrives_when_nobody_waits_for_it_any_more_does_no_harm(
    server: S3Endpoint, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    lab, cases = Lab(server.new_bucket()), 0
    for name in ("append", "checkpoint"):
        writes = [index for index, (method, _) in enumerate(lab.requests(OPERATIONS[name])) if method == "PUT"]
        for index in writes:
            released = threading.Event()
            with monkeypatch.context() as patch:
                patch.setattr("indextables.storage.object_store._ATTEMPT_TIMEOUT", timedelta(seconds=2))
                cases += lab.disturb(OPERATIONS[name], index, delay_until(released), after=released.set)
    record_property("late writes to tables on S3", cases)
    assert cases >= 4


def test_the_proxy_of_these_tests_cuts_a_page_and_nothing_else(server: S3Endpoint) -> None:
    lab = Lab(server.new_bucket())
    with fault_proxy(lab.server.endpoint) as proxy:
        client = Client(lab.server, proxy.endpoint)
        whole = [meta.path for meta in client.store.list_from("")]
        proxy.inject(short_page)
        assert [meta.path for meta in client.store.list_from("")] == whole[: len(whole) // 2]
