"""S3 servers for tests, each a child process that ends with its context.

moto speaks the protocol and starts anywhere, but it checks first and writes then, so it cannot judge a race. versitygw is a
real server; `make test-s3` builds it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import boto3

from indextables.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_ROOT = Path(__file__).parents[2]
_START_SECONDS = 60.0
_STOP_SECONDS = 15.0
_REGION = "us-east-1"


@dataclass(frozen=True)
class S3Endpoint:
    """A running server and one bucket on it."""

    endpoint: str
    access_key: str
    secret_key: str
    bucket: str

    def options(self) -> dict[str, str]:
        """Return what a user would set to reach it."""
        return {
            "spark.indextables.aws.accessKey": self.access_key,
            "spark.indextables.aws.secretKey": self.secret_key,
            "spark.indextables.aws.region": _REGION,
            "spark.indextables.aws.endpoint": self.endpoint,
            "spark.indextables.aws.pathStyleAccess": "true",
        }

    def new_bucket(self) -> S3Endpoint:
        """Create an empty bucket beside this one, and return the endpoint that points at it."""
        fresh = replace(self, bucket=f"bucket-{uuid.uuid4().hex}")
        client = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name=_REGION,
        )
        client.create_bucket(Bucket=fresh.bucket)
        client.close()
        return fresh


@contextmanager
def moto_server(*, page: int = 1_000) -> Iterator[S3Endpoint]:
    """Run moto's server, with one empty bucket, which lists so many names in one answer."""
    port = _free_port()
    launcher = "import sys; from moto.server import main; sys.exit(main())"
    command = [sys.executable, "-c", launcher, "-H", "127.0.0.1", "-p", str(port)]
    pages = {"MOTO_S3_DEFAULT_MAX_KEYS": str(page)}
    with (
        tempfile.TemporaryDirectory(prefix="moto-") as work,
        _running("moto", command, port, Path(work), environment=pages) as endpoint,
    ):
        yield S3Endpoint(endpoint, "test", "testtest", "").new_bucket()


@contextmanager
def versity_server() -> Iterator[S3Endpoint]:
    """Run versitygw on a temporary directory, with one empty bucket.

    Raises:
        EnvironmentSetupError: It is not built yet, or did not start; its log is in the text.
    """
    binary = Path(os.environ.get("VERSITYGW", _ROOT / ".tools" / "bin" / "versitygw")).absolute()
    if not binary.is_file():
        raise EnvironmentSetupError(f"The S3 server is missing at {binary}", "run make test-s3")
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="versitygw-") as name:
        work = Path(name)
        data, attributes = work / "data", work / "attributes"
        data.mkdir()
        attributes.mkdir()
        command = [str(binary), "--port", f"127.0.0.1:{port}", "--keep-alive", "--quiet"]
        command += ["posix", "--sidecar", str(attributes), str(data)]
        secrets = {"ROOT_ACCESS_KEY": "test", "ROOT_SECRET_KEY": "testtest"}
        with _running("versitygw", command, port, work, environment=secrets) as endpoint:
            yield S3Endpoint(endpoint, "test", "testtest", "").new_bucket()


@contextmanager
def _running(
    name: str, command: Sequence[str], port: int, work: Path, *, environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Run a server and yield its address once it answers."""
    log = work / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    endpoint = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(endpoint):
            if process.poll() is not None or time.monotonic() > deadline:
                text = log.read_text(errors="replace")[-8000:]
                raise EnvironmentSetupError(f"{name} did not start", f"Its log: {text}")
            time.sleep(0.05)
        yield endpoint
    finally:
        process.terminate()
        try:
            process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=_STOP_SECONDS)


def _answers(endpoint: str) -> bool:
    try:
        with urlopen(endpoint, timeout=5):
            return True
    except HTTPError as error:
        error.close()
        return True  # a refusal is an answer
    except (URLError, OSError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
