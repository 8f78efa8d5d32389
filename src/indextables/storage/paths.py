"""One canonical form for every path inside a table, and the escaping that Hive and Spark use for partition directories.

The log of a table is untrusted input: a path in it must not be able to name anything outside the table, and one object must
not have two names. So a path is checked once, here, before any I/O, and compared as text ever after.
"""

from __future__ import annotations

import re
import unicodedata
import urllib.parse
from typing import TYPE_CHECKING

from indextables.errors import UnsafePathError

if TYPE_CHECKING:
    from collections.abc import Iterable

HIVE_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The directory name that stands for a null partition value."""

_MAX_PATH_BYTES = 4096
_MAX_NAME_BYTES = 1024
_MOST_DECODINGS = 8
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DOTS = frozenset({".", ".."})
_NOTHING = frozenset({"", *_DOTS})
# What Hive and Spark escape in a partition directory's name, and the C1 controls, which they decode as well.
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^") | {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))}


def canonical(path: str) -> str:
    """Return `path` unchanged if it is canonical and stays inside the root.

    Raises:
        UnsafePathError: It is absolute, has a scheme, an empty segment, a backslash, a control character or half a surrogate
            pair, is too long, or holds a dot segment: plain, percent-encoded however often, or in look-alike characters. Or it
            holds an empty segment once it is decoded.
    """
    if reason := _why_unsafe(path):
        raise UnsafePathError(path, reason)
    return path


def _why_unsafe(path: str) -> str | None:
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        return "it holds half of a surrogate pair"
    if length > _MAX_PATH_BYTES:
        return f"it is longer than {_MAX_PATH_BYTES} bytes"
    if _CONTROL.search(path):
        return "it holds a control character"
    if "\\" in path:
        return "it holds a backslash"
    if _SCHEME.match(path):
        return "it names another store"
    return next(filter(None, map(_why_segment_unsafe, path.split("/"))), None)


def _why_segment_unsafe(segment: str) -> str | None:
    if not segment:
        return "it is absolute or holds an empty segment"
    if len(segment.encode()) > _MAX_NAME_BYTES:
        return f"a segment is longer than {_MAX_NAME_BYTES} bytes"
    if _is_nothing(segment):
        return "it holds a dot segment"
    # A partition directory may hold an escaped slash or dot: that is a value, and no store of ours decodes it.
    if "%" in segment and "=" not in segment:
        decoded = _decoded(segment)
        if decoded is None:
            return f"it is encoded more than {_MOST_DECODINGS} times"
        if any(map(_is_nothing, re.split(r"[/\\]", decoded))):
            return "it holds an encoded dot segment, or an encoded slash with nothing beside it"
    return None


def _is_nothing(segment: str) -> bool:
    """Tell whether a segment leads nowhere or upwards, in look-alike characters, too."""
    return segment in _NOTHING or (not segment.isascii() and unicodedata.normalize("NFKC", segment) in _DOTS)


def _decoded(text: str) -> str | None:
    """Return what is left when there is nothing more to decode, for `%252e` and `%%32e` decode to an escape; None if that takes long."""
    for _ in range(_MOST_DECODINGS + 1):
        before, text = text, urllib.parse.unquote(text)
        if text == before:
            return text
    return None


def is_below(path: str, directory: str) -> bool:
    """Tell whether `path` lies below `directory`, by whole segments; everything lies below the empty one."""
    return not directory or path.startswith(directory + "/")


def escape_partition_value(value: str | None) -> str:
    """Return the directory form of a partition value, as Hive and Spark write it.

    Null and the empty string share one form on disk (Spark's choice); the log keeps them apart.
    """
    if value is None or value == "":
        return HIVE_DEFAULT_PARTITION
    if not _ESCAPED.isdisjoint(value):
        value = "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in value)
    return value


def unescape_partition_value(text: str) -> str | None:
    """Return the value behind a partition directory's text, and None for Hive's default partition."""
    if text == HIVE_DEFAULT_PARTITION:
        return None
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), text)


def partition_path(values: Iterable[tuple[str, str | None]]) -> str:
    """Return the directory of a partition, for example `date=2024-01-01/hour=10`."""
    return "/".join(f"{escape_partition_value(name)}={escape_partition_value(value)}" for name, value in values)


def parse_partition_path(path: str) -> list[tuple[str, str | None]]:
    """Return the partition columns and values that the directories of `path` name, in order."""
    pairs = []
    for segment in path.split("/"):
        name, equals, value = segment.partition("=")
        if equals and name:
            pairs.append((unescape_partition_value(name) or name, unescape_partition_value(value)))
    return pairs
