"""The newest version of a log, and what a writer needs to know of it: not the files, only time, metadata and protocol.

Our commits say which versions hold the metadata and the protocol, so finding them takes two or three reads at any age. Logs
of others are searched backwards, in growing batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from indextables.errors import NotFoundError, StorageError, TableNotFoundError
from indextables.log.actions import Add, MetaData, Protocol, Remove, Skip
from indextables.log.commit_info import find_info
from indextables.log.layout import commit_path
from indextables.log.protocol import LEGACY
from indextables.log.versions import latest_version, list_versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from indextables.log.actions import Action
    from indextables.log.commits import CommitReader
    from indextables.storage.base import ObjectMeta

_LARGEST_BATCH: Final = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Tip:
    """The newest version that is known.

    Attributes:
        version: Its number.
        identity: What the store says of its file; another table in the same place has another. None: not asked yet.
        timestamp: When it was committed.
        metadata: The metadata in force.
        metadata_version: The version that holds it.
        protocol: The protocol in force.
        protocol_version: The version that holds it; -1 where none does.
    """

    version: int
    identity: ObjectMeta | None
    timestamp: int
    metadata: MetaData
    metadata_version: int
    protocol: Protocol
    protocol_version: int

    def advanced(self, version: int, actions: Sequence[Action], *, timestamp: int) -> Tip:
        """Return the tip after one more commit."""
        tip = replace(self, version=version, identity=None, timestamp=max(self.timestamp, timestamp))
        for action in actions:
            if isinstance(action, MetaData):
                tip = replace(tip, metadata=action, metadata_version=version)
            elif isinstance(action, Protocol):
                tip = replace(tip, protocol=action, protocol_version=version)
        return tip


def find_tip(reader: CommitReader, *, known: Tip | None = None) -> Tip:
    """Return the newest version, reading only what is newer than `known`.

    `known` must still be what the store holds; `still_there` tells.

    Raises:
        TableNotFoundError: There is no log, or it does not say what the table is.
    """
    if known is None:
        return identified(reader, _search(reader, latest_version(reader.store)))
    if not reader.store.exists(commit_path(known.version + 1)):
        return known
    tip = known
    for version, actions in reader.actions(list_versions(reader.store, after=known.version)):
        tip = tip.advanced(version, actions, timestamp=commit_time(actions))
    return identified(reader, tip)


def identified(reader: CommitReader, tip: Tip) -> Tip:
    """Return the tip with what the store says of its file, if it says anything: nobody fails for want of it."""
    try:
        return replace(tip, identity=reader.store.head(commit_path(tip.version)))
    except StorageError:
        return tip


def still_there(reader: CommitReader, known: Tip) -> Tip | None:
    """Return the known tip if the store still holds that very file, else None: the table was dropped or made anew."""
    try:
        identity = reader.store.head(commit_path(known.version))
    except NotFoundError:
        return None
    if known.identity is None:
        return replace(known, identity=identity)
    return known if identity == known.identity else None


def commit_time(actions: Iterable[Action]) -> int:
    """Return when a commit was made: by its own word, else the newest time that its actions mention."""
    actions = list(actions)
    if info := find_info(actions):
        return info.timestamp
    newest = 0
    for action in actions:
        match action:
            case Add():
                time: object = action.modification_time
            case Remove():
                time = action.deletion_timestamp
            case Skip():
                time = action.skip_timestamp
            case MetaData():
                time = action.created_time
            case _:
                time = None
        newest = max(newest, time) if isinstance(time, int) else newest
    return newest


def _search(reader: CommitReader, version: int) -> Tip:
    newest = reader.actions([version])[0][1]
    metadata: tuple[int, MetaData] | None = None
    protocol: tuple[int, Protocol] | None = None
    following, batch = version, 1
    while following >= 0 and (metadata is None or protocol is None):
        versions = _next_versions(newest, version, following, batch)
        for number, actions in reversed(reader.actions(versions)):
            for action in reversed(actions):
                if isinstance(action, MetaData) and metadata is None:
                    metadata = (number, action)
                elif isinstance(action, Protocol) and protocol is None:
                    protocol = (number, action)
        following, batch = min(versions) - 1, min(batch * 2, _LARGEST_BATCH)
    if metadata is None:
        raise TableNotFoundError(reader.store.url, detail="its log holds no metaData action")
    return Tip(
        version=version,
        identity=None,
        timestamp=commit_time(newest),
        metadata=metadata[1],
        metadata_version=metadata[0],
        protocol=protocol[1] if protocol else LEGACY,
        protocol_version=protocol[0] if protocol else -1,
    )


def _next_versions(newest: Sequence[Action], version: int, following: int, batch: int) -> list[int]:
    """Return which versions to look into: where the newest commit points, else the next ones backwards."""
    info = find_info(newest)
    if following == version and info and info.metadata is not None and info.protocol is not None:
        return sorted({info.metadata, info.protocol, version})
    return list(range(max(0, following - batch + 1), following + 1))
