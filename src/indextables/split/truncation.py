"""Long statistics, cut so that the log stays small and skipping stays right.

A cut maximum is below the true one, and one with a marker behind it sorts anywhere: compared as bounds, both lose rows. So a
value that ends in the marker is for people to look at, and `bounds` rounds outwards instead of cutting: down to a prefix for the
minimum, up to the next shorter text for the maximum. Lengths count code points, and a successor skips the surrogates, which no
text can hold.
"""

from __future__ import annotations

import base64
import dataclasses
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import pyarrow as pa

from indextables.config import TRUNCATION_SUFFIX, Truncation
from indextables.config.settings import registry
from indextables.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from indextables.split.statistics import SplitStatistics
    from indextables.values import Leaf

    _Shorten: TypeAlias = Callable[[str, int], str | None]

_LOG = logging.getLogger(__name__)
_LAST = 0x10FFFF
_BEFORE_SURROGATES, _AFTER_SURROGATES = 0xD7FF, 0xE000
_COLUMN_SETTINGS = b"spark.metadata"


@dataclass(frozen=True, kw_only=True, slots=True)
class TruncationReport:
    """What truncation did to the statistics of one file, or of all files of a write.

    Attributes:
        columns: The columns that it touched.
        bytes_saved: How much shorter the statistics became, in bytes of UTF-8.
    """

    columns: frozenset[str] = frozenset()
    bytes_saved: int = 0

    def __add__(self, other: TruncationReport) -> TruncationReport:
        return TruncationReport(columns=self.columns | other.columns, bytes_saved=self.bytes_saved + other.bytes_saved)


def column_rules(columns: Iterable[Leaf], truncation: Truncation) -> dict[str, Truncation]:
    """Return the rule of each column that can have long statistics: what its own metadata says, else the common one."""
    return {
        leaf.path: _own_rule(leaf, truncation)
        for leaf in columns
        if pa.types.is_string(leaf.field.type) or pa.types.is_binary(leaf.field.type)
    }


def _own_rule(leaf: Leaf, truncation: Truncation) -> Truncation:
    text = (leaf.field.metadata or {}).get(_COLUMN_SETTINGS)
    if text is None:
        return truncation
    known = registry()
    given: dict[str, Any] = {}
    try:
        for key, value in msgspec.json.decode(text, type=dict[str, Any]).items():
            entry = known.get(key.lower())
            if entry is not None and entry.group == "truncation":
                given[entry.field] = entry.setting.parse(value)
        return dataclasses.replace(truncation, **given)
    except (msgspec.DecodeError, ConfigError) as error:
        _LOG.warning("What column %s says about its statistics is ignored: %s", leaf.path, error)
        return truncation


def truncate_statistics(
    statistics: SplitStatistics, rules: Mapping[str, Truncation], *, binary: frozenset[str] = frozenset()
) -> tuple[SplitStatistics, TruncationReport]:
    """Return the statistics with long values treated as the rules want, and what that did.

    Args:
        statistics: As they were computed.
        rules: The rule of each column that can have long values.
        binary: Those of them whose texts stand for bytes.
    """
    least, greatest = dict(statistics.min_values), dict(statistics.max_values)
    inexact = list(statistics.inexact)
    touched = []
    for name, rule in rules.items():
        lengths = len(least.get(name, "")), len(greatest.get(name, ""))
        if not rule.enabled or max(lengths) <= rule.max_length:
            continue
        _LOG.info(
            "Truncating statistics for column '%s' (min length: %d, max length: %d, strategy: %s)",
            name,
            *lengths,
            rule.strategy,
        )
        touched.append(name)
        for values, shorten in ((least, _lower), (greatest, _upper)):
            text = values.pop(name, None)
            short = None if text is None else _short(text, rule, shorten[name in binary])
            if short is not None:
                values[name] = short
        if (name in least or name in greatest) and name not in inexact:
            inexact.append(name)
    if not touched:
        return statistics, TruncationReport()
    result = dataclasses.replace(statistics, min_values=least, max_values=greatest, inexact=tuple(inexact))
    return result, TruncationReport(columns=frozenset(touched), bytes_saved=_bytes(statistics) - _bytes(result))


def _short(text: str, rule: Truncation, shorten: _Shorten) -> str | None:
    if rule.strategy == "drop":
        return None
    if len(text) <= rule.max_length:
        return text
    if rule.strategy == "truncate":
        return text[: rule.max_length - len(TRUNCATION_SUFFIX)] + TRUNCATION_SUFFIX
    return shorten(text, rule.max_length)


def lower_bound(text: str, length: int) -> str:
    """Return a text of at most that length that is not above the given one."""
    return text[:length]


def upper_bound(text: str, length: int) -> str | None:
    """Return the shortest text of at most that length that is above every text with the same beginning; None if there is none."""
    if len(text) <= length:
        return text
    for end in range(length, 0, -1):
        if (point := ord(text[end - 1])) < _LAST:
            following = _AFTER_SURROGATES if point == _BEFORE_SURROGATES else point + 1
            return text[: end - 1] + chr(following)
    return None


def _lower_bytes(text: str, length: int) -> str:
    return base64.b64encode(base64.b64decode(text)[: length // 4 * 3]).decode()


def _upper_bytes(text: str, length: int) -> str | None:
    kept = base64.b64decode(text)[: length // 4 * 3].rstrip(b"\xff")
    return base64.b64encode(kept[:-1] + bytes([kept[-1] + 1])).decode() if kept else None


_lower: tuple[_Shorten, _Shorten] = (lower_bound, _lower_bytes)
_upper: tuple[_Shorten, _Shorten] = (upper_bound, _upper_bytes)


def _bytes(statistics: SplitStatistics) -> int:
    texts = (*statistics.min_values.values(), *statistics.max_values.values())
    return sum(len(text.encode()) for text in texts)
