"""From what a command line names to a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.config import Settings
from indextables.storage.open import open_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.storage.base import Store


def open_table_store(path: str, options: Mapping[str, str]) -> tuple[Store, Settings]:
    """Return the store of a table, and the settings that hold for it.

    Raises:
        ConfigError: A setting has a value that is not allowed.
        UnsupportedStoreError: Nothing here serves that address.
    """
    settings = Settings.resolve(options)
    return open_store(path, settings=settings, properties=options), settings
