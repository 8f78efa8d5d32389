"""A directory of Parquet files becomes a table where it stands: a log is written into it, and no data is copied or moved.

Everything that the log wants to know stands in the footers and in the names of directories. What does not fit together is refused
before anything is written, with all differences at once.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from indextables.errors import ConcurrentWriteError, SchemaError, SplitCorruptionError, TableExistsError
from indextables.log.layout import LOG_DIRECTORY
from indextables.split import describe_files
from indextables.split.footer import read_footer
from indextables.storage.paths import is_below
from indextables.table.adds import add_of
from indextables.table.adopted import Columns, partition_texts, partition_types

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from indextables.config import Settings
    from indextables.log.log import TransactionLog
    from indextables.runtime import Runtime
    from indextables.split.footer import Footer
    from indextables.storage.base import ObjectMeta, Store

_READERS: Final = 16
_SHOWN: Final = 10
_OTHERS: Final = {"_delta_log/": "Delta", ".hoodie/": "Hudi"}
_ICEBERG: Final = ("metadata/", ".metadata.json")


@dataclass(frozen=True, kw_only=True, slots=True)
class ConvertResult:
    """What became a table.

    Attributes:
        path: Where it is.
        version: The version that holds all files.
        files: How many there are.
        rows: How many rows they hold.
        bytes: How large they are together.
        partition_columns: The columns that the directories are named after.
        seconds: How long it took.
    """

    path: str
    version: int
    files: int
    rows: int
    bytes: int
    partition_columns: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Declared:
    """What a catalog says about a directory.

    Attributes:
        schema: All columns of the table.
        partition_columns: The columns that directories are named after.
        directories: Those that belong to the table, relative to it; None is all.
    """

    schema: pa.Schema
    partition_columns: tuple[str, ...]
    directories: Collection[str] | None = None


def convert_directory(
    store: Store,
    log: TransactionLog,
    *,
    settings: Settings,
    runtime: Runtime,
    partition_by: Sequence[str] | Mapping[str, str] | None = None,
    declared: Declared | None = None,
) -> ConvertResult:
    """Make a directory of Parquet files a table.

    Args:
        store: The directory.
        log: Of the table to be.
        settings: Which columns get statistics, and how long they may be.
        runtime: Clock.
        partition_by: The columns that directories are named after, maybe with their types; found out if not given.
        declared: What a catalog says, which must fit.

    Raises:
        TableExistsError: It is a table already, of ours or of another format.
        SchemaError: Files or directories do not fit together; all differences are in its text.
        SplitCorruptionError: A file is no Parquet file.
        ConcurrentWriteError: Files changed meanwhile; no file was taken in.
    """
    began = runtime.monotonic()
    found = _data_files(store, declared)
    footers = _footers(store, found.values())
    names = _names(declared, partition_by)
    types = partition_types(list(found), names)
    columns = Columns(footers, partition_columns=list(types)).merged(declared.schema if declared else None)
    texts = partition_texts(list(found), types)
    records = describe_files(
        store,
        found,
        settings=settings,
        schema=columns,
        sizes={path: meta.size for path, meta in found.items()},
        partition_values=texts,
    )
    schema = pa.schema([*columns, *(pa.field(name, kind) for name, kind in types.items())])
    if _data_files(store, declared) != found:
        raise ConcurrentWriteError(
            store.url, version=0, operation="convert", cause="files came, went or changed while it was looked through"
        )
    files = [replace(record, modified_ms=found[record.path].modified_ms) for record in records]
    if log.initialize(schema, list(types)) > 0 or log.snapshot().num_files:
        raise TableExistsError(store.url, detail="another one made it meanwhile")
    version = log.add_files([add_of(file) for file in files]).version
    return ConvertResult(
        path=store.url,
        version=version,
        files=len(files),
        rows=sum(file.num_records for file in files),
        bytes=sum(file.size for file in files),
        partition_columns=tuple(types),
        seconds=runtime.monotonic() - began,
    )


def _names(
    declared: Declared | None, partition_by: Sequence[str] | Mapping[str, str] | None
) -> Sequence[str] | Mapping[str, str | pa.DataType] | None:
    if declared is not None:
        return {name: declared.schema.field(name).type for name in declared.partition_columns}
    return partition_by


def _data_files(store: Store, declared: Declared | None) -> dict[str, ObjectMeta]:
    """Return the files that readers of such a directory see, by path."""
    found: dict[str, ObjectMeta] = {}
    for meta in store.list_from(""):
        _refuse_tables(store, meta.path)
        if not _hidden(meta.path) and (declared is None or _declared(meta.path, declared)):
            found[meta.path] = meta
    if not found:
        raise SchemaError(f"There are no data files in {store.url}", way_out="Check the path")
    return found


def _declared(path: str, declared: Declared) -> bool:
    return declared.directories is None or path.rpartition("/")[0] in declared.directories


def _refuse_tables(store: Store, path: str) -> None:
    if is_below(path, LOG_DIRECTORY) and path.endswith(".json") and not path.endswith(f"{0:020d}.json"):
        raise TableExistsError(store.url, detail="it has a log with versions")
    for mark, name in _OTHERS.items():
        if path.startswith(mark):
            raise TableExistsError(
                store.url, detail=f"it belongs to {name}, which may have files that are no part of it"
            )
    if path.startswith(_ICEBERG[0]) and path.endswith(_ICEBERG[1]):
        raise TableExistsError(store.url, detail="it belongs to Iceberg, which may have files that are no part of it")


def _hidden(path: str) -> bool:
    """Tell whether Spark and Hive would pass a file over."""
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in path.split("/"))


def _footers(store: Store, metas: Iterable[ObjectMeta]) -> list[Footer]:
    broken: list[str] = []

    def read(meta: ObjectMeta) -> Footer | None:
        try:
            return read_footer(store, meta.path, size=meta.size)
        except SplitCorruptionError as error:
            broken.append(f"{meta.path}: {error.reason}")
            return None

    with ThreadPoolExecutor(max_workers=_READERS) as pool:
        footers = list(pool.map(read, metas))
    if broken:
        listed = "; ".join(sorted(broken)[:_SHOWN]) + (
            f" and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
        )
        raise SplitCorruptionError(
            store.url,
            f"not all files in it are Parquet files: {listed}",
            way_out="Move those files away, then convert again",
        )
    return [footer for footer in footers if footer is not None]
