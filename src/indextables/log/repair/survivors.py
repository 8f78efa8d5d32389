"""What a damaged log still says: the best checkpoint, and the good lines of every commit behind it.

A checkpoint of ours that was verified is as good as the commits that it sums up. One of other software can lack files, so it only
stands in for commits that are lost, and is compared with those that are not.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import LogCorruptionError, NotFoundError, UnsafePathError
from indextables.log.bulk_decode import decode_commits
from indextables.log.checkpoint.finder import CheckpointFinder
from indextables.log.layout import commit_path
from indextables.log.lines import format_lines
from indextables.log.repair.salvage import FILLER, REPAIR, Salvaged, check_commit, salvage
from indextables.log.repair.steady import readable
from indextables.log.safety import check_paths
from indextables.log.state import apply_commits, commit_infos

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.config import Settings
    from indextables.log.columns import ActionColumns
    from indextables.log.repair.inventory import Checkpoint, Inventory
    from indextables.log.state import LogState
    from indextables.storage.base import Store

_BLOCK: Final = 1_000
_FAR: Final = 10_000  # how many commits a checkpoint may be ahead of the newest one to be believed


@dataclass(frozen=True, kw_only=True, eq=False)
class Survivors:
    """What is left.

    Attributes:
        state: What it adds up to; None where nothing is left.
        damaged: The commits that are not whole, or stand in for lost ones.
        base: The checkpoint that it starts from, if any.
        doubtful: Files that are kept although a lost commit may have removed them.
        left_out: Files that good lines name and a checkpoint of other software does not, and that are believed to be removed.
        completed: How many files a checkpoint lacked, and got from good lines.
        contradicts: A checkpoint of ours that is not what the commits add up to, all of which are there.
    """

    state: LogState | None
    damaged: dict[int, Salvaged] = field(default_factory=dict)
    base: Checkpoint | None = None
    doubtful: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    completed: int = 0
    contradicts: Checkpoint | None = None


def find_survivors(store: Store, settings: Settings, inventory: Inventory, *, restart: int | None = None) -> Survivors:
    """Return what is left of a log.

    Args:
        store: Where the table is.
        settings: How many files are read at once.
        inventory: What is there.
        restart: A version whose commit holds the whole table, so that nothing before it matters.
    """
    reader = _Reader(store, settings)
    commits = [version for version in inventory.commits if restart is None or version >= restart]
    limit = inventory.newest + _FAR if inventory.commits else 2**63
    within = [c for c in inventory.checkpoints if c.usable and (restart or 0) <= c.place.version <= limit]
    ours = next((found for found in within if found.ours), None)
    foreign = next((found for found in within if not found.ours), None)
    base = ours or foreign
    at = base.place.version if base else -1
    low, high = [v for v in commits if v <= at], [v for v in commits if v > at]
    joined: _Joined | None = None
    if ours is not None and at > inventory.newest:
        joined = _complete(reader.load(ours), reader.replay(None, low, last=inventory.newest))
        state = joined.state
    elif ours is not None:
        joined = _compare(
            reader.load(ours),
            reader.replay(None, low, last=at),
            last_bad=max((version for version in {*inventory.missing, *reader.damaged} if version <= at), default=-1),
            whole=inventory.first == 0 or restart is not None,
        )
        state, base = joined.state, None if joined.contradicts else base
    elif foreign is None:
        state = None
    else:
        state = reader.replay(None, low, last=at)
        bad = {version for version in {*inventory.missing, *reader.damaged} if version <= at}
        ahead = at > inventory.newest
        if inventory.first > 0 or bad or ahead:
            last_bad = at if ahead else max(bad, default=-1)
            joined = _join(state, reader.load(foreign), last_bad=last_bad, ahead=ahead)
            state = joined.state
        else:
            base = None
    state = reader.replay(state, high, last=inventory.newest)
    return Survivors(
        state=state,
        damaged=reader.damaged,
        base=base,
        doubtful=joined.doubtful if joined else (),
        left_out=joined.left_out if joined else (),
        completed=joined.completed if joined else 0,
        contradicts=ours if joined and joined.contradicts else None,
    )


class _Reader:
    """Reads commits, whatever state they are in."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self.damaged: dict[int, Salvaged] = {}

    def load(self, checkpoint: Checkpoint) -> LogState:
        return CheckpointFinder(self._store, self._settings).load(checkpoint.place).state

    def replay(self, state: LogState | None, versions: Sequence[int], *, last: int) -> LogState | None:
        """Return the state after the good lines of some commits, up to a version that may be missing itself."""
        for start in range(0, len(versions), _BLOCK):
            block = versions[start : start + _BLOCK]
            final = last if start + _BLOCK >= len(versions) else block[-1]
            first = block[0] if state is None else state.version + 1
            state = apply_commits(state, self._columns(block), first=first, last=max(final, block[-1]))
        return state

    def _columns(self, versions: Sequence[int]) -> ActionColumns:
        workers = max(1, min(self._settings.checkpoint.parallelism, len(versions)))
        if workers == 1:
            return self._decoded([(version, self._data(version)) for version in versions])
        with ThreadPoolExecutor(workers, thread_name_prefix="indextables-repair") as pool:
            return self._decoded(list(zip(versions, pool.map(self._data, versions), strict=True)))

    def _data(self, version: int) -> bytes:
        try:
            return self._store.get(commit_path(version))
        except NotFoundError:
            return b""

    def _decoded(self, files: list[tuple[int, bytes]]) -> ActionColumns:
        try:
            columns = decode_commits(files, path_of=self._path)
            for rows in (columns.adds, columns.removes, columns.skips):
                check_paths(rows["path"])
        except (LogCorruptionError, UnsafePathError):
            columns = decode_commits(self._salvaged(files), path_of=self._path)
        for version, info in commit_infos(columns).items():
            if info.operation == REPAIR and info.user == FILLER:
                self.damaged[version] = Salvaged(actions=[], reason=FILLER, filler=True)
        return columns

    def _salvaged(self, files: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Return the commits with nothing but good lines in them; what seems damaged is asked for again before it is believed."""
        kept = []
        for version, seen in files:
            path, data = self._path(version), seen
            if not _is_whole(data, path):
                data = readable(self._store, commit_path(version), partial(check_commit, path=path)) or b""
            if _is_whole(data, path):
                kept.append((version, data))
                continue
            self.damaged[version] = found = salvage(data, version=version, path=path)
            if found.actions:
                kept.append((version, format_lines(found.actions)))
        return kept

    def _path(self, version: int) -> str:
        return f"{self._store.url}/{commit_path(version)}"


def _is_whole(data: bytes, path: str) -> bool:
    try:
        check_commit(data, path=path)
    except (LogCorruptionError, UnsafePathError):
        return False
    return True


class _Joined(NamedTuple):
    state: LogState
    doubtful: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    completed: int = 0
    contradicts: bool = False


def _compare(checkpoint: LogState, replayed: LogState | None, *, last_bad: int, whole: bool) -> _Joined:
    """Return a checkpoint of ours, corrected by commits that contradict it.

    After a loss of the newest commits others may have taken their versions. A checkpoint of the lost ones then sums up
    something else than the commits under the same numbers. Where these are whole, they are right. Where they are not, what was
    added after the last damage is in the table, whether or not the checkpoint knows it.
    """
    if replayed is None or not (whole or last_bad >= 0):
        return _Joined(checkpoint)
    mine, theirs = replayed.files, checkpoint.files
    only_mine = mine.filter(pc.invert(pc.is_in(mine["path"], value_set=theirs["path"].combine_chunks())))
    if last_bad < 0:
        only_theirs = theirs.filter(pc.invert(pc.is_in(theirs["path"], value_set=mine["path"].combine_chunks())))
        if not only_mine.num_rows and not only_theirs.num_rows:
            return _Joined(checkpoint)
        names = tuple(sorted(only_theirs["path"].to_pylist()))
        return _Joined(replayed, left_out=names, contradicts=True)
    later = only_mine.filter(pc.greater(only_mine["version"], last_bad))
    return _with(checkpoint, later) if later.num_rows else _Joined(checkpoint)


def _with(checkpoint: LogState, more: pa.Table) -> _Joined:
    files = pa.concat_tables([checkpoint.files, more], promote_options="permissive")
    names = tuple(sorted(more["path"].to_pylist()))
    return _Joined(replace(checkpoint, files=files), doubtful=names, completed=more.num_rows)


def _complete(checkpoint: LogState, replayed: LogState | None) -> _Joined:
    """Return a checkpoint of ours that is ahead of the commits, with what was committed after the loss of those it is about.

    It knows every file that was ever added before it, as active or as removed. What it does not know came later.
    """
    if replayed is None:
        return _Joined(checkpoint)
    known = pa.chunked_array([*checkpoint.files["path"].chunks, *checkpoint.removes["path"].chunks], pa.string())
    unknown = pc.invert(pc.is_in(replayed.files["path"], value_set=known.combine_chunks()))
    later = replayed.files.filter(unknown)
    return _with(checkpoint, later) if later.num_rows else _Joined(checkpoint)


def _join(replayed: LogState | None, foreign: LogState, *, last_bad: int, ahead: bool) -> _Joined:
    """Return a checkpoint of other software, completed by what good lines say, and the files that are in doubt.

    A file that was added after the last damage, and that no line removes, is in the table for certain. A checkpoint without it
    is one of those that lack files. So may be one that knows nothing beyond the lines. Then every file that only the lines
    know is kept; else the checkpoint saw what lost commits did, and those files count as removed.
    """
    if replayed is None:
        return _Joined(foreign)
    known = foreign.files["path"].combine_chunks()
    more = replayed.files.filter(pc.invert(pc.is_in(replayed.files["path"], value_set=known)))
    certain = pc.greater(more["version"], last_bad)
    knows_more = pc.any(pc.invert(pc.is_in(known, value_set=replayed.files["path"].combine_chunks()))).as_py()
    if knows_more and not ahead and not pc.any(certain).as_py():
        return _Joined(foreign, left_out=tuple(sorted(more["path"].to_pylist())))
    files = pa.concat_tables([foreign.files, more], promote_options="permissive")
    doubtful = tuple(sorted(more.filter(pc.invert(certain))["path"].to_pylist()))
    return _Joined(replace(foreign, files=files), doubtful=doubtful, completed=more.num_rows)
