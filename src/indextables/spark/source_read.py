"""Reads a table in Spark's Python workers: the driver's worker chooses files, the executors' workers read them as Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from indextables.errors import PredicateError, SchemaError
from indextables.log.schema import SPARK_TYPE, parse_schema
from indextables.predicate import bind, parse
from indextables.spark.filters import expression_of
from indextables.spark.foreign import refuse_foreign
from indextables.table.adds import addresses
from indextables.table.pruning import prune
from indextables.table.scan import Scan, ScanFile
from indextables.values import parse_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    from indextables.predicate import Predicate
    from indextables.predicate.expression import Expression
    from indextables.spark.source_table import SourceTable
    from indextables.split.reader import SplitAddress

_PARTITION_BYTES: Final = 128 * 1024 * 1024
_OPENING_BYTES: Final = 8 * 1024 * 1024
"""What opening a file counts for, so that a partition of small files stays a small message."""


@dataclass
class FilesPartition(InputPartition):
    """The files of one task, each with the texts of its partition values. It carries no settings, and so no secrets."""

    files: tuple[tuple[SplitAddress, dict[str, str | None]], ...] = ()


class TableReader(DataSourceReader):
    """Reads one version of a table."""

    def __init__(self, table: SourceTable, schema: StructType) -> None:
        self._table = table
        self._schema = schema
        self._pushed: Expression | None = None

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks: files that may hold wanted rows, gathered by size."""
        snapshot = self._table.snapshot()
        refuse_foreign(snapshot)
        rows = prune(snapshot, self._predicate()).rows
        texts = snapshot.files["partition_values"].take(rows).to_pylist()
        files = list(zip(addresses(snapshot, rows), texts, strict=True))
        return [FilesPartition(tuple(part)) for part in _gathered(files)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task."""
        if not isinstance(partition, FilesPartition):
            return  # there are no files, and Spark makes up a task for them
        schema = parse_schema(self._table.schema)
        names = {field.name.casefold(): field.name for field in schema}
        columns = [names[name.casefold()] for name in self._schema.fieldNames()]
        files = [ScanFile(address=address, constants=_constants(texts, schema)) for address, texts in partition.files]
        scan = Scan(self._table.store(), schema=schema, columns=columns, files=files, predicate=self._predicate())
        wanted = _arrow_schema(self._schema)
        for table in scan.tables():
            arrays = [
                column if column.type.equals(field.type) else column.cast(field.type)
                for column, field in zip(table.columns, wanted, strict=True)
            ]
            yield from pa.Table.from_arrays(arrays, schema=wanted).to_batches()

    def _predicate(self) -> Predicate | None:
        schema = parse_schema(self._table.schema)
        text = self._table.option("filter")
        wanted = None if text is None else parse(text)
        if self._pushed is not None:
            try:
                bind(self._pushed, schema)
            except (
                PredicateError,
                SchemaError,
            ):  # Spark compares what our predicates do not; it checks the rows itself
                pass
            else:
                wanted = self._pushed if wanted is None else wanted & self._pushed
        return None if wanted is None else bind(wanted, schema)


class PushingReader(TableReader):
    """Takes filters from Spark, too.

    Spark keeps what a pushed filter led to with the DataFrame and not with the scan, so a query that uses one DataFrame twice would
    filter both uses alike. That is why only who asks for it gets this reader.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Take note of the filters, and hand all of them back for Spark to check again."""
        self._pushed = expression_of(item for item in filters if self._orders_like_spark(item))
        return filters

    def _orders_like_spark(self, item: Filter) -> bool:
        """Tell whether a filter is on a column that Spark compares byte by byte, and not by a collation."""
        while hasattr(item, "child"):
            item = item.child
        name = str(item.attribute[0]).casefold()  # type: ignore[attr-defined]
        columns = {field.name.casefold(): field for field in parse_schema(self._table.schema)}
        return name in columns and b"collate" not in (columns[name].metadata or {}).get(SPARK_TYPE, b"")


def _constants(texts: dict[str, str | None], schema: pa.Schema) -> dict[str, pa.Scalar]:
    return {
        name: parse_values(pa.chunked_array([[text]], pa.string()), schema.field(name).type)[0]
        for name, text in texts.items()
    }


def _gathered(files: Sequence[tuple[SplitAddress, dict[str, str | None]]]) -> Iterator[list[Any]]:
    part: list[Any] = []
    held = 0
    for address, texts in files:
        size = (address.size or 0) + _OPENING_BYTES
        if part and held + size > _PARTITION_BYTES:
            yield part
            part, held = [], 0
        part.append((address, texts or {}))
        held += size
    if part:
        yield part


def _arrow_schema(schema: StructType) -> pa.Schema:
    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # before Spark 4.3 the zone was not an argument
        return to_arrow_schema(schema)
