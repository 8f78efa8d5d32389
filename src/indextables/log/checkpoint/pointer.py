"""`_last_checkpoint`: a hint where to start looking. It may be missing, old, empty or nonsense, and nothing goes wrong."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from indextables.errors import NotFoundError, StorageError
from indextables.log.layout import MAX_VERSION, POINTER

if TYPE_CHECKING:
    from indextables.storage.base import Store

_LOG = logging.getLogger(__name__)


class Pointer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the hint says; everything but the version may be missing.

    Attributes:
        version: The version of the newest checkpoint, when this was written.
        format: `parquet` or `json`.
        size: How many entries it has.
        num_files: How many files the table had.
        size_in_bytes: How large the checkpoint is.
        parts: How many files it consists of.
        checksum: Of the manifest, or of the checkpoint in JSON; others do not write one.
        created_time: When it was written.
    """

    version: int
    format: str | None = None
    size: int | None = None
    num_files: int | None = None
    size_in_bytes: int | None = None
    parts: int | None = None
    checksum: str | None = None
    created_time: int | None = None


def read_pointer(store: Store) -> Pointer | None:
    """Return the hint, or None where there is none that makes sense."""
    try:
        pointer = msgspec.json.decode(store.get(POINTER), type=Pointer)
    except NotFoundError:
        return None
    except (StorageError, msgspec.DecodeError, UnicodeError, RecursionError) as error:
        _LOG.warning("The hint %s/%s cannot be used: %s", store.url, POINTER, error)
        return None
    return pointer if 0 <= pointer.version <= MAX_VERSION else None


def write_pointer(store: Store, pointer: Pointer, *, latest: int) -> None:
    """Replace the hint, unless it names a newer checkpoint of a version that exists.

    Args:
        store: Where the table is.
        pointer: What to say.
        latest: The newest version of the table; a hint that names a later one is nonsense.
    """
    known = read_pointer(store)
    if known is None or not pointer.version < known.version <= latest:
        store.put(POINTER, msgspec.json.encode(pointer))
