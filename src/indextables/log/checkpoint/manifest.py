"""The manifest of a checkpoint in Parquet: which files are its parts, and how to tell that they are whole.

It is written last, so a checkpoint exists when its manifest does, and it names its parts, so that parts of earlier checkpoints
can serve again. Everything small is in it: protocol, metadata, batches of applications, the times of the versions.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa

from indextables.errors import CheckpointCorruptionError, LogCorruptionError
from indextables.log.actions import MetaData, Protocol
from indextables.log.lines import format_lines, parse_lines
from indextables.log.state import Batch, LogState

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST_TIMES: Final = 1 << 26  # versions: two years of a commit a second

PartitionBounds = dict[str, tuple[str | None, str | None, bool]]
"""The least and the greatest value of a partition column as text, and whether null occurs too."""


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One file of a checkpoint.

    Attributes:
        path: Where, relative to the table.
        rows: How many rows it has.
        bytes: How large it is.
        sha256: Of its bytes.
        crc32: Of its bytes too, for readers: where a processor has no instructions for the other, that takes longer than reading.
        first: The key of its first row, by which the parts are sorted: the texts of the partition values, then the path.
        partitions: What partition values occur in it.
    """

    path: str
    rows: int
    bytes: int
    sha256: str
    crc32: int | None = None
    first: tuple[str | None, ...] = ()
    partitions: PartitionBounds = {}


class Facts(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a checkpoint knows beside files: everything in a state that is small.

    Attributes:
        actions: Protocol and metadata, as they stand in the log.
        protocol_version: The version that holds the protocol.
        metadata_version: The version that holds the metadata.
        transactions: The last batch of each application: number, version, time, commit id.
        first_version: The version that the first time belongs to.
        times: When the versions were committed: differences of milliseconds, 64 bits each, in zstd, in base64.
    """

    actions: list[msgspec.Raw]
    protocol_version: int = -1
    metadata_version: int = -1
    transactions: dict[str, Batch] = {}
    first_version: int = 0
    times: str = ""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A checkpoint.

    Attributes:
        version: The last commit that it sums up.
        size: How many files the table has.
        size_in_bytes: How large the parts are together.
        parts: How many parts hold active files.
        created_time: When it was written.
        files: The parts that hold the active files, in the order of their keys.
        removes: The part that holds removed files, if any.
        skips: The part that holds skipped files, if any.
        facts: Everything small.
        checksum: Of everything else.
    """

    version: int
    size: int
    size_in_bytes: int
    parts: int
    created_time: int
    files: list[Part]
    removes: Part | None = None
    skips: Part | None = None
    facts: Facts
    checksum: str = ""

    @property
    def all_parts(self) -> list[Part]:
        """All parts, whatever they hold."""
        return [*self.files, *(part for part in (self.removes, self.skips) if part is not None)]


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the manifest's bytes, sealed by a checksum."""
    return msgspec.json.encode(msgspec.structs.replace(manifest, checksum=seal(manifest)))


def decode_manifest(data: bytes, *, version: int, path: str) -> Manifest:
    """Return the manifest in these bytes.

    Raises:
        CheckpointCorruptionError: They are damaged, or belong to another version.
    """
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise CheckpointCorruptionError(version, path=path, reason="it is not a manifest") from error
    if manifest.version != version:
        raise CheckpointCorruptionError(version, path=path, reason=f"it says that it is of version {manifest.version}")
    if manifest.checksum != seal(manifest):
        raise CheckpointCorruptionError(version, path=path, reason="its checksum does not match")
    return manifest


def seal(manifest: Manifest) -> str:
    """Return the checksum of a manifest."""
    return digest(msgspec.json.encode(msgspec.structs.replace(manifest, checksum="")))


def digest(data: bytes | memoryview) -> str:
    """Return the checksum of a part."""
    return hashlib.sha256(data).hexdigest()


def facts_of(state: LogState) -> Facts:
    """Return what is small in a state."""
    actions = [action for action in (state.protocol, state.metadata) if action is not None]
    deltas = np.diff(state.timestamps, prepend=0).astype("<i8").tobytes()
    return Facts(
        actions=[msgspec.Raw(line) for line in format_lines(actions).splitlines()],
        protocol_version=state.protocol_version,
        metadata_version=state.metadata_version,
        transactions=dict(state.transactions),
        first_version=state.first_version,
        times=base64.b64encode(pa.compress(deltas, codec="zstd", asbytes=True)).decode(),
    )


def state_from(
    facts: Facts, *, version: int, path: str, files: pa.Table, removes: pa.Table, skips: pa.Table
) -> LogState:
    """Return the state that facts and rows make up.

    Raises:
        CheckpointCorruptionError: The facts do not fit together.
    """
    protocol, metadata = actions_of(facts, version=version, path=path)
    try:
        times = _times(facts.times, version - facts.first_version + 1)
    except (binascii.Error, pa.ArrowException, OSError, ValueError) as error:
        raise CheckpointCorruptionError(version, path=path, reason="its times cannot be read") from error
    if len(times) != version - facts.first_version + 1:
        raise CheckpointCorruptionError(version, path=path, reason="its times do not fit its versions")
    return LogState(
        version=version,
        protocol=protocol,
        protocol_version=facts.protocol_version,
        metadata=metadata,
        metadata_version=facts.metadata_version,
        files=files,
        removes=removes,
        skips=skips,
        transactions=dict(facts.transactions),
        first_version=facts.first_version,
        timestamps=times,
    )


def actions_of(facts: Facts, *, version: int, path: str) -> tuple[Protocol | None, MetaData | None]:
    """Return the protocol and the metadata in facts.

    Raises:
        CheckpointCorruptionError: They are not such actions.
    """
    try:
        actions = parse_lines(b"\n".join(bytes(raw) for raw in facts.actions), path=path) if facts.actions else []
    except LogCorruptionError as error:
        raise CheckpointCorruptionError(version, path=path, reason="it does not say what the table is") from error
    protocol = next((action for action in actions if isinstance(action, Protocol)), None)
    return protocol, next((action for action in actions if isinstance(action, MetaData)), None)


def _times(text: str, count: int) -> npt.NDArray[np.int64]:
    if not 0 <= count <= _MOST_TIMES:
        raise ValueError(count)
    data = base64.b64decode(text, validate=True)
    # As much as is asked for is allocated at once, and a frame of a few bytes can hold any amount: one byte more shows that it does.
    deltas = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read(8 * count + 1)
    return np.cumsum(np.frombuffer(deltas, "<i8"), dtype=np.int64)
