"""From commits and checkpoints to a state: the nearest thing to start from, and the commits behind it.

One ladder serves every reader: what is in memory, the newest checkpoint of ours that can be read, an older one, all commits from
version 0. A checkpoint that others wrote comes last, because theirs can be incomplete.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from indextables.errors import CheckpointError, LogCorruptionError, NotFoundError
from indextables.log.checkpoint.selection import chosen_parts
from indextables.log.schema import parse_schema
from indextables.log.state import apply_commits
from indextables.log.tip import still_there
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.config import Settings
    from indextables.log.checkpoint.selection import Choice
    from indextables.log.commits import CommitReader
    from indextables.log.state import LogState
    from indextables.log.tip import Tip
    from indextables.runtime import Runtime

_LOG = logging.getLogger(__name__)


class MadeAnewError(Exception):
    """Another table took the place of the one that was being read."""


class Replay:
    """Builds states of one log."""

    def __init__(self, reader: CommitReader, settings: Settings, runtime: Runtime) -> None:
        self._reader = reader
        self._settings = settings
        self._runtime = runtime

    def state(self, tip: Tip, version: int, *, known: LogState | None) -> LogState:
        """Return the state of a version.

        Args:
            tip: The newest version.
            version: The one that is wanted.
            known: A state of the same log that is in memory.

        Raises:
            NotFoundError: A commit is missing, and no checkpoint makes up for it.
            LogCorruptionError: A commit is damaged, and no checkpoint makes up for it.
            MadeAnewError: The table is another one now.
        """
        problem: NotFoundError | LogCorruptionError | None = None
        for base in self._bases(tip, version, known):
            first = base.version + 1 if base else 0
            try:
                columns = self._reader.columns(range(first, version + 1))
            except (NotFoundError, LogCorruptionError) as error:
                problem = problem or error
                continue
            if still_there(self._reader, tip) is None:
                raise MadeAnewError
            return base if base and first > version else apply_commits(base, columns, first=first, last=version)
        assert problem is not None  # noqa: S101 - for the type checker; a base was tried
        raise problem

    def part(self, tip: Tip, choose: Choice) -> LogState | None:
        """Return the newest state without files of parts of a checkpoint that nobody wants; None where that saves nothing."""
        finder = self._reader.checkpoints
        manifest = finder.newest_manifest(tip.version) if self._settings.checkpoint.enabled else None
        if manifest is None or len(manifest.files) < 2:
            return None
        schema, columns = parse_schema(tip.metadata.schema_string), list(tip.metadata.partition_columns)
        first, last = manifest.version + 1, tip.version
        with span("indextables.snapshot", table=self._reader.store.url, version=last) as noted:
            try:
                base = finder.rows(manifest, chosen_parts(manifest, schema, columns, choose))
                tail = self._reader.columns(range(first, last + 1))
            except (CheckpointError, NotFoundError, LogCorruptionError):
                return None  # the ladder finds something else
            if not _belongs(base, tip) or still_there(self._reader, tip) is None:
                return None
            state = apply_commits(base, tail, first=first, last=last) if first <= last else base
            noted.note(files=state.files.num_rows)
            return state

    def _bases(self, tip: Tip, version: int, known: LogState | None) -> Iterator[LogState | None]:
        """Yield what to start from, the best first."""
        enabled = self._settings.checkpoint.enabled
        if known is not None and known.version <= version and _belongs(known, tip):
            yield known
        if enabled and (checkpoint := self._checkpoint(tip, version)) is not None:
            yield checkpoint
        yield None
        if not enabled and (checkpoint := self._checkpoint(tip, version)) is not None:
            yield checkpoint  # not wanted, but the commits before it are gone
        foreign = self._reader.checkpoints.newest(version, ours=False)
        if foreign is not None and _belongs(foreign.state, tip):
            _LOG.warning(
                "%s: early commits are gone, and the checkpoint of version %d, which other software wrote, may be incomplete",
                *(self._reader.store.url, foreign.state.version),
            )
            yield foreign.state

    def _checkpoint(self, tip: Tip, version: int) -> LogState | None:
        """Return the newest checkpoint of this table up to a version."""
        started = self._runtime.monotonic()
        loaded = self._reader.checkpoints.newest(version)
        if loaded is None or not _belongs(loaded.state, tip):
            return None
        milliseconds = (self._runtime.monotonic() - started) * 1000
        _LOG.debug("Table state loaded from checkpoint %d in %.0f ms", loaded.state.version, milliseconds)
        return loaded.state


def _belongs(state: LogState, tip: Tip) -> bool:
    return state.metadata is not None and state.metadata.id == tip.metadata.id
