"""The data files that a log names, beside those that are there. What is gone is marked; whether it leaves the table is not ours to say."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.commit_info import WRITER_TAG
from indextables.log.layout import LOG_DIRECTORY
from indextables.log.repair.backup import BACKUP_DIRECTORY
from indextables.storage.paths import is_below

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from indextables.config import Settings
    from indextables.log.state import LogState
    from indextables.storage.base import Store

_SUFFIX: Final = ".split"


@dataclass(frozen=True, kw_only=True, slots=True)
class DataFiles:
    """How the files of a table compare with what is in its store.

    Attributes:
        missing: Active files that are not there.
        changed: Active files of ours that are there with another size.
        unreferenced: Split files that are there, and neither active nor known to be removed.
    """

    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unreferenced: tuple[str, ...] = ()


def compare_files(store: Store, state: LogState, settings: Settings) -> DataFiles:
    """Return what is missing, and what nobody names. One listing tells nearly all; what it lacks is asked for by name."""
    found = [(meta.path, meta.size) for meta in store.list_from("") if not _is_log(meta.path)]
    there = pa.array([path for path, _ in found], pa.string())
    sizes = np.array([size for _, size in found], np.int64)
    files, removed = state.files, state.removes["path"]
    at = pc.index_in(files["path"], value_set=there)
    absent = files["path"].filter(pc.is_null(at)).to_pylist()
    known = pa.chunked_array([*files["path"].chunks, *removed.chunks], pa.string()).combine_chunks()
    splits = there.filter(pc.ends_with(there, _SUFFIX))
    return DataFiles(
        missing=_really_missing(store, absent, settings.checkpoint.parallelism),
        changed=_changed(files, at, sizes),
        unreferenced=tuple(splits.filter(pc.invert(pc.is_in(splits, value_set=known))).to_pylist()),
    )


def _is_log(path: str) -> bool:
    return is_below(path, LOG_DIRECTORY) or is_below(path, BACKUP_DIRECTORY)


def _changed(files: pa.Table, at: pa.ChunkedArray, sizes: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """Return the files of ours whose size is another one; others do not promise what they write there."""
    tags = files["tags"]
    if not files.num_rows or tags.type.get_field_index(WRITER_TAG) < 0:
        return ()
    ours = pc.and_(pc.is_valid(at), pc.is_valid(pc.struct_field(tags, WRITER_TAG)))
    rows, places = files.filter(ours), at.filter(ours).to_numpy()
    differs = pa.array(rows["size"].to_numpy() != sizes[places])
    return tuple(rows["path"].filter(differs).to_pylist())


def _really_missing(store: Store, paths: Sequence[str], parallelism: int) -> tuple[str, ...]:
    if not paths:
        return ()
    with ThreadPoolExecutor(max(1, min(parallelism, len(paths))), thread_name_prefix="indextables-repair") as pool:
        there = list(pool.map(lambda path: store.exists(path) or store.exists(path), paths))
    return tuple(sorted(path for path, found in zip(paths, there, strict=True) if not found))
