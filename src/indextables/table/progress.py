"""A line of progress for long reads, for people who watch a terminal, and for nobody else."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

_PATIENCE_S: Final = 2.0


def shown(tables: Iterator[pa.Table], *, files: int) -> Iterator[pa.Table]:
    """Yield tables as they come; if that takes long and somebody watches, say how far it is."""
    if not sys.stderr.isatty():
        yield from tables
        return
    began = time.monotonic()
    rows = size = 0
    status: Status | None = None
    try:
        for table in tables:
            rows, size = rows + table.num_rows, size + table.nbytes
            if status is None and time.monotonic() - began > _PATIENCE_S:
                status = Status("", console=Console(stderr=True))
                status.start()
            if status is not None:
                status.update(f"Reading {files:,} files: {rows:,} rows, {size / 2**20:,.0f} MB")
            yield table
    finally:
        if status is not None:
            status.stop()
