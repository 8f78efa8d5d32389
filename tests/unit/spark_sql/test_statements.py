"""The words of our statements: what they mean, what is left to Spark, and where a mistake stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import PredicateError
from indextables.spark.statements import (
    Condition,
    DescribeLog,
    DropPartitions,
    InvalidateCache,
    MergeSplits,
    Place,
    Purge,
    RepairLog,
    Statement,
    WriteCheckpoint,
    parse_statement,
)

PATH = Place("s3://b/t", is_path=True)
NAME = Place("db.t", is_path=False)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("MERGE SPLITS 's3://b/t'", MergeSplits(table=PATH)),
        ("merge splits db.t;", MergeSplits(table=NAME)),
        ('  Merge\n Splits "s3://b/t" -- comment', MergeSplits(table=PATH)),
        ("MERGE SPLITS 's3://b/t' TARGET SIZE 5G", MergeSplits(table=PATH, target_size="5G")),
        ("MERGE SPLITS 's3://b/t' TARGET SIZE 104857600", MergeSplits(table=PATH, target_size="104857600")),
        ("MERGE SPLITS 's3://b/t' TARGET SIZE '100M'", MergeSplits(table=PATH, target_size="100M")),
        ("MERGE SPLITS 's3://b/t' TARGET SIZE 100 MB", MergeSplits(table=PATH, target_size="100MB")),
        ("MERGE SPLITS 's3://b/t' MAX GROUPS 10", MergeSplits(table=PATH, max_groups=10)),
        ("MERGE SPLITS 's3://b/t' MAX DEST SPLITS 10", MergeSplits(table=PATH, max_groups=10)),
        (
            "MERGE SPLITS 's3://b/t' WHERE day = '2024-01-01' AND x IN (1, 2) TARGET SIZE 1G MAX GROUPS 3 ;;",
            MergeSplits(
                table=PATH,
                where=Condition("day = '2024-01-01' AND x IN (1, 2)", 30),
                target_size="1G",
                max_groups=3,
            ),
        ),
        (
            "MERGE SPLITS t WHERE name = 'a TARGET SIZE 5G' MAX GROUPS 1 TARGET SIZE 2G",
            MergeSplits(
                table=Place("t", is_path=False),
                where=Condition("name = 'a TARGET SIZE 5G'", 21),
                target_size="2G",
                max_groups=1,
            ),
        ),
        ("PURGE INDEXTABLE 's3://b/t'", Purge(table=PATH)),
        ("PURGE INDEXTABLE db.t OLDER THAN 7 DAYS", Purge(table=NAME, older_than="7d")),
        (
            "PURGE INDEXTABLE 's3://b/t' OLDER THAN 168 HOURS DRY RUN",
            Purge(table=PATH, older_than="168h", dry_run=True),
        ),
        ("purge indextable `db`.`t` dry run", Purge(table=Place("`db`.`t`", is_path=False), dry_run=True)),
        (
            "DROP INDEXTABLES PARTITIONS FROM 's3://b/t' WHERE year = 2023",
            DropPartitions(table=PATH, where=Condition("year = 2023", 50)),
        ),
        ("CHECKPOINT INDEXTABLES 's3://b/t'", WriteCheckpoint(table=PATH)),
        ("DESCRIBE INDEXTABLES TRANSACTION LOG 's3://b/t'", DescribeLog(table=PATH)),
        ("DESCRIBE INDEXTABLES TRANSACTION LOG db.t INCLUDE ALL", DescribeLog(table=NAME, include_all=True)),
        (
            "REPAIR INDEXFILES TRANSACTION LOG 's3://b/t/_transaction_log' AT LOCATION 's3://b/u/_transaction_log'",
            RepairLog(source="s3://b/t/_transaction_log", target="s3://b/u/_transaction_log"),
        ),
        ("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE", InvalidateCache()),
        ("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR 's3://b/t'", InvalidateCache(table=PATH)),
        ("/* a\nb */ CHECKPOINT INDEXTABLES purge.dry", WriteCheckpoint(table=Place("purge.dry", is_path=False))),
        (r"CHECKPOINT INDEXTABLES '/it\'s/a''b\\c'", WriteCheckpoint(table=Place(r"/it's/a'b\c", is_path=True))),
    ],
)
def test_a_statement_says_what_it_asks_for(text: str, meant: Statement) -> None:
    assert parse_statement(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "SELECT 1",
        "SELECT 'MERGE SPLITS t'",
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "DESCRIBE indextables",
        "DESCRIBE indextables transaction",
        "DESCRIBE TABLE t",
        "DROP TABLE indextables",
        "REPAIR TABLE t",
        r"SELECT r'\'",
        "SELECT 'open",
        "-- MERGE SPLITS t",
        "'MERGE' SPLITS t",
    ],
)
def test_what_is_not_ours_is_left_to_spark(text: str) -> None:
    assert parse_statement(text) is None


@pytest.mark.parametrize(
    ("text", "at", "problem"),
    [
        ("MERGE SPLITS", "$", "The statement ends where the path of a table in quotes, or its name is expected"),
        ("MERGE SPLITS 't' MAX GROUPS ²", "²", "a number of groups"),
        ("MERGE SPLITS ''", "''", "where the path of a table"),
        ("MERGE SPLITS 't' WHERE", "$", "a condition"),
        ("MERGE SPLITS 't' WHERE TARGET SIZE 5G", "TARGET", "a condition"),
        ("MERGE SPLITS 't' TARGET 5G", "5G", "'5G' stands where SIZE is expected"),
        ("MERGE SPLITS 't' TARGET SIZE big", "big", "a size such as 500M or 5G"),
        ("MERGE SPLITS 't' MAX GROUPS 0", "0", "a number of groups"),
        ("MERGE SPLITS 't' MAX GROUPS many", "many", "a number of groups"),
        ("MERGE SPLITS 't' MAX 5", "5", "GROUPS"),
        ("MERGE SPLITS 't' MAX GROUPS 1 MAX GROUPS 2", "MAX GROUPS 2", "the end of the statement"),
        ("MERGE SPLITS 't' please", "please", "the end of the statement"),
        ("MERGE SPLITS 't", "'t", "The quote that begins here does not end"),
        ("MERGE SPLITS `t", "`t", "The quote that begins here does not end"),
        ("MERGE SPLITS t /* why", "/*", "The comment that begins here does not end"),
        ("PURGE INDEXTABLE", "$", "the path of a table"),
        ("PURGE INDEXTABLE 't' OLDER 7 DAYS", "7", "THAN"),
        ("PURGE INDEXTABLE 't' OLDER THAN seven DAYS", "seven", "a number of days or hours"),
        ("PURGE INDEXTABLE 't' OLDER THAN 7 WEEKS", "WEEKS", "DAYS or HOURS"),
        ("PURGE INDEXTABLE 't' OLDER THAN -7 DAYS", "-", "a number of days or hours"),
        ("PURGE INDEXTABLE 't' DRY", "$", "RUN"),
        ("DROP INDEXTABLES PARTITION FROM 't' WHERE a = 1", "PARTITION ", "PARTITIONS"),
        ("DROP INDEXTABLES PARTITIONS 't' WHERE a = 1", "'t'", "FROM"),
        ("DROP INDEXTABLES PARTITIONS FROM 't'", "$", "WHERE"),
        ("DROP INDEXTABLES PARTITIONS FROM 't' WHERE ;", ";", "a condition"),
        ("CHECKPOINT INDEXTABLES", "$", "the path of a table"),
        ("CHECKPOINT INDEXTABLES db.", "$", "a name"),
        ("DESCRIBE INDEXTABLES TRANSACTION LOG", "$", "the path of a table"),
        ("DESCRIBE INDEXTABLES TRANSACTION LOG 't' INCLUDE SOME", "SOME", "ALL"),
        ("REPAIR INDEXFILES 't'", "'t'", "TRANSACTION"),
        ("REPAIR INDEXFILES TRANSACTION LOG t AT LOCATION 'u'", "t AT", "the path of a damaged log in quotes"),
        ("REPAIR INDEXFILES TRANSACTION LOG 't'", "$", "AT"),
        ("REPAIR INDEXFILES TRANSACTION LOG 't' AT LOCATION u", "u", "the path of the new log in quotes"),
        ("INVALIDATE INDEXTABLES CACHE", "CACHE", "TRANSACTION"),
        ("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR", "$", "the path of a table"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, at: str, problem: str) -> None:
    with pytest.raises(PredicateError) as caught:
        parse_statement(text)
    position = len(text) if at == "$" else text.rindex(at)
    assert caught.value.position == position
    assert problem in str(caught.value)
    assert caught.value.snippet == f"{text}\n{' ' * position}^"


@given(st.text(max_size=60))
def test_any_text_is_ours_spark_s_or_a_mistake_with_a_place(text: str) -> None:
    for begin in ("", "MERGE SPLITS ", "PURGE INDEXTABLE 't' ", "DROP INDEXTABLES PARTITIONS FROM t WHERE "):
        assert 0 <= place_of_mistake(begin + text) <= len(begin + text)


def place_of_mistake(text: str) -> int:
    try:
        parse_statement(text)
    except PredicateError as error:
        return -1 if error.position is None else error.position
    return 0


@given(st.text(min_size=1, max_size=30))
def test_every_path_can_be_written(path: str) -> None:
    escaped = path.replace("\\", "\\\\").replace("'", "''")
    assert parse_statement(f"CHECKPOINT INDEXTABLES '{escaped}'") == WriteCheckpoint(table=Place(path, is_path=True))
