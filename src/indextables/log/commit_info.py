"""Who committed what, when, and why: facts about a commit that travel inside its actions.

Readers of the format know five actions and refuse a sixth, and refuse fields that they do not know. So these facts take free
places that exist already: a tag of the first add or remove, else the table's configuration, else the end of a skip's reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from indextables.log.actions import Add, MetaData, Remove, Skip

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from indextables.log.actions import Action

WRITER_TAG: Final = "indextables.writer"
"""On every add of ours: sizes, paths and statistics in it are what this format promises."""

COMMIT_TAG: Final = "indextables.commit"
"""Where the facts stand: a tag, or a key of the table's configuration."""

_REASON_MARK: Final = " [indextables.commit="


class CommitInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a commit says about itself.

    Attributes:
        id: Random; a writer recognises its own commit by it after a lost answer.
        timestamp: Milliseconds since the epoch, greater than that of every earlier commit.
        operation: What the commit was made for: append, overwrite, merge and so on.
        metadata: The version that holds the table's metadata as of this commit, so that nobody searches for it.
        protocol: The same for the protocol.
        read: The version that the writer had seen.
        app: With `batch`: which batch of which application this is, so that a repeated batch is recognised.
        batch: See `app`.
        user: Free text of the user's.
    """

    id: str
    timestamp: int
    operation: str
    metadata: int | None = None
    protocol: int | None = None
    read: int | None = None
    app: str | None = None
    batch: int | None = None
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
            stamped[index] = msgspec.structs.replace(action, reason=f"{action.reason}{_REASON_MARK}{info.id}]")
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


def parse_info(text: str | None) -> CommitInfo | None:
    """Return the facts in a tag's text; None where it holds none, or something that is not ours."""
    if text is None:
        return None
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def find_info(actions: Iterable[Action]) -> CommitInfo | None:
    """Return the facts that a commit's actions carry, if they carry any."""
    for action in actions:
        match action:
            case Add() | Remove():
                text = (action.tags or {}).get(COMMIT_TAG)
            case MetaData():
                text = (action.configuration or {}).get(COMMIT_TAG)
            case Skip():
                if info := info_of_reason(action.reason, action.skip_timestamp):
                    return info
                text = None
            case _:
                text = None
        if info := parse_info(text):
            return info
    return None


def info_of_reason(reason: str, timestamp: int) -> CommitInfo | None:
    """Return the facts that the end of a skip's reason holds."""
    _, found, commit_id = reason.rpartition(_REASON_MARK)
    return CommitInfo(id=commit_id.removesuffix("]"), timestamp=timestamp, operation="skip") if found else None


def plain_reason(reason: str) -> str:
    """Return a skip's reason without the commit's id."""
    text, found, _ = reason.rpartition(_REASON_MARK)
    return text if found else reason
