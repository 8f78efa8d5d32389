"""Where a run's files lie before they belong to the table, and how they get their names.

Each write has a run id. Spark writes into `_staging/<run id>`, which no reader looks at, and its own committer leaves only the files
of successful attempts there. Where a rename is cheap they then move to their places; on object stores, where it would be a copy,
they stay.
"""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from indextables.errors import StorageError
from indextables.spark.addresses import scheme_of
from indextables.spark.bridge import bridge_of
from indextables.spark.runs import STAGING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

_RENAMING: Final = frozenset({"", "file", "hdfs", "viewfs", "abfs", "abfss"})
_SYNCING: Final = 16
"""How many files are synced at a time. A disk writes many in about the time of one, since they share its journal."""
_LOG = logging.getLogger(__name__)


def renames_cheaply(url: str) -> bool:
    """Tell whether a file can get another name without being copied."""
    return scheme_of(url) in _RENAMING


class Staging:
    """The directory of one run."""

    def __init__(self, spark: SparkSession, root: str, run: str) -> None:
        self._spark = spark
        self._root = root
        self.run = run
        self.prefix = f"{STAGING}/{run}"
        self.url = f"{root}/{self.prefix}"

    def move(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Give files other names; both are relative to the table.

        Raises:
            StorageError: The file system refused.
        """
        if not pairs:
            return
        lines = "\n".join(f"{self._root}/{source}\n{self._root}/{target}" for source, target in pairs)
        try:
            bridge_of(self._spark).java.move(self._file_system(), lines)
        except (Py4JError, PySparkException) as error:
            raise StorageError(
                self.prefix, store=self._root, detail=f"its files could not be renamed: {error}"
            ) from error

    def remove(self) -> None:
        """Delete the directory. That it cannot be deleted is no failure of the write: a purge finds it.

        The one around it stays, since another run may be about to make its own in it.
        """
        try:
            self._file_system().delete(self._path(self.url), True)
        except (Py4JError, PySparkException) as error:
            _LOG.debug("%s stays until a purge: %s", self.url, error)

    def _file_system(self) -> Any:
        configuration = self._spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - no public way
        return self._path(self.url).getFileSystem(configuration)

    def _path(self, text: str) -> Any:
        return self._spark.sparkContext._jvm.org.apache.hadoop.fs.Path(text)  # type: ignore[union-attr] # noqa: SLF001


@contextmanager
def synced(root: str, paths: Iterable[str]) -> Iterator[None]:
    """Have local files on the disk when this ends, while something else is done with them; other stores do so by themselves."""
    if not root.startswith("file:"):
        yield
        return
    with ThreadPoolExecutor(_SYNCING) as pool:
        waiting = [pool.submit(_sync, _local(root) / path) for path in paths]
        yield
        for task in waiting:
            task.result()


def sync_directories(root: str, paths: Iterable[str]) -> None:
    """Have the names of local files on the disk, and those of the directories above them."""
    if not root.startswith("file:"):
        return
    base = _local(root)
    directories = {base, *(parent for path in paths for parent in (base / path).parents if parent.is_relative_to(base))}
    with ThreadPoolExecutor(_SYNCING) as pool:
        list(pool.map(_sync, directories))


def _local(root: str) -> Path:
    return Path(root.removeprefix("file:"))


def _sync(path: Path) -> None:
    with suppress(PermissionError):  # a file of another user's, which we may read only
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
