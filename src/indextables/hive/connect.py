"""Where a Lakekeeper command finds the Metastore and the file systems."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from indextables.errors import EnvironmentSetupError
from indextables.hive.channel import EmbeddedChannel, SocketChannel
from indextables.hive.filesystem import FileSystem, FileSystems
from indextables.hive.hdfs import HdfsFileSystem
from indextables.hive.local import LocalFileSystem
from indextables.hive.metastore import Metastore
from indextables.runtime import SYSTEM, Runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

_URIS = "hive.metastore.uris"
_OBJECT_STORES = ("s3", "s3a", "gs", "abfss")


def _no_step(_: str) -> None:
    """Nobody wants to know."""


def _nobody(_: str, __: tuple[str, ...]) -> None:
    """No engine is told."""


@dataclass(frozen=True, kw_only=True)
class Lake:
    """What every Lakekeeper function works on.

    Attributes:
        metastore: The Metastore.
        systems: The file systems behind locations.
        runtime: Clock and names.
        threads: How many directories are listed, rewritten or swapped at a time.
        on_swapped: Called with a table's name, and with the statements by which Impala learns of it, when directories of the table
            have changed for good. What it raises is raised by the command, and changes nothing about the run.
        on_step: Called with the name of each step of a run before it is taken, the journal's own steps included.
    """

    metastore: Metastore
    systems: FileSystems
    runtime: Runtime = SYSTEM
    threads: int = field(default_factory=lambda: max(4, os.cpu_count() or 1))
    on_swapped: Callable[[str, tuple[str, ...]], None] = _nobody
    on_step: Callable[[str], None] = _no_step

    def close(self) -> None:
        """Close the connections to the Metastore."""
        self.metastore.close()


def open_file_systems() -> FileSystems:
    """Return the file systems that are read and written here: local disk, HDFS, and object stores."""
    openers: dict[str, Callable[[str], FileSystem]] = {scheme: partial(_objects, scheme) for scheme in _OBJECT_STORES}
    openers |= {"": _default_file_system, "file": lambda _: LocalFileSystem(), "hdfs": HdfsFileSystem}
    return FileSystems(openers)


def connect(uris: str | None = None, *, spark: SparkSession | None = None) -> Lake:
    """Return a lake for a Metastore service, or for that of a Spark session.

    Args:
        uris: `thrift://host:port`; without it the session's or hive-site.xml's `hive.metastore.uris`.
        spark: A session with Hive support; one whose Metastore is embedded is spoken to inside its JVM.

    Raises:
        EnvironmentSetupError: No Metastore is named anywhere.
    """
    uris = uris or (_of_session(spark) if spark else _of_site())
    if uris:
        chosen = uris
        return Lake(metastore=Metastore(lambda: SocketChannel(chosen)), systems=open_file_systems())
    if spark is None:
        raise EnvironmentSetupError(
            "No Hive Metastore is named",
            "Pass --metastore thrift://host:9083, or set HIVE_CONF_DIR to the directory of hive-site.xml",
        )
    embedded = EmbeddedChannel(spark)
    return Lake(metastore=Metastore(lambda: embedded), systems=open_file_systems())


def _objects(scheme: str, authority: str) -> FileSystem:
    from indextables.hive.objects import ObjectFileSystem  # noqa: PLC0415 - few tables are there, and its client takes long to load
    from indextables.storage.object_store import open_object_store  # noqa: PLC0415
    from indextables.storage.retry import RetryingStore  # noqa: PLC0415

    return ObjectFileSystem(RetryingStore(open_object_store(f"{scheme}://{authority}", options={})))


def _of_session(spark: SparkSession) -> str:
    hadoop = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - public PySpark has no way to the JVM
    return str(hadoop.get(_URIS) or "")


def _of_site() -> str:
    for variable in ("HIVE_CONF_DIR", "HADOOP_CONF_DIR", "SPARK_CONF_DIR"):
        if (folder := os.environ.get(variable)) and (site := Path(folder) / "hive-site.xml").is_file():
            for item in _properties(site):
                if item.findtext("name", "").strip() == _URIS:
                    return item.findtext("value", "").strip()
    return ""


def _properties(site: Path) -> Iterator[ET.Element]:
    try:
        return ET.parse(site).iter("property")  # noqa: S314 - configuration of the machine is trusted
    except (OSError, ET.ParseError) as error:
        raise EnvironmentSetupError(f"{site} cannot be read: {error}", "Mend it, or name the Metastore") from error


def _default_file_system(_: str) -> LocalFileSystem | HdfsFileSystem:
    """Return the file system of locations without a scheme: the one that Hadoop's configuration names, else the local disk."""
    folder = os.environ.get("HADOOP_CONF_DIR")
    if folder and (site := Path(folder) / "core-site.xml").is_file():
        for item in _properties(site):
            default = item.findtext("value", "")
            if item.findtext("name", "").strip() == "fs.defaultFS" and default.startswith("hdfs://"):
                return HdfsFileSystem(default.strip().removeprefix("hdfs://").partition("/")[0])
    return LocalFileSystem()
