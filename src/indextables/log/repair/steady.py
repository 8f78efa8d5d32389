"""Reading what a repair decides on: a single answer of a store is no proof of damage, and a repair that believes one makes it.

Bytes are believed once two reads agree, listings are joined, and what is said to be absent is asked for again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from indextables.errors import NotFoundError, StorageUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.storage.base import ObjectMeta, Store

_MOST_READS: Final = 6
_MOST_LISTINGS: Final = 4


def steady_get(store: Store, path: str) -> bytes | None:
    """Return the bytes that two reads in a row gave, all that the store says there are, or None where nothing is.

    Raises:
        StorageUnavailableError: No two reads agree.
    """
    before: bytes | None = _get(store, path)
    for _ in range(_MOST_READS):
        again = _get(store, path)
        if again == before and (again is None or len(again) == _size(store, path)):
            return again
        before = again
    raise StorageUnavailableError(path, store=store.url, detail="each read gives other bytes")


def readable(store: Store, path: str, read: Callable[[bytes], object]) -> bytes | None:
    """Return bytes that can be read, or those that two reads agree on although they cannot; None where nothing is.

    Args:
        store: Where they are.
        path: Their path.
        read: Raises for bytes that cannot be read.
    """
    data = _get(store, path)
    if data is not None:
        try:
            read(data)
        except Exception:  # noqa: BLE001 - whatever it is, the bytes are asked for again
            return steady_get(store, path)
        return data
    return steady_get(store, path)


def _size(store: Store, path: str) -> int | None:
    try:
        return store.head(path).size
    except NotFoundError:
        return None


def _get(store: Store, path: str) -> bytes | None:
    try:
        return store.get(path)
    except NotFoundError:
        return None


def steady_list(store: Store, directory: str) -> dict[str, ObjectMeta]:
    """Return everything that listings of a directory show: two of them if they agree, else a few more."""
    seen: dict[str, ObjectMeta] = {}
    before: set[str] | None = None
    for _ in range(_MOST_LISTINGS):
        found = {meta.path: meta for meta in store.list_from(directory)}
        seen |= found
        if before is not None and before == found.keys():
            break
        before = set(found)
    return seen


def is_absent(store: Store, path: str) -> bool:
    """Tell whether nothing is there, by two answers."""
    return not store.exists(path) and not store.exists(path)
