"""Finding out which versions a log has. A listing is a hint; what decides is whether the next file exists.

Listings may be stale, cut short or doubled. So after the greatest listed version the next one is asked for by name until it is
absent, and a version that a listing misses in the middle is asked for by name before anybody calls it lost. Early versions may
be gone for good reason: cleanup says so, or a checkpoint stands where the rest begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from indextables.errors import LogCorruptionError, TableNotFoundError
from indextables.log.floor import read_floor
from indextables.log.layout import (
    LOG_DIRECTORY,
    MAX_VERSION,
    commit_path,
    commit_version,
    json_checkpoint_version,
    manifest_version,
)

if TYPE_CHECKING:
    from indextables.storage.base import Store

_MOST_NAMED: Final = 20
_MOST_PROBES: Final = 64
_AFTER_COMMITS: Final = (
    f"{LOG_DIRECTORY}/:"  # the first character after the digits; pointer and checkpoints sort behind it
)


def latest_version(store: Store, *, hint: int = -1) -> int:
    """Return the newest version.

    Args:
        store: Where the table is.
        hint: A version that may exist, to start from; -1 for none.

    Raises:
        TableNotFoundError: The log holds no commit.
    """
    if hint > 0:
        found = _probed(store, hint) if store.lists_whole_directories else None
        if found is not None:
            return found
        try:
            tail = list_versions(store, after=hint - 1)
        except LogCorruptionError:
            tail = []
        if tail:
            return tail[-1]
    versions = list_versions(store)
    if not versions:
        raise TableNotFoundError(store.url)
    return versions[-1]


def _probed(store: Store, hint: int) -> int | None:
    """Return the newest version by asking for names, upwards from one that may exist; None where that leads nowhere soon."""
    for version in range(hint, hint + _MOST_PROBES):
        if not store.exists(commit_path(version)):
            return version - 1 if version > hint else None
    return None


def list_versions(store: Store, *, after: int = -1) -> list[int]:
    """Return every version greater than `after` that is kept, without gaps, in order.

    Raises:
        LogCorruptionError: Versions are missing; it names them.
    """
    found: set[int] = set()
    start = commit_path(after) if after >= 0 else None
    for meta in store.list_from(LOG_DIRECTORY, start):
        version = commit_version(meta.path)
        if version is not None:
            found.add(version)
        elif meta.path > _AFTER_COMMITS:
            break
    while (following := max(found, default=after) + 1) <= MAX_VERSION and store.exists(commit_path(following)):
        found.add(following)
    found.discard(after)
    return _without_gaps(store, found, after) if found else []


def _without_gaps(store: Store, found: set[int], after: int) -> list[int]:
    last = max(found)
    if last - after == len(found):
        return list(range(after + 1, last + 1))
    first = after + 1 if after >= 0 else _first_kept(store, found)
    if last - first + 1 > len(found) + 1_000_000:
        raise _gap(
            store, sorted(found)[:_MOST_NAMED], f"it jumps to version {last}, so versions in between are missing"
        )
    missing = [version for version in range(first, last + 1) if version not in found]
    lost = [version for version in missing if not store.exists(commit_path(version))]
    if lost:
        shown = ", ".join(map(str, lost[:_MOST_NAMED])) + (
            f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
        )
        names = f"version {shown} is" if len(lost) == 1 else f"versions {shown} are"
        raise _gap(store, lost, f"{names} missing below version {last}")
    return list(range(first, last + 1))


def _first_kept(store: Store, found: set[int]) -> int:
    """Return the version that a log with missing ones begins at: its floor, or where a checkpoint covers what is missing."""
    floor = read_floor(store)
    start = max(found)
    while start - 1 in found:
        start -= 1
    if start <= floor:
        return floor
    return start if any(version >= start - 1 for version in checkpoint_versions(store)) else floor


def checkpoint_versions(store: Store) -> set[int]:
    """Return the versions that seem to have a checkpoint."""
    found = (
        json_checkpoint_version(meta.path) if (version := manifest_version(meta.path)) is None else version
        for meta in store.list_from(LOG_DIRECTORY)
    )
    return {version for version in found if version is not None}


def _gap(store: Store, versions: list[int], reason: str) -> LogCorruptionError:
    return LogCorruptionError(f"{store.url}/{LOG_DIRECTORY}", reason, versions=versions)
