"""One Spark, one Metastore and one S3 server for all pages, each started by the first page that needs it."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import boto3
import pytest

from examples.lakekeeper_demo import hive_session
from tests.support.metastore import metastore_service
from tests.support.s3 import moto_server
from tests.support.tracing import own_opentelemetry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.sessions import OneSession

BUCKET = "lake"


@pytest.fixture(autouse=True)
def levels() -> Iterator[None]:
    """Let no page that shows how to see more of the log make other tests see more of it."""
    loggers = [logging.getLogger(), logging.getLogger("indextables")]
    before = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


@pytest.fixture(autouse=True)
def traces() -> Iterator[None]:
    """Let no page that shows how to trace make other tests trace."""
    with own_opentelemetry():
        yield


@pytest.fixture(scope="session")
def servers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="session")
def metastore(servers: ExitStack) -> Callable[[], str]:
    running: list[str] = []

    def uri() -> str:
        if not running:
            running.append(servers.enter_context(metastore_service()).uri)
        return running[0]

    return uri


@pytest.fixture
def spark(
    one_session: OneSession, metastore: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], SparkSession]:
    def start() -> SparkSession:
        return one_session.get("docs", lambda: _session(tmp_path_factory.mktemp("spark"), metastore()))

    return start


@contextmanager
def _session(directory: Path, metastore: str) -> Iterator[SparkSession]:
    with hive_session(directory, metastore) as session:
        # Two hundred tasks for a hundred rows cost more than they bring.
        session.conf.set("spark.sql.shuffle.partitions", "2")
        yield session


@pytest.fixture(scope="session")
def s3(servers: ExitStack) -> Callable[[], dict[str, str]]:
    running: list[dict[str, str]] = []

    def variables() -> dict[str, str]:
        """Return the environment in which `s3://lake` is a bucket."""
        if not running:
            endpoint = servers.enter_context(moto_server())
            found = {
                "AWS_ENDPOINT_URL": endpoint.endpoint,
                "AWS_ACCESS_KEY_ID": endpoint.access_key,
                "AWS_SECRET_ACCESS_KEY": endpoint.secret_key,
                "AWS_REGION": "us-east-1",
                "AWS_ALLOW_HTTP": "true",
            }
            client = boto3.client(
                "s3",
                endpoint_url=endpoint.endpoint,
                aws_access_key_id=endpoint.access_key,
                aws_secret_access_key=endpoint.secret_key,
                region_name="us-east-1",
            )
            client.create_bucket(Bucket=BUCKET)
            client.close()
            running.append(found)
        return running[0]

    return variables
