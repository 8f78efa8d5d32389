"""From a log to the newest checkpoint that can be used: the hint, then the listing, then an older one, then none.

Each step down says once, in a warning, what was wrong. Checkpoints that somebody else wrote can be incomplete, and stand at
the very end, for logs whose early commits are gone.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.errors import AlreadyExistsError, CheckpointError, NotFoundError, UnsafePathError
from indextables.log.actions import Add, Remove, Skip
from indextables.log.checkpoint.head import Head, head_of
from indextables.log.checkpoint.json_form import decode_json
from indextables.log.checkpoint.manifest import actions_of, decode_manifest, state_from
from indextables.log.checkpoint.parts import check_part, decode_part, no_rows
from indextables.log.checkpoint.pointer import read_pointer
from indextables.log.layout import (
    LOG_DIRECTORY,
    POINTER,
    json_checkpoint_path,
    json_checkpoint_version,
    manifest_path,
    manifest_version,
)
from indextables.log.safety import check_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from indextables.config import Settings
    from indextables.log.checkpoint.manifest import Manifest, Part
    from indextables.log.checkpoint.pointer import Pointer
    from indextables.log.columns import Row
    from indextables.log.state import LogState
    from indextables.storage.base import Store

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, order=True)
class Place:
    """A checkpoint that seems to be there: its version, and in which form."""

    version: int
    parquet: bool

    @property
    def path(self) -> str:
        """The file that makes it a checkpoint."""
        return manifest_path(self.version) if self.parquet else json_checkpoint_path(self.version)


@dataclass(frozen=True, kw_only=True, eq=False)
class Loaded:
    """A checkpoint that was read.

    Attributes:
        state: What it holds.
        ours: Whether it carries a checksum of ours.
        manifest: Which parts it consists of, if it is in Parquet.
    """

    state: LogState
    ours: bool
    manifest: Manifest | None = None


class CheckpointFinder:
    """Reads the checkpoints of one log.

    Attributes:
        damaged: The versions whose checkpoints could not be used.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._warned: set[tuple[Place, str]] = set()
        self.damaged: set[int] = set()
        self._hint: Pointer | None = None
        self._manifest: Manifest | None = None

    def hint(self) -> Pointer | None:
        """Return what the pointer says, and remember it; where checkpoints are switched off nobody asks it."""
        self._hint = read_pointer(self._store) if self._settings.checkpoint.enabled else None
        return self._hint

    def forget(self) -> None:
        """Forget what was read."""
        self._hint = self._manifest = None

    def places(self) -> list[Place]:
        """Return the checkpoints that a listing shows, newest first, Parquet before JSON."""
        found = set()
        for meta in self._store.list_from(LOG_DIRECTORY):
            if (version := json_checkpoint_version(meta.path)) is not None:
                found.add(Place(version=version, parquet=False))
            elif (version := manifest_version(meta.path)) is not None:
                found.add(Place(version=version, parquet=True))
        return sorted(found, reverse=True)

    def newest(self, at_most: int, *, ours: bool = True) -> Loaded | None:
        """Return the newest checkpoint of a version up to `at_most` that can be read.

        Args:
            at_most: The version that is wanted.
            ours: Take only those that carry a checksum of ours; else only others.
        """
        hinted = self._hinted(at_most) if ours else None
        if hinted is not None and (loaded := self._try(hinted, ours=True)) is not None:
            return loaded
        for place in self.places():
            if place.version <= at_most and place != hinted and (loaded := self._try(place, ours=ours)) is not None:
                return loaded
        return None

    def newest_manifest(self, at_most: int) -> Manifest | None:
        """Return the manifest of the checkpoint that the pointer names, if it is in Parquet and can be read."""
        hinted = self._hinted(at_most)
        if hinted is None or not hinted.parquet:
            return None
        try:
            return self.manifest(hinted.version)
        except (CheckpointError, NotFoundError) as error:
            self._warn(hinted, error)
            return None

    def ahead_of(self, version: int, *, table: str) -> int | None:
        """Return the version of a checkpoint of ours that the pointer names and that sums up later commits than there are."""
        hint = self._hint
        if hint is None or hint.checksum is None or hint.version <= version or hint.format == "json":
            return None
        try:
            _, metadata = actions_of(self.manifest(hint.version).facts, version=hint.version, path=POINTER)
        except (CheckpointError, NotFoundError):
            return None  # a hint that leads nowhere is nothing unusual
        return hint.version if metadata is not None and metadata.id == table else None

    def _hinted(self, at_most: int) -> Place | None:
        """Return the checkpoint that the pointer names, if it was ours and is not too new."""
        hint = self._hint
        if hint is None or hint.checksum is None or hint.version > at_most:
            return None
        return Place(version=hint.version, parquet=hint.format != "json")

    def head(self, at_most: int) -> Head | None:
        """Return what the newest usable checkpoint says of the table, without reading its files where that is possible."""
        hinted, foreign = self._hinted(at_most), None
        for place in chain([hinted] if hinted else [], _lazily(self.places)):
            if place.version > at_most:
                continue
            try:
                if not place.parquet:
                    loaded = self.load(place)
                    if loaded.ours:
                        return head_of(loaded.state)
                    foreign = foreign or head_of(loaded.state)
                    continue
                manifest = self.manifest(place.version)
                protocol, metadata = actions_of(manifest.facts, version=place.version, path=place.path)
            except (CheckpointError, NotFoundError) as error:
                self._warn(place, error)
                continue
            return Head(
                version=place.version,
                protocol=protocol,
                protocol_version=manifest.facts.protocol_version,
                metadata=metadata,
                metadata_version=manifest.facts.metadata_version,
            )
        return foreign

    def manifest(self, version: int) -> Manifest:
        """Return the manifest of a checkpoint.

        Raises:
            NotFoundError: There is none.
            CheckpointCorruptionError: It is damaged.
        """
        known = self._manifest
        if known is None or known.version != version:
            path = manifest_path(version)
            known = decode_manifest(self._store.get(path), version=version, path=f"{self._store.url}/{path}")
            self._manifest = known
        return known

    def load(self, place: Place) -> Loaded:
        """Return a checkpoint, every part checked.

        Raises:
            NotFoundError: A file of it is missing.
            CheckpointCorruptionError: It is damaged.
        """
        if not place.parquet:
            path = f"{self._store.url}/{place.path}"
            state, ours = decode_json(self._store.get(place.path), version=place.version, path=path)
            return Loaded(state=state, ours=ours)
        manifest = self.manifest(place.version)
        return Loaded(state=self.rows(manifest, manifest.files), ours=True, manifest=manifest)

    def verified(self, place: Place) -> bool:
        """Tell whether a checkpoint is ours and whole, by its checksums, without building what it holds."""
        try:
            if not place.parquet:
                return self.load(place).ours
            self._manifest = None
            for part in self.manifest(place.version).all_parts:
                check_part(self._store.get(part.path), part, version=place.version)
        except (CheckpointError, NotFoundError, UnsafePathError) as error:
            self._warn(place, error)
            return False
        return True

    def keep(self, place: Place) -> None:
        """Make sure that a checkpoint which is there stays there: asked to create it again, a store that could lose it syncs.

        That goes for the whole directory, and so for the parts, which were synced themselves before they had a name.
        """
        with suppress(AlreadyExistsError):  # it was written anew in between, and is as good
            self._store.put_if_absent(place.path, self._store.get(place.path))

    def rows(self, manifest: Manifest, parts: Sequence[Part]) -> LogState:
        """Return the state of a checkpoint, as far as some of its parts hold it."""
        read = self._reader(manifest.version)
        wanted = [
            *((part, Add) for part in parts),
            *((part, kind) for part, kind in ((manifest.removes, Remove), (manifest.skips, Skip)) if part is not None),
        ]
        workers = min(len(wanted), self._settings.checkpoint.parallelism)
        if workers > 1:
            with ThreadPoolExecutor(workers, thread_name_prefix="indextables-checkpoint") as pool:
                tables = list(pool.map(lambda entry: read(*entry), wanted))
        else:
            tables = [read(*entry) for entry in wanted]
        files = tables[: len(parts)]
        small = dict(zip((kind for _, kind in wanted[len(parts) :]), tables[len(parts) :], strict=True))
        return state_from(
            manifest.facts,
            version=manifest.version,
            path=manifest_path(manifest.version),
            files=pa.concat_tables(files, promote_options="permissive") if files else no_rows(Add),
            removes=small.get(Remove, no_rows(Remove)),
            skips=small.get(Skip, no_rows(Skip)),
        )

    def _reader(self, version: int) -> Callable[[Part, type[Row]], pa.Table]:
        def read(part: Part, kind: type[Row]) -> pa.Table:
            rows = decode_part(self._store.get(part.path), part, kind, version=version)
            check_paths(rows["path"])
            return rows

        return read

    def _try(self, place: Place, *, ours: bool) -> Loaded | None:
        if place.parquet and not ours:
            return None
        try:
            loaded = self.load(place)
        except (CheckpointError, NotFoundError, UnsafePathError) as error:
            self._warn(place, error)
            return None
        return loaded if loaded.ours == ours else None

    def _warn(self, place: Place, error: Exception) -> None:
        self._manifest = None
        self.damaged.add(place.version)
        seen = (place, str(error))
        if seen not in self._warned:
            self._warned.add(seen)
            _LOG.warning("The checkpoint %s/%s is passed over: %s", self._store.url, place.path, error)


def _lazily(places: Callable[[], list[Place]]) -> Iterator[Place]:
    """List only when somebody looks beyond the hint."""
    yield from places()
