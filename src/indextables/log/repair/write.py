"""What survives as commits again, and the proof that both readers see in them what was meant, before anybody relies on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from indextables.config import Settings
from indextables.errors import AlreadyExistsError, LogCorruptionError, NotFoundError, TableExistsError
from indextables.log.actions import Remove, Skip, encode_action
from indextables.log.bulk_encode import encode_adds, encode_objects
from indextables.log.codec import MAX_FILE_BYTES, encode
from indextables.log.commit_info import COMMIT_TAG, CommitInfo
from indextables.log.layout import LOG_DIRECTORY, commit_path
from indextables.log.log import TransactionLog
from indextables.log.protocol import LEGACY
from indextables.log.repair.salvage import REPAIR
from indextables.log.restore import without_facts
from indextables.log.skips import readable
from indextables.storage.base import ObjectMeta, Store
from indextables.storage.probe import probe_conditional_put

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from indextables.log.actions import MetaData
    from indextables.log.columns import Row
    from indextables.log.state import LogState
    from indextables.runtime import Runtime

_CODEC: Final = "gzip"
_LEVEL: Final = 6
_ROWS: Final = 50_000
_PLAIN: Final = "spark.indextables.transaction.useOptimized"


def compress(lines: bytes) -> bytes:
    """Return the bytes of a repaired commit, which is always compressed, whatever the settings say."""
    return encode(lines, codec=_CODEC, level=_LEVEL)


def head_lines(state: LogState, info: CommitInfo) -> bytes:
    """Return the lines that say what the table is, with the facts about the commit."""
    assert state.metadata is not None  # noqa: S101 - whoever repairs has made sure of it
    return encode_action(state.protocol or LEGACY) + b"\n" + encode_action(stamped(state.metadata, info)) + b"\n"


def stamped(metadata: MetaData, info: CommitInfo) -> MetaData:
    """Return metadata that carries the facts about its commit."""
    properties = {**(metadata.configuration or {}), COMMIT_TAG: msgspec.json.encode(info).decode()}
    return msgspec.structs.replace(metadata, configuration=properties)


def body_lines(state: LogState) -> Iterator[bytes]:
    """Yield the lines of everything else, in pieces: removed files, files, and skips, which a later add would end."""
    yield from _lines(without_facts(state.removes), Remove)
    files = without_facts(state.files)
    for start in range(0, files.num_rows, _ROWS):
        yield encode_adds(files.slice(start, _ROWS))
    yield from _lines(readable(state.skips), Skip)


def _lines(rows: object, kind: type[Row]) -> Iterator[bytes]:
    before = f'{{"{kind.key}":'.encode()
    for piece in encode_objects(rows, kind):
        yield b"".join(before + text + b"}\n" for text in piece.split(b",\n")[:-1])


def whole_commit(state: LogState, info: CommitInfo) -> bytes | None:
    """Return the lines of one commit that holds the whole table; None where it is more than one file may hold."""
    pieces, size = [head_lines(state, info)], 0
    for piece in body_lines(state):
        size += len(piece)
        if size > MAX_FILE_BYTES - len(pieces[0]):
            return None
        pieces.append(piece)
    return b"".join(pieces)


def state_at(state: LogState, info: CommitInfo) -> LogState:
    """Return the same state as that of another version, which the log begins at."""
    return replace(
        state,
        version=info.version,
        protocol=state.protocol or LEGACY,
        protocol_version=info.version,
        metadata_version=info.version,
        files=without_facts(state.files),
        removes=without_facts(state.removes),
        skips=readable(state.skips),
        first_version=info.version,
        timestamps=np.array([info.timestamp], np.int64),
    )


def verify(commits: Mapping[int, bytes], state: LogState, *, runtime: Runtime) -> None:
    """Check that both readers see this state in a log of nothing but these commits.

    Raises:
        LogCorruptionError: One of them does not; nothing was written.
    """
    store = _Scratch({commit_path(version): data for version, data in commits.items()})
    for options in ({}, {_PLAIN: False}):
        log = TransactionLog(store, settings=Settings.resolve(options), runtime=runtime)
        seen = log.snapshot().state
        if _content(seen) != _content(state):
            raise LogCorruptionError("the repaired log", "it does not read back as what survived; nothing was written")


def _content(state: LogState) -> tuple[object, ...]:
    """Return what is compared: every action of a state, whatever its place in the log."""
    adds = b"".join(
        encode_adds(without_facts(state.files).slice(start, _ROWS)) for start in range(0, state.files.num_rows, _ROWS)
    )
    removes, skips = (
        b"".join(_lines(rows, kind))
        for rows, kind in ((without_facts(state.removes), Remove), (readable(state.skips), Skip))
    )
    metadata = state.metadata
    said = None if metadata is None else (metadata.id, metadata.schema_string, metadata.partition_columns)
    return (state.protocol or LEGACY, said, *(sorted(text.splitlines()) for text in (adds, removes, skips)))


class _Scratch(Store):
    """A log in memory, only to be read."""

    def __init__(self, objects: Mapping[str, bytes]) -> None:
        self._objects = dict(objects)

    @property
    def url(self) -> str:
        return "the repaired log"

    def get(self, path: str) -> bytes:
        if path not in self._objects:
            raise NotFoundError(path, store=self.url)
        return self._objects[path]

    def get_range(self, path: str, start: int, length: int) -> bytes:
        return self.get(path)[start : start + length]

    def head(self, path: str) -> ObjectMeta:
        return ObjectMeta(path, len(self.get(path)), 0)

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        for path in sorted(self._objects):
            if path.startswith(f"{prefix}/") and path > (start_after or ""):
                yield self.head(path)

    def put_if_absent(self, path: str, data: bytes) -> None:
        if self._objects.setdefault(path, data) != data:
            raise AlreadyExistsError(path, store=self.url)

    def put(self, path: str, data: bytes) -> None:
        self._objects[path] = data

    def delete(self, path: str) -> None:
        self._objects.pop(path, None)


def new_log(state: LogState, *, runtime: Runtime) -> dict[int, bytes]:
    """Return the commits of a log that begins with this state: version 0, more only where one file cannot hold the table.

    The last batch of each streaming application gets a commit of its own, so that no batch is repeated on the new log.
    """
    now = max(runtime.now_ms(), state.timestamp if len(state.timestamps) else 0)
    info = CommitInfo(
        version=0, id=runtime.new_id(), timestamp=now, operation=REPAIR, metadata=0, protocol=0, read=state.version
    )
    whole = whole_commit(state, info)
    pieces = [whole] if whole is not None else [head_lines(state, info), *body_lines(state)]
    for number, (app, batch) in enumerate(sorted(state.transactions.items()), start=1):
        told = msgspec.structs.replace(
            info,
            version=len(pieces),
            metadata=len(pieces),
            id=batch.commit_id,
            timestamp=now + number,
            app=app,
            batch=batch.number,
        )
        assert state.metadata is not None  # noqa: S101 - as above
        pieces.append(encode_action(stamped(state.metadata, told)) + b"\n")
    return {version: compress(piece) for version, piece in enumerate(pieces)}


def refuse_used(store: Store) -> None:
    """Refuse a place that holds a log already, whole or not.

    Raises:
        TableExistsError: It does.
    """
    for meta in store.list_from(LOG_DIRECTORY):
        if meta.path.startswith(f"{LOG_DIRECTORY}/."):
            continue
        raise TableExistsError(store.url, detail=f"its log holds {meta.path}, and a repair only writes where none is")


def write_log(store: Store, commits: Mapping[int, bytes], *, runtime: Runtime) -> None:
    """Write a new log, version 0 last, so that nobody sees it before it is complete.

    Raises:
        TableExistsError: Somebody else wrote one meanwhile.
    """
    refuse_used(store)
    probe_conditional_put(store, directory=LOG_DIRECTORY, runtime=runtime)
    for version in sorted(commits, reverse=True):
        try:
            store.put_if_absent(commit_path(version), commits[version])
        except AlreadyExistsError as error:
            raise TableExistsError(store.url, detail="somebody else wrote a log there meanwhile") from error
