"""S8, S9, S10, S12: a few bytes that claim to be gigabytes, and Parquet that nobody wrote.

Everything is entered in a child process that cannot have more than 3 GB of address space: whatever a bomb claims, the answer is
a typed error or the right rows. What the codecs refuse is specified in tests/unit/log/test_codec.py, and what single damaged
bits do in tests/property/test_checkpoints.py and tests/property/test_split_damage.py.
"""

from __future__ import annotations

import base64
import gzip
import importlib
import io
import pickle
import zlib
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables import Table
from indextables.errors import IndexTablesError, SplitCorruptionError
from indextables.log.checkpoint.manifest import Manifest, encode_manifest
from tests.fuzz.subjects import resealed
from tests.fuzz.targets import outcome
from tests.security.crafted import commit, confined, copied, line, table, within

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = 3
MANY = 4_000_000


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = table(tmp_path_factory.mktemp("bombs") / "table", rows=ROWS)
    Table(str(root)).checkpoint()
    return root


def zstd(size: int) -> bytes:
    piece: bytes = pa.Codec("zstd").compress(b"\0" * (16 << 20), asbytes=True)
    return piece * (size >> 24)


def envelopes() -> dict[str, bytes]:
    return {
        "gzip, 8 GB": b"\x01\x01" + gzip.compress(b"\0" * (16 << 20)) * 512,
        "gzip beyond its ratio": b"\x01\x01" + zlib.compress(b"\n" * (32 << 20), 9, 31),
        "gzip, empty members": b"\x01\x01" + gzip.compress(b"") * 5000,
        "gzip of gzip": b"\x01\x01" + gzip.compress(gzip.compress(b"\0" * (8 << 20))),
        "zstd, 8 GB": b"\x01\x02" + zstd(8 << 30),
        "zstd, 32 MB in one frame": b"\x01\x02" + pa.Codec("zstd").compress(b"\0" * (32 << 20), asbytes=True),
        "zstd frame that claims 2^63 bytes": b"\x01\x02\x28\xb5\x2f\xfd\xe0" + b"\xff" * 7 + b"\x7f" + b"\x01\x00\x00",
        "zstd frame with a window of terabytes": b"\x01\x02\x28\xb5\x2f\xfd\x00\xff" + b"\x01\x00\x00",
        "lz4, 512 MB": b"\x01\x03" + pa.Codec("lz4").compress(b"\0" * (16 << 20), asbytes=True) * 32,
        "snappy that claims 4 GB": b"\x01\x04\xff\xff\xff\xff\x0f" + b"x" * 100,
        "snappy that claims 255 MB": b"\x01\x04\xff\xff\xff\x79" + b"x" * 400_000,
        "an unknown codec": b"\x01\x05" + b"\0" * 100,
    }


def test_compressed_commits_that_expand_without_end_are_refused(
    good: Path, tmp_path: Path, record_property: Any
) -> None:
    bombs = envelopes()
    roots = []
    for number, data in enumerate(bombs.values()):
        roots.append(copied(good, tmp_path / str(number)))
        commit(roots[-1], data)
    for name, (kind, text, seconds, mebibytes) in zip(bombs, confined(roots, "files"), strict=True):
        assert kind == "LogCorruptionError", (name, kind, text)
        assert seconds < 2, name
        # Content is bounded at 256 MiB, which a growing buffer may hold once more for a moment.
        assert mebibytes < 640, name
    record_property("security payloads", len(bombs))


def checkpoint_with(root: Path, part: bytes | None = None, **facts: Any) -> Path:
    """Put another part or other facts into the checkpoint of a table, with checksums that are right."""
    file = next((root / "_transaction_log" / "_checkpoints").glob("*.checkpoint.json"))
    manifest = msgspec.json.decode(file.read_bytes(), type=Manifest)
    if part is not None:
        (root / manifest.files[0].path).write_bytes(part)
        file.write_bytes(resealed(file.read_bytes(), part))
    if facts:
        changed = msgspec.structs.replace(manifest, facts=msgspec.structs.replace(manifest.facts, **facts))
        file.write_bytes(encode_manifest(changed))
    return root


def parquet(columns: dict[str, Any], **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, **{"compression": "zstd", "write_statistics": False, **options})
    return sink.getvalue()


def constant(count: int = MANY) -> dict[str, Any]:
    zeros = np.zeros(count, np.int8)
    return {
        "path": pa.DictionaryArray.from_arrays(pa.array(zeros), pa.array(["a"])),
        "size": pa.array(zeros.astype(np.int64)),
        "modificationTime": pa.array(zeros.astype(np.int64)),
        "dataChange": pa.array(zeros.astype(bool)),
        "version": pa.array(zeros.astype(np.int64)),
        "ordinal": pa.array(zeros.astype(np.int32)),
    }


def actions(count: Any = 3, **columns: Any) -> dict[str, Any]:
    """Return the columns of a part with a few adds, some of them replaced or, where None, left out."""
    known = {
        "path": [f"f{number}" for number in range(count)],
        "partitionValues": pa.array([{"_": None}] * count, pa.struct([("_", pa.bool_())])),
        "size": [1] * count,
        "modificationTime": [1] * count,
        "dataChange": [True] * count,
        "version": [1] * count,
        "ordinal": pa.array(range(count), pa.int32()),
    }
    return {name: values for name, values in (known | columns).items() if values is not None}


PARTS: dict[str, Callable[[], bytes]] = {
    "four million rows of one value": lambda: parquet(constant()),
    "a text of 32 MB": lambda: parquet(actions(1, path=["x" * (1 << 25)]), use_dictionary=False),
    "a dictionary of 32 MB": lambda: parquet(actions(2, path=["x" * (1 << 24), "y" * (1 << 24)])),
    "numbers for paths": lambda: parquet(actions(path=[1, 2, 3])),
    "bytes for paths": lambda: parquet(actions(path=[b"\xff", b"a", b"b"])),
    "no paths": lambda: parquet(actions(path=None)),
    "null paths": lambda: parquet(actions(path=pa.array([None] * 3, pa.string()))),
    "unsafe paths": lambda: parquet(actions(path=["../x", "/etc/passwd", "s3://b/k"])),
    "texts for sizes": lambda: parquet(actions(size=["1", "2", "3"])),
    "floats for versions": lambda: parquet(actions(version=[1.5, float("nan"), 2.0])),
    "negative places": lambda: parquet(actions(version=[-1, -(2**63), 2**63 - 1])),
    "lists for maps": lambda: parquet(actions(tags=[[1], [2], [3]])),
    "numbers in maps": lambda: parquet(actions(tags=pa.array([{"a": 1}] * 3))),
    "maps in maps": lambda: parquet(actions(tags=pa.array([{"a": {"b": "c"}}] * 3))),
    "two thousand columns": lambda: parquet(actions(**{f"c{number}": [1, 2, 3] for number in range(2_000)})),
    "columns that nobody knows": lambda: parquet(actions(evil=["__import__('os')"] * 3)),
    "no rows": lambda: parquet(actions(0, size=pa.array([], pa.int64()), path=pa.array([], pa.string()))),
    "no Parquet": lambda: b"PAR1" * 100,
    "a footer of 4 GB": lambda: b"PAR1" + b"\xff\xff\xff\xff" + b"PAR1",
    "a negative footer": lambda: b"PAR1" + b"\0" * 50 + b"\xff\xff\xff\x7f" + b"PAR1",
    "only a tail": lambda: b"\0\0\0\0PAR1",
    "nothing": lambda: b"",
    "an encrypted footer": lambda: b"PARE" + b"\0" * 50 + b"\x10\0\0\0" + b"PARE",
    "pages of zeros": lambda: b"PAR1" + b"\0" * 60 + parquet(actions())[64:],
}


@pytest.mark.parametrize("commits", [True, False], ids=["with the commits", "without them"])
def test_a_part_of_a_checkpoint_that_nobody_wrote_is_refused_though_its_checksums_are_right(
    commits: bool, good: Path, tmp_path: Path, record_property: Any
) -> None:
    roots = []
    for number, make in enumerate(PARTS.values()):
        root = checkpoint_with(copied(good, tmp_path / str(number)), make())
        if not commits:
            for file in sorted((root / "_transaction_log").glob("0*.json"))[:ROWS]:
                file.unlink()
        roots.append(root)
    for name, (kind, text, seconds, mebibytes) in zip(PARTS, confined(roots, "files"), strict=True):
        assert not kind.startswith("NOT OURS"), (name, kind, text)
        assert seconds < 3, name
        assert mebibytes < 512, name
    record_property("security payloads", len(PARTS))


TIMES = {
    "a bomb of times": base64.b64encode(zstd(8 << 30)).decode(),
    "no times": "",
    "times that are no base64": "*" * 100,
    "times that are no zstd": base64.b64encode(b"\0" * 100).decode(),
    "too few times": base64.b64encode(pa.compress(b"\0" * 8, codec="zstd", asbytes=True)).decode(),
    "odd times": base64.b64encode(pa.compress(b"\0" * 9, codec="zstd", asbytes=True)).decode(),
}
FACTS: dict[str, dict[str, Any]] = {
    **{name: {"times": text} for name, text in TIMES.items()},
    "a first version of minus 2^62": {"first_version": -(2**62)},
    "a first version to come": {"first_version": 2**62},
    "a bomb for 60 million versions": {"first_version": -60_000_000, "times": TIMES["a bomb of times"]},
    "no actions": {"actions": []},
    "actions that are none": {"actions": [msgspec.Raw(b'{"x":1}')]},
    "a million actions": {"actions": [msgspec.Raw(b"{}")] * 100_000},
    "versions that are none": {"metadata_version": -5, "protocol_version": 2**62},
}


def test_facts_of_a_checkpoint_that_nobody_wrote_change_no_answer(
    good: Path, tmp_path: Path, record_property: Any
) -> None:
    roots = [
        checkpoint_with(copied(good, tmp_path / str(number)), **facts) for number, facts in enumerate(FACTS.values())
    ]
    for name, (kind, text, seconds, mebibytes) in zip(FACTS, confined(roots, "files"), strict=True):
        assert kind in {"answered", "TableNotFoundError", "LogCorruptionError"}, (name, kind, text)
        assert seconds < 2, name
        assert mebibytes < 700, name
    record_property("security payloads", len(FACTS))


def split_bombs() -> dict[str, bytes]:
    rows, stream = pa.table({"id": [1]}), pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, rows.schema) as writer:
        writer.write(rows)
    plain = parquet({"id": pa.array([1])})
    footer = int.from_bytes(plain[-8:-4], "little")
    return {
        "a text of 256 MB": parquet({"id": pa.array(["x" * (1 << 26)] * 4, pa.large_string())}, use_dictionary=False),
        "ten million rows": parquet({"id": constant(10_000_000)["size"]}),
        "another type than the table's": parquet({"id": [[1, 2]]}),
        "another column": parquet({"other": [1]}),
        "a footer of 4 GB": plain[:-8] + b"\xff\xff\xff\xff" + b"PAR1",
        "no footer": plain[:-8] + b"\0\0\0\0" + b"PAR1",
        "a footer of zeros": plain[: -8 - footer] + b"\0" * footer + plain[-8:],
        "a footer of ones": plain[: -8 - footer] + b"\xff" * footer + plain[-8:],
        "pages of zeros": plain[:4] + b"\0" * (len(plain) - 12 - footer) + plain[-8 - footer :],
        "pages of ones": plain[:4] + b"\xff" * (len(plain) - 12 - footer) + plain[-8 - footer :],
        "no Parquet": b"\x7fELF" * 100,
        "a tantivy footer that asks for 10^19 bytes": b"\xff" * 8 + b"\x8a\xc7\x23\x04\x89\xe8\x00\x00" * 4,
        "nothing": b"",
        "an arrow stream": stream.getvalue().to_pybytes(),
    }


def test_data_files_that_nobody_wrote_are_refused_under_a_limit_of_memory(
    good: Path, tmp_path: Path, record_property: Any
) -> None:
    bombs = split_bombs()
    roots = []
    for number, data in enumerate(bombs.values()):
        roots.append(copied(good, tmp_path / str(number)))
        (roots[-1] / "bomb.split").write_bytes(data)
        commit(roots[-1], line("add", path="bomb.split", size=len(data)))
    for name, (kind, text, _, _) in zip(bombs, confined(roots, "rows", mebibytes=2500), strict=True):
        expected = (
            {"answered"} if "rows" in name or name == "another column" else {"SplitCorruptionError", "SchemaError"}
        )
        assert kind in expected | {"SplitCorruptionError"}, (name, kind, text)
    record_property("security payloads", len(bombs))


class _Touch:
    """What unpickling would run."""

    def __init__(self, file: Path) -> None:
        self.file = str(file)

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.file, "w")


@pytest.mark.parametrize("name", ["arrow.py_extension_type", "pandas.period", "arrow.opaque", "evil"])
def test_a_type_that_carries_code_is_never_run(name: str, good: Path, tmp_path: Path, record_property: Any) -> None:
    touched = tmp_path / "touched"
    notes = {"ARROW:extension:name": name, "ARROW:extension:metadata": pickle.dumps(_Touch(touched))}
    schema = pa.schema([pa.field("path", pa.string(), metadata=notes), pa.field("id", pa.int64(), metadata=notes)])
    read_everywhere(schema, good, tmp_path)
    assert not touched.exists()
    assert pickle.loads(pickle.dumps(_Touch(touched))).close() is None
    assert touched.exists(), "the payload does work where somebody unpickles it"
    record_property("security payloads", 2)


@pytest.mark.parametrize("notes", [b"\xff", b"{}", b"[]", b'{"freq": "never"}', b'{"freq": [1]}'])
def test_a_type_that_another_library_registered_may_fail_as_it_likes(notes: bytes, good: Path, tmp_path: Path) -> None:
    importlib.import_module("pandas.core.arrays.arrow.extension_types")  # registers a type of this name
    kind = {"ARROW:extension:name": "pandas.period", "ARROW:extension:metadata": notes}
    read_everywhere(
        pa.schema([pa.field("path", pa.string()), pa.field("id", pa.int64(), metadata=kind)]), good, tmp_path
    )


def read_everywhere(schema: pa.Schema, good: Path, tmp_path: Path) -> None:
    """Let a file of one row stand for a checkpoint's part and for a data file: the first is passed over, the second refused or read."""
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pydict({"path": ["a"], "id": [1]}, schema=schema), sink)
    root = checkpoint_with(copied(good, tmp_path / "t"), sink.getvalue())
    assert Table(str(root)).count() == ROWS
    (root / "typed.split").write_bytes(sink.getvalue())
    commit(root, line("add", path="typed.split", size=len(sink.getvalue())))
    rows = outcome(lambda: Table(str(root)).to_arrow())
    assert isinstance(rows, SplitCorruptionError) or rows.num_rows == ROWS + 1


def test_a_data_file_that_another_one_replaced_is_refused(good: Path, tmp_path: Path, record_property: Any) -> None:
    other = table(tmp_path / "other", rows=1)
    replacement = next(other.glob("*.split")).read_bytes()
    names = sorted(path.name for path in good.glob("*.split"))
    for name in names:
        root = copied(good, tmp_path / "t")
        size = (root / name).stat().st_size
        payloads = [replacement, replacement[:size].ljust(size, b"\0"), (root / name).read_bytes()[:-1], b"\0" * size]
        payloads.append((root / next(another for another in names if another != name)).read_bytes())
        for data in payloads:
            (root / name).write_bytes(data)
            with within(), pytest.raises(SplitCorruptionError):
                Table(str(root)).to_arrow()
    record_property("security payloads", len(names) * len(payloads))


def test_statistics_that_lie_are_typed_or_unknown_and_never_code(
    good: Path, tmp_path: Path, record_property: Any
) -> None:
    hostile = [
        "NaN",
        "1e999",
        "9" * 5000,
        "__import__('os').system('x')",
        "",
        "\0",
        "-",
        "0x10",
        "１",
        "null",
        "{}",
        " 1",
        "1;DROP",
    ]
    root = copied(good, tmp_path / "t")
    for text in hostile:
        fields = {"minValues": {"id": text}, "maxValues": {"id": text}, "stats": text, "docMappingJson": text}
        file = commit(root, line("add", path="x.split", **fields))
        with within():
            found = Table(str(root)).files()
            assert found.num_rows == ROWS + 1
            with pytest.raises(IndexTablesError):  # it is not skipped on what nobody understands, so it is missed
                Table(str(root)).to_arrow(where="id = 1")
        file.unlink()
    record_property("security payloads", len(hostile))
