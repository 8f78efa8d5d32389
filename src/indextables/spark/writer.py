"""Writing a DataFrame to a table: Spark writes Parquet into the run's own directory, and one commit makes the files the table's.

Nothing is visible before that commit, and the commit is whole or absent. So a task that is retried, a twin that speculation
started, an executor that is lost and a driver that dies leave files behind at worst, never rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from indextables.errors import ConfigError, TableExistsError
from indextables.predicate import bind, parse
from indextables.runtime import SYSTEM, Runtime
from indextables.spark.committing import column_plan, commit_files, existing
from indextables.spark.job import arranged, described, replaced, selected
from indextables.spark.native import read_files
from indextables.spark.opened import open_table
from indextables.spark.portable import native_root, result_of_run, write_portably
from indextables.spark.replacing import Replacement, is_dynamic, replacement_for
from indextables.spark.results import WriteResult, result_of
from indextables.spark.run import Run
from indextables.table.write import Staged, report_truncation
from indextables.tracing import span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from indextables.log.snapshot import Snapshot
    from indextables.predicate import Predicate
    from indextables.tracing import Span

Mode: TypeAlias = Literal["error", "append", "overwrite", "ignore"]
_MODES: Final = get_args(Mode)


def write(
    df: DataFrame,
    path: str,
    *,
    mode: Mode = "error",
    partition_by: Sequence[str] = (),
    options: Mapping[str, object] | None = None,
    replace_where: str | None = None,
    merge_schema: bool = False,
    target_file_size: int | None = None,
    cluster_by: Sequence[str] = (),
    runtime: Runtime = SYSTEM,
) -> WriteResult:
    """Write a DataFrame to a table, which is created where there is none.

    Args:
        df: The rows.
        path: Where the table is.
        mode: What happens if there is a table: `error`, `append`, `overwrite` or `ignore`.
        partition_by: The columns that directories are named after; for a table that exists, its own.
        options: Settings under their full names (`spark.indextables.…`), which stand above the session's, and Spark's
            `partitionOverwriteMode`: `dynamic` makes an overwrite replace only the partitions that it writes to.
        replace_where: With `overwrite`: replace the rows that satisfy this condition, and no others.
        merge_schema: Add columns that the table does not have, and fill with null what the DataFrame does not have.
        target_file_size: Shuffle the rows so that files come out with about as many bytes, or somewhat fewer: what is
            measured is the shuffle, and columns compress better than rows.
        cluster_by: Sort the rows by these columns across and within files, so that filters on them skip most files.
        runtime: Clock and ids.

    Raises:
        TableExistsError: There is a table, and the mode is `error`.
        SchemaError: The columns do not fit; nothing ran, and all differences are in the text.
        ConcurrentWriteError: Another commit rules this one out; nothing was written.
        CommitUnknownError: The commit may or may not have happened; no file was deleted.
        ConfigError: An argument or a setting has a value that is not allowed.
    """
    began = runtime.monotonic()
    if mode not in _MODES:
        raise ConfigError("mode", mode, "error, append, overwrite or ignore")
    if replace_where is not None and mode != "overwrite":
        raise ConfigError("mode", mode, "overwrite, which is what replace_where is about")
    spark = df.sparkSession
    opened = open_table(spark, path, options)
    with span("indextables.spark.write", table=opened.store.url, mode=mode) as noted:
        snapshot = existing(opened.log)
        if snapshot is not None and mode == "error":
            raise TableExistsError(opened.url, detail="the mode error leaves it alone")
        if snapshot is not None and mode == "ignore":
            return _noted(noted, result_of([], seconds=runtime.monotonic() - began, version=snapshot.version))
        names = [partition_by] if isinstance(partition_by, str) else list(partition_by)
        columns = column_plan(df.schema.json(), snapshot, names, merge_schema=merge_schema)
        root = native_root(spark, opened.url)
        if root is None:
            _refuse(replace_where=replace_where, target_file_size=target_file_size, cluster_by=cluster_by or None)
            run = runtime.new_id()
            write_portably(df, opened.url, columns, run=run, mode=mode, merge_schema=merge_schema, options=options)
            return _noted(noted, result_of_run(opened.log.snapshot(), run, seconds=runtime.monotonic() - began))
        rows = selected(df, columns)
        replacement = Replacement()
        if snapshot is not None and mode == "overwrite":
            where = None if replace_where is None else _bound(spark, replace_where, snapshot)
            replacement = replacement_for(snapshot, where=where, dynamic=where is None and _is_dynamic(spark, options))
            if replace_where is not None:
                kept = None if replacement.cut is None else read_files(spark, root, snapshot, replacement.cut)
                rows = replaced(rows, kept, columns, where=replace_where)
        rows = arranged(rows, columns, target_file_size=target_file_size, cluster_by=cluster_by)
        with described(spark, f"indextables: {mode} to {path}"):
            files = Run(spark, root, opened, columns, runtime).write(rows, target_file_size)
        with Staged(opened.store, list(files)).committing():
            version = commit_files(
                opened.log, snapshot, columns, files, replacement, mode=mode, now_ms=runtime.now_ms()
            )
        report_truncation(files)
        return _noted(noted, result_of(files, seconds=runtime.monotonic() - began, version=version))


def _noted(noted: Span, done: WriteResult) -> WriteResult:
    noted.note(version=done.version, files=done.files, rows=done.rows, bytes=done.bytes)
    return done


def _refuse(**layout: object) -> None:
    for name, value in layout.items():
        if value is not None:
            raise ConfigError(name, value, "nothing where Spark's own writer cannot go, as here")


def _bound(spark: SparkSession, where: str, snapshot: Snapshot) -> Predicate:
    """Return a condition as Spark means it: without regard to case, and in the session's time zone."""
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    return bind(parse(where, timezone=zone), snapshot.schema, timezone=zone)


def _is_dynamic(spark: SparkSession, options: Mapping[str, object] | None) -> bool:
    given = {key.lower(): value for key, value in (options or {}).items()}
    return is_dynamic(
        given.get("partitionoverwritemode") or spark.conf.get("spark.sql.sources.partitionOverwriteMode", None)
    )
