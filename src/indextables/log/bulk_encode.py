"""The way back: a table of adds to the lines of a commit or of a checkpoint, column by column.

A checkpoint rewrites every live file of a table. Text is assembled by Arrow's kernels, a few thousand rows at a time so that
the pieces stay in the processor's cache; the bytes of the last column are the lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Add
from indextables.log.columns import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from indextables.log.columns import Row

_BATCH_ROWS = 4096
_BATCH_BYTES = 64 << 20

_ESCAPES = {'"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(0x20) if chr(code) not in _ESCAPES}
_SPECIAL = r'["\\\x00-\x1f]'
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f]"


def encode_adds(table: pa.Table) -> bytes:
    """Return the lines of adds, each ended by a newline, in the order of the rows.

    Nulls are left out, except in `partition_values`, where a null is a value. Unknown fields come last.

    Args:
        table: Adds with the columns that `decode_commits` gives; `version` and `ordinal` are not needed, and neither is `extra`.
    """
    return b"".join(_encode(table, Add, '{"add":{', "}}\n"))


def encode_objects(table: pa.Table, kind: type[Row]) -> Iterator[bytes]:
    """Yield the objects of actions, without the name of the action around them, a comma and a newline behind each."""
    return _encode(table, kind, "{", "},\n")


def _encode(table: pa.Table, kind: type[Row], before: str, behind: str) -> Iterator[bytes]:
    # Long texts make for fewer rows a batch: a column of a batch cannot hold more than two gigabytes.
    rows = max(1, min(_BATCH_ROWS, table.num_rows * _BATCH_BYTES // max(table.nbytes, 1)))
    for batch in table.to_batches(max_chunksize=rows):
        if len(batch):
            yield _encode_batch(batch, kind, before, behind)


def _encode_batch(batch: pa.RecordBatch, kind: type[Row], before: str, behind: str) -> bytes:
    members = [
        _labelled(column.wire, _as_json(batch[column.name], keep_nulls=column.name == "partition_values"))
        for column in columns_of(kind)
        if batch[column.name].null_count < len(batch)
    ]
    if "extra" in batch.schema.names and batch["extra"].null_count < len(batch):
        members.append(_join(",", pc.utf8_slice_codeunits(batch["extra"], 1, -1)))
    lines = _join(before, _members(members), behind)
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)
    text: bytes = data[ends[lines.offset] : ends[lines.offset + len(lines)]].to_pybytes()
    return text


def _members(members: Iterable[pa.Array]) -> pa.Array:
    """Return the members of an object side by side: each starts with a comma, and the first comma goes."""
    return pc.utf8_slice_codeunits(_join(*(member.fill_null("") for member in members)), 1)


def _as_json(values: pa.Array, *, keep_nulls: bool = False) -> pa.Array:
    """Return the JSON text of each value, null where the value is null."""
    if pa.types.is_string(values.type):
        return _join('"', _escaped(values), '"')
    if pa.types.is_list(values.type):
        encode = msgspec.json.Encoder().encode
        return pa.array([None if v is None else encode(v).decode() for v in values.to_pylist()], type=pa.string())
    if not pa.types.is_struct(values.type):
        return values.cast(pa.string())
    children = [
        _labelled(field.name, _as_json(child).fill_null("null") if keep_nulls else _as_json(child))
        for field, child in zip(values.type, values.flatten(), strict=True)
    ]
    text = _join("{", _members(children), "}") if children else pa.repeat("{}", len(values))
    return pc.if_else(values.is_valid(), text, None) if values.null_count else text


def _labelled(name: str, texts: pa.Array) -> pa.Array:
    return _join("," + msgspec.json.encode(name).decode() + ":", texts)


def _escaped(texts: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring_regex(texts, _SPECIAL)).as_py():
        return texts
    texts = pc.replace_substring(texts, "\\", "\\\\")
    escapes = _ESCAPES | _CONTROLS if pc.any(pc.match_substring_regex(texts, _CONTROL)).as_py() else _ESCAPES
    for character, escape in escapes.items():
        texts = pc.replace_substring(texts, character, escape)
    return texts


def _join(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")
