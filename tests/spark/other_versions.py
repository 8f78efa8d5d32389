"""The tests of reading and writing on other versions of Spark than the one that is installed, each beside it in a directory.

Run: python tests/spark/other_versions.py [4.1 4.2] [--tests test_write.py]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).parent
_TOOLS = _HERE.parents[1] / ".tools"
_REDUCED = ("test_native_read.py", "test_write.py", "test_source.py", "test_same_answers.py", "test_sql.py")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("versions", nargs="*", default=["4.1", "4.2"])
    parser.add_argument("--tests", nargs="*", default=_REDUCED, help="files in this directory")
    arguments = parser.parse_args()
    failed = [version for version in arguments.versions if not _passes(version, arguments.tests)]
    for version in failed:
        print(f"Spark {version}: failed", file=sys.stderr)
    return bool(failed)


def _passes(version: str, tests: list[str]) -> bool:
    home = _installed(version)
    # What comes first on the path wins, here and in Spark's Python workers, and finds its own jars.
    environment = {**os.environ, "PYTHONPATH": str(home)}
    environment.pop("SPARK_HOME", None)
    found = subprocess.check_output(
        [sys.executable, "-c", "import pyspark; print(pyspark.__version__)"], env=environment, text=True
    ).strip()
    if not found.startswith(f"{version}."):
        print(f"Spark {version} was wanted, and {found} is what runs", file=sys.stderr)
        return False
    print(f"Spark {found}", flush=True)
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    for warning in (
        "ResourceWarning",
        "pytest.PytestUnraisableExceptionWarning",
    ):  # older ones leave sockets to the collector
        pytest += ["-W", f"ignore::{warning}"]
    return subprocess.run([*pytest, *(str(_HERE / test) for test in tests)], env=environment).returncode == 0


def _installed(version: str) -> Path:
    """Return a directory with that pyspark, installed on first use."""
    home = _TOOLS / f"pyspark-{version}"
    if not (home / "pyspark" / "jars").is_dir():
        print(f"Installing Spark {version} (some minutes, once)", flush=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--target", str(home), f"pyspark=={version}.*"], check=True)
    return home


if __name__ == "__main__":
    sys.exit(main())
