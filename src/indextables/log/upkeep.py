"""What a log does for itself after commits: checkpoints when they are due, and cleanup after a checkpoint.

None of it can fail a commit. In the background it happens on a thread of its own, one a table at most; a process that ends
gives it a moment and then leaves it, which costs nothing but the work, since a checkpoint counts only once it is complete.
"""

from __future__ import annotations

import atexit
import logging
import threading
from typing import TYPE_CHECKING, Final

from indextables.errors import CheckpointError, NotFoundError
from indextables.log.checkpoint.writer import CheckpointWriter
from indextables.log.cleanup import Cleaner
from indextables.runtime import ForkSafeLock
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.config import Settings
    from indextables.log.checkpoint.manifest import Manifest
    from indextables.log.checkpoint.writer import CheckpointResult
    from indextables.log.cleanup import CleanupResult
    from indextables.log.loader import Loader
    from indextables.runtime import Runtime
    from indextables.storage.base import Store

_LOG = logging.getLogger(__name__)
_PATIENCE_S: Final = 10.0
_running: dict[str, threading.Thread] = {}
_lock = ForkSafeLock()


class Upkeep:
    """Keeps one log short."""

    def __init__(self, store: Store, loader: Loader, settings: Settings, runtime: Runtime) -> None:
        self._store = store
        self._loader = loader
        self._settings = settings
        self._writer = CheckpointWriter(store, settings, runtime)
        self._cleaner = Cleaner(store, loader.reader.checkpoints, settings, runtime)
        self._last: int | None = None

    def checkpoint(self, version: int | None = None) -> CheckpointResult:
        """Write the checkpoint of a version, the newest one by default, and check it."""
        latest = self._loader.tip().version
        # Else a power cut could take the commit of a writer that died, and leave the checkpoint to stand for another one.
        self._loader.reader.keep(latest)
        return self._written(version)

    def _written(self, version: int | None) -> CheckpointResult:
        with span("indextables.checkpoint", table=self._store.url) as noted:
            snapshot = self._loader.snapshot(version)
            latest = self._loader.tip().version
            result = self._writer.write(snapshot, latest=latest, previous=self._previous(snapshot.version))
            noted.note(version=result.version, files=result.files, bytes=result.bytes)
        finder = self._loader.reader.checkpoints
        finder.forget()
        if snapshot.version == latest:
            self._last = snapshot.version
        return result

    def cleanup(self, *, dry_run: bool = False, progress: Callable[[int, int], None] | None = None) -> CleanupResult:
        """Delete what retention lets go."""
        with span("indextables.cleanup", table=self._store.url, dry_run=dry_run) as noted:
            latest = self._loader.tip().version
            result = self._cleaner.clean(latest, checkpoint_at=self.checkpoint, dry_run=dry_run, progress=progress)
            noted.note(
                version=latest,
                files=result.commits + result.checkpoints + result.leftovers,
                bytes=result.bytes_freed,
            )
        if not dry_run:
            self._loader.forget_lists()
        return result

    def after_commit(self, version: int) -> None:
        """Do what is due after a commit, here or on a thread of its own."""
        if not self._settings.checkpoint.enabled or not self._due(version):
            return
        if self._settings.checkpoint.background:
            self._start(version)
        else:
            self._work(version)

    def _due(self, version: int) -> bool:
        """Tell whether the last checkpoint is far enough away; another process may have written one."""
        interval = self._settings.checkpoint.interval
        if self._last is not None and not self._broken(self._last) and version - self._last < interval:
            return False
        hint = self._loader.reader.checkpoints.hint()
        ours = hint is not None and hint.checksum is not None and hint.version <= version
        self._last = hint.version if hint is not None and ours else 0
        return self._broken(self._last) or version - self._last >= interval

    def _broken(self, version: int) -> bool:
        """Tell whether this process has seen that a checkpoint cannot be used, so that the next one is due at once."""
        return version in self._loader.reader.checkpoints.damaged

    def _work(self, version: int) -> None:
        self._written(version)
        if self._settings.cleanup.enabled:
            self.cleanup()

    def _start(self, version: int) -> None:
        def work() -> None:
            try:
                self._work(version)
            except Exception:  # noqa: BLE001 - the commit stands, whatever this was
                _LOG.warning("The checkpoint of version %d of %s failed", version, self._store.url, exc_info=True)
            finally:
                with _lock:
                    _running.pop(self._store.url, None)

        with _lock:
            known = _running.get(self._store.url)
            if known is not None and known.is_alive():  # a forked process inherits the entry, but not the thread
                return
            thread = threading.Thread(target=work, name="indextables-checkpoint", daemon=True)
            thread.start()
            _running[self._store.url] = thread

    def _previous(self, version: int) -> Manifest | None:
        """Return the manifest of the last checkpoint, if its parts may serve again."""
        finder = self._loader.reader.checkpoints
        hint = finder.hint()
        if hint is None or hint.checksum is None or hint.format != "parquet" or hint.version >= version:
            return None
        if self._broken(hint.version):
            return None
        try:
            return finder.manifest(hint.version)
        except (CheckpointError, NotFoundError):
            return None


def finish_background_work(timeout_s: float = _PATIENCE_S) -> None:
    """Wait for checkpoints that are being written in the background, up to a limit; what is not done then is left."""
    with _lock:
        threads = list(_running.values())
    for thread in threads:
        if thread is not threading.current_thread() and thread.is_alive():
            thread.join(timeout_s)


atexit.register(finish_background_work)
