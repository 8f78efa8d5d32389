"""From a table's address and options to its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.config import Settings
from indextables.log.log import TransactionLog
from indextables.runtime import SYSTEM, Runtime
from indextables.storage.open import open_store

if TYPE_CHECKING:
    from collections.abc import Mapping


def open_log(
    path: str,
    options: Mapping[str, object] | None = None,
    *,
    settings: Settings | None = None,
    properties: Mapping[str, str] | None = None,
    runtime: Runtime = SYSTEM,
) -> TransactionLog:
    """Return the log of the table at a path; nothing is read before something is asked.

    Args:
        path: A local path or the address of a table.
        options: Settings under their full names, as Spark options are given.
        settings: Resolved settings, instead of `options`.
        properties: Credentials and endpoints; `options` may hold them too.
        runtime: Clock, ids and chance.
    """
    resolved = settings or Settings.resolve(options)
    given = {key: str(value) for key, value in (options or {}).items() if value is not None} | dict(properties or {})
    return TransactionLog(
        open_store(path, settings=resolved, properties=given, runtime=runtime), settings=resolved, runtime=runtime
    )
