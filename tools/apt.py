"""What a script does that finds a program or installs it: through apt where that and root allow it, else it says in one sentence how."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def found_or_installed(find: Callable[[], Path | None], *, package: str, otherwise: str) -> int:
    """Print what `find` finds, with --install after installing a package if need be, and return the exit code."""
    found = find()
    if found is None and "--install" in sys.argv and shutil.which("apt-get") and os.geteuid() == 0:
        try:
            _install(package)
        except subprocess.CalledProcessError:
            print(f"apt-get could not install {package}.", file=sys.stderr)
        found = find()
    if found is None:
        print(otherwise, file=sys.stderr)
        return 1
    print(found)
    return 0


def _install(package: str) -> None:
    print(f"Installing {package}", file=sys.stderr)
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package],
    ):
        subprocess.run(command, check=True, stdout=sys.stderr, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
