"""Masks over files: one bit a file, or one Python bool where all files agree.

Most parts of most predicates are the same for all files (no statistics, no nulls), and a bool costs nothing to combine.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Mask: TypeAlias = pa.BooleanArray | bool


def both(left: Mask, right: Mask) -> Mask:
    """Return where both are true."""
    if isinstance(left, bool):
        return right if left else False
    if isinstance(right, bool):
        return left if right else False
    return pc.and_(left, right)


def either(left: Mask, right: Mask) -> Mask:
    """Return where one is true."""
    if isinstance(left, bool):
        return True if left else right
    if isinstance(right, bool):
        return True if right else left
    return pc.or_(left, right)


def opposite(mask: Mask) -> Mask:
    """Return where it is false."""
    return not mask if isinstance(mask, bool) else pc.invert(mask)


def known(answer: pa.Array | pa.ChunkedArray, *, unknown: bool) -> Mask:
    """Return a comparison's answer with this in place of its nulls."""
    if isinstance(answer, pa.ChunkedArray):
        answer = answer.combine_chunks()
    return answer.fill_null(unknown) if answer.null_count else answer


def whole(mask: Mask, length: int) -> pa.BooleanArray:
    """Return a mask with one bit for each file."""
    return pa.array(np.full(length, mask)) if isinstance(mask, bool) else mask
