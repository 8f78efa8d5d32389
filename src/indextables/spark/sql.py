"""Statements in SQL: ours are carried out here and answer with a DataFrame, all others go to Spark."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from indextables.errors import PredicateError
from indextables.predicate import parse
from indextables.spark.addresses import qualified
from indextables.spark.catalog import location_of
from indextables.spark.conf import configuration_of
from indextables.spark.maintained import forget_logs, open_maintained, zone_of
from indextables.spark.merge import merge_splits
from indextables.spark.purge import purge
from indextables.spark.statements import (
    DescribeLog,
    DropPartitions,
    InvalidateCache,
    MergeSplits,
    Purge,
    RepairLog,
    WriteCheckpoint,
    parse_statement,
)
from indextables.table.describing import describe_actions
from indextables.table.mending import repair
from indextables.table.partitions import drop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from indextables.predicate import Expression
    from indextables.spark.opened import Opened
    from indextables.spark.statements import Condition, Place, Statement

_MERGE_SCHEMA: Final = pa.schema(
    [
        ("status", pa.string()),
        ("path", pa.string()),
        ("files", pa.int64()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
        ("reason", pa.string()),
    ]
)


def sql(spark: SparkSession, statement: str) -> DataFrame:
    """Carry out a statement about tables, or hand it to `spark.sql`.

    Args:
        spark: The session.
        statement: `MERGE SPLITS`, `PURGE INDEXTABLE`, `DROP INDEXTABLES PARTITIONS`, `CHECKPOINT INDEXTABLES`,
            `DESCRIBE INDEXTABLES TRANSACTION LOG`, `REPAIR INDEXFILES TRANSACTION LOG` or
            `INVALIDATE INDEXTABLES TRANSACTION LOG CACHE`, or anything that Spark knows.

    Returns:
        What happened, as rows.

    Raises:
        PredicateError: A statement of ours cannot be understood; the error points at the place.
        TableNotFoundError: There is no such table.
    """
    parsed = parse_statement(statement)
    if parsed is None:
        return spark.sql(statement)
    return spark.createDataFrame(_Run(spark, statement).run(parsed))


class _Run:
    """One statement of ours, carried out."""

    def __init__(self, spark: SparkSession, text: str) -> None:
        self._spark = spark
        self._text = text

    def run(self, parsed: Statement) -> pa.Table:
        match parsed:
            case MergeSplits():
                return self._merge(parsed)
            case Purge():
                return self._purge(parsed)
            case DropPartitions():
                opened = self._open(parsed.table)
                where = self._condition(parsed.where)
                return _one_row(
                    asdict(drop(opened.log, where, settings=opened.settings, timezone=zone_of(self._spark)))
                )
            case WriteCheckpoint():
                return _one_row(asdict(self._open(parsed.table).log.checkpoint()))
            case DescribeLog():
                opened = self._open(parsed.table)
                return describe_actions(opened.log, opened.store, include_all=parsed.include_all)
            case RepairLog():
                return self._repair(parsed)
            case InvalidateCache():
                return self._invalidate(parsed)

    def _merge(self, parsed: MergeSplits) -> pa.Table:
        result = merge_splits(
            self._spark,
            self._path(parsed.table),
            where=None if parsed.where is None else self._condition(parsed.where),
            target_size=parsed.target_size or "5G",
            max_groups=parsed.max_groups,
        )
        merged = [
            {
                "status": "merged",
                "path": group["path"],
                "files": group["files"],
                "rows": group["rows"],
                "bytes": group["bytes_after"],
            }
            for group in result.groups.to_pylist()
        ]
        failed = [{"status": "failed", "reason": failure} for failure in result.failures]
        left = [
            {"status": "left alone", "path": file["path"], "files": 1, "bytes": file["size"], "reason": file["reason"]}
            for file in result.left.to_pylist()
        ]
        return pa.Table.from_pylist([*merged, *failed, *left], schema=_MERGE_SCHEMA)

    def _purge(self, parsed: Purge) -> pa.Table:
        age = parsed.older_than or "7d"
        result = purge(self._spark, self._path(parsed.table), older_than=age, dry_run=parsed.dry_run)
        failed = {failure.partition(": ")[0] for failure in result.failures}
        done = "would be deleted" if parsed.dry_run else "deleted"
        states = ["failed" if path in failed else done for path in result.files["path"].to_pylist()]
        return result.files.add_column(0, "status", pa.array(states, pa.string()))

    def _repair(self, parsed: RepairLog) -> pa.Table:
        configuration = configuration_of(self._spark)
        properties = configuration.storage_properties()
        result = repair(
            qualified(parsed.source, properties),
            qualified(parsed.target, properties),
            options={**configuration.hadoop, **configuration.session},
            dry_run=False,
        )
        return _one_row(
            {
                "source": result.source,
                "target": result.target,
                "way": str(result.way),
                "exact": result.exact,
                "version": result.version,
                "files": result.files,
                "rows": result.records,
                "missing_files": len(result.missing_files),
                "findings": "; ".join(map(str, result.findings)),
            }
        )

    def _invalidate(self, parsed: InvalidateCache) -> pa.Table:
        path = None if parsed.table is None else self._path(parsed.table)
        if path is not None:
            open_maintained(self._spark, path).log.latest_version()  # a path without a table is a mistake, and is told
        return _one_row({"table": path, "logs": forget_logs(self._spark, path)})

    def _open(self, place: Place) -> Opened:
        return open_maintained(self._spark, self._path(place))

    def _path(self, place: Place) -> str:
        return place.text if place.is_path else location_of(self._spark, place.text)

    def _condition(self, condition: Condition) -> Expression:
        """Return a condition; mistakes in it are shown where they stand in the statement."""
        try:
            return parse(condition.text, timezone=zone_of(self._spark))
        except PredicateError as error:
            raise PredicateError(
                error.problem.rpartition(", at character ")[0] or error.problem,
                text=self._text,
                position=condition.position + (error.position or 0),
                way_out="Correct the statement and try again",
            ) from error


def _one_row(values: Mapping[str, object]) -> pa.Table:
    kinds = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    unknown = {"rows": pa.int64()}  # may be null, and stays a number
    schema = pa.schema(
        [(name, kinds.get(type(value), unknown.get(name, pa.string()))) for name, value in values.items()]
    )
    return pa.Table.from_pylist([dict(values)], schema=schema)
