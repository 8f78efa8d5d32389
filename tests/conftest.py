"""Which stores the shared suites run on, and how hard Hypothesis works."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.java import quick_options
from tests.support.sessions import OneSession
from tests.support.stores import IN_PROCESS, STORES, StoreRoot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.terminal import TerminalReporter

_HERE = Path(__file__).parent
settings.register_profile("dev", max_examples=100, deadline=None)
settings.register_profile(
    "ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join(quick_options()))
_WORKERS = str(_HERE / "support" / "workers")
if _WORKERS not in os.environ.get("PYTHONPATH", ""):  # a worker of xdist has it from the process that started it
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_WORKERS, os.environ.get("PYTHONPATH")]))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--stores",
        default=",".join(IN_PROCESS),
        help=f"the stores that the contract runs on, of {', '.join(STORES)}",
    )
    parser.addoption(
        "--part", choices=("counted", "uncounted"), help="only the tests whose coverage counts, or only all others"
    )


# The others repeat the same code many thousand times, or reach nothing that these do not: to count it would add nothing but minutes.
_COUNTED = frozenset({"hive", "spark", "unit"})
# But these take seconds, and are the only ones to reach what happens when a cleanup in another process comes first.
_SHORT_ONES = frozenset({"test_cleanup_beside_others.py", "test_purge_beside_cleanup.py", "test_upkeep_floor.py"})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    part = config.getoption("--part")
    if part is not None:
        others = [item for item in items if _counts(item) != (part == "counted")]
        items[:] = [item for item in items if _counts(item) == (part == "counted")]
        config.hook.pytest_deselected(items=others)


def _counts(item: pytest.Item) -> bool:
    kind = item.path.relative_to(_HERE).parts[0]
    return not item.get_closest_marker("slow") and (kind in _COUNTED or item.path.name in _SHORT_ONES)


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
