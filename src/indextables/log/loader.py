"""From a store to a snapshot, by the shortest way: what is known is asked for again only in so far as it may have changed.

A warm read costs two small questions: is the newest version that we know still the same file, and is there a next one. The
first is there because a table can be dropped and made anew in the same place, and old rows must not outlive it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar

from indextables.errors import LogCorruptionError, NotFoundError, VersionNotFoundError
from indextables.log.cache import CacheStats, Level
from indextables.log.commits import CommitReader
from indextables.log.floor import read_floor
from indextables.log.layout import commit_path, commit_version
from indextables.log.plain import replay_plainly
from indextables.log.protocol import check_readable
from indextables.log.replay import MadeAnewError, Replay
from indextables.log.snapshot import Snapshot
from indextables.log.tip import find_tip, still_there
from indextables.log.versions import list_versions
from indextables.runtime import ForkSafeLock, Stopwatch
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.config import Settings
    from indextables.log.actions import Action, MetaData, Protocol
    from indextables.log.checkpoint.selection import Choice
    from indextables.log.tip import Tip
    from indextables.runtime import Runtime
    from indextables.storage.base import Store

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
_SMALL = 1024  # what a protocol, a metadata or a list of versions counts for; none of them decides about memory


class Loader:
    """Reads one log, and remembers."""

    def __init__(self, store: Store, settings: Settings, runtime: Runtime) -> None:
        self._store = store
        self._settings = settings
        self._runtime = runtime
        self._lock = ForkSafeLock()
        self._tip: Tip | None = None
        self._newest: Snapshot | None = None
        self._checked_at = float("-inf")
        self._since: Stopwatch | None = None
        self._caching = settings.cache.enabled and settings.transaction.use_optimized
        self._protocols: Level[Protocol] = self._level()
        self._metadatas: Level[MetaData] = self._level()
        self._commits: Level[bytes] = self._level(share=8)
        self._snapshots: Level[Snapshot] = self._level()
        self._lists: Level[list[int]] = self._level()
        self.reader = CommitReader(store, settings, self._commits if self._caching else None, runtime=runtime)
        self._replay = Replay(self.reader, settings, runtime)

    def _level(self, *, share: int = 1) -> Level[Any]:
        cache = self._settings.cache
        return Level(expiration_s=cache.expiration_s, max_bytes=cache.max_bytes // share, runtime=self._runtime)

    def tip(self) -> Tip:
        """Return the newest version.

        Raises:
            TableNotFoundError: There is no table.
            ProtocolError: The table needs a newer reader.
        """
        known = self._tip if self._caching and self._is_recent() else None
        try:
            tip = find_tip(self.reader, known=known)
        except (LogCorruptionError, NotFoundError):
            if known is None:
                raise
            tip, known = self._found_anew(), None  # it may be cleanup that went past what is known
        # Asked last: what was read before belongs to the table that is known only if its file is still the same now.
        if known is not None and still_there(self.reader, known) is None:
            tip, known = self._found_anew(), None
        if known is None:
            self._refuse_lost_commits(tip)
        check_readable(tip.protocol, table=self._store.url)
        self.know(tip)
        return tip

    def _is_recent(self) -> bool:
        """Tell whether what is known is so young that cleanup cannot have gone past it since."""
        return self._since is not None and self._since.elapsed_ms() < self._settings.retention.log_ms / 2

    def _refuse_lost_commits(self, tip: Tip) -> None:
        """Refuse a log whose newest commits are gone, which a checkpoint of ours that sums them up gives away."""
        ahead = self.reader.checkpoints.ahead_of(tip.version, table=tip.metadata.id)
        if ahead is not None:
            lost = list(range(tip.version + 1, ahead + 1))
            raise LogCorruptionError(
                f"{self._store.url}/{commit_path(ahead)}",
                f"it is missing, though there is a checkpoint of version {ahead}",
                versions=lost,
                way_out="Run repair, which makes the checkpoint count",
            )

    def _found_anew(self) -> Tip:
        self.forget()
        return find_tip(self.reader)

    def know(self, tip: Tip) -> None:
        """Take note of a version that was seen in the store."""
        with self._lock:
            known = self._tip
            if known is None or known.metadata.id != tip.metadata.id or known.version <= tip.version:
                self._tip = tip
            self._checked_at = self._runtime.monotonic()
            self._since = Stopwatch(self._runtime)

    def forget(self) -> None:
        """Forget everything, as if the log had never been read."""
        with self._lock:
            self._tip = self._newest = None
            self._checked_at = float("-inf")
        self.reader.forget()
        for level in (self._protocols, self._metadatas, self._commits, self._snapshots, self._lists):
            level.clear()

    def forget_versions(self) -> None:
        """Forget what depends on the newest version."""
        with self._lock:
            self._newest = None
        for level in (self._commits, self._snapshots, self._lists):
            level.clear()

    def forget_lists(self) -> None:
        """Forget which versions there are."""
        self._lists.clear()

    def forget_protocol(self) -> None:
        """Forget the protocol."""
        self._tip = None
        self._protocols.clear()

    def forget_metadata(self) -> None:
        """Forget the metadata."""
        self._tip = None
        self._metadatas.clear()

    def snapshot(self, version: int | None = None, *, max_staleness_s: float | None = None) -> Snapshot:
        """Return a version of the table, the newest one by default."""
        newest = self._newest
        if version is None and newest is not None and self._fresh_enough(newest, max_staleness_s):
            return newest
        if not self._settings.transaction.use_optimized:
            return self._plain(version)
        tip = self.tip()
        wanted = tip.version if version is None else version
        if not 0 <= wanted <= tip.version:
            raise self.no_version(wanted)
        try:
            snapshot = self._remembered(self._snapshots, tip, wanted, lambda: self._load(tip, wanted))
        except MadeAnewError:
            self.forget()
            return self.snapshot(version)
        with self._lock:
            if self._caching and wanted == tip.version:
                self._newest = snapshot
        return snapshot

    def part_of_snapshot(self, choose: Choice) -> Snapshot:
        """Return the newest version without files of parts of a checkpoint that nobody wants, where that saves reading them.

        It is not kept: the next question may be about other files.
        """
        tip = self.tip()
        known = self._newest is not None and self._newest.version == tip.version
        state = None if known or not self._settings.transaction.use_optimized else self._replay.part(tip, choose)
        return self.snapshot() if state is None else Snapshot(self._store.url, state)

    def protocol(self) -> Protocol:
        """Return the protocol in force."""
        tip = self.tip()
        return self._remembered(self._protocols, tip, tip.version, lambda: tip.protocol)

    def metadata(self) -> MetaData:
        """Return the metadata in force."""
        tip = self.tip()
        return self._remembered(self._metadatas, tip, tip.version, lambda: tip.metadata)

    def versions(self) -> list[int]:
        """Return every version."""
        tip = self.tip()
        known: list[int] = self._remembered(self._lists, tip, tip.version, lambda: list_versions(self._store))
        if known and not self._store.exists(commit_path(known[0])):  # another process cleaned up
            self._lists.clear()
            known = list_versions(self._store)
        return list(known)

    def actions(self, version: int) -> list[Action]:
        """Return the actions of one commit."""
        tip = self.tip()
        if not 0 <= version <= tip.version:
            raise self.no_version(version)
        try:
            return self.reader.actions([version])[0][1]
        except NotFoundError as error:
            raise self._missing(error, version) from error

    def no_version(self, version: int) -> VersionNotFoundError:
        """Return the error for a version that the table never had, or no longer has."""
        kept = self.versions()
        return VersionNotFoundError(self._store.url, version=version, available=f"{kept[0]} to {kept[-1]}")

    def _missing(self, error: NotFoundError, wanted: int) -> LogCorruptionError | VersionNotFoundError:
        """Return what it means that a commit is not there: it was cleaned up, or it is lost."""
        version = commit_version(error.path)
        try:
            if wanted < list_versions(self._store)[0]:
                return self.no_version(wanted)
        except LogCorruptionError:
            _LOG.debug("%s has gaps", self._store.url)
        return LogCorruptionError(
            f"{self._store.url}/{error.path}",
            "it is missing, though later versions are there",
            versions=[] if version is None else [version],
        )

    def stats(self) -> CacheStats:
        """Return how the caches did."""
        levels = (self._protocols, self._metadatas, self._commits, self._snapshots, self._lists)
        return CacheStats(
            protocol_hit_rate=self._protocols.hit_rate,
            metadata_hit_rate=self._metadatas.hit_rate,
            version_hit_rate=self._commits.hit_rate,
            files_hit_rate=self._snapshots.hit_rate,
            versions_list_hit_rate=self._lists.hit_rate,
            entries=sum(level.size[0] for level in levels),
            bytes=sum(level.size[1] for level in levels),
        )

    def _fresh_enough(self, newest: Snapshot, max_staleness_s: float | None) -> bool:
        allowed = self._settings.staleness.max_staleness_s if max_staleness_s is None else max_staleness_s
        if allowed <= 0 or self._runtime.monotonic() - self._checked_at > allowed:
            return False
        return self._tip is not None and self._tip.version == newest.version

    def _remembered(self, level: Level[_T], tip: Tip, version: int, find: Callable[[], _T]) -> _T:
        if not self._caching:
            return find()
        key = (tip.metadata.id, version)
        value = level.get(key)
        if value is None:
            value = find()
            level.put(key, value, size=_size(value))
        return value

    def _load(self, tip: Tip, version: int) -> Snapshot:
        with span("indextables.snapshot", table=self._store.url, version=version) as noted:
            snapshot = self._found(tip, version)
            noted.note(files=snapshot.num_files)
            return snapshot

    def _found(self, tip: Tip, version: int) -> Snapshot:
        known = self._newest.state if self._newest is not None else None
        tried = -1
        while True:
            try:
                return Snapshot(self._store.url, self._replay.state(tip, version, known=known))
            except NotFoundError as error:
                missing, floor = commit_version(error.path), read_floor(self._store)
                if missing is None or not missing < floor <= version or floor <= tried:
                    raise self._missing(error, version) from error
            # A cleanup took the commit away since a checkpoint was chosen, and left one that makes up for it.
            tried = floor
            self.reader.checkpoints.forget()

    def _plain(self, version: int | None) -> Snapshot:
        versions = list_versions(self._store)
        if versions and versions[0] > 0:  # early commits are gone, so there is no way around a checkpoint
            tip = self.tip()
            wanted = tip.version if version is None else version
            if not versions[0] <= wanted <= tip.version:
                raise self.no_version(wanted)
            return self._load(tip, wanted)
        snapshot = Snapshot(self._store.url, replay_plainly(self._store, version))
        check_readable(snapshot.protocol, table=self._store.url)
        return snapshot


def _size(value: object) -> int:
    if isinstance(value, Snapshot):
        state = value.state
        return int(state.files.nbytes + state.removes.nbytes + state.skips.nbytes + state.timestamps.nbytes)
    return _SMALL
