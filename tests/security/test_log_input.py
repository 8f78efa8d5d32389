"""S4, S6, S7, S20, S21: what somebody writes into a log is refused by name and line, in bounded time, or has no effect.

The parser's own cases are in tests/unit/log/test_lines.py; here each of them lies in a table that people open.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from indextables import IndexTablesError, Table
from indextables.config import Settings
from indextables.errors import LogCorruptionError, ProtocolError, StorageError
from indextables.log.actions import encode_action
from indextables.log.layout import MAX_VERSION, commit_path, floor_path
from indextables.spark.purge import purge
from indextables.storage import base
from indextables.storage.open import open_store
from tests.fuzz.targets import outcome
from tests.security.crafted import SLOW, commit, confined, copied, line, table, within
from tests.unit.log.test_lines import BAD_LINES, REMOVE

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = table(tmp_path_factory.mktemp("input") / "table", rows=4)
    Table(str(root)).checkpoint()
    return table(root, rows=2)


def test_a_bad_line_in_a_table_is_named_within_a_second(good: Path, tmp_path: Path, record_property: Any) -> None:
    root = copied(good, tmp_path / "t")
    for name, (bad, _) in BAD_LINES.items():
        file = commit(root, REMOVE + b"\n" + bad + b"\n")
        started = time.process_time()
        with pytest.raises(LogCorruptionError) as caught:
            Table(str(root)).files()
        assert time.process_time() - started < 1.5, name
        assert (caught.value.path, caught.value.line) == (str(file), 2), name
        assert len(str(caught.value)) < 1000, name
        file.unlink()
    record_property("security payloads", len(BAD_LINES))


def test_a_bad_line_that_a_checkpoint_sums_up_changes_nothing_or_is_named(
    good: Path, tmp_path: Path, record_property: Any
) -> None:
    expected = Table(str(good)).count()
    root = copied(good, tmp_path / "t")
    some = [bad for bad, _ in BAD_LINES.values()][::3]
    for bad in some:
        commit(root, bad + b"\n", version=2)
        assert Table(str(root)).count() == expected
        with pytest.raises(LogCorruptionError):
            Table(str(root), version=2).count()
    record_property("security payloads", len(some))


GIANT = {
    "a commit of 5 GB": (commit_path(7), 5 << 30),
    "a commit of 600 MB": (commit_path(7), 600 << 20),
    "a hint of 5 GB": ("_transaction_log/_last_checkpoint", 5 << 30),
    "a checkpoint of 5 GB": (f"_transaction_log/{6:020d}.checkpoint.json", 5 << 30),
    "a manifest of 5 GB": (f"_transaction_log/_checkpoints/{4:020d}.checkpoint.json", 5 << 30),
}


def test_files_of_gigabytes_are_not_even_read(good: Path, tmp_path: Path, record_property: Any) -> None:
    roots = []
    for number, (name, size) in enumerate(GIANT.values()):
        roots.append(copied(good, tmp_path / str(number)))
        with (roots[-1] / name).open("wb") as file:
            file.truncate(size)  # sparse: it takes no room on the disk
    for name, (kind, text, seconds, mebibytes) in zip(GIANT, confined(roots, "rows"), strict=True):
        # Nobody needs the hint, nor a checkpoint of others beside the commits; of the others it is said which file to move away.
        assert kind == ("answered" if name.startswith(("a hint", "a checkpoint")) else "StorageError"), (
            name,
            kind,
            text,
        )
        assert seconds < 1.5, name
        assert mebibytes < 256, name
    record_property("security payloads", len(GIANT))


@pytest.mark.parametrize("url", ["memory://giants", "{tmp_path}/giants"])
def test_every_store_looks_at_the_size_before_it_reads(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    store = open_store(url.format(tmp_path=tmp_path), settings=Settings())
    store.put("largest", b"x" * 100)
    store.put("larger", b"x" * 101)
    monkeypatch.setattr(base, "MAX_WHOLE_BYTES", 100)
    assert store.get("largest") == b"x" * 100
    with pytest.raises(StorageError, match="101 bytes, and 100 are the most"):
        store.get("larger")
    assert store.get_range("larger", 100, 1) == b"x"
    record_property("security payloads", 1)


VERSIONS = [
    f"{MAX_VERSION:020d}.json",
    f"{MAX_VERSION - 1:020d}.json",
    f"{MAX_VERSION + 1:020d}.json",
    f"{2**64:020d}.json",
    f"{10**19:020d}.json",
    f"{10**12:020d}.json",
    f"{2**31:020d}.json",
    f"{100:020d}.json",
    f"{8:020d}.json",
    f"-{1:019d}.json",
    f"+{1:019d}.json",
    f"{7:019d}.json",
    f"{7:021d}.json",
    f"{7:020d}.JSON",
    f"{7:020d}.json.bak",
    f" {7:019d}.json",
    "٠" * 20 + ".json",
    f"{7:020d}.json\n",
    f"{MAX_VERSION:020d}.checkpoint.json",
    f"{7:020d}.checkpoint.json",
    "_checkpoints/" + f"{MAX_VERSION:020d}.checkpoint.json",
]


def _state(root: Path, options: dict[str, str]) -> tuple[int, int]:
    found = Table(str(root), options=options)
    return found.version, found.count()


@pytest.mark.parametrize("options", [{}, SLOW], ids=["quick", "plain"])
def test_versions_out_of_range_or_order_are_refused_or_are_no_versions(
    options: dict[str, str], good: Path, tmp_path: Path, record_property: Any
) -> None:
    root = copied(good, tmp_path / "t")
    for name in VERSIONS:
        file = root / "_transaction_log" / name
        file.write_bytes(REMOVE + b"\n")
        with within(5):
            found = outcome(lambda: _state(root, options))
        assert found == (6, 6) or (isinstance(found, LogCorruptionError) and "missing" in str(found)), name
        file.unlink()
    for version in (-1, 7, 10**6, MAX_VERSION, MAX_VERSION + 1, 2**200):
        with within(5), pytest.raises(IndexTablesError):
            Table(str(root), version=version, options=options).count()
    record_property("security payloads", len(VERSIONS) + 6)


def test_a_log_of_thousands_of_empty_commits_is_refused_at_the_first(tmp_path: Path, record_property: Any) -> None:
    root = table(tmp_path / "t", rows=1)
    for version in range(2, 1000):
        (root / commit_path(version)).write_bytes(b"")
    started = time.process_time()
    with within(), pytest.raises(LogCorruptionError, match="the file is empty"):
        Table(str(root)).count()
    assert time.process_time() - started < 5
    record_property("security payloads", 1)


def test_marks_of_cleanup_that_nobody_set_hide_no_row(good: Path, tmp_path: Path, record_property: Any) -> None:
    marks = [1, 3, 6, 7, 10**6, MAX_VERSION]
    for mark in marks:
        root = copied(good, tmp_path / "t")
        file = root / floor_path(mark)
        file.parent.mkdir()
        file.write_bytes(b"{}\n")
        with within():
            assert Table(str(root)).count() == 6
    record_property("security payloads", len(marks))


POINTERS = [
    b"",
    b"\0" * 100,
    b"{}",
    b"null",
    b"[" * 100_000,
    b'{"version":' * 1000,
    b'{"version":-1}',
    b'{"version":0}',
    b'{"version":3,"checksum":"x"}',
    b'{"version":4,"checksum":"x","format":"json"}',
    b'{"version":5}',
    b'{"version":7,"checksum":"x"}',
    b'{"version":9223372036854775807}',
    b'{"version":9223372036854775808}',
    b'{"version":1e3}',
    b'{"version":"4"}',
    b'{"version":4,"parts":-1,"size":-1}',
    b'{"version":4,"format":"../../etc/passwd","checksum":"x"}',
    b"\xff\xfe{}",
    b"\xef\xbb\xbf{}",
]


@pytest.mark.parametrize("options", [{}, SLOW], ids=["quick", "plain"])
def test_the_hint_is_never_an_authority(
    options: dict[str, str], good: Path, tmp_path: Path, record_property: Any
) -> None:
    root = copied(good, tmp_path / "t")
    for pointer in POINTERS:
        (root / "_transaction_log" / "_last_checkpoint").write_bytes(pointer)
        with within(5):
            assert Table(str(root), options=options).count() == 6, pointer[:60]
    record_property("security payloads", len(POINTERS))


def test_an_old_checkpoint_put_back_under_a_newer_name_is_not_taken(
    good: Path, tmp_path: Path, record_property: Any
) -> None:
    root = copied(good, tmp_path / "t")
    place = root / "_transaction_log" / "_checkpoints"
    manifest = (place / f"{4:020d}.checkpoint.json").read_bytes()
    pointers = [b'{"version":6,"checksum":"x"}', (root / "_transaction_log" / "_last_checkpoint").read_bytes()]
    for pointer in pointers:
        (place / f"{6:020d}.checkpoint.json").write_bytes(manifest)
        (root / "_transaction_log" / "_last_checkpoint").write_bytes(pointer)
        assert Table(str(root)).count() == 6
    renamed = json.loads(manifest) | {"version": 6}
    (place / f"{6:020d}.checkpoint.json").write_text(json.dumps(renamed))
    assert Table(str(root)).count() == 6
    record_property("security payloads", 3)


FOREIGN = [
    "report.csv",
    "_SUCCESS",
    ".git/config",
    "nested/_transaction_log/00000000000000000000.json",
    "nested/00000000-0000-4000-8000-000000000000.split",
    "backup/part-00000-0-00000000-0000-4000-8000-000000000000.split",
    "data.split",
    "00000000-0000-4000-8000-000000000000.parquet",
    "00000000-0000-4000-8000-000000000000.split.bak",
    "x00000000-0000-4000-8000-000000000000.split",
    "day=1/notes.txt",
    "_transaction_log/notes.txt",
    "_transaction_log/00000000000000000001.json.bak",
    "_transaction_log/.hidden",
]


def test_removes_of_files_that_are_not_ours_never_delete_them(good: Path, tmp_path: Path, record_property: Any) -> None:
    root = copied(good, tmp_path / "t")
    for name in FOREIGN:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"precious")
        os.utime(file, (0, 0))
    commit(root, b"".join(line("remove", path=name, deletionTimestamp=1) for name in FOREIGN))
    Table(str(root)).cleanup()
    purge(None, str(root), dry_run=False)
    assert [name for name in FOREIGN if (root / name).read_bytes() != b"precious"] == []
    assert Table(str(root)).count() == 6
    record_property("security payloads", len(FOREIGN))


def test_features_that_a_table_requires_and_nobody_knows_are_refused(
    good: Path, tmp_path: Path, record_property: Any
) -> None:
    known = {"minReaderVersion": 3, "minWriterVersion": 7}
    protocols: list[dict[str, Any]] = [
        {"minReaderVersion": 4, "minWriterVersion": 7},
        {"minReaderVersion": 2**63 - 1, "minWriterVersion": 1},
        known | {"readerFeatures": ["__import__('os')"], "writerFeatures": ["__import__('os')"]},
        known | {"readerFeatures": ["com.evil.Loader"], "writerFeatures": ["com.evil.Loader"]},
    ]
    root = copied(good, tmp_path / "t")
    for protocol in protocols:
        file = commit(root, line("protocol", **protocol))
        with pytest.raises(ProtocolError):
            Table(str(root)).count()
        file.unlink()
    configuration = {
        "python.class": "os.system",
        "codec": "com.evil.Codec",
        "yaml": "!!python/object/apply:os.system [x]",
    }
    metadata = json.loads(encode_action(Table(str(root)).metadata))["metaData"]
    commit(root, line("metaData", **metadata | {"configuration": configuration}))
    assert Table(str(root)).count() == 6
    Table(str(root)).append(pa.table({"id": [1]}))
    record_property("security payloads", len(protocols) + len(configuration))


def test_a_commit_that_somebody_rewrote_is_seen_by_whoever_opens_the_table_anew(
    good: Path, tmp_path: Path, record_property: Any
) -> None:
    """What is promised where plain writes cannot be forbidden: the same answer for every reader, and no mixture of the two."""
    root = copied(good, tmp_path / "t")
    original = (root / commit_path(6)).read_bytes()
    rewrites = [
        REMOVE + b"\n",
        (root / commit_path(5)).read_bytes(),
        original.replace(b'"dataChange":true', b'"dataChange":false'),
    ]
    for data in rewrites:
        commit(root, data, version=6)
        answers = [outcome(lambda: Table(str(root)).count()), outcome(lambda: Table(str(root), options=SLOW).count())]
        answers = [type(answer) if isinstance(answer, IndexTablesError) else answer for answer in answers]
        assert answers[0] == answers[1]
    record_property("security payloads", len(rewrites))
