"""Finds a Chromium that tests can look at pages with and prints its path; with --install, installs one where apt and root allow it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from apt import found_or_installed

OLDEST = 112  # the first one whose headless mode is the browser itself
PACKAGE = "chromium"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ON_A_MAC = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)


def version_of(browser: Path) -> int:
    """Return the major version that a browser reports, or 0 if it does not run."""
    try:
        answer = subprocess.run([browser, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r"(\d+)\.\d+\.\d+", answer.stdout)
    return int(found[1]) if found else 0


def candidates() -> list[Path]:
    """Return every place to look, best first."""
    places = [Path(given) for given in [os.environ.get("BROWSER_PATH")] if given]
    places += [Path(found) for name in NAMES if (found := shutil.which(name))]
    return places + [Path(place) for place in ON_A_MAC]


def find() -> Path | None:
    """Return the first browser that is new enough."""
    for browser in candidates():
        if browser.exists() and version_of(browser) >= OLDEST:
            return browser
    return None


if __name__ == "__main__":
    sys.exit(
        found_or_installed(
            find,
            package=PACKAGE,
            otherwise=f"Pages are looked at in Chromium {OLDEST} or newer: install {PACKAGE}, or set BROWSER_PATH to one.",
        )
    )
