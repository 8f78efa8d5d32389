"""The Spark job that writes a DataFrame as Parquet: Spark's own writer and committer, with settings of ours.

Some of what a split needs (timestamps with statistics, dates as they are) Spark takes from the session alone. The user's session is
theirs, and other threads write in it: so the job runs in a copy, which shares everything but its settings.
"""

from __future__ import annotations

import dataclasses
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as sf

from indextables.spark.directories import marked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from indextables.spark.columns import ColumnPlan

_SESSION: Final = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # INT96, the default, has no statistics
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.sources.partitionOverwriteMode": "static",
}
_OPTIONS: Final = {
    "compression": "zstd",
    "timeZone": "UTC",  # in which directories name moments
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
OUTSIDE: Final = "Some of the new rows do not satisfy replace_where"


def selected(frame: DataFrame, plan: ColumnPlan) -> DataFrame:
    """Return rows with the table's columns, in its order."""
    if [(name, name) for name in frame.columns] == [(name, source) for name, _, source in plan.sources]:
        return frame  # each column that is named costs calls to the JVM
    columns = []
    for name, kind, source in plan.sources:
        column = sf.lit(None).cast(_type(kind)) if source is None else sf.col(quoted(source))
        columns.append(column.alias(name))
    return frame.select(*columns)


def replaced(rows: DataFrame, kept: DataFrame | None, plan: ColumnPlan, *, where: str) -> DataFrame:
    """Return the new rows, which must all satisfy a condition, and with them those old ones that do not.

    Args:
        rows: The new rows.
        kept: The rows of files that are replaced; None if all of them go.
        plan: The table's columns.
        where: The condition.
    """
    condition = sf.expr(where)
    checked = rows.where(sf.when(condition, sf.lit(True)).otherwise(sf.raise_error(sf.lit(OUTSIDE))))
    if kept is None:
        return checked
    present = {name.casefold() for name in kept.columns}
    sources = tuple((name, kind, name if name.casefold() in present else None) for name, kind, _ in plan.sources)
    stays = kept.where(~sf.coalesce(condition, sf.lit(False)))
    return checked.union(selected(stays, dataclasses.replace(plan, sources=sources)))


def arranged(
    frame: DataFrame, plan: ColumnPlan, *, target_file_size: int | None, cluster_by: Sequence[str]
) -> DataFrame:
    """Return rows laid out over files as wanted, with partition values that survive Spark's directories."""
    kinds = {name: kind for name, kind, _ in plan.sources}
    for name in plan.partition_columns:
        if kinds[name] == "string":
            frame = frame.withColumn(name, marked(sf.col(quoted(name))))
    if cluster_by:
        columns = [sf.col(quoted(name)) for name in (*plan.partition_columns, *cluster_by)]
        return frame.repartitionByRange(*columns).sortWithinPartitions(*columns)
    if target_file_size is not None:
        return frame.hint("rebalance", *[sf.col(quoted(name)) for name in plan.partition_columns])
    return frame


def _type(kind: Any) -> Any:
    from pyspark.sql.types import StructType  # noqa: PLC0415 - with the one use that it has

    return StructType.fromJson(
        {"type": "struct", "fields": [{"name": "_", "type": kind, "nullable": True, "metadata": {}}]}
    )[0].dataType


def quoted(name: str) -> str:
    """Return a column's name as Spark takes it, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"


def run_job(frame: DataFrame, target: str, *, partition_by: Sequence[str], target_file_size: int | None) -> None:
    """Write the rows into a new directory; when this returns, it holds the files of successful attempts and no others."""
    session = frame.sparkSession
    settings = dict(_SESSION)
    if target_file_size is not None:
        settings["spark.sql.adaptive.enabled"] = "true"
        settings["spark.sql.adaptive.advisoryPartitionSizeInBytes"] = str(target_file_size)
    writer = _in_copy(session, frame, settings).write().format("parquet").mode("errorifexists")
    for key, value in _OPTIONS.items():
        writer = writer.option(key, value)
    if partition_by:
        gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - pyspark has no public way to its JVM
        names = gateway.new_array(gateway.jvm.java.lang.String, len(partition_by))
        for index, name in enumerate(partition_by):
            names[index] = name
        writer = writer.partitionBy(names)
    writer.save(target)


def _in_copy(session: SparkSession, frame: DataFrame, settings: Mapping[str, str]) -> Any:
    """Return the frame's Java counterpart in a copy of its session that has these settings."""
    copy = session._jsparkSession.cloneSession()  # noqa: SLF001 - pyspark has no public way to its JVM
    for key, value in settings.items():
        copy.conf().set(key, value)
    dataset = getattr(session.sparkContext._jvm, "org.apache.spark.sql.classic.Dataset")  # noqa: SLF001
    return dataset.ofRows(copy, frame._jdf.queryExecution().analyzed())  # noqa: SLF001


@contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Have Spark's own pages say what the jobs inside are for."""
    context = spark.sparkContext
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(text)
    try:
        yield
    finally:
        context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]  # None takes it away
