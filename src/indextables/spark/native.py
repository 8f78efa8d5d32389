"""Reading a table with Spark's own Parquet scan, which is only told which files to read.

On a classic session the DataFrame is an ordinary file relation: column pruning, code generation, bloom filters, dynamic partition
pruning and adaptive execution are Spark's own. Where no JVM is near (Spark Connect), or Hadoop does not know the store, the
portable data source reads the same table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from indextables.spark.bridge import bridge_of
from indextables.spark.foreign import refuse_foreign
from indextables.spark.listing import LISTINGS, Listing, TableSource
from indextables.spark.opened import open_table
from indextables.spark.portable import native_root, read_portably
from indextables.tracing import span

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from indextables.log.snapshot import Snapshot
    from indextables.spark.bridge import Source


def read(
    spark: SparkSession,
    path: str,
    *,
    version: int | None = None,
    timestamp: str | int | dt.date | None = None,
    options: Mapping[str, object] | None = None,
) -> DataFrame:
    """Return a table as a DataFrame.

    The DataFrame stays at the version that it was made from, whatever is committed later; a new `read` sees the newest one.

    Args:
        spark: The session.
        path: Where the table is.
        version: An earlier version.
        timestamp: The version that was the newest at a moment, instead of `version`.
        options: Settings under their full names (`spark.indextables.…`), which stand above the session's.

    Raises:
        TableNotFoundError: There is no table.
        VersionNotFoundError: There is no such version.
        ConfigError: A setting has a value that is not allowed.
    """
    opened = open_table(spark, path, options)
    with span("indextables.spark.read", table=opened.store.url) as noted:
        snapshot = opened.log.snapshot(version, timestamp)
        noted.note(version=snapshot.version, files=snapshot.num_files)
        refuse_foreign(snapshot)
        root = native_root(spark, opened.url)
        if root is None:
            return read_portably(spark, opened.url, version=snapshot.version, options=options)
        return _frame(spark, root, TableSource(opened.log, snapshot), LISTINGS.of(snapshot))


def read_files(spark: SparkSession, root: str, snapshot: Snapshot, rows: pa.Array) -> DataFrame:
    """Return the rows of some files of a version, given by their numbers; `root` is the table's address as Hadoop takes it."""
    refuse_foreign(snapshot)
    listing = Listing(snapshot, rows)
    return _frame(spark, root, listing, listing)


def _frame(spark: SparkSession, root: str, source: Source, listing: Listing) -> DataFrame:
    snapshot = listing.snapshot
    bridge = bridge_of(spark)
    number = bridge.add(source)
    identity = f"{snapshot.url}@{snapshot.metadata.id}@{snapshot.version}"
    if listing.num_files != snapshot.num_files:
        identity += f"#{number}"  # scans of different files of one version are different scans
    frame = bridge.java.read(
        spark._jsparkSession,  # noqa: SLF001 - pyspark has no public way to its JVM
        number,
        identity,
        f"version {snapshot.version}, {listing.num_files} files, {snapshot.url}",
        root,
        snapshot.metadata.schema_string,
        listing.packed_partitions,
        listing.size_in_bytes,
        -1 if listing.num_rows is None else listing.num_rows,
    )
    return DataFrame(frame, spark)
