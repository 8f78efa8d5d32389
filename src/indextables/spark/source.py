"""The data source under its names: for Spark Connect, for `CREATE TABLE … USING indextables`, and wherever a format's name is needed.

It reads and writes with Arrow in Spark's Python workers, which every kind of session has. Spark also starts workers that do nothing but
look for data sources or ask for a schema, so what reads and writes is imported by those that read and write. A classic session that wants
Spark's own scan and writer uses `indextables.read` and `indextables.write`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from pyspark.sql.datasource import DataSource

from indextables.errors import ConfigError
from indextables.spark.source_table import SourceTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSourceReader, DataSourceWriter
    from pyspark.sql.types import StructType

LONG_NAME: Final = "io.indextables.spark.core.IndexTables4SparkTableProvider"
"""The name under which existing jobs know the format."""

PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"


class IndexTablesSource(DataSource):
    """Tables by the name `indextables`.

    Options of a read: `path`; `version` or `timestamp`; `columns` (names with commas between: the only ones that are read); `filter` (a
    condition: the only rows that are read, its moments in UTC); `pushFilters` (`true` takes Spark's own filters, too).
    Options of a write: `path`; `partitionBy` for a table that is created; `partitionOverwriteMode`; `mergeSchema`.
    Every setting can be given under its full name.
    """

    session: ClassVar[dict[str, str]] = {}
    """Settings and store properties of the session that registered the source; options stand above them."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "indextables"

    def schema(self) -> StructType:
        """Return the columns of the table as of the version that is read."""
        return self._pinned().spark_schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads the version that `schema` was asked about."""
        from indextables.spark.source_read import PushingReader, TableReader  # noqa: PLC0415 - see the top

        table = self._pinned()
        return PushingReader(table, schema) if table.flag("pushFilters") else TableReader(table, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return what appends rows, or replaces all rows by them."""
        from indextables.spark.source_write import TableWriter  # noqa: PLC0415 - see the top

        return TableWriter(self._table(), schema.json(), overwrite=overwrite)

    def _table(self) -> SourceTable:
        options = {**self.session, **dict(self.options)}
        path = options.pop("path", None)
        if not path:
            raise ConfigError(
                "path",
                path,
                "where the table is: load(path), save(path), or WITH (path = '…') after its name in a query",
            )
        return SourceTable(path, options)

    def _pinned(self) -> SourceTable:
        # This object is pickled after `schema` was asked for, and that pins every later step to one version.
        table: SourceTable | None = getattr(self, "_read_table", None)
        if table is None:
            table = self._read_table = self._table().pinned()
        return table


class LongNamedSource(IndexTablesSource):
    """The same tables by the name that existing jobs use."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return LONG_NAME


def register(spark: SparkSession) -> None:
    """Make the data source known to a session under both of its names, with the session's settings as they are now.

    Filters reach a Python data source only if the session allows it, so this switches it on for those who ask for it
    (`spark.sql.python.filterPushdown.enabled`). Call it again after changing `spark.indextables.*` settings of the session.
    """
    from indextables.spark.conf import configuration_of  # noqa: PLC0415 - workers import this module and have no py4j

    configuration = configuration_of(spark)
    own = {key: value for layer in (configuration.hadoop, configuration.session) for key, value in layer.items()}
    spark.conf.set(PUSHDOWN, "true")
    for source in (IndexTablesSource, LongNamedSource):
        spark.dataSource.register(_with_session(source, own))


def _with_session(source: type[IndexTablesSource], session: dict[str, str]) -> type[IndexTablesSource]:
    """Return the source as a class that carries a session's settings; a class made here is pickled whole."""
    return type(source.__name__, (source,), {"session": session, "__module__": "__main__", "__doc__": source.__doc__})
