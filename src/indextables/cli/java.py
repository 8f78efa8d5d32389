"""The Java that Spark would run on, where there is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

OLDEST: Final = 17
"""The oldest Java that Spark runs on."""

_PATIENCE_S: Final = 60


class Java(NamedTuple):
    """A Java runtime."""

    home: Path
    version: int


def find_java() -> Java | None:
    """Return the first Java that is new enough: that of JAVA_HOME, of the path, or of the usual directories; else any; else None."""
    found = None
    for program in _candidates():
        if program.exists() and (version := _version_of(program)):
            java = Java(program.resolve().parent.parent, version)
            if version >= OLDEST:
                return java
            found = found or java
    return found


def _candidates() -> list[Path]:
    places = [Path(home) / "bin" / "java" for home in [os.environ.get("JAVA_HOME")] if home]
    if found := shutil.which("java"):
        places.append(Path(found))
    places += sorted(Path("/usr/lib/jvm").glob("*/bin/java"), reverse=True)
    places += sorted(Path("/Library/Java/JavaVirtualMachines").glob("*/Contents/Home/bin/java"), reverse=True)
    return places


def _version_of(program: Path) -> int:
    """Return the major version that a program reports, or 0 if it does not run."""
    try:
        answer = subprocess.run(  # noqa: S603 - a Java that the user's own environment names
            [program, "-version"], capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(found[1]) if found else 0
