"""Finds a Chromium that tests can look at pages with and prints its path; with --install, installs one where apt and root allow it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

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


def install() -> None:
    """Install the package through apt, quietly."""
    print(f"Installing {PACKAGE}", file=sys.stderr)
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", PACKAGE],
    ):
        subprocess.run(command, check=True, stdout=sys.stderr, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})


def main() -> int:
    """Print the path of a usable browser, or say in one sentence what to install."""
    browser = find()
    if browser is None and "--install" in sys.argv and shutil.which("apt-get") and os.geteuid() == 0:
        try:
            install()
        except subprocess.CalledProcessError:
            print(f"apt-get could not install {PACKAGE}.", file=sys.stderr)
        browser = find()
    if browser is None:
        print(
            f"Pages are looked at in Chromium {OLDEST} or newer: install {PACKAGE}, or set BROWSER_PATH to one.",
            file=sys.stderr,
        )
        return 1
    print(browser)
    return 0


if __name__ == "__main__":
    sys.exit(main())
