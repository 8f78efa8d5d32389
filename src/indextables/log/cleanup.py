"""Taking old files of a log away, in an order in which a crash at any point leaves every version that is shown loadable.

First a checkpoint of the oldest version that stays, read back; then the mark that says which version that is; then the
commits below it, the oldest first; last the checkpoints and parts that nobody needs any more.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from indextables.errors import CheckpointError, NotFoundError, StorageError, VersionNotFoundError
from indextables.log.checkpoint.finder import Place
from indextables.log.floor import drop_old_marks, raise_floor, read_floor
from indextables.log.layout import LOG_DIRECTORY, commit_path, commit_version, manifest_version
from indextables.log.retention import (
    NEWEST_CHECKPOINTS,
    SETTLED_MS,
    aged_checkpoints,
    oldest_kept,
    settled_parts,
    sort_files,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from indextables.config import Settings
    from indextables.log.checkpoint.finder import CheckpointFinder
    from indextables.log.retention import LogFiles
    from indextables.runtime import Runtime
    from indextables.storage.base import ObjectMeta, Store

_LOG = logging.getLogger(__name__)
_BATCH: Final = 1_000
_TAIL: Final = 1_000  # how far back a checkpoint beside the commits is looked for


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanupResult:
    """What a cleanup did, or would do.

    Attributes:
        oldest_version: The oldest version that stays.
        commits: How many commits went.
        checkpoints: How many checkpoints went.
        leftovers: How many other files went: parts that no checkpoint uses, and files of writers that died.
        bytes_freed: How large all of them were.
        failures: What could not be deleted, and why.
        seconds: How long it took.
        dry_run: Whether it only looked.
    """

    oldest_version: int
    commits: int
    checkpoints: int
    leftovers: int
    bytes_freed: int
    failures: tuple[str, ...]
    seconds: float
    dry_run: bool


class Cleaner:
    """Cleans one log."""

    def __init__(self, store: Store, finder: CheckpointFinder, settings: Settings, runtime: Runtime) -> None:
        self._store = store
        self._finder = finder
        self._settings = settings
        self._runtime = runtime

    def clean(
        self,
        latest: int,
        *,
        checkpoint_at: Callable[[int], object],
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> CleanupResult:
        """Delete what retention lets go.

        Args:
            latest: The current version.
            checkpoint_at: Writes the checkpoint of a version.
            dry_run: Only look.
            progress: Called with how many files are deleted and how many there are to delete.

        Raises:
            CheckpointError: The oldest version that stays has no checkpoint, and none could be written; nothing was deleted.
            StorageError: Something could not be deleted, and the settings say that this is an error.
        """
        started = self._runtime.monotonic()
        files = sort_files(self._listing(latest))
        # The store's clock shows at least the time of its newest file. The lesser of two clocks deletes nothing early.
        now = min(self._runtime.now_ms(), files.newest_ms)
        valid = _Valid(self._finder, files, latest)
        floor = oldest_kept(files, now_ms=now, latest=latest, checkpoint=valid.newest_claimed, settings=self._settings)
        if floor > files.oldest:
            floor = oldest_kept(files, now_ms=now, latest=latest, checkpoint=valid.newest(), settings=self._settings)
        gone = files.versions < floor
        if gone.any() and dry_run:
            valid.assume(floor)
        elif gone.any():
            if not valid.has(floor):
                try:
                    checkpoint_at(floor)
                except VersionNotFoundError:
                    if read_floor(self._store) <= floor:
                        raise
                    # Another cleanup went further meanwhile.
                    return self.clean(latest, checkpoint_at=checkpoint_at, progress=progress)
                files = sort_files(self._listing(latest))
                valid = _Valid(self._finder, files, latest)
                if not valid.has(floor):
                    raise CheckpointError(floor, reason="it is not there after it was written; nothing was cleaned up")
            valid.keep(floor)
            raise_floor(self._store, floor)
            gone = files.versions < floor
        expired = self._expired(files, valid, floor, now)
        staged = self._store.list_staged(LOG_DIRECTORY)
        unused = self._unused(files, expired, now)
        unused += [meta for meta in staged if now - meta.modified_ms > SETTLED_MS]
        doomed = [commit_path(int(version)) for version in files.versions[gone]]
        doomed += [meta.path for meta in [*expired, *unused]]
        failures = [] if dry_run else self._delete(doomed, progress)
        if (gone.any() or len(files.marks) > 1) and not dry_run and not failures:
            drop_old_marks(self._store, below=read_floor(self._store))
        result = CleanupResult(
            oldest_version=floor,
            commits=int(gone.sum()),
            checkpoints=len(expired),
            leftovers=len(unused),
            bytes_freed=int(files.sizes[gone].sum()) + sum(meta.size for meta in [*expired, *unused]),
            failures=tuple(failures),
            seconds=self._runtime.monotonic() - started,
            dry_run=dry_run,
        )
        _LOG.log(
            logging.INFO if doomed else logging.DEBUG,
            "%s %d transaction files before version %d, %d checkpoints and %d leftovers, %d bytes",
            "Would clean up" if dry_run else "Cleaned up",
            *(result.commits, floor, result.checkpoints, result.leftovers, result.bytes_freed),
        )
        return result

    def _listing(self, latest: int) -> Iterator[ObjectMeta]:
        """Yield the files of the log, without the many commits in the middle that are too young to go."""
        oldest_to_stay = self._runtime.now_ms() - self._settings.retention.log_ms
        tail = commit_path(max(0, latest - _TAIL))
        for meta in self._store.list_from(LOG_DIRECTORY):
            yield meta
            if meta.modified_ms >= oldest_to_stay and meta.path < tail and commit_version(meta.path) is not None:
                break
        else:
            return
        yield from self._store.list_from(LOG_DIRECTORY, tail)

    def _expired(self, files: LogFiles, valid: _Valid, floor: int, now: int) -> list[ObjectMeta]:
        """Return the checkpoints that are old and that no version which stays needs."""
        aged = aged_checkpoints(files, now_ms=now, settings=self._settings)
        if not aged:
            return []
        needed = {valid.base(version) for version in (floor, max(floor, files.tail)) if version > 0}
        if None in needed:
            return []  # commits are gone and no checkpoint of ours stands for them, so one of other software has to
        kept = {*valid.newest_few(NEWEST_CHECKPOINTS), *needed}
        return [meta for version, meta in aged if version not in kept]

    def _unused(self, files: LogFiles, expired: Sequence[ObjectMeta], now: int) -> list[ObjectMeta]:
        """Return the parts that no checkpoint which stays consists of."""
        going = {meta.path for meta in expired}
        staying = [
            version
            for version, meta in files.checkpoints
            if meta.path not in going and manifest_version(meta.path) is not None
        ]
        doubtful = settled_parts(files, now_ms=now)
        if not doubtful:
            return []
        used: set[str] = set()
        for version in staying:
            try:
                used.update(part.path for part in self._finder.manifest(version).all_parts)
            except (CheckpointError, NotFoundError):
                return []  # what it consists of is not known: one that is listed and not found may be there after all
        return [meta for meta in doubtful if meta.path not in used]

    def _delete(self, paths: Sequence[str], progress: Callable[[int, int], None] | None) -> list[str]:
        failures: list[str] = []

        def delete(path: str) -> None:
            try:
                self._store.delete(path)
            except StorageError as error:
                if self._settings.cleanup.failure_policy == "fail":
                    raise
                failures.append(f"{path}: {error}")

        workers = self._settings.checkpoint.parallelism
        with ThreadPoolExecutor(workers, thread_name_prefix="indextables-cleanup") as pool:
            each = pool.map if workers > 1 else map
            for start in range(0, len(paths), _BATCH):
                batch = paths[start : start + _BATCH]
                for _ in each(delete, batch):
                    pass
                if progress is not None:
                    progress(min(start + _BATCH, len(paths)), len(paths))
        for failure in failures:
            _LOG.warning("%s: cleanup could not delete %s", self._store.url, failure)
        return failures


class _Valid:
    """Which checkpoints are ours and whole; each is read at most once, and only if somebody asks."""

    def __init__(self, finder: CheckpointFinder, files: LogFiles, latest: int) -> None:
        self._finder = finder
        places = {
            Place(version=version, parquet=manifest_version(meta.path) is not None)
            for version, meta in files.checkpoints
            if version <= latest
        }
        self._places = sorted(places, reverse=True)
        self._known: dict[Place, bool] = {}

    @property
    def newest_claimed(self) -> int:
        """The newest version that seems to have a checkpoint; -1 for none."""
        return self._places[0].version if self._places else -1

    def newest(self) -> int:
        """Return the newest version that has one; -1 for none."""
        return max(self.newest_few(1), default=-1)

    def newest_few(self, count: int) -> list[int]:
        """Return the newest versions that have one."""
        found: list[int] = []
        for place in self._places:
            if len(found) == count:
                break
            if place.version not in found and self._check(place):
                found.append(place.version)
        return found

    def has(self, version: int) -> bool:
        """Tell whether a version has one."""
        return any(True for _ in self._of(version))

    def keep(self, version: int) -> None:
        """Make sure that those of a version stay, although whoever wrote them may have died before they were synced."""
        for place in self._of(version):
            self._finder.keep(place)

    def assume(self, version: int) -> None:
        """Go on as if a version had one."""
        place = Place(version=version, parquet=True)
        self._places = sorted({*self._places, place}, reverse=True)
        self._known[place] = True

    def base(self, version: int) -> int | None:
        """Return the version of the newest one that a version can be loaded from."""
        return next((place.version for place in self._places if place.version <= version and self._check(place)), None)

    def _of(self, version: int) -> Iterator[Place]:
        return (place for place in self._places if place.version == version and self._check(place))

    def _check(self, place: Place) -> bool:
        if place not in self._known:
            self._known[place] = self._finder.verified(place)
        return self._known[place]
