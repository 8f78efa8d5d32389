"""Where a run's files lie before they belong to the table, and how they get their names.

Each write has a run id. Spark writes into `_staging/<run id>`, which no reader looks at, and its own committer leaves only the files
of successful attempts there. Where a rename is cheap they then move to their places; on object stores, where it would be a copy,
they stay.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from indextables.errors import StorageError
from indextables.spark.addresses import scheme_of
from indextables.spark.bridge import bridge_of
from indextables.spark.runs import STAGING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

_RENAMING: Final = frozenset({"", "file", "hdfs", "viewfs", "abfs", "abfss"})
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


def sync_local(root: str, paths: Iterable[str]) -> None:
    """Have local files and their directories on the disk before a commit vouches for them; other stores do so by themselves."""
    base = Path(root.removeprefix("file:"))
    directories = {base}
    for path in paths:
        target = base / path
        _sync(target)
        directories.update(parent for parent in target.parents if parent.is_relative_to(base))
    for directory in directories:
        _sync(directory)


def _sync(path: Path) -> None:
    with suppress(PermissionError):  # a file of another user's, which we may read only
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
