"""The adds of a table whose log is lost, from the files that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.config import Settings
from indextables.log.layout import LOG_DIRECTORY
from indextables.split.describe import describe_files
from indextables.split.writer import SUFFIX
from indextables.storage.paths import is_below
from indextables.table.adds import add_of

if TYPE_CHECKING:
    from indextables.log.actions import Add
    from indextables.storage.base import Store


def rebuild_adds(store: Store, *, settings: Settings | None = None) -> list[Add]:
    """Return an add for each split file below the table's root, in the order of their paths.

    Statistics come from the footers, partition values too, or from the names of directories where a footer has none. Files that
    were removed, or that no commit ever took, are among them as long as no purge deleted them: nothing in a file tells.

    Raises:
        SplitCorruptionError: A file is damaged; it names the file.
    """
    found = [
        meta for meta in store.list_from("") if meta.path.endswith(SUFFIX) and not is_below(meta.path, LOG_DIRECTORY)
    ]
    times = {meta.path: meta.modified_ms for meta in found}
    files = describe_files(
        store, times, settings=settings or Settings(), sizes={meta.path: meta.size for meta in found}
    )
    return [add_of(file, modified_ms=times[file.path]) for file in files]
