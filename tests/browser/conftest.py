"""One browser for all tests here, and the pages that they look at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.chromium import Browser, browser

if TYPE_CHECKING:
    from collections.abc import Iterator

FINDER = Path(__file__).parents[2] / "tools" / "find_browser.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = subprocess.run([sys.executable, str(FINDER)], capture_output=True, text=True)
    if found.returncode:
        pytest.fail(
            "There is no Chromium to look at pages with: run make test-browser, or set BROWSER_PATH.", pytrace=False
        )
    with browser(found.stdout.strip(), tmp_path_factory.mktemp("browser")) as held:
        yield held
