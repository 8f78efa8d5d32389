"""Every file of a table that is in its store, but those of the log, listed in several places at once.

A listing goes from page to page and cannot be hurried, but it can be begun anywhere. Where to begin is taken from the paths that
the log knows, which lie where the files lie, so the parts come out about equal.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from indextables.log.layout import LOG_DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from indextables.storage.base import ObjectMeta, Store

_PARTS: Final = 8
_AFTER_LOG: Final = f"{LOG_DIRECTORY}0"
"""What sorts right behind everything in the log: a zero follows the slash."""

SCHEMA: Final = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modified_ms", pa.int64())])


def list_data_files(store: Store, known: pa.ChunkedArray | pa.Array, *, parts: int = _PARTS) -> pa.Table:
    """Return the files of a table, a row each: `path`, `size`, `modified_ms`.

    Args:
        store: Where the table is.
        known: Paths that the log has.
        parts: How many listings run at once.
    """
    edges = _edges(known, parts)
    ranges = list(zip(edges, [*edges[1:], None], strict=True))
    with ThreadPoolExecutor(max_workers=len(ranges)) as pool:
        tables = list(pool.map(lambda ends: _table(_between(store, *ends)), ranges))
    return pa.concat_tables(tables)


def _edges(known: pa.ChunkedArray | pa.Array, parts: int) -> list[str]:
    """Return where listings begin, in order; the first begins with the first file."""
    paths = known.combine_chunks() if isinstance(known, pa.ChunkedArray) else known
    if len(paths) < 2 * parts:
        return ["", _AFTER_LOG]
    order = np.argsort(paths.cast(pa.binary()).to_numpy(zero_copy_only=False))
    places = np.linspace(0, len(order), parts, endpoint=False).astype(int)[1:]
    chosen = paths.take(pa.array(order[places])).to_pylist()
    return sorted({"", _AFTER_LOG, *chosen}, key=str.encode)


def _between(store: Store, after: str, upto: str | None) -> Iterator[ObjectMeta]:
    end = None if upto is None else upto.encode()
    for meta in store.list_from("", after or None):
        if meta.path.startswith(f"{LOG_DIRECTORY}/"):
            return  # behind it the next listing begins
        if end is not None and meta.path.encode() > end:
            return
        yield meta


def _table(found: Iterable[ObjectMeta]) -> pa.Table:
    metas: Sequence[ObjectMeta] = list(found)
    columns = [[meta.path for meta in metas], [meta.size for meta in metas], [meta.modified_ms for meta in metas]]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)
