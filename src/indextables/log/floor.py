"""The floor of a log: the version below which cleanup took the commits away.

It is a mark of its own, because a slot that was cleaned looks like one that was never used. A writer that slept for a month
could win such a slot and believe that it committed; the floor tells it otherwise. Marks are only ever added, and the greatest
one counts, so two cleaners cannot lower it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import AlreadyExistsError
from indextables.log.layout import FLOOR_DIRECTORY, floor_path, floor_version

if TYPE_CHECKING:
    from indextables.storage.base import Store


def read_floor(store: Store) -> int:
    """Return the oldest version that is kept; 0 where nothing was ever cleaned."""
    return read_mark(store)[0]


def read_mark(store: Store) -> tuple[int, int]:
    """Return the oldest version that is kept, and when that was marked, by the store's clock."""
    found = ((floor_version(meta.path), meta.modified_ms) for meta in store.list_from(FLOOR_DIRECTORY))
    return max(((version, marked_ms) for version, marked_ms in found if version is not None), default=(0, 0))


def raise_floor(store: Store, version: int) -> None:
    """Say that versions below this one are gone, before they are."""
    try:
        store.put_if_absent(floor_path(version), b"{}\n")
    except AlreadyExistsError:
        return


def drop_old_marks(store: Store, *, below: int) -> None:
    """Remove marks that a greater one makes superfluous."""
    for meta in list(store.list_from(FLOOR_DIRECTORY)):
        version = floor_version(meta.path)
        if version is not None and version < below:
            store.delete(meta.path)
