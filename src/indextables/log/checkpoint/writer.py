"""Writing a checkpoint: parts first, each read back and compared, then the file that makes them one, then the hint.

Until the manifest is there nobody sees the parts, so a crash at any point leaves the previous checkpoint in force and some
files that the next cleanup takes away.
"""

from __future__ import annotations

import logging
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import (
    AlreadyExistsError,
    CheckpointError,
    CheckpointValidationError,
    CheckpointWriteError,
    IndexTablesError,
)
from indextables.log.actions import Add, Remove, Skip
from indextables.log.checkpoint.arrange import Arrangement
from indextables.log.checkpoint.gather import batches
from indextables.log.checkpoint.json_form import decode_json, encode_json
from indextables.log.checkpoint.manifest import Manifest, Part, decode_manifest, digest, encode_manifest, facts_of, seal
from indextables.log.checkpoint.parts import ROW_GROUP, Coding, check_part, encode_part, stored_schema, worthwhile
from indextables.log.checkpoint.pointer import Pointer, write_pointer
from indextables.log.layout import json_checkpoint_path, manifest_path, part_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.config import Settings
    from indextables.log.columns import Row
    from indextables.log.snapshot import Snapshot
    from indextables.log.state import LogState
    from indextables.runtime import Runtime
    from indextables.storage.base import Store

_LOG = logging.getLogger(__name__)
_SAMPLE: Final = 5_000
_FEW: Final = 1_000
_PART: Final = 16 << 20  # how large a part is, where there have to be several
_MEMORY: Final = 32 << 20  # what parts that are being written may take together


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointResult:
    """What a checkpoint cost and came to.

    Attributes:
        version: The version that it sums up.
        format: `parquet` or `json`.
        entries: How many actions it holds.
        files: How many active files.
        parts: How many files hold them.
        parts_reused: How many of those were there before.
        bytes: How large it is.
        ratio: How many times larger the same is in memory, or uncompressed for JSON.
        seconds: How long it took.
    """

    version: int
    format: str
    entries: int
    files: int
    parts: int
    parts_reused: int
    bytes: int
    ratio: float
    seconds: float


class CheckpointWriter:
    """Writes checkpoints of one table."""

    def __init__(self, store: Store, settings: Settings, runtime: Runtime) -> None:
        self._store = store
        self._settings = settings
        self._runtime = runtime

    def write(self, snapshot: Snapshot, *, latest: int, previous: Manifest | None = None) -> CheckpointResult:
        """Write the checkpoint of a snapshot, whatever is there under its name.

        Args:
            snapshot: What to write.
            latest: The newest version of the table.
            previous: An earlier checkpoint of the table, whose parts may serve again.

        Raises:
            CheckpointWriteError: It could not be written.
            CheckpointValidationError: It did not read back as it was written; the previous one stays in force.
        """
        started = self._runtime.monotonic()
        state = self._kept(snapshot.state)
        write = self._write_json if self._settings.checkpoint.format == "json" else self._write_parquet
        try:
            pointer, reused, ratio = write(snapshot, state, previous)
            write_pointer(self._store, pointer, latest=latest)
        except CheckpointError:
            raise
        except (IndexTablesError, pa.ArrowException, OSError, MemoryError) as error:
            raise CheckpointWriteError(snapshot.version, path=self._store.url, reason=str(error)) from error
        result = CheckpointResult(
            version=snapshot.version,
            format=str(pointer.format),
            entries=pointer.size or 0,
            files=state.files.num_rows,
            parts=pointer.parts or 0,
            parts_reused=reused,
            bytes=pointer.size_in_bytes or 0,
            ratio=ratio,
            seconds=self._runtime.monotonic() - started,
        )
        _LOG.info(
            "Created checkpoint at version %d with %d entries: %d bytes in %d parts (%d reused), %.1f times smaller, %.0f ms",
            *(result.version, result.entries, result.bytes, result.parts, result.parts_reused, result.ratio),
            result.seconds * 1000,
        )
        return result

    def _kept(self, state: LogState) -> LogState:
        """Return the state without removes that are older than the log is kept; no version that stays needs them."""
        oldest = state.timestamp - self._settings.retention.log_ms
        young = pc.fill_null(pc.greater_equal(state.removes["deletion_timestamp"], oldest), fill_value=True)
        if pc.all(young).as_py() in (True, None):
            return state
        return replace(state, removes=state.removes.filter(young))

    def _write_json(self, snapshot: Snapshot, state: LogState, previous: Manifest | None) -> tuple[Pointer, int, float]:
        del previous
        version, now = state.version, self._runtime.now_ms()
        path = json_checkpoint_path(version)
        compression = self._settings.compression
        codec = compression.codec if self._settings.checkpoint.compression_enabled else "none"
        data, plain = encode_json(
            state, created_time=now, codec=codec, level=compression.gzip_level, path=f"{self._store.url}/{path}"
        )
        back, _ = decode_json(data, version=version, path=path)
        if back.files.num_rows != state.files.num_rows:
            raise CheckpointValidationError(version, path=path, reason="rows are missing")
        self._store.put(path, data)
        self._check_written(path, data, version, lambda found: decode_json(found, version=version, path=path)[1])
        pointer = Pointer(
            version=version,
            format="json",
            size=_entries(state),
            num_files=snapshot.num_files,
            size_in_bytes=len(data),
            parts=1,
            checksum=digest(data),
            created_time=now,
        )
        return pointer, 0, plain / len(data)

    def _write_parquet(
        self, snapshot: Snapshot, state: LogState, previous: Manifest | None
    ) -> tuple[Pointer, int, float]:
        files, reused = self._file_parts(snapshot, previous)
        manifest = Manifest(
            version=state.version,
            size=state.files.num_rows,
            size_in_bytes=0,
            parts=len(files),
            created_time=self._runtime.now_ms(),
            files=files,
            removes=self._small_part(state.version, state.removes, Remove),
            skips=self._small_part(state.version, state.skips, Skip),
            facts=facts_of(state),
        )
        stored = sum(part.bytes for part in manifest.all_parts)
        manifest = msgspec.structs.replace(manifest, size_in_bytes=stored)
        path, data = manifest_path(state.version), encode_manifest(manifest)
        decode_manifest(data, version=state.version, path=path)
        self._store.put(path, data)
        self._check_written(
            path, data, state.version, lambda found: decode_manifest(found, version=state.version, path=path)
        )
        pointer = Pointer(
            version=state.version,
            format="parquet",
            size=_entries(state),
            num_files=snapshot.num_files,
            size_in_bytes=stored + len(data),
            parts=len(files),
            checksum=seal(manifest),
            created_time=manifest.created_time,
        )
        return pointer, reused, state.files.nbytes / max(stored, 1)

    def _check_written(self, path: str, data: bytes, version: int, decode: Callable[[bytes], object]) -> None:
        """Make sure that what makes a checkpoint of the parts is there, ours or that of another writer of the same version."""
        found = self._store.get(path)
        if found == data:
            return
        try:
            whole = decode(found)
        except CheckpointError as error:
            raise CheckpointValidationError(version, path=path, reason="the store holds other bytes") from error
        if not whole:
            raise CheckpointValidationError(version, path=path, reason="other software wrote over it")

    def _file_parts(self, snapshot: Snapshot, previous: Manifest | None) -> tuple[list[Part], int]:
        """Write the parts that hold active files; return all of them, and how many were there before."""
        table = snapshot.files
        if not table.num_rows:
            return [], 0
        arrangement = Arrangement(snapshot)
        schema = stored_schema(table)
        per_row, coding = _estimate(table, schema, self._settings.checkpoint.compression)
        largest = self._settings.checkpoint.max_file_size
        largest = largest if per_row * table.num_rows <= largest else min(largest, _PART)
        slices = arrangement.slices(rows_per_part=max(1, int(largest / per_row)), previous=previous)

        def written(number: int) -> Part:
            piece = slices[number]
            if piece.reused is not None and self._store.exists(piece.reused.path):
                return piece.reused
            name = part_path(snapshot.version, part=number + 1, of=len(slices))
            part = self._put_part(
                name,
                lambda: encode_part(batches(table, piece.rows, size=ROW_GROUP), Add, schema, coding=coding),
                len(piece.rows),
                snapshot.version,
            )
            return msgspec.structs.replace(
                part, first=arrangement.first(piece.rows), partitions=arrangement.bounds(piece.rows)
            )

        workers = min(self._settings.checkpoint.parallelism, max(1, _MEMORY // largest), len(slices))
        if workers == 1:
            parts = [written(number) for number in range(len(slices))]
        else:
            with ThreadPoolExecutor(workers, thread_name_prefix="indextables-checkpoint") as pool:
                parts = list(pool.map(written, range(len(slices))))
        return parts, sum(piece.reused is part for piece, part in zip(slices, parts, strict=True))

    def _small_part(self, version: int, rows: pa.Table, kind: type[Row]) -> Part | None:
        if not rows.num_rows:
            return None
        codec = self._settings.checkpoint.compression
        return self._put_part(
            part_path(version, kind=kind.key),
            lambda: encode_part([rows], kind, stored_schema(rows), coding=Coding(codec)),
            rows.num_rows,
            version,
        )

    def _created(self, path: str, data: bytes) -> bool:
        """Create a part, unless one of that name is there: be it the same, a cleaner may be about to take it for a leftover."""
        if self._store.exists(path):
            return False
        try:
            self._store.put_if_absent(path, data)
        except AlreadyExistsError:
            return False
        return True

    def _put_part(self, path: str, encoded: Callable[[], bytes], rows: int, version: int) -> Part:
        """Write a part under a name that nobody has used before, and read it back."""
        data = encoded()  # made here, so that nobody else holds it when it is let go
        part = Part(path=path, rows=rows, bytes=len(data), sha256=digest(data), crc32=zlib.crc32(data))
        if not self._created(path, data):
            unique = self._runtime.new_id()
            part = msgspec.structs.replace(part, path=f"{path.removesuffix('.parquet')}.{unique}.parquet")
            self._store.put_if_absent(part.path, data)
        del data  # a part is large, and is about to be read back
        try:
            check_part(self._store.get(part.path), part, version=version)
        except CheckpointError as error:
            raise CheckpointValidationError(version, path=part.path, reason=error.reason) from error
        return part


def _estimate(table: pa.Table, schema: pa.Schema, codec: str) -> tuple[float, Coding]:
    """Estimate from rows all over the table how many bytes a row takes in a part, and how its columns are best written."""
    rows = np.unique(np.linspace(0, table.num_rows - 1, min(_SAMPLE, table.num_rows)).astype(np.int64))
    sample = list(batches(table, rows, size=ROW_GROUP))
    # What is best is found by writing the sample three times, which a few rows are not worth.
    coding = worthwhile(sample, Add, schema, codec=codec) if table.num_rows > _FEW else Coding(codec)
    return max(1.0, len(encode_part(sample, Add, schema, coding=coding)) / len(rows)), coding


def _entries(state: LogState) -> int:
    actions = sum(action is not None for action in (state.protocol, state.metadata))
    return int(actions + state.files.num_rows + state.removes.num_rows + state.skips.num_rows)
