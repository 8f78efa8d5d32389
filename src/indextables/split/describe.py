"""Records of files that exist already, from their footers alone.

Spark writes files itself, and a lost log is rebuilt from the files that are there. A split of ours says in its footer what the log
said of it; of any other Parquet file the record holds what its footer states without doubt.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from indextables.errors import SplitCorruptionError
from indextables.split.file import SplitFile
from indextables.split.footer import PARTITION_KEY, STATISTICS_KEY, Footer, read_footer, translated
from indextables.split.footer_statistics import chunk_bounds, positions, same_family
from indextables.split.statistics import SplitStatistics, bounds_of, statistics_columns
from indextables.split.truncation import TruncationReport, column_rules, truncate_statistics
from indextables.split.writer import time_range, uncompressed_size
from indextables.storage.paths import parse_partition_path
from indextables.values import parse_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from indextables.config import Settings
    from indextables.storage.base import Store
    from indextables.values import Leaf

_PARALLEL = 16


def describe_files(
    store: Store,
    paths: Iterable[str],
    *,
    settings: Settings,
    schema: pa.Schema | None = None,
    sizes: Mapping[str, int] | None = None,
    partition_values: Mapping[str, Mapping[str, str | None]] | None = None,
) -> list[SplitFile]:
    """Return the records of many files, in their order, their footers read in parallel; see `describe_file`."""
    one = partial(describe_file, store, settings=settings, schema=schema)
    every = list(paths)
    with ThreadPoolExecutor(max_workers=max(1, min(_PARALLEL, len(every)))) as pool:
        tasks = [
            pool.submit(
                one,
                path,
                size=(sizes or {}).get(path),
                partition_values=(partition_values or {}).get(path),
            )
            for path in every
        ]
        return [task.result() for task in tasks]


def describe_file(
    store: Store,
    path: str,
    *,
    settings: Settings,
    schema: pa.Schema | None = None,
    size: int | None = None,
    partition_values: Mapping[str, str | None] | None = None,
) -> SplitFile:
    """Return the record of a Parquet file from its footer.

    Args:
        store: Where the table is.
        path: Of the file.
        settings: Which columns get statistics and how long they may be.
        schema: The data columns of the table; the file's own if not given.
        size: Of the file, if it is known; it saves a request.
        partition_values: Its partition; if not given, what its footer says, else what its directories are called.

    Raises:
        SplitCorruptionError: It is no Parquet file.
        NotFoundError: It is not there.
    """
    if size is None:
        meta = store.head(path)
        size, modified = meta.size, meta.modified_ms
    else:
        modified = 0
    footer = read_footer(store, path, size=size)
    columns = statistics_columns(schema if schema is not None else footer.schema, settings)
    statistics, report = _noted(footer), TruncationReport()
    if statistics is None:
        rules = column_rules(columns, settings.truncation)
        binary = frozenset(leaf.path for leaf in columns if pa.types.is_binary(leaf.field.type))
        statistics, report = truncate_statistics(_from_footer(footer, columns), rules, binary=binary)
    values = partition_values if partition_values is not None else _partition(footer)
    return SplitFile(
        path=path,
        size=size,
        statistics=statistics,
        partition_values=dict(values),
        footer_start=footer.start,
        footer_checksum=footer.checksum,
        uncompressed_size=uncompressed_size(footer.metadata),
        time_range=time_range(statistics, columns),
        modified_ms=modified,
        truncation=report,
    )


def _noted(footer: Footer) -> SplitStatistics | None:
    """Return what our writer noted about the rows, if it wrote the file."""
    text = footer.own.get(STATISTICS_KEY)
    if text is None:
        return None
    try:
        noted = SplitStatistics.from_json(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise SplitCorruptionError(footer.path, "the statistics in its footer are damaged") from error
    if noted.num_records != footer.metadata.num_rows:
        raise SplitCorruptionError(footer.path, "the statistics in its footer are about another number of rows")
    return noted


def _partition(footer: Footer) -> dict[str, str | None]:
    text = footer.own.get(PARTITION_KEY)
    if text is None:
        return dict(parse_partition_path(footer.path.rpartition("/")[0]))
    try:
        return msgspec.json.decode(text, type=dict[str, str | None])
    except (msgspec.DecodeError, UnicodeError) as error:
        raise SplitCorruptionError(footer.path, "the partition in its footer is damaged") from error


def _from_footer(footer: Footer, columns: Iterable[Leaf]) -> SplitStatistics:
    groups = range(footer.metadata.num_row_groups)
    least: dict[str, str] = {}
    greatest: dict[str, str] = {}
    nulls: dict[str, int] = {}
    inexact = []
    with translated(footer.path):
        places = positions(footer.schema)
        present = {name.casefold() for name in footer.schema.names}
        for leaf in columns:
            if leaf.path not in places:
                if leaf.names[0].casefold() not in present:
                    nulls[leaf.path] = footer.metadata.num_rows
                continue
            position, stored = places[leaf.path]
            known = chunk_bounds(footer, position, stored.field.type, groups)
            counts = [count for count in known.null_counts if count is not None]
            if len(counts) == len(groups):
                nulls[leaf.path] = sum(counts)
            if not leaf.ordered or not same_family(stored.field.type, leaf.field.type):
                continue
            rows = [footer.metadata.row_group(group).num_rows for group in groups]
            silent = [
                low is None and count != num
                for low, count, num in zip(known.least, known.null_counts, rows, strict=True)
            ]
            if any(silent) or not groups:
                continue
            low, high = _extremes(known.least, leaf)["min"], _extremes(known.greatest, leaf)["max"]
            if low is not None and high is not None:
                least[leaf.path], greatest[leaf.path] = low, high
                if _rounded(stored.field.type):
                    inexact.append(leaf.path)
    return SplitStatistics(
        num_records=footer.metadata.num_rows,
        min_values=least,
        max_values=greatest,
        null_counts=nulls,
        inexact=tuple(inexact),
    )


def _extremes(texts: list[str | None], leaf: Leaf) -> dict[str, str | None]:
    values = parse_values(pa.chunked_array([pa.array(texts, pa.string())]), leaf.field.type)
    if values.null_count != texts.count(None):
        return {"min": None, "max": None}
    return bounds_of(values)


def _rounded(kind: pa.DataType) -> bool:
    """Tell whether writers of Parquet may state a bound of this type that is no value of the column."""
    texts: Any = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in texts) or (pa.types.is_timestamp(kind) and kind.unit == "ns")
