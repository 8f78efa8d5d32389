"""Every kind of store that the shared suites run on, each as a context that opens fresh, empty roots."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from indextables.storage.hdfs import HdfsStore
from indextables.storage.local import LocalStore
from indextables.storage.object_store import open_object_store
from indextables.testing.models import HdfsModel, PosixModel, S3Model
from tests.support.hdfs import mini_hdfs
from tests.support.s3 import S3Endpoint, moto_server, versity_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from indextables.storage.base import Store


@dataclass(frozen=True)
class StoreRoot:
    """Opens stores of one kind.

    Attributes:
        name: The kind.
        open: Opens the store rooted at a name; the same name gives the same bytes.
        referee: Whether racing creations have exactly one winner. moto checks first and writes then, so it cannot judge races.
        page: How many names a store gives in one answer, if it gives them in pages.
    """

    name: str
    open: Callable[[str], Store]
    referee: bool = True
    page: int = 1_000
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def fresh(self) -> Store:
        return self.open(f"root-{next(self._numbers)}")


def _model(name: str, build: Callable[[], Store]) -> Callable[[Path], AbstractContextManager[StoreRoot]]:
    @contextmanager
    def context(_: Path) -> Iterator[StoreRoot]:
        opened: dict[str, Store] = {}
        yield StoreRoot(name, lambda root: opened.setdefault(root, build()))

    return context


@contextmanager
def _local(directory: Path) -> Iterator[StoreRoot]:
    yield StoreRoot("local", lambda name: LocalStore(directory / name))


def _on_s3(name: str, endpoint: S3Endpoint, *, referee: bool, page: int = 1_000) -> StoreRoot:
    def open_root(root: str) -> Store:
        return open_object_store(f"s3://{endpoint.bucket}/{root}", options=endpoint.options())

    return StoreRoot(name, open_root, referee, page)


@contextmanager
def _moto(_: Path) -> Iterator[StoreRoot]:
    page = 100  # it takes its time for every object that is written
    with moto_server(page=page) as endpoint:
        yield _on_s3("moto", endpoint, referee=False, page=page)


@contextmanager
def _s3_server(_: Path) -> Iterator[StoreRoot]:
    with versity_server() as endpoint:
        yield _on_s3("s3-server", endpoint, referee=True)


@contextmanager
def _hdfs(_: Path) -> Iterator[StoreRoot]:
    with mini_hdfs() as cluster:
        yield StoreRoot("hdfs", lambda name: HdfsStore(f"{cluster.url}/{name}"))


@contextmanager
def _hadoop(_: Path) -> Iterator[StoreRoot]:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only this kind needs a JVM

    from indextables.spark.storage import hadoop_store  # noqa: PLC0415 - as above

    with mini_hdfs() as cluster:
        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        try:
            yield StoreRoot("hadoop", lambda name: hadoop_store(spark, f"{cluster.url}/{name}"))
        finally:
            spark.stop()


IN_PROCESS = ("s3-model", "posix-model", "hdfs-model", "local", "moto")
STORES: dict[str, Callable[[Path], AbstractContextManager[StoreRoot]]] = {
    "s3-model": _model("s3-model", S3Model),
    "posix-model": _model("posix-model", PosixModel),
    "hdfs-model": _model("hdfs-model", HdfsModel),
    "local": _local,
    "moto": _moto,
    "s3-server": _s3_server,
    "hdfs": _hdfs,
    "hadoop": _hadoop,
}
