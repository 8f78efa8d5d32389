"""Asks a store, before the first write to a table, whether it really refuses to create what exists.

Some S3-compatible servers ignore the condition and overwrite. Two writers would then both be told that they won, so such a
store is refused instead of trusted.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from indextables.errors import AlreadyExistsError, StorageError, UnsupportedStoreError

if TYPE_CHECKING:
    from indextables.runtime import Runtime
    from indextables.storage.base import Store


def probe_conditional_put(store: Store, *, directory: str, runtime: Runtime) -> None:
    """Create a small object twice under a fresh name in `directory`; the second time must be refused.

    Raises:
        UnsupportedStoreError: The store accepted both, so it cannot tell two racing writers apart.
    """
    path = f"{directory}/.probe-{runtime.new_id()}"
    store.put_if_absent(path, b"first")
    try:
        try:
            store.put_if_absent(path, b"second")
        except AlreadyExistsError:
            return
        raise UnsupportedStoreError(
            path,
            store=store.url,
            detail="it overwrote an object that it was asked to create only if absent",
            way_out="Use a store that honours conditional writes (If-None-Match on S3), or a proxy that passes them on",
        )
    finally:
        with suppress(StorageError):
            store.delete(path)
