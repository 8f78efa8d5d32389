"""The store on Spark's Hadoop file systems, here on `file:`; the contract runs on it and a real HDFS elsewhere."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

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
from indextables.storage.hadoop import HadoopStore

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ODD_NAMES = [
    "date=2024-01-01/part.split",
    "date=a%2Fb/x",
    "space in name",
    "umlaut-äöü/日本語",
    "emoji-😀",
    "hash#question?plus+",
    "[square]{curly}*",
    ".hidden/_underscored",
]


@pytest.fixture
def jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm


@pytest.fixture
def configuration(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().newHadoopConf()


@pytest.fixture
def store(jvm: Any, configuration: Any, tmp_path: Path) -> HadoopStore:
    return HadoopStore(f"file://{tmp_path}/table", jvm=jvm, configuration=configuration)


def paths(store: HadoopStore, prefix: str = "", start_after: str | None = None) -> list[str]:
    return [meta.path for meta in store.list_from(prefix, start_after)]


def java_error(throwable: Any) -> Exception:
    """Return an error that carries a Java exception as py4j's does."""
    error = Exception("as py4j raises it")
    error.java_exception = throwable  # type: ignore[attr-defined]  # what py4j's own class has
    return error


class TestObjects:
    def test_creation_refuses_what_is_there_and_leaves_nothing_behind(self, store: HadoopStore, tmp_path: Path) -> None:
        store.put_if_absent("d/a", b"one")
        with pytest.raises(AlreadyExistsError):
            store.put_if_absent("d/a", b"two")
        assert store.get("d/a") == b"one"
        left = {path.name for path in (tmp_path / "table/d").iterdir()}
        assert left <= {"a", ".a.crc"}  # Hadoop keeps checksums of local files

    def test_replacing_is_allowed_where_asked_for(self, store: HadoopStore) -> None:
        store.put("a", b"one, and long")
        store.put("a", b"two")
        assert store.get("a") == b"two"

    @pytest.mark.parametrize(
        "data", [b"", bytes(range(256)) * 5, b"x" * (3 << 20)], ids=["none", "all values", "3 MiB"]
    )
    def test_bytes_cross_the_gateway_unchanged(self, store: HadoopStore, data: bytes) -> None:
        store.put_if_absent("a", data)
        assert store.get("a") == data
        assert store.head("a").size == len(data)

    @pytest.mark.parametrize(
        ("start", "length", "expected"),
        [(0, 4, b"0123"), (8, 100, b"89"), (10, 1, b""), (50, 5, b""), (2, 0, b"")],
    )
    def test_a_range_is_cut_at_the_end(self, store: HadoopStore, start: int, length: int, expected: bytes) -> None:
        store.put("a", b"0123456789")
        assert store.get_range("a", start, length) == expected

    def test_what_is_no_object_is_not_found(self, store: HadoopStore) -> None:
        store.put("d/a", b"x")
        for path in ("missing", "d", "d/a/below"):
            with pytest.raises(NotFoundError):
                store.get(path)
            with pytest.raises(NotFoundError):
                store.head(path)

    def test_deleting_removes_the_object_alone(self, store: HadoopStore) -> None:
        store.put("d/a", b"x")
        store.put("d/b", b"x")
        for path in ("d/a", "d/a", "missing", "d"):
            store.delete(path)
        assert paths(store) == ["d/b"]

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_an_odd_name_is_kept_exactly(self, store: HadoopStore, name: str) -> None:
        store.put_if_absent(name, b"odd")
        assert store.get(name) == b"odd"
        assert paths(store) == [name]

    def test_the_root_may_have_an_odd_name_itself(self, jvm: Any, configuration: Any, tmp_path: Path) -> None:
        store = HadoopStore(f"file://{tmp_path}/a%20b c#d/ü", jvm=jvm, configuration=configuration)
        store.put("a", b"x")
        assert (tmp_path / "a%20b c#d" / "ü" / "a").read_bytes() == b"x"
        assert paths(store) == ["a"]


class TestListing:
    def test_is_in_the_order_of_the_bytes_of_whole_paths(self, store: HadoopStore) -> None:
        names = ["a.b", "a/b", "a0", "a-", "A", "aa", "a/a/z", "a/a.z", "_x", "é", "日", "😀", "\uffee"]
        for name in names:
            store.put(name, b"x")
        assert paths(store) == sorted(names, key=str.encode)
        for after in names:
            assert paths(store, "", after) == sorted(
                (name for name in names if name.encode() > after.encode()), key=str.encode
            )

    def test_of_a_missing_directory_or_a_file_is_empty(self, store: HadoopStore) -> None:
        store.put("d/a", b"x")
        assert paths(store, "missing") == []
        assert paths(store, "d/a") == []

    def test_a_directory_that_holds_one_file_of_its_own_name_is_a_directory(self, store: HadoopStore) -> None:
        store.put("d/d", b"x")
        assert paths(store, "d") == ["d/d"]

    def test_tells_sizes_and_times(self, store: HadoopStore) -> None:
        store.put("a", b"12345")
        listed = next(iter(store.list_from("")))
        assert listed == store.head("a")
        assert (listed.size, listed.modified_ms > 0) == (5, True)

    def test_takes_as_many_round_trips_for_a_thousand_files_as_for_one(
        self, jvm: Any, configuration: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for directory, count in (("one", 1), ("thousand", 1000)):
            (tmp_path / directory).mkdir()
            for number in range(count):
                (tmp_path / directory / f"{number:04d}.json").write_bytes(b"x")
        gateway = jvm._gateway_client
        send, calls = gateway.send_command, []

        def counting(command: str, *args: Any, **kwargs: Any) -> Any:
            if not command.startswith("m\n"):  # memory: py4j lets go of Java objects whenever Python's collector runs
                calls.append(command)
            return send(command, *args, **kwargs)

        store = HadoopStore(f"file://{tmp_path}", jvm=jvm, configuration=configuration)
        monkeypatch.setattr(gateway, "send_command", counting)
        assert len(paths(store, "one")) == 1
        for_one = len(calls)
        calls.clear()
        assert len(paths(store, "thousand")) == 1000
        assert len(calls) == for_one


class TestErrors:
    @pytest.mark.parametrize("otherwise", [StorageUnavailableError, OutcomeUnknownError])
    def test_java_exceptions_are_known_by_their_classes(
        self, store: HadoopStore, jvm: Any, otherwise: type[StorageError]
    ) -> None:
        hadoop = jvm.org.apache.hadoop
        for throwable, expected in (
            (jvm.java.io.FileNotFoundException("gone"), NotFoundError),
            (hadoop.fs.FileAlreadyExistsException("there"), AlreadyExistsError),
            (hadoop.security.AccessControlException("no"), PermissionDeniedError),
            (hadoop.fs.InvalidPathException("a:b"), StorageError),
            (hadoop.ipc.StandbyException("not me"), StorageUnavailableError),
            (
                hadoop.ipc.RemoteException("org.apache.hadoop.security.AccessControlException", "no"),
                PermissionDeniedError,
            ),
            (hadoop.ipc.RemoteException("org.example.NewException", "what"), otherwise),
            (jvm.java.net.SocketTimeoutException("late"), otherwise),
            (jvm.java.net.ConnectException("refused"), otherwise),
            (jvm.java.io.IOException("whatever"), otherwise),
        ):
            error = java_error(throwable)
            with pytest.raises(StorageError) as caught, store._translated("a", otherwise):
                raise error
            assert type(caught.value) is expected
            assert caught.value.__cause__ is error

    def test_a_rename_that_fails_half_way_is_unknown(self, store: HadoopStore) -> None:
        # Hadoop moves a local file first and its checksum then, whose name it takes for one with a scheme.
        with pytest.raises(OutcomeUnknownError, match="URISyntaxException") as caught:
            store.put("d/a:b", b"x")
        assert type(caught.value.__cause__).__module__.startswith(
            "pyspark."
        )  # which has replaced py4j's error by its own
        assert paths(store) == ["d/a:b"]

    def test_errors_of_our_own_making_pass_unchanged(self, store: HadoopStore) -> None:
        with pytest.raises(ZeroDivisionError), store._translated("a", StorageUnavailableError):
            raise ZeroDivisionError

    def test_a_gateway_that_does_not_answer_is_no_verdict(self, store: HadoopStore) -> None:
        for otherwise in (StorageUnavailableError, OutcomeUnknownError):
            with pytest.raises(otherwise, match="the JVM does not answer"), store._translated("a", otherwise):
                raise ConnectionRefusedError

    def test_a_denied_directory_is_denied(self, store: HadoopStore, jvm: Any) -> None:
        error = java_error(jvm.java.nio.file.AccessDeniedException("d"))
        with (
            pytest.raises(PermissionDeniedError, match="AccessDeniedException: d"),
            store._translated("a", OutcomeUnknownError),
        ):
            raise error

    @pytest.mark.parametrize("url", ["nope://host/table", "s3a://bucket/table"])
    def test_a_scheme_that_hadoop_does_not_know_is_refused(self, jvm: Any, configuration: Any, url: str) -> None:
        with pytest.raises(UnsupportedStoreError):
            HadoopStore(url, jvm=jvm, configuration=configuration)


def test_the_module_needs_neither_pyspark_nor_py4j() -> None:
    code = "import sys, indextables.storage.hadoop; print({'pyspark', 'py4j'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (answer.stdout.strip(), answer.returncode) == ("set()", 0)
