"""One Metastore service for all tests here; every test works in a database of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from examples.lakekeeper_demo import hive_session
from tests.hive.tables import new_database, opened
from tests.support.metastore import MetastoreService, metastore_service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from indextables.hive import Lake
    from tests.support.sessions import OneSession


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "metastore" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("metastore"))


@pytest.fixture(scope="session")
def metastore() -> Iterator[MetastoreService]:
    with metastore_service() as running:
        yield running


@pytest.fixture(scope="module")
def spark(one_session: OneSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """Spark with its embedded Metastore."""
    return one_session.get("hive", lambda: hive_session(tmp_path_factory.mktemp("spark"), None))


@pytest.fixture
def lake(metastore: MetastoreService) -> Iterator[Lake]:
    with opened(metastore) as lake:
        yield lake


@pytest.fixture
def database(metastore: MetastoreService, tmp_path: Path) -> Iterator[str]:
    with new_database(metastore, tmp_path) as name:
        yield name
