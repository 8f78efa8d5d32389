"""Who committed what, when, and why: facts about a commit that travel inside its actions.

Readers of the format know five actions and refuse a sixth, and refuse fields that they do not know. So these facts take free
places that exist already: a tag of the first add or remove, else the table's configuration, else the end of a skip's reason.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from indextables.log.actions import Add, Int64, MetaData, Remove, Skip

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from indextables.log.actions import Action

WRITER_TAG: Final = "indextables.writer"
"""On every add of ours: sizes, paths and statistics in it are what this format promises."""

COMMIT_TAG: Final = "indextables.commit"
"""Where the facts stand: a tag, or a key of the table's configuration."""

_REASON_MARK: Final = re.compile(r" \[indextables\.commit=([0-9A-Za-z-]{1,64})\]\Z")


class CommitInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a commit says about itself.

    Attributes:
        version: The version that it was written as; in any other one these facts are a copy, and not true.
        id: Random; a writer recognises its own commit by it after a lost answer.
        timestamp: Milliseconds since the epoch, greater than that of every earlier commit.
        operation: What the commit was made for: append, overwrite, merge and so on.
        metadata: The version that holds the table's metadata as of this commit, so that nobody searches for it.
        protocol: The same for the protocol; -1 where no version holds one.
        read: The version that the writer had seen.
        app: With `batch`: which batch of which application this is, so that a repeated batch is recognised.
        batch: See `app`.
        user: Free text of the user's.
    """

    version: Int64
    id: str
    timestamp: Int64
    operation: str
    metadata: Int64 | None = None
    protocol: Int64 | None = None
    read: Int64 | None = None
    app: str | None = None
    batch: Int64 | None = None
    user: str | None = None


_decoder = msgspec.json.Decoder(CommitInfo)


def stamp(actions: Sequence[Action], info: CommitInfo) -> list[Action]:
    """Return the actions with the facts attached to the first one that can carry them, and to no other.

    Actions that were read from the log may carry the facts of their old commit, which are not true of this one.
    """
    text = msgspec.json.encode(info).decode()
    stamped = [_unstamped(action) for action in actions]
    for index, action in enumerate(stamped):
        if isinstance(action, Add | Remove):
            stamped[index] = msgspec.structs.replace(action, tags={**(action.tags or {}), COMMIT_TAG: text})
            return stamped
    for index, action in enumerate(stamped):
        if isinstance(action, MetaData):
            properties = {**(action.configuration or {}), COMMIT_TAG: text}
            stamped[index] = msgspec.structs.replace(action, configuration=properties)
            return stamped
    for index, action in enumerate(stamped):
        if isinstance(action, Skip):
            stamped[index] = msgspec.structs.replace(action, reason=f"{action.reason} [indextables.commit={info.id}]")
            return stamped
    return stamped


def _unstamped(action: Action) -> Action:
    if isinstance(action, Add | Remove) and action.tags and COMMIT_TAG in action.tags:
        return msgspec.structs.replace(action, tags={k: v for k, v in action.tags.items() if k != COMMIT_TAG})
    if isinstance(action, MetaData) and action.configuration and COMMIT_TAG in action.configuration:
        properties = {key: value for key, value in action.configuration.items() if key != COMMIT_TAG}
        return msgspec.structs.replace(action, configuration=properties)
    if isinstance(action, Skip):
        return msgspec.structs.replace(action, reason=plain_reason(action.reason))
    return action


def parse_info(text: str | None, version: int) -> CommitInfo | None:
    """Return the facts in a text that a version holds; None where it holds none, or facts of another version."""
    if text is None:
        return None
    try:
        info = _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return info if info.version == version else None


def find_info(actions: Iterable[Action], version: int) -> CommitInfo | None:
    """Return the facts that the actions of a version carry, if they carry any."""
    for action in actions:
        match action:
            case Add() | Remove():
                info = parse_info((action.tags or {}).get(COMMIT_TAG), version)
            case MetaData():
                info = parse_info((action.configuration or {}).get(COMMIT_TAG), version)
            case Skip():
                info = info_of_reason(action.reason, action.skip_timestamp, version)
            case _:
                info = None
        if info is not None:
            return info
    return None


def info_of_reason(reason: str, timestamp: int, version: int) -> CommitInfo | None:
    """Return the facts that the end of a skip's reason holds."""
    found = _REASON_MARK.search(reason)
    return CommitInfo(version=version, id=found[1], timestamp=timestamp, operation="skip") if found else None


def plain_reason(reason: str) -> str:
    """Return a skip's reason without the commit's id."""
    return _REASON_MARK.sub("", reason)
