"""Where Spark's own scan and writer cannot go: sessions without a JVM near, and stores that Hadoop does not know.

There the data source reads and writes, with Arrow in Python workers. The rows are the same; it is slower, and it cannot skip columns
by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from py4j.protocol import Py4JError

from indextables.spark.addresses import hadoop_root, scheme_of
from indextables.spark.results import WriteResult
from indextables.spark.runs import RUN_LENGTH
from indextables.spark.source import register

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from indextables.log.snapshot import Snapshot
    from indextables.spark.columns import ColumnPlan


def native_root(spark: SparkSession, url: str) -> str | None:
    """Return a table's address as the session's Hadoop takes it; None if there is no JVM, or its Hadoop has no such store."""
    if getattr(spark, "_jsparkSession", None) is None:
        return None
    root = hadoop_root(url)
    for scheme in dict.fromkeys([scheme_of(root), "s3a" if scheme_of(root) == "s3" else scheme_of(root)]):
        if _is_known(spark, scheme):
            return scheme + root[len(scheme_of(root)) :]
    return None


def _is_known(spark: SparkSession, scheme: str) -> bool:
    if scheme in {"file", "hdfs"}:
        return True
    java: Any = spark
    try:
        configuration = java._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - no public way to the JVM
        java.sparkContext._jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, configuration)  # noqa: SLF001
    except Py4JError:  # of several kinds: no such scheme, or its class is not on the class path
        return False
    return True


def read_portably(
    spark: SparkSession,
    path: str,
    *,
    version: int,
    options: Mapping[str, object] | None,
) -> DataFrame:
    """Return a version of a table as a DataFrame of the data source."""
    register(spark)
    reader = spark.read.format("indextables")
    for key, value in {**(options or {}), "version": version}.items():
        if value is not None:
            reader = reader.option(key, str(value))
    return reader.load(path)


def write_portably(
    df: DataFrame,
    path: str,
    columns: ColumnPlan,
    *,
    run: str,
    mode: str,
    merge_schema: bool,
    options: Mapping[str, object] | None,
) -> None:
    """Write rows with the data source's writer; all of its files are named after the run."""
    register(df.sparkSession)
    writer = df.write.format("indextables").mode("overwrite" if mode == "overwrite" else "append")
    own = {"run": run, "partitionBy": ",".join(columns.partition_columns), "mergeSchema": str(merge_schema).lower()}
    for key, value in {**(options or {}), **own}.items():
        if value is not None:
            writer = writer.option(key, str(value))
    writer.save(path)


def result_of_run(snapshot: Snapshot, run: str, *, seconds: float) -> WriteResult:
    """Return what a run did, by the names of the files that it left in a version."""
    files = snapshot.files.select(["path", "num_records", "size", "version"])
    own = files.filter(pc.match_substring_regex(files["path"], f"(^|/){run[:RUN_LENGTH]}[^/]*$"))
    return WriteResult(
        files=own.num_rows,
        rows=pc.sum(own["num_records"]).as_py() or 0,
        bytes=pc.sum(own["size"]).as_py() or 0,
        seconds=seconds,
        columns_truncated=(),
        version=pc.max(own["version"]).as_py() if own.num_rows else snapshot.version,
    )
