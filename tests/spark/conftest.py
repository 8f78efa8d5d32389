"""One Spark for all tests here: small, quiet, on the loopback interface, with its files in a directory of its own."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.sessions import OneSession


@pytest.fixture(scope="module")
def spark(one_session: OneSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    return one_session.get("plain", lambda: _session(tmp_path_factory.mktemp("spark")))


@contextmanager
def _session(directory: Path) -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_LOCAL_DIRS", str(directory / "local"))
        session = (
            SparkSession.builder.master(os.environ.get("INDEXTABLES_SPARK_MASTER", "local[2]"))
            .appName("indextables-tests")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", str(directory / "warehouse"))
            .getOrCreate()
        )
        yield session
        session.stop()
