"""Paths that come out of a log, checked before anybody opens or deletes what they name.

A table's directory is untrusted input. Nearly all paths are plainly harmless, which one pass over the column shows; the few that
hold anything unusual are judged one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.storage.paths import canonical

if TYPE_CHECKING:
    import numpy.typing as npt

# A dot, a slash, a backslash, a percent sign or a digit of an escape, encoded, or a byte that may be part of a look-alike.
_ESCAPE: Final = r"%(?:2[5eEfF]|5[cC]|3[0-9]|[46][1-6]|[89a-fA-F][0-9a-fA-F])"
# An empty or dot segment, a control character, a backslash, a colon, anything that is not ASCII, or such an escape in what is no partition.
_UNUSUAL: Final = rf"(?:^|/)\.{{0,2}}(?:/|$)|[\x00-\x1f\x7f\\:]|[^\x00-\x7f]|(?:^|/)[^=/]*{_ESCAPE}[^=/]*(?:/|$)"
_LONG: Final = 1024
_SPACE, _DOT, _SLASH, _DELETE = b" ./\x7f"


def check_paths(paths: pa.ChunkedArray) -> None:
    """Refuse paths that lead, or could lead, outside the table.

    Raises:
        UnsafePathError: It names the first such path.
    """
    if all(_plain(chunk) for chunk in paths.chunks):
        return
    doubtful = pc.or_(pc.match_substring_regex(paths, _UNUSUAL), pc.greater(pc.binary_length(paths), _LONG))
    for path in paths.filter(doubtful).to_pylist():
        canonical(path)


def _plain(paths: pa.Array) -> bool:
    """Tell whether nothing in the bytes of these paths needs a closer look; false alarms cost time only."""
    if not len(paths) or paths.null_count or not pa.types.is_string(paths.type):
        return not len(paths)
    _, offsets, data = paths.buffers()
    ends: npt.NDArray[np.int32] = np.frombuffer(offsets, np.int32)[paths.offset : paths.offset + len(paths) + 1]
    text: npt.NDArray[np.uint8] = np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]]
    lengths = np.diff(ends)
    if lengths.min() == 0 or lengths.max() > _LONG or text.min() < _SPACE or text.max() >= _DELETE:
        return False
    edges = np.concatenate([text[ends[:-1] - ends[0]], text[ends[1:] - ends[0] - 1]])
    if ((edges == _DOT) | (edges == _SLASH)).any():
        return False
    content = text.tobytes()
    if any(mark in content for mark in (b"\\", b":", b"%")):
        return False
    # A slash differs from a slash in no bit and from a dot in the last; so do two bytes that are a slash and one of the two.
    pairs = text[:-1] ^ np.uint8(_SLASH)
    pairs |= text[1:] ^ np.uint8(_SLASH)
    return int(pairs.min(initial=0xFF)) > 1
