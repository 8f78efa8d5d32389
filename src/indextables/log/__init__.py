"""The transaction log: actions, their bytes, and the state that they add up to."""

from __future__ import annotations

from indextables.log.log import TransactionLog
from indextables.log.open import open_log as open  # noqa: A004 - `indextables.log.open(path)` is how people say it

__all__ = ["TransactionLog", "open"]
