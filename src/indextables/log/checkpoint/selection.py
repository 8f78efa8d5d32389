"""Which parts of a checkpoint a question about some partitions needs. The others are not even fetched.

A part says which partition values occur in it; it never says that a value does not lie between them. So a choice by these
ranges may read too much, and never too little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from indextables.values import parse_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from indextables.log.checkpoint.manifest import Manifest, Part


@dataclass(frozen=True, kw_only=True, eq=False)
class PartRanges:
    """What partition values the parts of a checkpoint hold, an entry a part; null where that is not known.

    Attributes:
        count: How many parts there are.
        min_values: The least value of each partition column.
        max_values: The greatest one.
        has_nulls: Whether the null partition occurs too; true where that is not known.
    """

    count: int
    min_values: Mapping[str, pa.ChunkedArray]
    max_values: Mapping[str, pa.ChunkedArray]
    has_nulls: Mapping[str, npt.NDArray[np.bool_]]


Choice: TypeAlias = Callable[[PartRanges], "npt.NDArray[np.bool_]"]
"""Tells which parts may hold what somebody is looking for."""


def chosen_parts(manifest: Manifest, schema: pa.Schema, partition_columns: list[str], choose: Choice) -> list[Part]:
    """Return the parts with files of a checkpoint that are wanted."""
    wanted = choose(_ranges(manifest, schema, partition_columns))
    return [part for part, keep in zip(manifest.files, wanted, strict=True) if keep]


def _ranges(manifest: Manifest, schema: pa.Schema, partition_columns: list[str]) -> PartRanges:
    least, greatest, nulls = {}, {}, {}
    for name in partition_columns:
        known = [part.partitions.get(name, (None, None, True)) for part in manifest.files]
        kind = schema.field(name).type
        least[name] = _typed([entry[0] for entry in known], kind)
        greatest[name] = _typed([entry[1] for entry in known], kind)
        nulls[name] = np.array([entry[2] for entry in known], bool)
    return PartRanges(count=len(manifest.files), min_values=least, max_values=greatest, has_nulls=nulls)


def _typed(texts: list[str | None], kind: pa.DataType) -> pa.ChunkedArray:
    return parse_values(pa.chunked_array([pa.array(texts, pa.string())]), kind)
