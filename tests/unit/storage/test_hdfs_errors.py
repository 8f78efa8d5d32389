"""What hdfs-native raises, as observed on a real cluster, and what callers get to see instead."""

from __future__ import annotations

import socket
import time
from dataclasses import replace
from types import SimpleNamespace
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
from indextables.storage.hdfs import HdfsStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from indextables.storage.base import Store

HADOOP = "org.apache.hadoop"
CERTAIN = [
    (FileNotFoundError("/t/a"), NotFoundError),
    (FileExistsError("rename destination /t/a already exists\n\tat …"), AlreadyExistsError),
    (f"{HADOOP}.security.AccessControlException", PermissionDeniedError),
    (f"{HADOOP}.security.authorize.AuthorizationException", PermissionDeniedError),
    (f"{HADOOP}.security.token.SecretManager$InvalidToken", PermissionDeniedError),
    (f"{HADOOP}.hdfs.server.namenode.SafeModeException", StorageUnavailableError),
    (f"{HADOOP}.ipc.StandbyException", StorageUnavailableError),
    (f"{HADOOP}.hdfs.protocol.NSQuotaExceededException", StorageUnavailableError),
    (f"{HADOOP}.fs.ParentNotDirectoryException", NotFoundError),
    (f"{HADOOP}.fs.PathIsNotEmptyDirectoryException", NotFoundError),
    (f"{HADOOP}.fs.InvalidPathException", StorageError),
    (f"{HADOOP}.HadoopIllegalArgumentException", StorageError),
    (f"{HADOOP}.hdfs.protocol.FSLimitException$PathComponentTooLongException", StorageError),
    (RuntimeError('SASLError("no common mechanism")'), PermissionDeniedError),
    (RuntimeError("NoSASLMechanism"), PermissionDeniedError),
]
UNCERTAIN = [
    OSError("Connection refused (os error 111)"),
    OSError("RPC listener disconnected"),
    TimeoutError("no answer within 5 s"),
    RuntimeError('DataTransferError("All nodes failed for write")'),
    RuntimeError('OperationFailed("Failed to complete file in time")'),
    RuntimeError("ChecksumError"),
    RuntimeError("Cannot read past end of the file"),
    "java.io.IOException",
    f"{HADOOP}.some.NewException",
]
CALLS: list[tuple[Callable[[Store], object], type[StorageError]]] = [
    (lambda store: store.get("a"), StorageUnavailableError),
    (lambda store: store.get_range("a", 0, 1), StorageUnavailableError),
    (lambda store: store.head("a"), StorageUnavailableError),
    (lambda store: store.exists("a"), StorageUnavailableError),
    (lambda store: list(store.list_from("")), StorageUnavailableError),
    (lambda store: store.put("a", b"x"), StorageUnavailableError),
    (lambda store: store.put_if_absent("a", b"x"), StorageUnavailableError),
    (lambda store: store.delete("a"), OutcomeUnknownError),
]


def raised(given: Exception | str) -> Exception:
    """Return an error of the library; a text stands for an answer of the NameNode with that Java class."""
    if isinstance(given, Exception):
        return given
    return RuntimeError(f'RPCError("{given}", "it said \\"no\\" to us\\n\\tat {HADOOP}.Server.run(Server.java:1)")')


@pytest.fixture
def store() -> HdfsStore:
    return HdfsStore("hdfs://127.0.0.1:1/t")


@pytest.fixture
def silent_server() -> Iterator[int]:
    """Accept connections and never say a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("otherwise", [StorageUnavailableError, OutcomeUnknownError])
class TestTranslation:
    @pytest.mark.parametrize(("given", "expected"), CERTAIN)
    def test_what_is_certain_says_so(
        self, store: HdfsStore, given: Exception | str, expected: type[StorageError], otherwise: type[StorageError]
    ) -> None:
        error = raised(given)
        with pytest.raises(StorageError) as caught, store._translated("d/a", otherwise):
            raise error
        assert type(caught.value) is expected
        assert caught.value.__cause__ is error

    @pytest.mark.parametrize("given", UNCERTAIN)
    def test_what_is_uncertain_falls_to_the_caller(
        self, store: HdfsStore, given: Exception | str, otherwise: type[StorageError]
    ) -> None:
        error = raised(given)
        with pytest.raises(StorageError) as caught, store._translated("d/a", otherwise):
            raise error
        assert type(caught.value) is otherwise
        assert caught.value.__cause__ is error


def test_the_text_names_the_object_the_store_and_the_java_class_without_its_stack(store: HdfsStore) -> None:
    with pytest.raises(PermissionDeniedError) as caught, store._translated("d/a", StorageUnavailableError):
        raise raised(f"{HADOOP}.security.AccessControlException")
    assert str(caught.value) == (
        'Access to d/a in hdfs://127.0.0.1:1/t was refused: AccessControlException: it said "no" to us. '
        "Check the credentials and the rights on that path."
    )


def test_a_refused_name_does_not_send_the_reader_to_the_network(store: HdfsStore) -> None:
    with pytest.raises(StorageError) as caught, store._translated("a:b", StorageUnavailableError):
        raise raised(f"{HADOOP}.fs.InvalidPathException")
    assert caught.value.way_out == "Choose a name that this store allows"


def test_errors_that_are_not_the_librarys_pass_unchanged(store: HdfsStore) -> None:
    with pytest.raises(ZeroDivisionError), store._translated("a", StorageUnavailableError):
        raise ZeroDivisionError


@pytest.mark.parametrize(("call", "expected"), CALLS)
def test_a_namenode_that_is_not_there_is_reported_within_seconds(
    store: HdfsStore, call: Callable[[Store], object], expected: type[StorageError]
) -> None:
    started = time.monotonic()
    with pytest.raises(expected, match="Connection refused"):
        call(store)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(("call", "expected"), CALLS)
def test_a_namenode_that_never_answers_is_reported_within_the_limit(
    silent_server: int, call: Callable[[Store], object], expected: type[StorageError]
) -> None:
    store = HdfsStore(f"hdfs://127.0.0.1:{silent_server}/t", step_seconds=0.2)
    started = time.monotonic()
    with pytest.raises(expected, match=r"no answer within 0\.2 s"):
        call(store)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("lost", [OSError("RPC listener disconnected"), TimeoutError("no answer within 5 s")])
def test_what_was_staged_is_deleted_by_a_new_connection_when_the_old_one_is_lost(
    lost: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[str] = []

    class LostConnection:
        """The library goes on to use one for a moment, which a cluster cannot be made to show."""

        def __init__(self) -> None:
            self.inner = SimpleNamespace(create=self.fail)
            self.delete = self.fail

        def fail(self, *_: object, **__: object) -> None:
            raise lost

    class NewConnection:
        def delete(self, path: str, *, recursive: bool) -> bool:
            deleted.append(path)
            return not recursive

    connections = iter([LostConnection(), NewConnection()])
    monkeypatch.setattr("indextables.storage.hdfs.Client", lambda *_: next(connections))
    store = HdfsStore("hdfs://127.0.0.1:1/t")
    with pytest.raises(StorageUnavailableError):
        store.put_if_absent("a", b"x")
    assert [path.startswith("/t/.it-tmp-") for path in deleted] == [True]


def test_a_block_that_is_never_reported_is_no_empty_object() -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    class UnreportedClient:
        """Knows a file of five bytes, none of which a DataNode has reported."""

        inner = SimpleNamespace(read=lambda _: SimpleNamespace(file_length=lambda: 0))

        def get_file_info(self, path: str) -> SimpleNamespace:
            return SimpleNamespace(path=path, isdir=False, length=5, modification_time=0)

    store = HdfsStore("hdfs://127.0.0.1:1/t", runtime=replace(SYSTEM, monotonic=lambda: now[0], sleep=sleep))
    store._client = UnreportedClient()  # type: ignore[assignment]  # a cluster cannot be held in this state for long
    with pytest.raises(StorageUnavailableError, match="its last block was not reported within 5 s"):
        store.get("a")
    assert 5 <= now[0] < 6


def test_an_unknown_name_service_is_refused_with_the_way_out() -> None:
    with pytest.raises(UnsupportedStoreError, match="HADOOP_CONF_DIR"):
        HdfsStore("hdfs://nameservice-without-configuration/t")


def test_the_url_has_no_slash_at_its_end() -> None:
    assert HdfsStore("hdfs://127.0.0.1:1/a/t/").url == "hdfs://127.0.0.1:1/a/t"
