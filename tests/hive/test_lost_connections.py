"""A cluster that is lost while a file is read or written: the error is the store's, and never takes the file for damaged."""

from __future__ import annotations

import pyarrow as pa
import pytest

from indextables.errors import PermissionDeniedError, StorageError
from indextables.hive import hdfs
from indextables.hive.damage import whole_file
from indextables.hive.hdfs import HdfsFileSystem

PLACE = "hdfs://127.0.0.1:1/t/part-00000.parquet"
LENGTH = 1000


class Lost:
    """The library's client, reader and writer at once, with a cluster that is gone once the file is open."""

    def __init__(self, error: Exception) -> None:
        self.inner = self
        self._error = error

    def read(self, _: str) -> Lost:
        return self

    def create(self, *_: object) -> Lost:
        return self

    def file_length(self) -> int:
        return LENGTH

    def read_range(self, *_: int) -> bytes:
        raise self._error

    def write(self, _: bytes) -> None:
        raise self._error

    def close(self) -> None:
        raise self._error


def lost_system(monkeypatch: pytest.MonkeyPatch, error: Exception) -> HdfsFileSystem:
    monkeypatch.setattr(hdfs, "_WHOLE", 0)  # larger files are read piece by piece, long after they were opened
    system = HdfsFileSystem("127.0.0.1:1")
    monkeypatch.setattr(system, "_client", Lost(error))
    return system


def test_a_read_in_the_middle_of_a_file_fails_with_the_error_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    system = lost_system(monkeypatch, OSError("Connection reset by peer"))
    with (
        system.open_input(PLACE, LENGTH) as source,
        pytest.raises(StorageError, match="Connection reset by peer") as caught,
        whole_file("d.t", PLACE, "Parquet"),
    ):
        pa.PythonFile(source, mode="r").read(10)
    assert caught.value.path == PLACE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DSQuotaExceededException: The DiskSpace quota is exceeded", StorageError),
        ("AccessControlException: Permission denied", PermissionDeniedError),
    ],
)
def test_so_does_a_write(text: str, expected: type[StorageError], monkeypatch: pytest.MonkeyPatch) -> None:
    system = lost_system(monkeypatch, RuntimeError(text))
    with pytest.raises(expected, match=text.partition(":")[0]), system.create(PLACE) as sink:
        sink.write(b"rows")


def test_and_the_end_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    system = lost_system(monkeypatch, OSError("no DataNode is left"))
    with pytest.raises(StorageError, match="no DataNode is left"), system.create(PLACE):
        pass
