"""All settings together, and how they are found: write or read option, then Spark session, then Hadoop, then default."""

from __future__ import annotations

import difflib
import logging
import threading
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from indextables.config.declare import PREFIX, Setting, declared_in
from indextables.config.groups import (
    Aws,
    Cache,
    Checkpoint,
    Cleanup,
    Compression,
    Delta,
    Indexing,
    Retention,
    Retry,
    Skips,
    Staleness,
    Stats,
    Storage,
    Transaction,
    Truncation,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOG = logging.getLogger(__name__)
_reported: set[str] = set()
_reporting = threading.Lock()


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Every setting, grouped by concern; `Settings()` holds the defaults.

    It is a value: immutable, comparable, and safe to pickle to Spark's workers or to print, since secrets stay masked.
    """

    compression: Compression = field(default_factory=Compression)
    transaction: Transaction = field(default_factory=Transaction)
    retry: Retry = field(default_factory=Retry)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    retention: Retention = field(default_factory=Retention)
    cleanup: Cleanup = field(default_factory=Cleanup)
    stats: Stats = field(default_factory=Stats)
    indexing: Indexing = field(default_factory=Indexing)
    truncation: Truncation = field(default_factory=Truncation)
    cache: Cache = field(default_factory=Cache)
    staleness: Staleness = field(default_factory=Staleness)
    skips: Skips = field(default_factory=Skips)
    storage: Storage = field(default_factory=Storage)
    delta: Delta = field(default_factory=Delta)
    aws: Aws = field(default_factory=Aws)

    @classmethod
    def resolve(
        cls,
        options: Mapping[str, object] | None = None,
        *,
        session: Mapping[str, object] | None = None,
        hadoop: Mapping[str, object] | None = None,
    ) -> Settings:
        """Return the settings that hold for one read or write.

        For each key on its own the first of `options`, `session` and `hadoop` that has it decides. Keys are compared without
        regard to case, as Spark compares options; None counts as not given; keys without our prefix are not ours. A key with
        our prefix that does not exist is reported as a warning, once in the life of the process.

        Raises:
            ConfigError: The value that decides is not allowed.
        """
        known = registry()
        given: dict[str, object] = {}
        for layer in (hadoop, session, options):
            for key, raw in (layer or {}).items():
                if raw is None or not (lowered := key.lower()).startswith(PREFIX):
                    continue
                if lowered in known:
                    given[lowered] = raw
                else:
                    _report_unknown(key)
        values: dict[str, dict[str, Any]] = {}
        for lowered, raw in given.items():
            entry = known[lowered]
            values.setdefault(entry.group, {})[entry.field] = entry.setting.parse(raw)
        groups: dict[str, Any] = {group: _GROUPS[group](**chosen) for group, chosen in values.items()}
        return cls(**groups)


class Entry(NamedTuple):
    """Where a setting lives: `settings.<group>.<field>`."""

    group: str
    field: str
    setting: Setting
    default: Any


_GROUPS: dict[str, type[Any]] = {entry.name: type(getattr(Settings(), entry.name)) for entry in fields(Settings)}


@cache
def registry() -> dict[str, Entry]:
    """Return every setting by its key in lower case, in the order of declaration."""
    return {
        declared.key.lower(): Entry(group, name, declared, getattr(_GROUPS[group](), name))
        for group, cls in _GROUPS.items()
        for name, declared in declared_in(cls).items()
    }


def _report_unknown(key: str) -> None:
    lowered = key.lower()
    with _reporting:
        if lowered in _reported:
            return
        _reported.add(lowered)
    # The prefix, which they all share, would make every key look alike.
    names = {known.removeprefix(PREFIX): entry.setting.key for known, entry in registry().items()}
    closest = difflib.get_close_matches(lowered.removeprefix(PREFIX), names, n=1, cutoff=0.0)[0]
    _LOG.warning("The unknown setting %s is ignored; the closest known one is %s", key, names[closest])
