"""HDFS without a JVM, through `hdfs-native`: the same on the driver, in Spark's Python workers and outside of Spark.

The library waits for a NameNode's answer for as long as it takes, and by default tries a dead one for about three minutes.
A call here is one attempt with a limit: every step is given a deadline, and the library's own retries are cut down to
finding the active NameNode.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from hdfs_native import Client, WriteOptions

from indextables.errors import (
    AlreadyExistsError,
    NotFoundError,
    PermissionDeniedError,
    StorageError,
    UnsupportedStoreError,
)
from indextables.runtime import SYSTEM, Runtime
from indextables.storage.base import whole
from indextables.storage.deadline import call_within
from indextables.storage.renaming import Entry, RenamingStore, failure, meaning_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hdfs_native import FileStatus
    from hdfs_native._internal import RawFileReader

_P = ParamSpec("_P")
_T = TypeVar("_T")

_SCHEME = "hdfs://"
_CHUNK = 4 << 20  # what one step reads or writes, so that the limit is on standing still and not on large objects
_BLOCK_UNIT = 512  # every block but a file's last is a multiple of this
_REPORT_SECONDS = 0.01
_DEFAULTS = {
    # Enough to meet each of five NameNodes once; a dead one is given up after less than a second.
    "dfs.client.failover.max.attempts": "4",
    "dfs.client.failover.sleep.base.millis": "50",
    "dfs.client.failover.sleep.max.millis": "200",
    "dfs.client.socket-timeout": "5000",
}
# The library knows few Python exceptions: the rest are RuntimeErrors that print a variant of its error type, and with it
# the class of the NameNode's exception, for example `RPCError("org.apache.hadoop.ipc.StandbyException", "…")`.
_VARIANT = re.compile(r'(\w+)(?:\("((?:[^"\\]|\\.)*)"(?:, "((?:[^"\\]|\\.)*)")?)?')
_VARIANTS: dict[str, type[StorageError]] = {
    "GSSAPIError": PermissionDeniedError,
    "InvalidPath": StorageError,
    "NoSASLMechanism": PermissionDeniedError,
    "SASLError": PermissionDeniedError,
}


class HdfsStore(RenamingStore):
    """A directory of HDFS.

    Args:
        url: `hdfs://host:port/path`, or `hdfs://service/path` for a name service of the configuration.
        options: Hadoop settings, before those of the files in HADOOP_CONF_DIR.
        step_seconds: How long one step (a request, or 4 MiB of data) may take before the call fails.
        runtime: Clock and names.
    """

    def __init__(
        self,
        url: str,
        *,
        options: Mapping[str, str] | None = None,
        step_seconds: float = 5.0,
        runtime: Runtime = SYSTEM,
    ) -> None:
        super().__init__(url, runtime=runtime)
        self._service, _, path = self.url.removeprefix(_SCHEME).partition("/")
        self._root = f"/{path}" if path else ""
        self._step_seconds = step_seconds
        # A NameNode whose machine is gone does not even refuse a connection, and the library always begins with the first
        # one. In random order, the next connection begins with another sooner or later.
        shuffle = f"dfs.client.failover.random.order.{self._service}"
        self._options = {**_DEFAULTS, shuffle: "true", **(options or {})}
        self._client = self._connect()

    def _connect(self) -> Client:
        try:
            return Client(_SCHEME + self._service, self._options)
        except (OSError, RuntimeError) as error:
            raise UnsupportedStoreError(
                "",
                store=self.url,
                detail=str(error),
                way_out="Name host and port as in hdfs://host:8020/path, or set HADOOP_CONF_DIR for a name service",
            ) from error

    def _create(self, path: str, data: bytes) -> None:
        # Not the library's file object: that one closes itself when it is collected, which could wait without a limit.
        writer = self._step(self._client.inner.create, self._absolute(path), WriteOptions(create_parent=True))
        view = memoryview(data)
        for offset in range(0, len(data), _CHUNK):
            self._step(writer.write, view[offset : offset + _CHUNK])
        try:
            self._step(writer.hsync)
        except RuntimeError as error:
            # An erasure-coded file cannot be synced; Hadoop's own client passes over that, too. Whatever else this variant
            # stood for, closing still fails unless the DataNodes have acknowledged every byte.
            if _variant(error)[0] != "OperationFailed":
                raise
        self._step(writer.close)

    def _rename(self, source: str, target: str, *, overwrite: bool) -> None:
        self._step(self._client.rename, self._absolute(source), self._absolute(target), overwrite)

    def _remove(self, path: str) -> bool:
        return self._step(self._client.delete, self._absolute(path), recursive=False)

    def _read(self, path: str, start: int, length: int | None) -> bytes:
        reader = self._open(path)
        end = reader.file_length()
        end = min(end, start + length) if length is not None else whole(end, path, store=self.url)
        offsets = range(start, end, _CHUNK)
        return b"".join([self._step(reader.read_range, offset, min(_CHUNK, end - offset)) for offset in offsets])

    def _open(self, path: str) -> RawFileReader:
        """Open a file for reading to its true end.

        A cluster can be set up to close a file before any DataNode has reported its last block. Until then, a matter of
        milliseconds, the library takes the file to end before that block, without a word; the file's status tells the truth.
        """
        deadline = self._runtime.monotonic() + self._step_seconds
        while True:
            reader = self._step(self._client.inner.read, self._absolute(path))
            length = reader.file_length()
            if length % _BLOCK_UNIT or length == self._status(path).size:
                return reader
            if self._runtime.monotonic() > deadline:
                raise TimeoutError(f"its last block was not reported within {self._step_seconds:g} s")
            self._runtime.sleep(_REPORT_SECONDS)

    def _status(self, path: str) -> Entry:
        return _entry(self._step(self._client.get_file_info, self._absolute(path)))

    def _entries(self, directory: str) -> list[Entry]:
        absolute = self._absolute(directory)
        statuses = self._step(lambda: list(self._client.list_status(absolute)))
        return [_entry(status) for status in statuses if status.path != absolute]

    def _absolute(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root or "/"

    def _step(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run one call of the library, for a limited time.

        Raises:
            TimeoutError: It has not answered; it may still do its work.
        """
        try:
            return call_within(self._step_seconds, function, *args, **kwargs)
        except OSError as error:
            # An error of its own kind is an answer; this is how the library speaks of a connection that is gone. The old one may
            # wait for a machine that does not come back, and a call that follows at once may still be given to it.
            if type(error) in {OSError, TimeoutError}:
                self._client = self._connect()
            raise

    @contextmanager
    def _translated(self, path: str, otherwise: type[StorageError]) -> Iterator[None]:
        try:
            yield
        except StorageError:
            raise
        except (OSError, RuntimeError) as error:
            kind, detail = _meaning(error)
            raise failure(kind or otherwise, path, store=self.url, detail=detail) from error


def _meaning(error: OSError | RuntimeError) -> tuple[type[StorageError] | None, str]:
    """Return what an error of the library says for certain, if anything, and its first line."""
    text = str(error)
    match error:
        case FileNotFoundError() | IsADirectoryError():
            return NotFoundError, ""
        case FileExistsError():
            return AlreadyExistsError, ""
        case RuntimeError():
            variant, first, second = _variant(error)
            if variant in {"RPCError", "FatalRPCError"}:
                message = second.split(r"\n", 1)[0].replace(r"\"", '"')
                return meaning_of([first]), f"{first.rpartition('.')[2]}: {message}"
            return _VARIANTS.get(variant), text
    return None, text


def _variant(error: RuntimeError) -> tuple[str, str, str]:
    """Return the name of an error's variant and its first two texts, as far as there are any."""
    match = _VARIANT.match(str(error))
    variant, first, second = match.groups(default="") if match else ("", "", "")
    return variant, first, second


def _entry(status: FileStatus) -> Entry:
    return Entry(status.path.rpartition("/")[2], status.isdir, status.length, status.modification_time)
