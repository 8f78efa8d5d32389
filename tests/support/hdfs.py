"""A real HDFS for tests: one NameNode and two DataNodes in one Java process, gone when the test is.

The NameNode chooses its port itself and reports it, so test runs beside one another cannot collide.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from indextables.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ROOT = Path(__file__).parents[2]
_START_SECONDS = 240.0
_STOP_SECONDS = 15.0
_LIBRARIES = (
    "hadoop-client-api",
    "hadoop-client-runtime",
    "slf4j-api",
    "log4j-slf4j2-impl",
    "log4j-api",
    "log4j-core",
    "log4j-1.2-api",
    "jcl-over-slf4j",
)
# With one DataNode, closing a file mostly waits half a second for its report; with two the NameNode need not wait for it.
_SETTINGS = ("-datanodes", "2", "-Ddfs.namenode.file.close.num-committed-allowed=1", "-Ddfs.permissions.enabled=true")


@dataclass(frozen=True, kw_only=True)
class MiniHdfs:
    """A running cluster.

    Attributes:
        url: `hdfs://127.0.0.1:PORT`, without a path.
        pid: The Java process that is the NameNode and the DataNodes.
        log: What it prints.
    """

    url: str
    pid: int
    log: Path

    def table(self, name: str) -> str:
        """Return the url of a table on this cluster."""
        return f"{self.url}/tables/{name}"

    def pause(self) -> None:
        """Stop the process from answering while its connections stay open, as a long garbage collection does."""
        os.kill(self.pid, signal.SIGSTOP)
        # The signal is only sent by then: on a busy machine threads answer for some milliseconds more.
        os.waitpid(self.pid, os.WUNTRACED)

    def resume(self) -> None:
        """Undo `pause`."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End the process at once, as a crash does."""
        os.kill(self.pid, signal.SIGKILL)

    def run_tool(self, name: str, *arguments: str) -> None:
        """Run one of Hadoop's tools for administrators, for example `DFSAdmin`."""
        subprocess.run(
            [*_java(), f"org.apache.hadoop.hdfs.tools.{name}", "-fs", self.url, *arguments],
            check=True,
            capture_output=True,
            timeout=_START_SECONDS,
        )


@contextmanager
def mini_hdfs(settings: Mapping[str, str] | None = None) -> Iterator[MiniHdfs]:
    """Start a cluster, wait until it serves, and stop it at the end.

    Args:
        settings: Hadoop settings beside our own.

    Raises:
        EnvironmentSetupError: Java or the cluster's jar is missing, or the cluster did not start; the log is in the text.
    """
    command = [*_java(), "org.apache.hadoop.test.MiniDFSClusterManager", "-format", "-httpport", "0"]
    with tempfile.TemporaryDirectory(prefix="mini-hdfs-") as name:
        work = Path(name)
        log, details = work / "log", work / "details.json"
        command += ["-writeDetails", str(details), f"-Dhdfs.minidfs.basedir={work / 'dfs'}", *_SETTINGS]
        command += [f"-D{key}={value}" for key, value in (settings or {}).items()]
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=work, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            port = _wait_for_port(process, details, log)
            yield MiniHdfs(url=f"hdfs://127.0.0.1:{port}", pid=process.pid, log=log)
        finally:
            _stop(process)


def _wait_for_port(process: subprocess.Popen[bytes], details: Path, log: Path) -> int:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if details.exists() and (text := details.read_text()):
            return int(json.loads(text)["namenode_port"])
        try:
            process.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            continue
    state = "is not ready in time" if process.poll() is None else f"ended with code {process.returncode}"
    raise EnvironmentSetupError(f"The HDFS cluster {state}", f"Its log: {log.read_text(errors='replace')[-8000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGCONT)  # a paused process would not see the next signal
    process.terminate()
    try:
        process.wait(timeout=_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=_STOP_SECONDS)


def _java() -> list[str]:
    """Return the start of a command line that runs a class of the cluster."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        raise EnvironmentSetupError("There is no Java", "Install Java 17 or newer, or set JAVA_HOME")
    jars = [_cluster_jar(), *map(_spark_jar, _LIBRARIES)]
    # Small, quick to start, and short-lived.
    options = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    return [java, *options, "-cp", os.pathsep.join(map(str, jars))]


def _cluster_jar() -> Path:
    version = _spark_jar("hadoop-client-api").stem.removeprefix("hadoop-client-api-")
    default = _ROOT / ".tools" / "hdfs" / f"hadoop-client-minicluster-{version}.jar"
    jar = Path(os.environ.get("MINICLUSTER_JAR", default))
    if not jar.is_file():
        raise EnvironmentSetupError(f"The HDFS test cluster's jar is missing at {jar}", "Run make test-hdfs")
    return jar


def _spark_jar(name: str) -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise EnvironmentSetupError("pyspark is not installed", "Run make setup")
    folder = Path(spec.submodule_search_locations[0]) / "jars"
    return next(folder.glob(f"{name}-[0-9]*.jar"))
