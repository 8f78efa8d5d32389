"""Which files are left, found with as little work as it takes.

Conditions that must all hold are tried one after another, the cheap ones first. As soon as few files are left, the others look
at those alone: in a table of a million files a range of time leaves hundreds, and then no text is compared a million times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from indextables.predicate.masks import both, whole
from indextables.predicate.nodes import Junction, Leaf, Node
from indextables.predicate.statistics import FileStatistics, View

if TYPE_CHECKING:
    from indextables.predicate.masks import Mask

_WORTH_IT: Final = 8
"""Narrow when fewer than one file in this many is left: picking values out costs about as much as comparing them."""


def files_that_may_match(node: Node, statistics: FileStatistics) -> pa.BooleanArray:
    """Return which files may have a row for which the node is true."""
    parts = list(node.children) if isinstance(node, Junction) and not node.decisive else [node]
    parts.sort(key=_cost)
    view, chosen = View(statistics), None
    left: Mask = view.may_have_rows()
    for position, part in enumerate(parts):
        left = both(left, part.may_be(True, view))
        if left is False:
            break
        if isinstance(left, pa.BooleanArray) and position + 1 < len(parts) and left.true_count * _WORTH_IT < len(left):
            found = np.flatnonzero(left.to_numpy(zero_copy_only=False))
            chosen = found if chosen is None else chosen[found]
            view, left = View(statistics, pa.array(chosen)), True
    if chosen is None or left is False:
        return whole(left, statistics.num_files)
    mask = np.zeros(statistics.num_files, bool)
    mask[chosen] = whole(left, len(chosen)).to_numpy(zero_copy_only=False)
    return pa.array(mask)


def _cost(node: Node) -> int:
    if not isinstance(node, Leaf):
        return 2
    return 1 if node.column.type.family in ("string", "binary", "decimal") else 0
