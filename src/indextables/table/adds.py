"""From the record of a split to the action that adds it, and from the rows of a snapshot back to what a reader needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from indextables.log.actions import Add
from indextables.split.reader import SplitAddress

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.log.snapshot import Snapshot
    from indextables.split.file import SplitFile

FOOTER_TAG: Final = "indextables.footer"
"""On adds of splits: CRC-32 of the file's footer, in hexadecimal."""


def add_of(file: SplitFile, *, data_change: bool = True, modified_ms: int | None = None) -> Add:
    """Return the action that adds a split; `modified_ms` is its age where the record does not know it."""
    start, end = file.time_range or (None, None)
    return Add(
        path=file.path,
        partition_values=file.partition_values,
        size=file.size,
        modification_time=file.modified_ms if modified_ms is None else modified_ms,
        data_change=data_change,
        stats=file.statistics.counts_json(),
        tags={FOOTER_TAG: f"{file.footer_checksum:08x}"},
        min_values=dict(file.statistics.min_values),
        max_values=dict(file.statistics.max_values),
        num_records=file.num_records,
        footer_start_offset=file.footer_start,
        footer_end_offset=file.size,
        has_footer_offsets=True,
        time_range_start=start,
        time_range_end=end,
        num_merge_ops=file.merge_ops,
        doc_mapping_json=file.doc_mapping,
        uncompressed_size_bytes=file.uncompressed_size,
    )


def addresses(snapshot: Snapshot, rows: pa.Array) -> list[SplitAddress]:
    """Return where the files with these row numbers are. Of files that others wrote, sizes and offsets may be wrong."""
    chosen = snapshot.files.select(["path", "size", "footer_start_offset", "tags"]).take(rows)
    ours = snapshot.ours.take(rows).to_pylist()
    has_sums = chosen["tags"].type.get_field_index(FOOTER_TAG) >= 0
    sums = pc.struct_field(chosen["tags"], FOOTER_TAG).to_pylist() if has_sums else [None] * len(rows)
    columns = (chosen[name].to_pylist() for name in ("path", "size", "footer_start_offset"))
    return [
        SplitAddress(path=path, size=size, footer_start=start, footer_checksum=_number(text))
        if mine
        else SplitAddress(path=path)
        for path, size, start, text, mine in zip(*columns, sums, ours, strict=True)
    ]


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text, 16)
    except ValueError:
        return None
