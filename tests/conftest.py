"""Which stores the shared suites run on, and how hard Hypothesis works."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.sessions import OneSession
from tests.support.stores import IN_PROCESS, STORES, StoreRoot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _pytest.terminal import TerminalReporter

settings.register_profile("dev", max_examples=100, deadline=None)
settings.register_profile(
    "ci", max_examples=500, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
# A third of the work of a Java that lives for minutes is to compile for a life of hours.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--stores",
        default=",".join(IN_PROCESS),
        help=f"the stores that the contract runs on, of {', '.join(STORES)}",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store_root" in metafunc.fixturenames:
        names = metafunc.config.getoption("--stores").split(",")
        params = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names]
        metafunc.parametrize("store_root", params, indirect=True, scope="session")


@pytest.fixture(scope="session")
def store_root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreRoot]:
    directory: Path = tmp_path_factory.mktemp(request.param)
    with STORES[request.param](directory) as root:
        yield root


@pytest.fixture(scope="session")
def one_session() -> Iterator[OneSession]:
    sessions = OneSession()
    yield sessions
    sessions.close()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print what the long suites counted, summed over workers: a figure that nobody sees proves nothing."""
    totals: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if isinstance(value, int):
                totals[name] += value
    for name, total in totals.items():
        terminalreporter.write_line(f"{name}: {total:,}")
