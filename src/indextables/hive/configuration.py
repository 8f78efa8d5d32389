"""The configuration file: which tables to compact, and how, for runs over many of them.

defaults:
  target_size: 256MB
  staging: hidden
include: ["sales.*"]
exclude: ["sales.tmp_*"]
tables:
  sales.events: {sort_by: [customer_id], codec: zstd}
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from indextables.config.quantities import Size
from indextables.errors import ConfigError, IndexTablesError
from indextables.hive.compact import CompactionResult, compact
from indextables.hive.options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from indextables.hive.connect import Lake

_SIZES = frozenset({"threshold", "target_size", "spark_from"})
_KEYS = (*sorted(_SIZES), "codec", "sort_by", "staging", "swap")
_SECTIONS = ("defaults", "include", "exclude", "tables")


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """What the file says.

    Attributes:
        defaults: How every table is compacted.
        include: Patterns of full names; `*` stands for anything.
        exclude: Patterns of tables to leave alone.
        tables: What is different for single tables, which are compacted whether a pattern names them or not.
    """

    defaults: Options = field(default_factory=Options)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tables: Mapping[str, Options] = field(default_factory=dict)

    def options(self, table: str) -> Options:
        """Return how to compact a table."""
        return self.tables.get(table, self.defaults)

    def wants(self, table: str) -> bool:
        """Tell whether a table is to be compacted."""
        if any(fnmatchcase(table, pattern) for pattern in self.exclude):
            return False
        return table in self.tables or any(fnmatchcase(table, pattern) for pattern in self.include)


@dataclass(frozen=True, kw_only=True)
class TableOutcome:
    """What became of one table of many: a result, or the error that stopped it."""

    table: str
    result: CompactionResult | None = None
    error: IndexTablesError | None = None


def load_configuration(path: str | Path) -> Configuration:
    """Read a configuration file.

    Raises:
        ConfigError: It cannot be read, or says something that is not understood.
    """
    try:
        held = yaml.safe_load(Path(path).read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError("--config", str(path), "a readable YAML file") from error
    _require(held, "the file", _SECTIONS)
    defaults = _options("defaults", held.get("defaults") or {}, Options())
    tables = held.get("tables") or {}
    if not isinstance(tables, dict):
        raise ConfigError("tables", tables, "tables with their options")
    return Configuration(
        defaults=defaults,
        include=_patterns("include", held.get("include")),
        exclude=_patterns("exclude", held.get("exclude")),
        tables={str(name).lower(): _options(str(name), options or {}, defaults) for name, options in tables.items()},
    )


def compact_all(
    lake: Lake,
    configuration: Configuration,
    *,
    dry_run: bool = False,
    spark: SparkSession | None = None,
    on_table: Callable[[TableOutcome], None] | None = None,
) -> list[TableOutcome]:
    """Compact every table that a configuration wants; one that fails does not stop the next."""
    outcomes = []
    for name in _wanted(lake, configuration):
        try:
            result = compact(lake, name, options=configuration.options(name), dry_run=dry_run, spark=spark)
            outcome = TableOutcome(table=name, result=result)
        except IndexTablesError as error:
            outcome = TableOutcome(table=name, error=error)
        outcomes.append(outcome)
        if on_table:
            on_table(outcome)
    return outcomes


def _wanted(lake: Lake, configuration: Configuration) -> list[str]:
    found = []
    for database in lake.metastore.databases():
        names = [f"{database}.{name}" for name in lake.metastore.table_names(database)]
        found += [name for name in names if configuration.wants(name) and ".__bkp_" not in name]
    return found + [name for name in configuration.tables if name not in found and configuration.wants(name)]


def _options(where: str, held: Any, base: Options) -> Options:
    _require(held, where, _KEYS)
    values: dict[str, Any] = {}
    for key, value in held.items():
        if key in _SIZES:
            values[key] = parse_size(f"{where}.{key}", value)
        elif key == "sort_by":
            values[key] = _patterns(f"{where}.{key}", value)
        else:
            values[key] = value
    return replace(base, **values)


def parse_size(key: str, value: object) -> int:
    """Return a number of bytes from `128MB` or a plain number.

    Raises:
        ConfigError: It is neither.
    """
    kind = Size(minimum=1)
    try:
        return kind.check(value) if isinstance(value, int) else kind.read(str(value))
    except ValueError as error:
        raise ConfigError(key, value, kind.allowed) from error


def _patterns(key: str, held: object) -> tuple[str, ...]:
    if held is None:
        return ()
    if isinstance(held, str):
        return (held,)
    if not isinstance(held, list) or not all(isinstance(one, str) for one in held):
        raise ConfigError(key, held, "a name or a list of names")
    return tuple(held)


def _require(held: object, where: str, keys: tuple[str, ...]) -> None:
    if not isinstance(held, dict):
        raise ConfigError(where, held, f"a mapping with {', '.join(keys)}")
    for key in held:
        if key not in keys:
            raise ConfigError(f"{where}: {key}", held[key], f"one of {', '.join(keys)}")
