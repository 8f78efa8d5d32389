"""Addresses of tables, as Spark's users write them and as Hadoop takes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def scheme_of(url: str) -> str:
    """Return the scheme of an address, in lower case; a bare path has none."""
    scheme, colon, _ = url.partition(":")
    return scheme.lower() if colon and "/" not in scheme and len(scheme) > 1 else ""


def qualified(path: str, properties: Mapping[str, str]) -> str:
    """Return an address that means the same everywhere: a bare path lies on the file system that Hadoop takes by default."""
    if scheme_of(path):
        return path
    default = properties.get("fs.defaultFS", "file:///")
    if scheme_of(default) in {"", "file"} or not path.startswith("/"):
        return str(Path(path).absolute())
    return default.rstrip("/") + path


def hadoop_root(url: str) -> str:
    """Return a table's address as Hadoop takes it: with a scheme, and percent signs as they are."""
    scheme = scheme_of(url)
    if not scheme:
        return f"file:{url}"
    return f"file:/{url.partition(':')[2].lstrip('/')}" if scheme == "file" else url.rstrip("/")
