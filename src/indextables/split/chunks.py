"""Where column chunks lie in a file, and which bytes to ask for to have some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_GAP: Final = 1024 * 1024  # reading so many bytes in vain costs less than another request
_LARGEST: Final = 64 * 1024 * 1024


def chunk_range(chunk: Any) -> tuple[int, int]:
    """Return where a column chunk begins and ends."""
    begin = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        begin = min(begin, chunk.dictionary_page_offset)
    return begin, begin + chunk.total_compressed_size


def bloom_ranges(metadata: Any) -> dict[tuple[int, int], tuple[int, int]]:
    """Return where the bloom filters of a file are, by row group and column."""
    found = {}
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(column)
            if chunk.bloom_filter_offset and chunk.bloom_filter_length:
                begin = chunk.bloom_filter_offset
                found[group, column] = (begin, begin + chunk.bloom_filter_length)
    return found


def coalesced(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return few ranges that cover all the given ones, none much larger than it has to be."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if merged and begin - merged[-1][1] <= _GAP and end - merged[-1][0] <= _LARGEST:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged
