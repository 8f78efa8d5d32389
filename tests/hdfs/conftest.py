"""Tests on a real HDFS. They need a jar that `make test-hdfs` fetches, so they run only where pytest is pointed at this folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from tests.support.hdfs import MiniHdfs, mini_hdfs
from tests.support.pointed import ignored_unless_pointed_at

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return ignored_unless_pointed_at(Path(__file__).parent, config)


@pytest.fixture(scope="session")
def cluster() -> Iterator[MiniHdfs]:
    with mini_hdfs() as running:
        yield running


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = (
            SparkSession.builder.master("local[1]")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .getOrCreate()
        )
        yield session
        session.stop()
