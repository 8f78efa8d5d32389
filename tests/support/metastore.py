"""A real Hive Metastore for tests: the Thrift service from the jars that PySpark ships, on a Derby database of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from indextables.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_START_SECONDS = 300.0  # on a machine that does much else; five seconds are usual
_STOP_SECONDS = 60.0
_ESTABLISHED, _CLOSE_WAIT = "01", "08"
# Small, quick to start, and short-lived.
_JAVA_OPTIONS = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_DEFAULTS = ("core-default.xml", "mapred-default.xml", "yarn-default.xml")
_ABSENT = ("core-site.xml", "mapred-site.xml", "yarn-site.xml")


@dataclass(frozen=True, kw_only=True)
class MetastoreService:
    """A running service.

    Attributes:
        uri: `thrift://127.0.0.1:PORT`.
        warehouse: Where managed tables go.
        pid: The Java process.
    """

    uri: str
    warehouse: Path
    pid: int

    def connections(self) -> int:
        """Return how many connections the service has not yet closed; those of dead clients last until their call is answered."""
        port = int(self.uri.rpartition(":")[2])
        found = 0
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                _, local, _, state, *_ = line.split()
                found += int(local.rpartition(":")[2], 16) == port and state in {_ESTABLISHED, _CLOSE_WAIT}
        return found

    def wait_until_quiet(self, own: int) -> None:
        """Wait until all connections but our own are gone, so that no call of a killed process is still under way."""
        deadline = time.monotonic() + _STOP_SECONDS
        while self.connections() > own:
            assert time.monotonic() < deadline, f"{self.connections()} connections are open"
            time.sleep(0.005)


@contextmanager
def metastore_service(hadoop: Mapping[str, str] | None = None) -> Iterator[MetastoreService]:
    """Start a Metastore on a free port of the loopback interface, and stop it at the end.

    Args:
        hadoop: Hadoop and Hive settings beside our own.

    Raises:
        EnvironmentSetupError: Java is missing, or the service did not start; its log is in the text.
    """
    with tempfile.TemporaryDirectory(prefix="metastore-") as name:
        work = Path(name)
        warehouse = work / "warehouse"
        warehouse.mkdir()
        (work / "conf").mkdir()
        settings = {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={work / 'db'};create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": str(warehouse),
            "hive.async.log.enabled": "false",
            "hive.warehouse.subdir.inherit.perms": "false",  # it starts four programs for every new directory
            "datanucleus.connectionPoolingType": "DBCP",  # the default's jar is not among those that PySpark ships
            **(hadoop or {}),
        }
        (work / "conf" / "hive-site.xml").write_text(_site(settings))
        _write_defaults(work / "conf")
        log = work / "log"
        port = _free_port()
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    *_java(work / "conf"),
                    f"-Dderby.stream.error.file={work / 'derby.log'}",
                    "-Dderby.system.durability=test",  # nobody reads it after the process
                    "-Dderby.language.statementCacheSize=5000",  # a quarter of its time went into compiling them again
                    f"-Dhive.log.dir={work}",
                    "-Dhive.log.level=WARN",
                    "org.apache.hadoop.hive.metastore.HiveMetaStore",
                    "-p",
                    str(port),
                ],
                cwd=work,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            _wait(process, port, log)
            yield MetastoreService(uri=f"thrift://127.0.0.1:{port}", warehouse=warehouse, pid=process.pid)
        finally:
            _stop(process)


def _site(settings: Mapping[str, str]) -> str:
    properties = "".join(
        f"<property><name>{escape(key)}</name><value>{escape(value)}</value></property>"
        for key, value in settings.items()
    )
    return f"<configuration>{properties}</configuration>"


def _write_defaults(conf: Path) -> None:
    """Put Hadoop's defaults where they are found first, without their descriptions, and files that nobody else has without content.

    The service reads all of them for every connection: half a megabyte, of which most is prose, and for each file that is
    missing it asks three hundred jars. In a profile that was a fifth of its work.
    """
    with zipfile.ZipFile(next(_jars().glob("hadoop-client-api-*.jar"))) as jar:
        for name in _DEFAULTS:
            properties = ET.fromstring(jar.read(name))
            for each in properties:
                for child in [child for child in each if child.tag not in {"name", "value", "final"}]:
                    each.remove(child)
            (conf / name).write_bytes(ET.tostring(properties))
    for name in _ABSENT:
        (conf / name).write_text(_site({}))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            try:
                process.wait(timeout=0.1)
            except subprocess.TimeoutExpired:
                continue
        else:
            return
    state = "is not ready in time" if process.poll() is None else f"ended with code {process.returncode}"
    raise EnvironmentSetupError(f"The Metastore {state}", f"Its log: {log.read_text(errors='replace')[-8000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=_STOP_SECONDS)


def _java(conf: Path) -> list[str]:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        raise EnvironmentSetupError("Java is missing", "Run make setup")
    # The service listens on every interface unless told otherwise.
    bind = "-Dhive.metastore.thrift.bind.host=127.0.0.1"
    return [java, *_JAVA_OPTIONS, bind, "-cp", f"{conf}{os.pathsep}{_jars()}/*"]


def _jars() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise EnvironmentSetupError("pyspark is missing", "Run make setup")
    return Path(spec.submodule_search_locations[0]) / "jars"
