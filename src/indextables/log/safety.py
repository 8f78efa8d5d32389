"""Paths that come out of a log, checked before anybody opens or deletes what they name.

A table's directory is untrusted input. Nearly all paths are plainly harmless, which one pass over the column shows; the few that
hold anything unusual are judged one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from indextables.storage.paths import canonical

if TYPE_CHECKING:
    import pyarrow as pa

# An empty or dot segment, a control character, a backslash, a colon, anything that is not ASCII, or an encoded dot or slash.
_UNUSUAL: Final = r"(?:^|/)\.{0,2}(?:/|$)|[\x00-\x1f\x7f\\:]|[^\x00-\x7f]|%(?:25|2e|2E|2f|2F|5c|5C)"
_LONG: Final = 1024


def check_paths(paths: pa.ChunkedArray) -> None:
    """Refuse paths that lead, or could lead, outside the table.

    Raises:
        UnsafePathError: It names the first such path.
    """
    doubtful = pc.or_(pc.match_substring_regex(paths, _UNUSUAL), pc.greater(pc.binary_length(paths), _LONG))
    for path in paths.filter(doubtful).to_pylist():
        canonical(path)
