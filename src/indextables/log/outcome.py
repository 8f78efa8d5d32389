"""Whether a commit is there, for whoever took long to ask: cleanup may have taken its version away since.

A version below the floor proves nothing by itself. It may be free because it was cleaned up, and what is there now may be a
late write that nobody will ever read. So who finds the floor above a version says no more than can be known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import CommitUnknownError, ConcurrentWriteError, NotFoundError, StorageError
from indextables.log.commit_info import find_info
from indextables.log.floor import read_floor, read_mark
from indextables.log.layout import commit_path

if TYPE_CHECKING:
    from indextables.log.commit import CommitResult
    from indextables.log.commits import CommitReader
    from indextables.storage.base import Store

_CLEANED = "its version was cleaned up since"


def check_won(store: Store, won: CommitResult, *, kept_ms: int) -> None:
    """Make sure that a version was free because nobody had it, not because cleanup took it away while its writer slept.

    Args:
        store: Where the table is.
        won: The version that was written.
        kept_ms: How long commits are kept.

    Raises:
        ConcurrentWriteError: The version had been cleaned up; what was written is seen by nobody, and was deleted.
        CommitUnknownError: It may have been written before the version was cleaned up, or the floor cannot be read.
    """
    version = won.version

    def unknown(detail: str) -> CommitUnknownError:
        return CommitUnknownError(store.url, version=version, commit_id=won.commit_id, detail=detail)

    try:
        floor, marked_ms = read_mark(store)
        # A listing is a hint, and may lack the mark; but nobody has a new version without the one before it.
        if version >= floor and not store.exists(commit_path(version - 1)):
            raise unknown("the version before it is gone")
        if version < floor and not _is_younger(store, version, marked_ms=marked_ms, kept_ms=kept_ms):
            raise unknown(_CLEANED)
    except StorageError as error:
        raise unknown(f"it took long, and then {error}") from error
    if version < floor:
        store.delete(commit_path(version))  # below the floor nobody reads it
        raise too_slow(store, version)


def _is_younger(store: Store, version: int, *, marked_ms: int, kept_ms: int) -> bool:
    """Tell whether a version below the floor was written after the floor was marked, so that nobody ever saw it.

    One that the floor passed is older than the mark by as long as commits are kept, or gone with the others.
    """
    try:
        written_ms = store.head(commit_path(version)).modified_ms
    except NotFoundError:
        return False
    return written_ms > marked_ms - kept_ms / 2


def too_slow(store: Store, version: int) -> ConcurrentWriteError:
    """Return the error for a commit that builds on what was cleaned up."""
    return ConcurrentWriteError(
        store.url,
        version=version,
        operation="cleanup",
        cause="this commit took so long that versions which it builds on were cleaned up since",
    )


def resolve(reader: CommitReader, unknown: CommitUnknownError) -> int | None:
    """Return the version that a commit of unknown outcome became, or None if it did not land and never will.

    Raises:
        CommitUnknownError: Its version is still free, so it may land yet; or it was cleaned up, and cannot tell any more.
    """
    try:
        actions = reader.actions([unknown.version])[0][1]
    except NotFoundError:
        actions = None
    # Asked after the read: what was there while the version was not below the floor is what everybody sees there.
    cleaned = unknown.version < read_floor(reader.store)
    if actions is None or cleaned:
        raise CommitUnknownError(
            unknown.path,
            version=unknown.version,
            commit_id=unknown.commit_id,
            detail=_CLEANED if cleaned else "its version is still free",
        ) from unknown
    info = find_info(actions, unknown.version)
    if info is None or info.id != unknown.commit_id:
        return None
    reader.keep(unknown.version)
    return unknown.version
