"""Many commits at once, from the bytes of their files to Arrow columns, without an object for each action.

Files are read together, in batches and in threads, by the quick reader. A batch that it does not take is searched for keys
that were not expected, then halved until the files stand alone that the line reader must read; what that one says is final.
To begin is what costs the quick reader most, so a few lines are read by the other one at once.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from indextables.errors import LogCorruptionError
from indextables.log.actions import Add, MetaData, Protocol, Remove, Skip
from indextables.log.codec import MAX_FILE_BYTES, decode, is_compressed
from indextables.log.columns import (
    ActionColumns,
    ActionKeys,
    Row,
    Versioned,
    keys_of,
    no_rows_of,
    schema_of,
    table_of,
    width_of,
)
from indextables.log.lines import parse_lines
from indextables.log.quick import KINDS, Run, is_too_wide, read_runs
from indextables.log.regular import RegularReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_RARE_HEADS = (b'{"protocol":', b'{"metaData":')
_BATCH_BYTES = 4 << 20
_PIECE_BYTES = 32 << 20
_USUAL_RATIO = 5
_PROBED_LINES = 64
_PROBED_BYTES = 4 << 20


def decode_commits(
    files: Iterable[tuple[int, bytes]], *, path_of: Callable[[int], str], keys: ActionKeys | None = None
) -> ActionColumns:
    """Return the actions of commits as columns.

    Args:
        files: The version and the bytes, as stored, of each commit, in the order of versions.
        path_of: Names the file of a version in errors and log lines.
        keys: The keys that the maps are expected to have. More are learned as they occur; to know them spares a second look.

    Raises:
        LogCorruptionError: A file is damaged; where several are, it is the first one.
        UnknownActionError: A line holds an action that this version does not know.
    """
    decoder = _Decoder(path_of, keys or ActionKeys())
    tasks = _tasks(files)
    begun = list(islice(tasks, 2))
    if len(begun) < 2:
        parts = [part for task in begun for part in decoder.read(task)]
    else:
        pool = ThreadPoolExecutor(pa.cpu_count())
        try:  # the first tasks are read while the files of the next ones still arrive
            futures = [pool.submit(decoder.read, task) for task in chain(begun, tasks)]
            parts = [part for future in futures for part in future.result()]
        finally:
            pool.shutdown(cancel_futures=True)
    return decoder.combine(parts)


def decode_few(
    files: Iterable[tuple[int, bytes]], *, path_of: Callable[[int], str], keys: ActionKeys | None = None
) -> ActionColumns:
    """Return the same as `decode_commits`, sooner where there are no more than some dozens of lines."""
    decoder = _Decoder(path_of, keys or ActionKeys())
    contents = ((version, decode(data, path=path_of(version))) for version, data in files)
    return decoder.combine([decoder.read_lines(contents)])


def _tasks(files: Iterable[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Cut the files into runs of about one batch each."""
    task: list[tuple[int, bytes]] = []
    size = 0
    for version, data in files:
        task.append((version, data))
        size += len(data) * (_USUAL_RATIO if is_compressed(data) else 1)
        if size >= _BATCH_BYTES:
            yield task
            task, size = [], 0
    if task:
        yield task


class _File(NamedTuple):
    """One commit: its content, which ends in a newline, and the protocol and metadata that it starts with."""

    version: int
    content: bytes
    rare: tuple[Versioned[Protocol | MetaData], ...]
    rare_bytes: int

    def runs(self) -> Iterator[Run]:
        """Give the lines after the rare ones, in pieces small enough that an index of one stays small as well."""
        start, before = self.rare_bytes, len(self.rare)
        view = memoryview(self.content)
        while start < len(view):
            end = len(view)
            if end - start > _PIECE_BYTES:
                end = self.content.rfind(b"\n", start, start + _PIECE_BYTES) + 1 or self.content.index(b"\n", start) + 1
            yield Run(self.version, before, view[start:end])
            if end < len(view):
                before += self.content.count(b"\n", start, end)
            start = end


class _Part(NamedTuple):
    """What a run of files holds, in order."""

    tables: dict[type[Row], pa.Table]
    rare: tuple[Versioned[Protocol | MetaData], ...]
    size: int


class _Decoder:
    """Reads runs of files, from several threads, and remembers which keys it met."""

    def __init__(self, path_of: Callable[[int], str], keys: ActionKeys) -> None:
        self._path_of = path_of
        self._expected = keys
        self._learned = ActionKeys()
        self._regular = RegularReader()
        self._lock = Lock()

    @property
    def keys(self) -> ActionKeys:
        return self._expected.widened(self._learned)

    def read(self, files: list[tuple[int, bytes]]) -> list[_Part]:
        """Read a run of files, in batches that stay small however much the files expand."""
        parts: list[_Part] = []
        batch: list[_File] = []
        size = 0
        for version, data in files:
            try:
                file = self._open(version, data)
            except LogCorruptionError:
                self._read_batch(batch)  # damage in an earlier file is the one to report
                raise
            # Twice what was planned for: a run that expands a little more than usual is still one batch.
            if batch and size + len(file.content) > 2 * _BATCH_BYTES:
                parts += self._read_batch(batch)
                batch, size = [], 0
            batch.append(file)
            size += len(file.content)
        return parts + self._read_batch(batch)

    def combine(self, parts: list[_Part]) -> ActionColumns:
        """Bring the parts to the same keys, and put them one after the other."""
        keys = self.keys
        tables = {kind: [part.tables[kind] for part in parts if kind in part.tables] for kind in KINDS}
        size = sum(part.size for part in parts)
        for kind, pieces in tables.items():
            if is_too_wide(sum(piece.num_rows for piece in pieces), width_of(kind, keys), size):
                raise LogCorruptionError(
                    self._path_of(pieces[0]["version"][0].as_py()),
                    f"the {kind.key} actions from here on use too many different keys in their maps",
                    way_out="Check what wrote so many tags or statistics, and repair the log without them",
                )
        whole = {kind: _concatenated(pieces, kind, keys) for kind, pieces in tables.items()}
        rare = [item for part in parts for item in part.rare]
        return ActionColumns(
            adds=whole[Add],
            removes=whole[Remove],
            skips=whole[Skip],
            protocols=tuple(Versioned(v, n, action) for v, n, action in rare if isinstance(action, Protocol)),
            metadatas=tuple(Versioned(v, n, action) for v, n, action in rare if isinstance(action, MetaData)),
            keys=keys,
        )

    def _open(self, version: int, data: bytes) -> _File:
        path = self._path_of(version)
        content = decode(data, path=path)
        if not content or len(content) > MAX_FILE_BYTES:
            parse_lines(content, path=path)  # which says what is wrong with it
        if not content.endswith(b"\n"):
            content += b"\n"
        end = 0
        while content.startswith(_RARE_HEADS, end):
            end = content.index(b"\n", end) + 1
        actions = parse_lines(content[:end], path=path) if end else []
        rare = tuple(
            Versioned(version, ordinal, action)
            for ordinal, action in enumerate(actions)
            if isinstance(action, (Protocol, MetaData))
        )
        return _File(version, content, rare, end)

    def _read_batch(self, files: list[_File]) -> list[_Part]:
        """Read files quickly together, or else find the ones that must be read line by line."""
        if not files:
            return []
        keys = self.keys
        parts = self._read_quickly(files, keys)
        if parts is None:
            self._learn(files)
            # Another thread may have learned the same a moment ago, so it is the keys that tell whether to try again.
            if self.keys != keys:
                parts = self._read_quickly(files, self.keys)
        if parts is not None:
            return parts
        if len(files) == 1:
            return [self.read_lines([(files[0].version, files[0].content)])]
        middle = len(files) // 2
        return self._read_batch(files[:middle]) + self._read_batch(files[middle:])

    def _read_quickly(self, files: list[_File], keys: ActionKeys) -> list[_Part] | None:
        parts = [_Part({}, tuple(item for file in files for item in file.rare), 0)]
        runs = [run for file in files for run in file.runs()]
        for group in [runs] if len(files) > 1 else [[run] for run in runs]:
            tables = read_runs(group, keys=keys, regular=self._regular)
            if tables is None:
                return None
            parts.append(_Part(tables, (), sum(len(run.lines) for run in group)))
        return parts

    def read_lines(self, contents: Iterable[tuple[int, bytes]]) -> _Part:
        """Read commits line by line, each one's content as it was before it was compressed."""
        rows: dict[type[Row], list[tuple[int, int, Row]]] = {}
        rare = []
        size = 0
        for version, content in contents:
            size += len(content)
            for ordinal, action in enumerate(parse_lines(content, path=self._path_of(version))):
                if isinstance(action, (Protocol, MetaData)):
                    rare.append(Versioned(version, ordinal, action))
                else:
                    rows.setdefault(type(action), []).append((version, ordinal, action))
        keys = self._expected.ordering(keys_of(action for members in rows.values() for _, _, action in members))
        self._widen(keys)
        for kind, members in rows.items():
            if is_too_wide(len(members), width_of(kind, keys), size):
                reason = f"the {kind.key} actions use too many different keys in their maps"
                raise LogCorruptionError(self._path_of(members[0][0]), reason)
        tables = {kind: table_of(kind, members, keys) for kind, members in rows.items()}
        return _Part(tables, tuple(rare), size)

    def _learn(self, files: list[_File]) -> None:
        """Look for new keys in a few lines from all over the files."""
        actions: list[object] = []
        budget = _PROBED_BYTES
        for content in (file.content for file in files):
            step = len(content) // max(_PROBED_LINES // len(files), 1) + 1
            # No search goes further than what may still be read: a line without an end would be gone through at every step.
            heads = {content.find(b"\n", at - 1, at + budget) + 1 for at in range(step, len(content), step)} | {0}
            for start in heads:
                end = content.find(b"\n", start, start + budget + 1)
                if end < 0:
                    continue
                budget -= end - start
                # Whoever reads the whole file says which line of it is damaged.
                with suppress(LogCorruptionError):
                    actions += parse_lines(content[start:end], path="")
        self._widen(keys_of(actions))

    def _widen(self, keys: ActionKeys) -> None:
        with self._lock:
            self._learned = self._learned.widened(keys)


def _concatenated(pieces: list[pa.Table], kind: type[Row], keys: ActionKeys) -> pa.Table:
    if not pieces:
        return no_rows_of(kind, keys)
    schema = schema_of(kind, keys)
    return pa.concat_tables([piece if piece.schema.equals(schema) else piece.cast(schema) for piece in pieces])
