"""One commit: a version that is written whole, once, or not at all.

The version is the next one of the log as it is, never one that a counter in this process made up. The conditional write
decides. Who loses looks at what the winners did, and either commits on top of them or says why that would be wrong. Who does
not know whether he won asks the store, which `storage.retry` does, and if even that fails, says so and deletes nothing.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from indextables.errors import (
    AlreadyExistsError,
    CommitUnknownError,
    ConcurrentWriteError,
    LogCorruptionError,
    NotFoundError,
    OutcomeUnknownError,
    TableNotFoundError,
)
from indextables.log.actions import Remove, Skip
from indextables.log.codec import encode
from indextables.log.commit_info import CommitInfo, stamp
from indextables.log.conflicts import Kind, find_conflict, kinds_of
from indextables.log.floor import read_floor
from indextables.log.layout import commit_path, commit_version
from indextables.log.lines import format_lines
from indextables.log.outcome import check_won, too_slow
from indextables.log.protocol import check_writable
from indextables.log.rebase import rebased, repeats
from indextables.log.state import commit_infos
from indextables.log.tip import find_tip, identified, still_there
from indextables.runtime import Stopwatch
from indextables.storage.retry import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.config import Settings
    from indextables.log.actions import Action
    from indextables.log.columns import ActionColumns
    from indextables.log.commits import CommitReader
    from indextables.log.conflicts import Shape
    from indextables.log.tip import Tip
    from indextables.runtime import Runtime

_LOG = logging.getLogger(__name__)
_LATEST = 2**63 - 1  # others may have written a time that nothing can follow
_AT_ONCE = 3
"""How often a commit is tried between two pauses. Writers that win do not pause, so each pause is their advantage."""
_MOST_LOOKS = 20
"""How often who lost looks again at once for what came while he read. He who tries with an old look loses to him who did not
pause, the more surely the longer the pause was and the more there was to read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Intent:
    """What somebody wants to commit, whichever version it becomes; `basis` is the schema that it was made for."""

    actions: Sequence[Action]
    operation: str
    kinds: frozenset[Kind]
    id: str
    basis: Shape
    app: str | None = None
    batch: int | None = None
    user: str | None = None

    @property
    def removes(self) -> frozenset[str]:
        """The files that it removes."""
        return frozenset(action.path for action in self.actions if isinstance(action, Remove))


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitResult:
    """What became of a commit.

    Attributes:
        version: The version that holds it, or the newest one if nothing had to be written.
        commit_id: Its id.
        timestamp: When it was made.
        attempts: How many versions it tried to become.
        written: False if it was there already (the same batch of the same application), or had nothing left to say.
    """

    version: int
    commit_id: str
    timestamp: int
    attempts: int = 1
    written: bool = True


def kinds_for(actions: Sequence[Action], operation: str) -> frozenset[Kind]:
    """Return what a commit does: by its actions, and by its name where that says more (an overwrite of an empty table)."""
    kinds = kinds_of(actions)
    if operation == Kind.OVERWRITE:
        kinds = (kinds - {Kind.APPEND, Kind.REMOVE}) | {Kind.OVERWRITE}
    return frozenset(kinds)


class Committer:
    """Writes commits to one log."""

    def __init__(self, reader: CommitReader, settings: Settings, runtime: Runtime) -> None:
        self._reader = reader
        self._settings = settings
        self._runtime = runtime

    def commit(self, intent: Intent, tip: Tip, *, read_version: int) -> tuple[CommitResult, Tip]:
        """Write the commit on top of the newest version, of which `tip` is what is known.

        Args:
            intent: What to commit.
            tip: The newest known version, seen to be there a moment ago.
            read_version: The version that the actions were made against.

        Raises:
            ConcurrentWriteError: Commits after `read_version` rule it out, or others won every time.
            CommitUnknownError: It may have landed.
            StorageError: It did not land.
        """
        tip = find_tip(self._reader, known=tip) if read_version < tip.version else tip
        checked = read_version
        retry = self._settings.retry
        policy = RetryPolicy(
            attempts=retry.max_attempts, base_delay_s=retry.base_delay_ms / 1000, max_delay_s=retry.max_delay_ms / 1000
        )
        lost: int | None = None
        begun = Stopwatch(self._runtime)
        for attempt in range(policy.attempts * _AT_ONCE):
            for _ in range(_MOST_LOOKS):
                tip, overtook = self._overtook(tip, checked, lost=lost, commit_id=intent.id)
                check_writable(tip.protocol, table=self._reader.store.url)
                for version, theirs in overtook:
                    if (settled := self._settled(version, theirs, intent)) is not None:
                        return settled, tip
                    intent = rebased(intent, theirs)
                checked = tip.version
                if lost is None or not overtook:
                    break
            if not intent.actions:
                return CommitResult(
                    version=tip.version, commit_id=intent.id, timestamp=tip.timestamp, written=False
                ), tip
            if (won := self._try(intent, tip, attempt=attempt + 1, read_version=read_version)) is not None:
                self._check_floor(won[0], begun)
                return won
            lost = tip.version + 1
            pauses, left = divmod(attempt + 1, _AT_ONCE)
            if not left:
                self._runtime.sleep(policy.delay(pauses - 1, self._runtime))
        raise ConcurrentWriteError(
            self._reader.store.url,
            version=tip.version + 1,
            operation="others",
            cause=f"other writers were faster {policy.attempts * _AT_ONCE} times",
        )

    def _overtook(
        self, tip: Tip, checked: int, *, lost: int | None, commit_id: str
    ) -> tuple[Tip, list[tuple[int, ActionColumns]]]:
        """Return the newest version, and the commits after the one that was checked last; `lost` is what another writer has."""
        try:
            tip = tip if lost is None else self._refreshed(tip)
            return tip, [(v, self._reader.columns([v])) for v in range(checked + 1, tip.version + 1)]
        except LogCorruptionError as error:
            if lost is None:
                raise
            raise CommitUnknownError(
                self._reader.store.url, version=lost, commit_id=commit_id, detail=error.reason
            ) from error
        except NotFoundError as error:
            if (missing := commit_version(error.path)) is None or missing >= read_floor(self._reader.store):
                raise
            raise too_slow(self._reader.store, missing) from error

    def _try(self, intent: Intent, tip: Tip, *, attempt: int, read_version: int) -> tuple[CommitResult, Tip] | None:
        """Write the next version; None means that another writer has it."""
        version, url = tip.version + 1, self._reader.store.url
        info = CommitInfo(
            id=intent.id,
            timestamp=min(max(self._runtime.now_ms(), tip.timestamp + 1), _LATEST),
            operation=intent.operation,
            version=version,
            metadata=version if Kind.METADATA in intent.kinds else tip.metadata_version,
            protocol=version if Kind.PROTOCOL in intent.kinds else tip.protocol_version,
            read=read_version,
            app=intent.app,
            batch=intent.batch,
            user=intent.user,
        )
        actions = stamp(_dated(intent.actions, info.timestamp), info)
        data = encode_commit(actions, self._settings, path=f"{url}/{commit_path(version)}")
        try:
            self._reader.store.put_if_absent(commit_path(version), data)
        except AlreadyExistsError:
            return None
        except OutcomeUnknownError as error:
            raise CommitUnknownError(url, version=version, commit_id=intent.id, detail=error.detail) from error
        _LOG.info("Committed version %d of %s (%s)", version, url, intent.operation)
        result = CommitResult(version=version, commit_id=intent.id, timestamp=info.timestamp, attempts=attempt)
        return result, identified(self._reader, tip.advanced(version, actions, timestamp=info.timestamp))

    def _check_floor(self, won: CommitResult, begun: Stopwatch) -> None:
        """Look at the floor after a commit that took so long that cleanup may have gone past it."""
        kept_ms = self._settings.retention.log_ms
        if begun.elapsed_ms() >= kept_ms / 2:
            check_won(self._reader.store, won, kept_ms=kept_ms)

    def _refreshed(self, tip: Tip) -> Tip:
        newest = find_tip(self._reader, known=tip)
        if still_there(self._reader, tip) is None:
            if tip.version < read_floor(self._reader.store):
                raise too_slow(self._reader.store, tip.version)
            raise TableNotFoundError(self._reader.store.url, detail="it was dropped or made anew while this commit ran")
        return newest

    def _settled(self, version: int, theirs: ActionColumns, intent: Intent) -> CommitResult | None:
        """Check a commit that overtook us; a result means that ours is there already."""
        info = commit_infos(theirs).get(version)
        if info and info.id == intent.id:
            return CommitResult(version=version, commit_id=info.id, timestamp=info.timestamp)
        if info and repeats(info, intent):
            self._reader.keep(version)
            return CommitResult(version=version, commit_id=info.id, timestamp=info.timestamp, written=False)
        conflict = find_conflict(intent.kinds, intent.removes, theirs, basis=intent.basis)
        if conflict is not None:
            raise ConcurrentWriteError(
                self._reader.store.url,
                version=version,
                operation=info.operation if info else str(conflict.kind),
                cause=conflict.reason,
                files=conflict.files,
            )
        return None


def encode_commit(actions: Sequence[Action], settings: Settings, *, path: str) -> bytes:
    """Return the bytes of a commit as the settings want them compressed."""
    compression = settings.compression
    codec = compression.codec if compression.enabled else "none"
    return encode(format_lines(actions), codec=codec, level=compression.gzip_level, path=path)


def _dated(actions: Sequence[Action], timestamp: int) -> list[Action]:
    """Give a skip-only commit its time, which such a commit cannot carry elsewhere."""
    if not all(isinstance(action, Skip) for action in actions):
        return list(actions)
    dated: list[Action] = []
    for action in actions:
        assert isinstance(action, Skip)  # noqa: S101 - for the type checker; checked above
        shift = timestamp - action.skip_timestamp
        known = action.retry_after
        retry_after = min(known + shift, _LATEST) if isinstance(known, int) else known
        dated.append(msgspec.structs.replace(action, skip_timestamp=timestamp, retry_after=retry_after))
    return dated
