"""Whatever happens to the NameNode or on the way to it, a call ends in time and says truly what became of it."""

from __future__ import annotations

import itertools
import socket
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import pytest
from hdfs_native import Client

from indextables.errors import (
    AlreadyExistsError,
    OutcomeUnknownError,
    PermissionDeniedError,
    StorageError,
    StorageUnavailableError,
)
from indextables.storage.hdfs import HdfsStore
from indextables.storage.retry import RetryingStore
from tests.hdfs.namenode_proxy import Fault, NameNodeProxy, namenode_proxy
from tests.support.hdfs import MiniHdfs, mini_hdfs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from indextables.storage.base import Store

CALLS: dict[str, tuple[Callable[[Store], object], type[StorageError]]] = {
    "get": (lambda store: store.get("a"), StorageUnavailableError),
    "get_range": (lambda store: store.get_range("a", 0, 1), StorageUnavailableError),
    "head": (lambda store: store.head("a"), StorageUnavailableError),
    "exists": (lambda store: store.exists("a"), StorageUnavailableError),
    "list_from": (lambda store: list(store.list_from("")), StorageUnavailableError),
    "put": (lambda store: store.put("b", b"x"), StorageUnavailableError),
    "put_if_absent": (lambda store: store.put_if_absent("c", b"x"), StorageUnavailableError),
    "delete": (lambda store: store.delete("a"), OutcomeUnknownError),
}
_P = ParamSpec("_P")
_T = TypeVar("_T")
_numbers = itertools.count()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds


@pytest.fixture
def table() -> str:
    """The path of a new table."""
    return f"/tables/failures-{next(_numbers)}"


@pytest.fixture
def direct(cluster: MiniHdfs, table: str) -> HdfsStore:
    """The table by the straight way."""
    return HdfsStore(cluster.url + table)


@pytest.fixture
def proxy(cluster: MiniHdfs) -> Iterator[NameNodeProxy]:
    with namenode_proxy(cluster.url) as running:
        yield running


@pytest.fixture
def store(proxy: NameNodeProxy, table: str) -> HdfsStore:
    """The table through the proxy."""
    return HdfsStore(f"hdfs://{proxy.authority}{table}", step_seconds=1)


def files(cluster: MiniHdfs, table: str) -> list[str]:
    """Return every file of a table, staged ones included."""
    return [status.path for status in Client(cluster.url).list_status(table, recursive=True) if not status.isdir]


class TestLostMessages:
    @pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.SILENCE_ANSWER])
    @pytest.mark.parametrize("replace", [False, True])
    def test_a_rename_whose_answer_is_lost_is_unknown_and_cleans_up(
        self, cluster: MiniHdfs, proxy: NameNodeProxy, store: HdfsStore, table: str, fault: Fault, *, replace: bool
    ) -> None:
        proxy.set_fault("rename2", fault)
        with within(5), pytest.raises(OutcomeUnknownError):
            (store.put if replace else store.put_if_absent)("a", b"ours")
        assert files(cluster, table) == [f"{table}/a"]
        assert store.get("a") == b"ours"

    @pytest.mark.parametrize("procedure", ["rename2", "complete", "addBlock", "fsync"])
    def test_a_write_whose_request_is_lost_did_not_happen_and_cleans_up(
        self, cluster: MiniHdfs, proxy: NameNodeProxy, store: HdfsStore, table: str, procedure: str
    ) -> None:
        proxy.set_fault(procedure, Fault.LOSE_REQUEST)
        with within(5), pytest.raises(StorageUnavailableError):
            store.put_if_absent("a", b"ours")
        assert files(cluster, table) == []

    @pytest.mark.parametrize("procedure", ["create", "complete"])
    @pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.SILENCE_ANSWER])
    def test_staging_whose_answer_is_lost_did_not_publish_and_cleans_up(
        self, cluster: MiniHdfs, proxy: NameNodeProxy, store: HdfsStore, table: str, procedure: str, fault: Fault
    ) -> None:
        proxy.set_fault(procedure, fault)
        with within(5), pytest.raises(StorageUnavailableError):
            store.put_if_absent("a", b"ours")
        assert files(cluster, table) == []

    def test_a_rename_that_arrives_late_finds_nothing_to_publish(
        self, cluster: MiniHdfs, proxy: NameNodeProxy, store: HdfsStore, table: str
    ) -> None:
        proxy.set_fault("rename2", Fault.DELAY_REQUEST)
        with within(5), pytest.raises(StorageUnavailableError):
            store.put_if_absent("a", b"ours")
        proxy.release()
        assert files(cluster, table) == []

    def test_a_delete_whose_answer_is_lost_is_unknown(self, proxy: NameNodeProxy, store: HdfsStore) -> None:
        store.put("a", b"ours")
        proxy.set_fault("delete", Fault.LOSE_ANSWER)
        with within(5), pytest.raises(OutcomeUnknownError):
            store.delete("a")
        assert not store.exists("a")

    def test_a_read_whose_answer_never_arrives_can_be_repeated(self, proxy: NameNodeProxy, store: HdfsStore) -> None:
        store.put("a", b"ours")
        proxy.set_fault("getBlockLocations", Fault.SILENCE_ANSWER)
        with within(5), pytest.raises(StorageUnavailableError):
            store.get("a")
        assert store.get("a") == b"ours"

    @pytest.mark.parametrize(
        "fault", [Fault.LOSE_ANSWER, Fault.SILENCE_ANSWER, Fault.LOSE_REQUEST, Fault.DELAY_REQUEST]
    )
    @pytest.mark.parametrize("procedure", ["create", "complete", "rename2"])
    def test_retries_end_with_our_bytes_whatever_was_lost(
        self, cluster: MiniHdfs, proxy: NameNodeProxy, store: HdfsStore, table: str, procedure: str, fault: Fault
    ) -> None:
        proxy.set_fault(procedure, fault)
        RetryingStore(store).put_if_absent("a", b"ours")
        assert files(cluster, table) == [f"{table}/a"]
        assert store.get("a") == b"ours"

    def test_retries_do_not_take_another_writers_bytes_for_ours(
        self, proxy: NameNodeProxy, store: HdfsStore, direct: HdfsStore
    ) -> None:
        direct.put_if_absent("a", b"theirs")
        proxy.set_fault("rename2", Fault.LOSE_ANSWER)
        with pytest.raises(AlreadyExistsError):
            RetryingStore(store).put_if_absent("a", b"ours")
        assert direct.get("a") == b"theirs"


class TestRefusals:
    def test_safe_mode_refuses_writes_for_now_and_allows_reads(self, cluster: MiniHdfs, direct: HdfsStore) -> None:
        direct.put("a", b"before")
        cluster.run_tool("DFSAdmin", "-safemode", "enter")
        try:
            assert direct.get("a") == b"before"
            for write in (
                partial(direct.put, "a", b"x"),
                partial(direct.put_if_absent, "b", b"x"),
                partial(direct.delete, "a"),
            ):
                with within(5), pytest.raises(StorageUnavailableError, match="SafeModeException"):
                    write()
        finally:
            cluster.run_tool("DFSAdmin", "-safemode", "leave")
        assert [meta.path for meta in direct.list_from("")] == ["a"]

    def test_a_stranger_is_denied_reads_and_writes(
        self, cluster: MiniHdfs, direct: HdfsStore, table: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        direct.put("d/a", b"secret")
        Client(cluster.url).set_permission(table, 0o700)
        monkeypatch.setenv("HADOOP_USER_NAME", "stranger")
        store = HdfsStore(cluster.url + table)
        for call in (
            lambda: store.get("d/a"),
            lambda: store.head("d/a"),
            lambda: list(store.list_from("")),
            lambda: list(store.list_from("d")),
            lambda: store.put("d/b", b"x"),
            lambda: store.put_if_absent("d/b", b"x"),
            lambda: store.delete("d/a"),
        ):
            with pytest.raises(PermissionDeniedError):
                call()

    @pytest.mark.parametrize("name", ["d/a:b", "d/.snapshot", "n" * 300])
    def test_a_name_that_hdfs_refuses_is_refused_with_a_reason(self, direct: HdfsStore, name: str) -> None:
        with pytest.raises(StorageError, match="Choose a name that this store allows"):
            direct.put(name, b"x")
        assert list(direct.list_from("")) == []

    def test_a_full_quota_refuses_for_now(self, cluster: MiniHdfs, direct: HdfsStore, table: str) -> None:
        direct.put("a", b"x")
        cluster.run_tool("DFSAdmin", "-setQuota", "2", table)
        with pytest.raises(StorageUnavailableError, match="NSQuotaExceededException"):
            direct.put("b", b"x")
        assert [meta.path for meta in direct.list_from("")] == ["a"]

    def test_an_object_below_an_object_is_refused(self, direct: HdfsStore) -> None:
        direct.put("a", b"x")
        with pytest.raises(StorageUnavailableError, match="ParentNotDirectoryException"):
            direct.put("a/b", b"x")
        assert [meta.path for meta in direct.list_from("")] == ["a"]

    @pytest.mark.parametrize("method", ["put", "put_if_absent"])
    def test_an_object_in_a_directorys_place_is_refused_and_leaves_nothing(
        self, cluster: MiniHdfs, direct: HdfsStore, table: str, method: str
    ) -> None:
        direct.put("d/a", b"x")
        with pytest.raises(StorageError):
            getattr(direct, method)("d", b"x")
        assert files(cluster, table) == [f"{table}/d/a"]

    def test_deleting_a_directorys_name_removes_nothing(self, direct: HdfsStore) -> None:
        direct.put("d/a", b"x")
        direct.delete("d")
        assert direct.get("d/a") == b"x"


def test_a_table_in_an_erasure_coded_directory_works(cluster: MiniHdfs, direct: HdfsStore, table: str) -> None:
    Client(cluster.url).mkdirs(table, create_parent=True)
    cluster.run_tool("ECAdmin", "-enablePolicy", "-policy", "XOR-2-1-1024k")
    cluster.run_tool("ECAdmin", "-setPolicy", "-path", table, "-policy", "XOR-2-1-1024k")
    data = bytes(range(256)) * 10_000
    direct.put_if_absent("a", data)
    assert direct.get("a") == data
    assert direct.get_range("a", 1_048_570, 10) == data[1_048_570:1_048_580]


def test_a_namenode_that_does_not_answer_is_left_for_the_other_of_its_service(
    cluster: MiniHdfs, direct: HdfsStore, table: str
) -> None:
    direct.put("a", b"there")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        addresses = (f"127.0.0.1:{silent.getsockname()[1]}", cluster.url.removeprefix("hdfs://"))
        options = {"dfs.ha.namenodes.service": "nn1,nn2"}
        options |= {f"dfs.namenode.rpc-address.service.nn{n}": address for n, address in enumerate(addresses, 1)}
        for _ in range(5):
            store = HdfsStore(f"hdfs://service{table}", options=options, step_seconds=0.2)
            # Which of the two is asked first is chance; that none of twenty connections starts with the good one is not.
            for _ in range(20):
                try:
                    assert store.get("a") == b"there"
                    break
                except StorageUnavailableError:
                    continue
            else:
                pytest.fail("the NameNode that answers was never asked")


@pytest.mark.parametrize("name", CALLS)
def test_a_paused_cluster_is_reported_within_the_limit_and_serves_again(
    cluster: MiniHdfs, direct: HdfsStore, table: str, name: str
) -> None:
    call, expected = CALLS[name]
    direct.put("a", b"before")
    store = HdfsStore(cluster.url + table, step_seconds=1)
    assert store.get("a") == b"before"
    cluster.pause()
    try:
        with within(5), pytest.raises(expected, match="no answer within 1 s"):
            call(store)
    finally:
        cluster.resume()
    call(store)


def test_an_object_is_read_whole_before_its_last_block_is_reported() -> None:
    settings = {"dfs.blockreport.incremental.intervalMsec": "1500", "dfs.blocksize": str(1 << 20)}
    too_short = 0
    with mini_hdfs(settings) as slow:
        store = HdfsStore(slow.table("slow"))
        for data in (b"x" * 2_000_000, b"small", b"small", b"small"):
            store.put("a", data)
            too_short += len(Client(slow.url).read("/tables/slow/a")) < len(data)
            assert store.get("a") == data
    assert too_short, "the library has learned to wait"


class DoomedStore(HdfsStore):
    """Its cluster dies when the data is written but not yet safe."""

    def __init__(self, cluster: MiniHdfs, name: str) -> None:
        super().__init__(cluster.table(name))
        self._cluster = cluster

    def _step(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if function.__name__ == "hsync":
            self._cluster.kill()
        return super()._step(function, *args, **kwargs)


def test_a_killed_cluster_is_reported_within_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    took: dict[str, float] = {}

    def time_it(name: str, call: Callable[[], object], expected: type[StorageError]) -> None:
        started = time.monotonic()
        with pytest.raises(expected):
            call()
        took[name] = time.monotonic() - started

    with mini_hdfs() as cluster:
        store = HdfsStore(cluster.table("killed"))
        store.put("a", b"before")
        doomed = DoomedStore(cluster, "killed")
        time_it("in the middle of a write", lambda: doomed.put_if_absent("c", b"x" * 100), StorageUnavailableError)
        for name, (call, expected) in CALLS.items():
            time_it(name, partial(call, store), expected)
    with capsys.disabled():
        print("\nafter the NameNode's death: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in took.items()))
    assert max(took.values()) < 15  # five to six on a busy machine
