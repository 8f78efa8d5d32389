"""The store on Spark's Hadoop, over a real HDFS: mount tables, and the same truth about failures as without a JVM."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from indextables.errors import (
    AlreadyExistsError,
    NotFoundError,
    OutcomeUnknownError,
    StorageError,
    StorageUnavailableError,
)
from indextables.storage.hadoop import HadoopStore
from indextables.storage.hdfs import HdfsStore
from tests.hdfs.namenode_proxy import Fault, namenode_proxy
from tests.support.hdfs import MiniHdfs, mini_hdfs

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

# Hadoop's client is patient by default; these are what a site would set to fail fast.
IMPATIENT = {
    "ipc.client.connect.max.retries": "1",
    "ipc.client.connect.retry.interval": "100",
    "ipc.client.rpc-timeout.ms": "2000",
    "dfs.client.retry.policy.enabled": "false",
}


def open_store(spark: SparkSession, url: str, **settings: str) -> HadoopStore:
    configuration: Any = spark._jsparkSession.sessionState().newHadoopConf()
    for key, value in settings.items():
        configuration.set(key, value)
    return HadoopStore(url, jvm=spark.sparkContext._jvm, configuration=configuration)


def paths(store: HadoopStore) -> list[str]:
    return [meta.path for meta in store.list_from("")]


@pytest.fixture
def mounted(spark: SparkSession, cluster: MiniHdfs) -> HadoopStore:
    """A table behind a mount point of viewfs."""
    mounts = {"fs.viewfs.mounttable.views.link./mnt": f"{cluster.url}/mounted"}
    HdfsStore(f"{cluster.url}/mounted").put("marker", b"")  # a mount's target must exist
    return open_store(spark, f"viewfs://views/mnt/{time.monotonic_ns()}", **mounts)


class TestMountTable:
    def test_objects_live_behind_the_mount_point(self, cluster: MiniHdfs, mounted: HadoopStore) -> None:
        mounted.put_if_absent("date=2024-01-01/a%2Fb c", b"x")
        behind = HdfsStore(f"{cluster.url}/mounted/{mounted.url.rpartition('/')[2]}")
        assert behind.get("date=2024-01-01/a%2Fb c") == b"x"
        assert list(behind.list_from("")) == list(mounted.list_from(""))

    def test_creation_refuses_what_is_there(self, mounted: HadoopStore) -> None:
        mounted.put_if_absent("a", b"one")
        with pytest.raises(AlreadyExistsError):
            mounted.put_if_absent("a", b"two")
        mounted.put("a", b"three")
        assert mounted.get("a") == b"three"
        assert paths(mounted) == ["a"]

    def test_what_is_not_there_is_not_found(self, mounted: HadoopStore) -> None:
        assert paths(mounted) == []
        mounted.put("a", b"x")
        for path in ("missing", "a/below"):
            with pytest.raises(NotFoundError):
                mounted.get(path)
        mounted.delete("a")
        mounted.delete("a")
        assert paths(mounted) == []

    def test_of_racing_threads_exactly_one_wins(self, mounted: HadoopStore) -> None:
        racers, rounds = 4, 10
        barrier = threading.Barrier(racers)

        def run(me: int) -> list[int]:
            won = []
            for current in range(rounds):
                barrier.wait(timeout=60)
                try:
                    mounted.put_if_absent(f"race/{current}", str(me).encode())
                except AlreadyExistsError:
                    continue
                except BaseException:
                    barrier.abort()  # or the others would wait for who comes no more, and tell of that instead of why
                    raise
                won.append(current)
            return won

        with ThreadPoolExecutor(racers) as pool:
            wins = [pool.submit(run, me) for me in range(racers)]
        errors = [won.exception() for won in wins]
        assert [error for error in errors if error and not isinstance(error, threading.BrokenBarrierError)] == []
        for me, won in enumerate(wins):
            assert won.result() == [n for n in range(rounds) if mounted.get(f"race/{n}") == str(me).encode()]


class TestFailures:
    def test_both_clients_see_the_same_table(self, spark: SparkSession, cluster: MiniHdfs) -> None:
        url = cluster.table("both")
        native, hadoop = HdfsStore(url), open_store(spark, url)
        native.put("a", b"by native")
        hadoop.put("d/b", b"by hadoop")
        assert (hadoop.get("a"), native.get("d/b")) == (b"by native", b"by hadoop")
        assert list(native.list_from("")) == list(hadoop.list_from(""))
        for store in (native, hadoop):
            with pytest.raises(AlreadyExistsError):
                store.put_if_absent("a", b"again")

    def test_safe_mode_refuses_writes_for_now(self, spark: SparkSession, cluster: MiniHdfs) -> None:
        store = open_store(spark, cluster.table("safe-mode"))
        store.put("a", b"before")
        cluster.run_tool("DFSAdmin", "-safemode", "enter")
        try:
            assert store.get("a") == b"before"
            for write in (
                partial(store.put, "a", b"x"),
                partial(store.put_if_absent, "b", b"x"),
                partial(store.delete, "a"),
            ):
                with pytest.raises(StorageUnavailableError, match="SafeModeException"):
                    write()
        finally:
            cluster.run_tool("DFSAdmin", "-safemode", "leave")

    def test_a_name_with_a_colon_is_refused_with_a_reason(self, spark: SparkSession, cluster: MiniHdfs) -> None:
        store = open_store(spark, cluster.table("colon"))
        with pytest.raises(StorageError, match="Choose a name that this store allows"):
            store.put("d/a:b", b"x")
        assert paths(store) == []

    @pytest.mark.parametrize(
        ("fault", "expected", "left"),
        [(Fault.LOSE_ANSWER, OutcomeUnknownError, ["a"]), (Fault.LOSE_REQUEST, StorageUnavailableError, [])],
    )
    def test_a_rename_that_got_lost_is_reported_as_what_it_is(
        self, spark: SparkSession, cluster: MiniHdfs, fault: Fault, expected: type[StorageError], left: list[str]
    ) -> None:
        with namenode_proxy(cluster.url) as proxy:
            store = open_store(spark, f"hdfs://{proxy.authority}/tables/lost-{fault.name}")
            proxy.set_fault("rename2", fault)
            with pytest.raises(expected):
                store.put_if_absent("a", b"ours")
            assert paths(store) == left

    def test_a_killed_cluster_is_reported(self, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
        calls: dict[str, tuple[Callable[[HadoopStore], object], type[StorageError]]] = {
            "get": (lambda store: store.get("a"), StorageUnavailableError),
            "list_from": (paths, StorageUnavailableError),
            "put_if_absent": (lambda store: store.put_if_absent("b", b"x"), StorageUnavailableError),
            "delete": (lambda store: store.delete("a"), OutcomeUnknownError),
        }
        took = {}
        with mini_hdfs() as cluster:
            store = open_store(spark, cluster.table("killed"), **IMPATIENT)
            store.put("a", b"before")
            cluster.kill()
            for name, (call, expected) in calls.items():
                started = time.monotonic()
                with pytest.raises(expected):
                    call(store)
                took[name] = time.monotonic() - started
        with capsys.disabled():
            print(
                "\nthrough Hadoop's client: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in took.items())
            )
        assert max(took.values()) < 10
