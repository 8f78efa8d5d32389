"""How tests start Java: for a short life, and with the classes that `make test` kept for it."""

from __future__ import annotations

from pathlib import Path

from tools.spark_archive import OPTIONS

_ARCHIVE = Path(__file__).parents[2] / ".tools" / "spark.jsa"


def quick_options() -> list[str]:
    """Return options for a Java that lives for minutes: a third of its work would be to compile for a life of hours."""
    options = OPTIONS.split()
    if _ARCHIVE.is_file():
        # One that does not fit this Java is passed over in silence.
        options += [f"-XX:SharedArchiveFile={_ARCHIVE}", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr"]
    return options
