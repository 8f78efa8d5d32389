"""The newest version of a log, and what a writer needs to know of it: not the files, only time, metadata and protocol.

Our commits say which versions hold the metadata and the protocol, so finding them takes two or three reads at any age. Logs
of others are searched backwards, in growing batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from indextables.errors import LogCorruptionError, NotFoundError, StorageError, TableNotFoundError
from indextables.log.actions import Add, MetaData, Protocol, Remove, Skip
from indextables.log.commit_info import find_info
from indextables.log.layout import commit_path
from indextables.log.protocol import LEGACY
from indextables.log.versions import latest_version, list_versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.log.actions import Action
    from indextables.log.checkpoint.head import Head
    from indextables.log.commit_info import CommitInfo
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
        hint = reader.checkpoints.hint()
        version = latest_version(reader.store, hint=hint.version if hint else -1)
        # Before the reads: should the table be made anew in between, the next look notices.
        identity = _identity(reader, version)
        return replace(_search(reader, version), identity=identity)
    if not reader.store.exists(commit_path(known.version + 1)):
        return known
    tip, newer = known, list_versions(reader.store, after=known.version)
    identity = _identity(reader, newer[-1]) if newer else known.identity
    for version, actions in reader.actions(newer):
        tip = tip.advanced(version, actions, timestamp=commit_time(actions, version))
    return replace(tip, identity=identity)


def identified(reader: CommitReader, tip: Tip) -> Tip:
    """Return the tip with what the store says of its file, if it says anything: nobody fails for want of it."""
    return replace(tip, identity=_identity(reader, tip.version))


def _identity(reader: CommitReader, version: int) -> ObjectMeta | None:
    try:
        return reader.store.head(commit_path(version))
    except StorageError:
        return None


def still_there(reader: CommitReader, known: Tip) -> Tip | None:
    """Return the known tip if the store still holds that very file, else None: the table was dropped or made anew."""
    try:
        identity = reader.store.head(commit_path(known.version))
    except NotFoundError:
        return None
    if known.identity is None:
        return replace(known, identity=identity)
    return known if identity == known.identity else None


def commit_time(actions: Sequence[Action], version: int) -> int:
    """Return when a commit was made: by its own word, else the newest time that its actions mention."""
    if info := find_info(actions, version):
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
    found = _Found()
    newest: Sequence[Action] = ()
    following, batch = version, 1
    while following >= 0 and not found.complete:
        versions = range(max(0, following - batch + 1), following + 1)
        try:
            commits = reader.actions(versions)
        except (NotFoundError, LogCorruptionError) as error:
            if batch > 1:  # some of them are there, and may say more than the checkpoint
                batch = 1
                continue
            head = reader.checkpoints.head(version)
            if isinstance(error, LogCorruptionError) and (head is None or following == version):
                raise
            if head is not None:
                found.take_head(head)
            break
        for number, actions in reversed(commits):
            newest = newest or actions
            found.take(number, actions)
            if info := find_info(actions, number):
                _follow(reader, info, found)
        following = versions[0] - 1
        batch = min(max(1, version - following - 1), _LARGEST_BATCH)
    if found.metadata is None:
        list_versions(reader.store)  # which says what is missing, if anything is
        raise TableNotFoundError(reader.store.url, detail="its log holds no metaData action")
    return Tip(
        version=version,
        identity=None,
        timestamp=commit_time(newest, version),
        metadata=found.metadata[1],
        metadata_version=found.metadata[0],
        protocol=found.protocol[1] if found.protocol else LEGACY,
        protocol_version=found.protocol[0] if found.protocol else -1,
    )


class _Found:
    """The newest metadata and protocol, as far as the search has come."""

    def __init__(self) -> None:
        self.metadata: tuple[int, MetaData] | None = None
        self.protocol: tuple[int, Protocol] | None = None
        self.no_protocol = False

    @property
    def complete(self) -> bool:
        return self.metadata is not None and (self.protocol is not None or self.no_protocol)

    def take(self, version: int, actions: Sequence[Action]) -> None:
        for action in reversed(actions):
            if isinstance(action, MetaData) and self.metadata is None:
                self.metadata = (version, action)
            elif isinstance(action, Protocol) and self.protocol is None:
                self.protocol = (version, action)

    def take_head(self, head: Head) -> None:
        """Take what a checkpoint says, where no commit has said it."""
        if self.metadata is None and head.metadata is not None:
            self.metadata = (head.metadata_version, head.metadata)
        if self.protocol is None and head.protocol is not None:
            self.protocol = (head.protocol_version, head.protocol)
        self.no_protocol = self.protocol is None


def _follow(reader: CommitReader, info: CommitInfo, found: _Found) -> None:
    """Look where a commit points. A pointer that leads nowhere is passed over, and the search goes on."""
    pointers = {version for version in (info.metadata, info.protocol) if version is not None}
    if found.complete or any(version >= info.version or version < -1 for version in pointers):
        return
    try:
        commits = reader.actions(sorted(version for version in pointers if version >= 0))
    except (NotFoundError, LogCorruptionError):
        head = reader.checkpoints.head(info.version)
        if head is not None and {head.metadata_version, head.protocol_version} == pointers:
            found.take_head(head)
        return
    for version, actions in reversed(commits):
        found.take(version, actions)
    found.no_protocol = info.protocol == -1
