"""Writing tables with Spark's own writer: modes, what is checked before a task starts, files, statistics and leftovers."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as sf

from indextables.errors import (
    ConcurrentWriteError,
    ConfigError,
    PredicateError,
    SchemaError,
    TableExistsError,
)
from indextables.log.actions import Add
from indextables.log.commit_info import WRITER_TAG
from indextables.spark import WriteResult, read, write
from indextables.spark.columns import plan_existing, plan_new
from indextables.spark.runs import RUN_LENGTH
from indextables.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def split_files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file() and "_transaction_log" not in file.parts)


def ids(spark: SparkSession, path: Path) -> list[int]:
    return sorted(row.id for row in read(spark, str(path)).select("id").collect())


def test_a_write_creates_the_table_and_says_what_it_did(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    result = write(spark.range(100).repartition(2), str(path))
    files = split_files(path)
    assert result == WriteResult(
        files=2,
        rows=100,
        bytes=sum(file.stat().st_size for file in files),
        seconds=result.seconds,
        columns_truncated=(),
        version=1,
    )
    assert result.seconds > 0
    assert len(files) == 2
    assert ids(spark, path) == list(range(100))


def test_files_are_plain_zstd_parquet_named_after_their_run_and_nothing_else_stays(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    rows = spark.range(10).selectExpr("id", "id % 2 AS part", "timestamp_micros(id) AS moment")
    write(rows, str(path), partition_by=["part"])
    files = split_files(path)
    assert {file.parent.name for file in files} == {"part=0", "part=1"}
    assert all(
        re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.split", file.name)
        for file in files
    )
    assert len({file.name[:RUN_LENGTH] for file in files}) == 1
    schema = pq.read_schema(files[0])
    assert schema.names == ["id", "moment"]
    assert schema.field("moment").type == pa.timestamp("us", "UTC")
    chunk = pq.ParquetFile(files[0]).metadata.row_group(0).column(0)
    assert chunk.compression == "ZSTD"
    assert sorted(entry.name for entry in path.iterdir()) == ["_staging", "_transaction_log", "part=0", "part=1"]
    assert list((path / "_staging").iterdir()) == []


def test_the_log_holds_every_fact_about_a_file(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = spark.sql(
        "SELECT * FROM VALUES (1, 'a', CAST(NULL AS double), named_struct('deep', 5L), TIMESTAMP'2024-01-01 00:00:00Z'),"
        " (2, 'b', 1.5D, named_struct('deep', 6L), TIMESTAMP'2024-01-02 00:00:00Z') AS t(id, name, ratio, inner, moment)"
    ).coalesce(1)
    write(rows, str(path))
    (add,) = (action for action in Table(str(path)).log.read_version(1) if isinstance(action, Add))
    assert add.size == split_files(path)[0].stat().st_size
    assert add.num_records == 2
    assert add.min_values == {"id": "1", "name": "a", "ratio": "1.5", "inner.deep": "5", "moment": "1704067200000000"}
    assert add.max_values == {"id": "2", "name": "b", "ratio": "1.5", "inner.deep": "6", "moment": "1704153600000000"}
    assert json.loads(str(add.stats))["nullCount"] == {"id": 0, "name": 0, "ratio": 1, "inner.deep": 0, "moment": 0}
    assert (add.time_range_start, add.time_range_end) == ("1704067200000000", "1704153600000000")
    assert add.has_footer_offsets
    assert add.footer_end_offset == add.size
    assert add.data_change
    assert WRITER_TAG in (add.tags or {})
    assert Table(str(path)).verify_stats().num_rows == 0


def test_statistics_of_a_column_with_nan_and_of_awkward_types_never_lose_a_row(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    rows = spark.sql(
        "SELECT * FROM VALUES (double('nan'), CAST(1.10 AS decimal(30,2)), X'FF00', DATE'1500-01-01', '\U0001f600\U0010ffff'),"
        " (1.0D, CAST(-99.99 AS decimal(30,2)), X'', DATE'9999-12-31', '')"
        " AS t(ratio, amount, raw, day, name)"
    ).coalesce(1)
    write(rows, str(path), options={"spark.indextables.stats.truncation.strategy": "bounds"})
    assert Table(str(path)).verify_stats().num_rows == 0
    frame = read(spark, str(path))
    for condition in (
        "ratio > 5",
        "amount = 1.10",
        "amount < -99",
        "raw = X'FF00'",
        "day < DATE'1582-10-15'",
        "name = ''",
        "name > 'z'",
    ):
        assert frame.where(condition).count() == rows.where(condition).count() == 1, condition


def test_long_statistics_are_treated_as_the_options_say_and_reported(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = spark.createDataFrame([("x" * 600, 1), ("y" * 600, 2)], "long_text string, score int").coalesce(1)
    stored = {}
    with caplog.at_level(logging.INFO):
        for strategy in ("drop", "truncate", "bounds"):
            result = write(
                rows,
                str(tmp_path / strategy),
                options={
                    "spark.indextables.stats.truncation.strategy": strategy,
                    "spark.indextables.stats.truncation.maxLength": "100",
                },
            )
            assert result.columns_truncated == ("long_text",)
            files = Table(str(tmp_path / strategy)).log.snapshot().files
            stored[strategy] = files["max_values"][0].as_py().get("long_text")
            assert read(spark, str(tmp_path / strategy)).where("long_text LIKE 'y%'").count() == 1
    assert stored["drop"] is None
    assert stored["truncate"] == "y" * 88 + " [TRUNCATED]"
    assert stored["bounds"] == "y" * 99 + "z"
    assert "Truncating statistics for column 'long_text'" in caplog.text
    assert "Statistics truncated: 1 columns" in caplog.text
    assert write(rows, str(tmp_path / "default")).columns_truncated == ()


def test_modes_do_what_their_names_say(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    assert write(spark.range(2), str(path), mode="ignore").version == 1
    ignored = write(spark.range(5, 9), str(path), mode="ignore")
    assert (ignored.files, ignored.rows, ignored.version) == (0, 0, 1)
    with pytest.raises(TableExistsError):
        write(spark.range(5), str(path))
    write(spark.range(2, 4), str(path), mode="append")
    assert ids(spark, path) == [0, 1, 2, 3]
    assert write(spark.range(7, 8), str(path), mode="overwrite").version == 3
    assert ids(spark, path) == [7]
    assert [commit["operation"] for commit in Table(str(path)).history().to_pylist()] == [
        "overwrite",
        "append",
        "append",
        "create",
    ]


def test_an_append_without_rows_writes_no_file_and_no_version(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    empty = spark.range(5).where("id < 0")
    assert write(empty, str(path)).version == 0
    assert write(empty, str(path), mode="append").version == 0
    assert split_files(path) == []
    assert read(spark, str(path)).count() == 0
    write(spark.range(3), str(path), mode="append")
    assert write(empty, str(path), mode="overwrite").version == 2
    assert read(spark, str(path)).count() == 0


def test_a_dynamic_overwrite_replaces_only_the_partitions_that_it_writes_to(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    rows = spark.createDataFrame([("a", 1), ("", 2), (None, 3), ("b", 4)], "part string, id long")
    write(rows, str(path), partition_by=["part"])
    write(
        rows.where("part = ''").withColumn("id", sf.lit(20).cast("long")),
        str(path),
        mode="overwrite",
        options={"partitionOverwriteMode": "dynamic"},
    )
    assert ids(spark, path) == [1, 3, 4, 20]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        write(rows.where("part IS NULL").withColumn("id", sf.lit(30).cast("long")), str(path), mode="overwrite")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert ids(spark, path) == [1, 4, 20, 30]
    with pytest.raises(ConfigError, match="static or dynamic"):
        write(rows, str(path), mode="overwrite", options={"partitionOverwriteMode": "sometimes"})


def test_replace_where_replaces_exactly_the_rows_of_the_condition(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = spark.range(0, 40, 1, 4).selectExpr("id", "id DIV 10 AS part", "IF(id % 7 = 0, NULL, id) AS value")
    write(rows, str(path), partition_by=["part"])
    before = set(split_files(path))
    new = spark.createDataFrame([(100, 1, 15)], "id long, part long, value long")
    write(new, str(path), mode="overwrite", replace_where="PART = 1")
    assert ids(spark, path) == [*range(10), *range(20, 40), 100]
    # A condition that cuts through files: rows for which it is unknown stay.
    write(
        spark.createDataFrame([(200, 3, 33)], "id long, part long, value long"),
        str(path),
        mode="overwrite",
        replace_where="value >= 31",
    )
    kept = [number for number in range(20, 40) if number < 31 or number % 7 == 0]
    assert ids(spark, path) == [*range(10), *kept, 100, 200]
    assert len(before & set(split_files(path))) == len(before)
    with pytest.raises(SchemaError, match="do not satisfy replace_where"):
        write(new, str(path), mode="overwrite", replace_where="part = 2")
    with pytest.raises(PredicateError):
        write(new, str(path), mode="overwrite", replace_where="part ===")
    with pytest.raises(ConfigError, match="overwrite"):
        write(new, str(path), mode="append", replace_where="part = 2")
    assert ids(spark, path) == [*range(10), *kept, 100, 200]


def test_all_differences_of_the_columns_are_in_one_error_and_no_task_runs(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark.range(3).selectExpr("id", "id AS number", "'x' AS name"), str(path))
    wrong = spark.range(3).selectExpr(
        "CAST(id AS string) AS ID", "NULL AS nothing", "1 AS extra", "raise_error('ran') AS name"
    )
    with pytest.raises(SchemaError) as caught:
        write(wrong, str(path), mode="append", partition_by=["name"])
    text = str(caught.value)
    for difference in (
        "column id has type string, not bigint",
        "column number is missing",
        "column nothing is not in the table",
        "column extra is not in the table",
        "column nothing of type void cannot be written",
        "partitioned by nothing, not by name",
        "merge_schema=True",
    ):
        assert difference in text
    assert split_files(path) == split_files(path)
    assert Table(str(path)).version == 1


def _schema(*fields: tuple[str, object, bool]) -> str:
    return json.dumps(
        {
            "type": "struct",
            "fields": [
                {"name": name, "type": kind, "nullable": nullable, "metadata": {}} for name, kind, nullable in fields
            ],
        }
    )


def test_what_may_be_null_does_not_go_where_nothing_may_be() -> None:
    array = {"type": "array", "elementType": "long", "containsNull": True}
    tight = {"type": "array", "elementType": "long", "containsNull": False}
    with pytest.raises(SchemaError) as caught:
        plan_existing(
            _schema(("a", "long", True), ("list", array, True)),
            _schema(("a", "long", False), ("list", tight, True)),
            table_partitions=(),
            partition_by=(),
            merge_schema=False,
        )
    assert "column a may be null, and the table's may not" in str(caught.value)
    assert "list.element may be null, and the table's may not" in str(caught.value)


def test_a_new_table_refuses_columns_that_cannot_be_and_names_them_all() -> None:
    with pytest.raises(SchemaError) as caught:
        plan_new(
            _schema(
                ("a", "long", True),
                ("A", "long", True),
                ("", "long", True),
                ("gap", "interval", True),
                ("raw", "binary", True),
            ),
            ["raw", "absent"],
        )
    text = str(caught.value)
    assert "columns a and A differ in nothing but case" in text
    assert "a column has no name" in text
    assert "column gap of type interval cannot be written" in text
    assert "column raw of type binary cannot name directories" in text
    assert "partition column absent is missing" in text
    with pytest.raises(SchemaError, match="every column is a partition column"):
        plan_new(_schema(("a", "long", True)), ["a"])


def test_columns_are_matched_by_name_in_any_case_and_order(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark.range(1).selectExpr("id", "'one' AS `Odd ``Name.`", "1 AS part"), str(path), partition_by=["PART"])
    write(spark.range(1, 2).selectExpr("2 AS Part", "'two' AS `ODD ``NAME.`", "id AS ID"), str(path), mode="append")
    frame = read(spark, str(path))
    assert frame.columns == ["id", "Odd `Name.", "part"]
    assert sorted(map(tuple, frame.collect())) == [(0, "one", 1), (1, "two", 2)]


def test_merging_schemas_adds_columns_and_fills_missing_ones_with_null(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark.range(1).selectExpr("id", "'a' AS name"), str(path))
    write(
        spark.range(1, 2).selectExpr("id", "array(named_struct('x', 1)) AS deep"),
        str(path),
        mode="append",
        merge_schema=True,
    )
    frame = read(spark, str(path))
    assert sorted(map(tuple, frame.collect())) == [(0, "a", None), (1, None, [(1,)])]
    assert Table(str(path)).version == 2
    write(frame, str(path), mode="append")
    assert read(spark, str(path)).count() == 4


def test_every_type_of_spark_survives_a_write_and_a_read(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = spark.sql(
        """SELECT CAST(1 AS tinyint) a, CAST(2 AS smallint) b, 3 c, 4L d, CAST(1.5 AS float) e, 2.5D f, CAST(1.23 AS decimal(38,10)) g,
        'text' h, X'00FF' i, true j, DATE'1500-02-28' k, TIMESTAMP'0001-01-01 00:00:00Z' l, TIMESTAMP_NTZ'2024-03-31 02:30:00' m,
        array(1, NULL) n, map('k', array(2.5D)) o, named_struct('x', named_struct('y', 'z'), 'w', NULL :: int) p,
        INTERVAL '3' DAY q, INTERVAL '2' YEAR r"""
    )
    write(rows, str(path))
    frame = read(spark, str(path))
    assert [(field.name, field.dataType.simpleString()) for field in frame.schema] == [
        (field.name, field.dataType.simpleString()) for field in rows.schema
    ]
    assert frame.selectExpr("to_json(struct(*))").first() == rows.selectExpr("to_json(struct(*))").first()


def test_sorted_rows_let_a_filter_read_one_file_and_a_target_size_bounds_the_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.range(0, 20_000, 1, 4).selectExpr(
        "(id * 7919) % 20000 AS key", "sha2(CAST(id AS string), 256) AS text"
    )
    spark.conf.set("spark.sql.shuffle.partitions", "8")
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    try:
        write(rows, str(tmp_path / "sorted"), cluster_by=["key"])
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
    table = Table(str(tmp_path / "sorted"))
    assert table.files().num_rows == 8
    assert table.files(where="key = 12345").num_rows == 1
    assert read(spark, str(tmp_path / "sorted")).where("key = 12345").count() == 1
    result = write(rows, str(tmp_path / "sized"), target_file_size=300_000)
    assert 3 <= result.files <= 8
    assert read(spark, str(tmp_path / "sized")).count() == 20_000


def test_the_session_of_the_user_is_left_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    before = dict(spark.conf.getAll)
    spark.sparkContext.setJobDescription("mine")
    try:
        write(spark.range(3), str(tmp_path / "t"))
        assert spark.sparkContext.getLocalProperty("spark.job.description") == "mine"
    finally:
        spark.sparkContext.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
    assert dict(spark.conf.getAll) == before


def test_files_and_their_names_are_on_the_disk_before_the_commit(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    order: list[int] = []
    sync = os.fsync

    def noting(descriptor: int) -> None:
        order.append(os.fstat(descriptor).st_ino)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    write(spark.range(10).selectExpr("id", "id % 2 AS part").coalesce(1), str(path), partition_by=["part"])
    files = split_files(path)
    commit = order.index((path / "_transaction_log" / f"{1:020}.json").stat().st_ino)
    assert len(files) == 2
    for file in files:
        assert order.index(file.stat().st_ino) < order.index(file.parent.stat().st_ino) < commit


def test_a_failed_job_leaves_nothing_behind_and_no_table(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    failing = spark.range(0, 100, 1, 2).selectExpr("IF(id = 99, raise_error('no'), id) AS id")
    with pytest.raises(Exception, match="no"):
        write(failing, str(path))
    assert [file for file in path.rglob("*") if file.is_file()] == []


def test_a_lost_race_leaves_no_file_behind(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark.range(3), str(path))
    before = split_files(path)

    def interfere(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        Table(str(path)).append(pa.table({"id": [50]}))
        return batches

    meddling = spark.range(0, 1, 1, 1).mapInArrow(interfere, "id long")
    with pytest.raises(ConcurrentWriteError):
        write(meddling, str(path), mode="overwrite")
    assert ids(spark, path) == [0, 1, 2, 50]
    assert len(split_files(path)) == len(before) + 1
    # An append does not mind.
    write(meddling, str(path), mode="append")
    assert ids(spark, path) == [0, 0, 1, 2, 50, 50]


def test_reading_and_overwriting_the_same_table_in_one_statement_works(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark.range(5), str(path))
    write(read(spark, str(path)).where("id > 2"), str(path), mode="overwrite")
    assert ids(spark, path) == [3, 4]


KILLED = textwrap.dedent(
    """
    import os, signal, sys
    from pyspark.sql import SparkSession
    from indextables.log import TransactionLog
    from indextables.spark import write

    def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    TransactionLog.commit = die
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
    write(spark.range(10, 20), sys.argv[1], mode="append")
    """
)


def test_a_driver_that_dies_before_its_commit_leaves_only_files_that_are_known_by_their_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    write(spark.range(3).coalesce(1), str(path))
    before = set(split_files(path))
    died = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], capture_output=True, env=dict(os.environ), timeout=300
    )
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()[-2000:]
    left = set(split_files(path)) - before
    assert left
    assert len({file.name[:RUN_LENGTH] for file in left}) == 1
    assert ids(spark, path) == [0, 1, 2]
    write(spark.range(3, 5), str(path), mode="append")
    assert ids(spark, path) == [0, 1, 2, 3, 4]


def test_a_mode_that_does_not_exist_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="error, append, overwrite or ignore"):
        write(spark.range(1), str(tmp_path / "t"), mode="upsert")  # type: ignore[arg-type]


@pytest.mark.parametrize("frame_rows", [0, 5])
def test_a_relative_path_is_where_python_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frame_rows: int
) -> None:
    monkeypatch.chdir(tmp_path)
    rows: DataFrame = spark.range(frame_rows)
    write(rows, "here")
    assert read(spark, "here").count() == frame_rows
    assert (tmp_path / "here" / "_transaction_log").is_dir()
