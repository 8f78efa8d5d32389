"""The log read in the simplest way that can be right: file by file, line by line, action by action.

It shares nothing with the fast way but the line parser, so it serves as the second opinion that tests compare with, and as the
reader for anybody who sets `spark.indextables.transaction.useOptimized` to false.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from indextables.errors import TableNotFoundError, VersionNotFoundError
from indextables.log.actions import Add, MetaData, Protocol, Remove, Skip
from indextables.log.codec import decode
from indextables.log.columns import keys_of, table_of
from indextables.log.commit_info import find_info
from indextables.log.layout import commit_path
from indextables.log.lines import parse_lines
from indextables.log.state import Batch, LogState, note_batch
from indextables.log.tip import commit_time
from indextables.log.versions import list_versions
from indextables.storage.paths import canonical

if TYPE_CHECKING:
    from indextables.log.actions import Action
    from indextables.storage.base import Store


def replay_plainly(store: Store, version: int | None = None) -> LogState:
    """Return the state of a version, the newest one by default.

    Raises:
        TableNotFoundError: There is no log.
        VersionNotFoundError: There is no such version.
        LogCorruptionError: A commit is missing or damaged.
    """
    versions = list_versions(store)
    if not versions:
        raise TableNotFoundError(store.url)
    last = versions[-1] if version is None else version
    if not 0 <= last <= versions[-1]:
        raise VersionNotFoundError(store.url, version=last, available=f"0 to {versions[-1]}")
    replay = _Replay()
    for number in range(last + 1):
        path = f"{store.url}/{commit_path(number)}"
        replay.apply(number, parse_lines(decode(store.get(commit_path(number)), path=path), path=path))
    return replay.state(last)


class _Replay:
    def __init__(self) -> None:
        self.adds: dict[str, tuple[int, int, Add]] = {}
        self.removes: dict[str, tuple[int, int, Remove]] = {}
        self.skips: dict[str, tuple[int, int, Skip]] = {}
        self.protocol: tuple[int, Protocol] | None = None
        self.metadata: tuple[int, MetaData] | None = None
        self.transactions: dict[str, Batch] = {}
        self.times: list[int] = []

    def apply(self, version: int, actions: list[Action]) -> None:
        for ordinal, action in enumerate(actions):
            if isinstance(action, Add | Remove | Skip):
                canonical(action.path)
            match action:
                case Add():
                    self._forget(action.path)
                    self.adds[action.path] = (version, ordinal, action)
                case Remove():
                    self._forget(action.path)
                    self.removes[action.path] = (version, ordinal, action)
                case Skip():
                    self.skips[action.path] = (version, ordinal, self._joined(action))
                case Protocol():
                    self.protocol = (version, action)
                case MetaData():
                    self.metadata = (version, action)
        if info := find_info(actions, version):
            note_batch(self.transactions, info, version)
        self.times.append(max(commit_time(actions, version), self.times[-1] if self.times else 0))

    def state(self, version: int) -> LogState:
        keys = keys_of(row[2] for rows in (self.adds, self.removes, self.skips) for row in rows.values())
        return LogState(
            version=version,
            protocol=self.protocol[1] if self.protocol else None,
            protocol_version=self.protocol[0] if self.protocol else -1,
            metadata=self.metadata[1] if self.metadata else None,
            metadata_version=self.metadata[0] if self.metadata else -1,
            files=table_of(Add, list(self.adds.values()), keys),
            removes=table_of(Remove, list(self.removes.values()), keys),
            skips=table_of(Skip, list(self.skips.values()), keys),
            transactions=self.transactions,
            timestamps=np.array(self.times, np.int64),
        )

    def _forget(self, path: str) -> None:
        for rows in (self.adds, self.removes, self.skips):
            rows.pop(path, None)

    def _joined(self, skip: Skip) -> Skip:
        """Return the newest skip of a path with the greatest count and time of all of them."""
        if skip.path not in self.skips:
            return skip
        before = self.skips[skip.path][2]
        return msgspec.structs.replace(
            skip,
            skip_count=_greater(skip.skip_count, before.skip_count),
            retry_after=_greater(skip.retry_after, before.retry_after),
        )


def _greater(first: object, second: object) -> int | None:
    known = [value for value in (first, second) if isinstance(value, int)]
    return max(known) if known else None
