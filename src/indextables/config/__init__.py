"""Every setting once: its key, what it may be, its default and what it does."""

from __future__ import annotations

from indextables.config.declare import PREFIX
from indextables.config.groups import (
    TRUNCATION_SUFFIX,
    Aws,
    Cache,
    Checkpoint,
    Cleanup,
    Compression,
    Delta,
    Indexing,
    Retention,
    Retry,
    Skips,
    Staleness,
    Stats,
    Storage,
    Transaction,
    Truncation,
)
from indextables.config.secret import Secret
from indextables.config.settings import Settings

__all__ = [
    "PREFIX",
    "TRUNCATION_SUFFIX",
    "Aws",
    "Cache",
    "Checkpoint",
    "Cleanup",
    "Compression",
    "Delta",
    "Indexing",
    "Retention",
    "Retry",
    "Secret",
    "Settings",
    "Skips",
    "Staleness",
    "Stats",
    "Storage",
    "Transaction",
    "Truncation",
]
