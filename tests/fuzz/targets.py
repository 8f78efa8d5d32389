"""Eight targets: each takes any bytes, and either the product refuses them with a typed error or a second opinion agrees.

A target returns where all is well. Whatever else it raises is a finding: an error that is not ours, an answer that another
reader does not give, a value that does not come back.
"""

from __future__ import annotations

import json
import posixpath
import urllib.parse
import zlib
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.errors import IndexTablesError, LogCorruptionError, UnsafePathError
from indextables.log.layout import POINTER, commit_path, json_checkpoint_path, manifest_path
from indextables.log.lines import format_lines, parse_lines
from indextables.log.log import TransactionLog
from indextables.log.safety import check_paths
from indextables.log.strict import read_line, why_too_complex
from indextables.predicate import bind, parse
from indextables.split import SplitAddress, describe_file, open_split
from indextables.storage.paths import (
    HIVE_DEFAULT_PARTITION,
    canonical,
    escape_partition_value,
    parse_partition_path,
    partition_path,
    unescape_partition_value,
)
from indextables.testing.models import S3Model
from tests.fuzz.subjects import CHECKPOINT, FAST, SLOW, SPLIT, everything_in, files_of, resealed, subject
from tests.property.test_log_replay import summary
from tests.support.predicate_files import Files
from tests.support.predicates import SORTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.config import Settings

_ROOT: Final = "/base/table"
_MARK: Final = "\x1f"
_CREATION: Final = (
    b'{"protocol":{"minReaderVersion":1,"minWriterVersion":1}}\n'
    b'{"metaData":{"id":"t","format":{"provider":"indextables","options":{}},"schemaString":"{\\"type\\":\\"struct\\",'
    b'\\"fields\\":[{\\"name\\":\\"id\\",\\"type\\":\\"long\\",\\"nullable\\":true,\\"metadata\\":{}}]}",'
    b'"partitionColumns":[],"configuration":{},"createdTime":1}}\n'
    b'{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":2,"dataChange":true}}\n'
)
_LATER: Final = b'{"remove":{"path":"a","dataChange":true}}\n'


def outcome(work: Callable[[], Any]) -> Any:
    """Return what some work returns, or the typed error that it raises."""
    try:
        return work()
    except IndexTablesError as error:
        return error


def commit_line(data: bytes) -> None:
    """One line: the quick reader says what the exact one says, json agrees about the path, and it is written back the same."""
    line = data.partition(b"\n")[0].strip(b"\r")
    if not line:
        return
    quick = outcome(lambda: parse_lines(line, path="p"))
    if why_too_complex(line):
        assert isinstance(quick, LogCorruptionError)
        return
    exact = outcome(lambda: [read_line(line, path="p", number=1)])
    if isinstance(exact, IndexTablesError):
        assert type(quick) is type(exact), (quick, exact)
        return
    assert quick == exact
    ((key, fields),) = json.loads(line).items()
    (action,) = exact
    assert key == action.key
    if hasattr(action, "path"):  # elsewhere it is a field that nobody knows
        assert action.path == fields.get("path")
    assert parse_lines(format_lines(exact), path="p") == exact


def commit_file(data: bytes) -> None:
    """The bytes of a whole commit, compressed or not: the quick way to a table and the slow one end the same."""
    model = S3Model()
    for version, content in enumerate((_CREATION, data, _LATER)):
        model.put(commit_path(version), content)

    def read(settings: Settings) -> Any:
        return outcome(lambda: summary(TransactionLog(model, settings=settings).snapshot().state))

    quick, slow = read(FAST), read(SLOW)
    if isinstance(slow, IndexTablesError) or isinstance(quick, IndexTablesError):
        assert isinstance(slow, IndexTablesError), (slow, quick)
        assert isinstance(quick, IndexTablesError), (slow, quick)
    else:
        assert _unordered(quick) == _unordered(slow)


def pointer(data: bytes) -> None:
    """The hint where to look for a checkpoint: whatever it says, the table is the same."""
    _same_table({POINTER: data}, form="parquet")


def checkpoint(data: bytes) -> None:
    """A manifest, a Parquet part or a checkpoint in JSON.

    The first byte chooses which, whether the checksums are made right, and whether the commits are there to fall back on.
    Where they are and a checksum is wrong, the table is the same; everywhere else an error of ours will do.
    """
    if not data:
        return
    choice, body = data[0], data[1:]
    commits, vouched = bool(choice & 1), bool(choice & 2)
    if choice & 4:
        _same_table({json_checkpoint_path(CHECKPOINT): body}, form="JSON", commits=commits, strict=commits)
        return
    stored = files_of("parquet")
    manifest = manifest_path(CHECKPOINT)
    if choice & 8:
        part = next(path for path in _paths("parquet") if path.endswith(".parquet"))
        changed = {part: body} | ({manifest: resealed(stored["manifest"], body)} if vouched else {})
    else:
        changed = {manifest: body}
        with suppress(Exception):  # what is no manifest cannot be sealed as one
            changed = {manifest: resealed(body, None) if vouched else body}
    _same_table(changed, form="parquet", commits=commits, strict=commits and not vouched)


def split_footer(data: bytes) -> None:
    """A data file, with and without a log that vouches for it: refused, or the rows that Arrow reads from it."""
    store = S3Model()
    store.put(SPLIT, data)
    described = outcome(lambda: describe_file(store, SPLIT, settings=FAST))

    def read(address: SplitAddress) -> pa.Table:
        return everything_in(open_split(store, address))

    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    vouched = SplitAddress(path=SPLIT, size=len(data), footer_start=end, footer_checksum=zlib.crc32(data[end:]))
    answers = [outcome(lambda: read(SplitAddress(path=SPLIT)))]
    if 0 <= end <= len(data) - 8:
        answers.append(outcome(lambda: read(vouched)))
    for rows in answers:
        if not isinstance(rows, IndexTablesError):
            assert rows.equals(pq.ParquetFile(pa.BufferReader(data)).read())
            assert (
                isinstance(described, IndexTablesError)
                or described.num_records == rows.num_rows
                or not rows.num_columns
            )


def path_resolver(data: bytes) -> None:
    """A path is refused, or leads inside however often somebody decodes it; the look at many paths says the same."""
    path = data.decode(errors="surrogateescape")
    exact = outcome(lambda: canonical(path))
    with suppress(UnicodeEncodeError):
        column = pa.chunked_array([["ok", path]], pa.string())
        many = outcome(lambda: check_paths(column))
        assert isinstance(many, UnsafePathError) == isinstance(exact, UnsafePathError)
    if isinstance(exact, IndexTablesError):
        assert isinstance(exact, UnsafePathError)
        return
    assert exact == path
    whole = f"{_ROOT}/{path}"
    assert posixpath.normpath(whole) == whole
    if "=" in path:  # a value may hold an escaped slash, which nobody decodes in a path
        return
    before = ""
    while whole != before:
        assert posixpath.normpath(whole).startswith(f"{_ROOT}/")
        before, whole = whole, urllib.parse.unquote(whole)


def partition_codec(data: bytes) -> None:
    """Every value survives its directory, and every directory that somebody else made is read as one list of values."""
    text = data.decode(errors="replace")
    names = [part for part in text.split(_MARK) if part]
    for name in names:
        restored = unescape_partition_value(escape_partition_value(name))
        assert restored == (None if name == HIVE_DEFAULT_PARTITION else name)
    pairs: list[tuple[str, str | None]] = list(pairwise(names))
    if pairs and HIVE_DEFAULT_PARTITION not in names:
        path = partition_path(pairs)
        assert parse_partition_path(path) == pairs
        if len(path) < 256:
            assert canonical(path) == path
    found = parse_partition_path(text)
    if all(value != "" for _, value in found) and all(name != HIVE_DEFAULT_PARTITION for name, _ in found):
        assert parse_partition_path(partition_path(found)) == found


def predicate(data: bytes) -> None:
    """A text is refused, or means the same after a round through its own SQL, and no file with a matching row is skipped."""
    text = data.decode(errors="replace")
    bound = outcome(lambda: bind(text, _FILES.schema()))
    if isinstance(bound, IndexTablesError):
        return
    sql = bound.sql()
    assert parse(sql) == bound.expression, sql
    batch = _FILES.batch()
    answers = outcome(lambda: bound.evaluate(batch).to_pylist())
    if isinstance(answers, IndexTablesError):
        return
    assert bind(sql, _FILES.schema()).evaluate(batch).to_pylist() == answers, sql
    for mode in ("off", "bounds"):
        known = _FILES.statistics(mode)
        may, must = bound.may_match(known).to_pylist(), bound.must_match(known).to_pylist()
        start = 0
        for index, file in enumerate(_FILES.files):
            held = answers[start : start + len(file)]
            start += len(file)
            assert may[index] or True not in held, sql
            assert not must[index] or all(one is True for one in held), sql


def _files() -> Files:
    """Return a table with one column of each kind, cut into files, with nothing lost of its statistics."""
    columns = {f"c{index}": sort for index, sort in enumerate(SORTS)}
    deepest = max(len(sort.pool) for sort in SORTS)
    rows = [
        {name: [*sort.pool, None][row % (len(sort.pool) + 1)] for name, sort in columns.items()}
        for row in range(deepest)
    ]
    return Files(columns, [rows[start : start + 5] for start in range(0, len(rows), 5)], None, [False] * 20)


_FILES: Final = _files()


def _unordered(told: dict[str, Any]) -> dict[str, Any]:
    return told | {"files": sorted(told["files"], key=lambda row: str(row["path"]))}


def _paths(form: str) -> list[str]:
    return sorted(path for path in subject(form).place.model.tree() if f"/{CHECKPOINT:020d}." in path)


def _same_table(changed: dict[str, bytes], *, form: str, commits: bool = True, strict: bool = True) -> None:
    """Replace files of a table, open it, and put them back."""
    attacked = subject(form, commits=commits)
    model = attacked.place.model
    before = {path: model.get(path) for path in changed}
    for path, content in changed.items():
        model.put(path, content)
    try:
        found = outcome(attacked.state)
    finally:
        for path, content in before.items():
            model.put(path, content)
    if strict:
        assert found == attacked.expected


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "commit-line": commit_line,
    "commit-file": commit_file,
    "pointer": pointer,
    "checkpoint": checkpoint,
    "split-footer": split_footer,
    "path-resolver": path_resolver,
    "partition-codec": partition_codec,
    "predicate": predicate,
}
"""By name, as `python -m tests.fuzz.run` takes them."""
