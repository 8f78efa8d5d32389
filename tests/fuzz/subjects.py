"""What the fuzzers attack: small tables in memory, each made once, of which one file is then replaced by the input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from indextables.config import Settings
from indextables.log.checkpoint.manifest import Manifest, Part, digest, encode_manifest
from indextables.log.layout import LOG_DIRECTORY, POINTER, commit_version, json_checkpoint_path, manifest_path
from indextables.split.footer_statistics import chunk_bounds, positions
from indextables.split.writer import encode_split
from tests.property.test_checkpoints import settings_for, table_with_checkpoints, unordered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.split.reader import Split
    from tests.support.logs import Place

SPLIT = "day=1/subject.split"
CHECKPOINT = 16
FAST = Settings()
SLOW = replace(FAST, transaction=replace(FAST.transaction, use_optimized=False))


@dataclass(frozen=True)
class Subject:
    """A table with checkpoints.

    Attributes:
        place: Where it is.
        form: Of its checkpoints.
        expected: What its newest version holds.
    """

    place: Place
    form: str
    expected: dict[str, Any]

    def state(self) -> dict[str, Any]:
        """Return what somebody sees who opens the table now."""
        settings = settings_for(self.form)
        alone = replace(
            settings, checkpoint=replace(settings.checkpoint, parallelism=1)
        )  # threads take longer than the work
        return unordered(self.place.log(alone).snapshot().state, places=False)


@cache
def subject(form: str, *, commits: bool = True) -> Subject:
    """Return a table, with all commits or with those alone that the newest checkpoint does not sum up."""
    place, _ = table_with_checkpoints(form)
    if not commits:
        for path in list(place.model.tree()):
            if (version := commit_version(path)) is not None and version < CHECKPOINT:
                place.model.delete(path)
    expected = unordered(place.log(settings_for(form)).snapshot().state, places=False)
    return Subject(place, form, expected)


@cache
def files_of(form: str) -> dict[str, bytes]:
    """Return the files of a table's log that are not commits, by what they are."""
    tree = subject(form).place.model.tree()
    named = {"pointer": POINTER, "manifest": manifest_path(CHECKPOINT), "JSON": json_checkpoint_path(CHECKPOINT)}
    found = {name: tree[path] for name, path in named.items() if path in tree}
    parts = sorted(path for path in tree if path.endswith(".parquet") and f"/{CHECKPOINT:020d}." in path)
    return found | {f"part {number}": tree[path] for number, path in enumerate(parts)}


def commits_of(form: str) -> Iterator[bytes]:
    """Yield the bytes of the commits of a table."""
    for path, data in subject(form).place.model.tree().items():
        if path.startswith(LOG_DIRECTORY) and commit_version(path) is not None:
            yield data


def resealed(manifest: bytes, part: bytes | None) -> bytes:
    """Return a manifest whose checksum is right again, and which takes other bytes for the part with the files."""
    read = msgspec.json.decode(manifest, type=Manifest)
    if part is not None:
        read = msgspec.structs.replace(read, files=[_vouched(read.files[0], part), *read.files[1:]])
    return encode_manifest(read)


def _vouched(entry: Part, data: bytes) -> Part:
    try:
        rows = pq.read_metadata(pa.BufferReader(data)).num_rows
    except Exception:  # noqa: BLE001 - the reader must cope with whatever this is
        rows = entry.rows
    return msgspec.structs.replace(entry, rows=rows, bytes=len(data), sha256=digest(data), crc32=None)


@cache
def split_file(*, ours: bool) -> bytes:
    """Return a small data file: one of our writer's, or the same rows as any other software writes them."""
    rows = pa.table(
        {"id": [1, 2, None, 4], "name": ["a", None, "b" * 40, ""], "tags": [["x"], [], None, ["y", "z"]]},
    )
    if ours:
        data, _ = encode_split(rows, path=SPLIT, settings=FAST, table_id="t", partition_values={"day": "1"})
        return data
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    plain: bytes = sink.getvalue().to_pybytes()
    return plain


def everything_in(split: Split) -> pa.Table:
    """Ask an open file for all that its footer can tell, and return its rows."""
    groups = range(split.num_row_groups)
    for position, leaf in positions(split.schema).values():
        chunk_bounds(split.footer, position, leaf.field.type, groups)
    for group in groups:
        split.bloom_filter(group, 0)
    return split.read(groups, split.schema.names)
