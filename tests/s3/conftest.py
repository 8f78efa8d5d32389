"""Tests on a real S3 server. They need a program that `make test-s3` builds, so they run only where pytest is pointed here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.pointed import ignored_unless_pointed_at
from tests.support.s3 import S3Endpoint, versity_server

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return ignored_unless_pointed_at(Path(__file__).parent, config)


@pytest.fixture(scope="session")
def server() -> Iterator[S3Endpoint]:
    with versity_server() as running:
        yield running
