"""One write's files: Spark's job writes them, their footers describe them, and a rename puts them into their places."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from indextables.errors import SchemaError
from indextables.log.schema import parse_schema
from indextables.spark.directories import types_of, values_of
from indextables.spark.job import OUTSIDE, run_job
from indextables.spark.runs import final_path
from indextables.spark.staging import Staging, renames_cheaply, sync_directories, synced
from indextables.split import describe_files
from indextables.table.write import Staged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from indextables.runtime import Runtime
    from indextables.spark.columns import ColumnPlan
    from indextables.spark.opened import Opened
    from indextables.split import SplitFile
    from indextables.storage.base import ObjectMeta


class Run:
    """One write's files, from Spark's job to their records."""

    def __init__(self, spark: SparkSession, root: str, opened: Opened, columns: ColumnPlan, runtime: Runtime) -> None:
        self._opened = opened
        self._columns = columns
        self._runtime = runtime
        self._root = root
        self._staging = Staging(spark, root, runtime.new_id())

    def write(self, frame: DataFrame, target_file_size: int | None) -> list[SplitFile]:
        """Write the rows and return the records of the files, which are in their places and belong to nobody yet."""
        try:
            self._run_job(frame, target_file_size)
            listed = self._listed()
            with synced(self._root, listed):
                found = self._described(listed)
            if not renames_cheaply(self._opened.url):
                return found
            return self._placed(found)
        except BaseException:
            self._staging.remove()
            raise

    def _run_job(self, frame: DataFrame, target_file_size: int | None) -> None:
        try:
            run_job(
                frame,
                self._staging.url,
                partition_by=self._columns.partition_columns,
                target_file_size=target_file_size,
            )
        except (PySparkException, Py4JError) as error:
            if OUTSIDE in str(error):
                raise SchemaError(OUTSIDE, way_out="Leave those rows out, or widen the condition") from error
            raise

    def _listed(self) -> dict[str, ObjectMeta]:
        files = self._opened.store.list_from(self._staging.prefix)
        return {meta.path: meta for meta in files if meta.path.endswith(".parquet")}

    def _described(self, listed: Mapping[str, ObjectMeta]) -> list[SplitFile]:
        schema = parse_schema(self._columns.schema)
        types = types_of(schema, self._columns.partition_columns)
        below = len(self._staging.prefix) + 1
        partitions: dict[str, dict[str, str | None]] = {}
        for directory in {path[below:].rpartition("/")[0] for path in listed}:
            partitions[directory] = values_of(directory, types)
        records = describe_files(
            self._opened.store,
            listed,
            settings=self._opened.settings,
            schema=pa.schema([field for field in schema if field.name not in types]),
            sizes={path: meta.size for path, meta in listed.items()},
            partition_values={path: partitions[path[below:].rpartition("/")[0]] for path in listed},
        )
        now = self._runtime.now_ms()
        return [
            replace(record, modified_ms=listed[record.path].modified_ms or now)
            for record in records
            if record.num_records
        ]

    def _placed(self, records: list[SplitFile]) -> list[SplitFile]:
        names = self._columns.partition_columns
        placed = [
            replace(
                record,
                path=final_path(self._staging.run, number, [(name, record.partition_values[name]) for name in names]),
            )
            for number, record in enumerate(records)
        ]
        with Staged(self._opened.store, list(placed)).writing():
            self._staging.move([(old.path, new.path) for old, new in zip(records, placed, strict=True)])
            sync_directories(self._root, [record.path for record in placed])
        self._staging.remove()
        return placed
