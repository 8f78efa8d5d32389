"""Finds a Java that Spark can run on and prints its home; with --install, installs one where apt and root allow it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from apt import found_or_installed

OLDEST = 17
PACKAGE = "openjdk-17-jre-headless"


def version_of(java: Path) -> int:
    """Return the major version that `java` reports, or 0 if it does not run."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(found[1]) if found else 0


def candidates() -> list[Path]:
    """Return every place to look, best first."""
    places = [Path(home) / "bin" / "java" for home in [os.environ.get("JAVA_HOME")] if home]
    if found := shutil.which("java"):
        places.append(Path(found))
    places += sorted(Path("/usr/lib/jvm").glob("*/bin/java"), reverse=True)
    places += sorted(Path("/Library/Java/JavaVirtualMachines").glob("*/Contents/Home/bin/java"), reverse=True)
    return places


def find() -> Path | None:
    """Return the home of the first Java that is new enough."""
    for java in candidates():
        if java.exists() and version_of(java) >= OLDEST:
            return java.resolve().parent.parent
    return None


if __name__ == "__main__":
    sys.exit(
        found_or_installed(
            find,
            package=PACKAGE,
            otherwise=f"Spark needs Java {OLDEST} or newer: install {PACKAGE}, or set JAVA_HOME to one.",
        )
    )
