from __future__ import annotations

from typing import Any

import pytest

from indextables.errors import SchemaError, UnsafePathError
from indextables.log.actions import MetaData
from indextables.log.validate import check_adds
from tests.support.logs import PARTITIONED, add, new_table

METADATA = MetaData(id="i", schema_string="{}", partition_columns=["day", "hour"])
VALUES: dict[str, Any] = {"day": "2024-01-01", "hour": None}


def test_adds_that_fit_the_table_pass() -> None:
    check_adds([], METADATA)
    check_adds([add("a", partition_values=VALUES), add("b", partition_values=VALUES, size=0)], METADATA)


@pytest.mark.parametrize("values", [{}, {"day": "1"}, {**VALUES, "more": "1"}, {"Day": "1", "hour": "2"}], ids=str)
def test_partition_values_must_be_those_of_the_table(values: dict[str, str]) -> None:
    with pytest.raises(SchemaError) as caught:
        check_adds([add("a", partition_values=values)], METADATA)
    assert str(caught.value) == (
        f"a has values for the partition columns {sorted(values)}. The table's partition columns are ['day', 'hour']."
    )
    assert caught.value.columns == ("day", "hour")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/a",
        "../a",
        "a/../b",
        "a/./b",
        "a//b",
        "a\\b",
        "a\x00b",
        "a\nb",
        "s3://x/a",
        "file:/a",
        "%2e%2e/a",
        "．．/a",
        "a/",
    ],
)
def test_paths_must_stay_inside_the_table(path: str) -> None:
    with pytest.raises(UnsafePathError) as caught:
        check_adds([add("good", partition_values=VALUES), add(path, partition_values=VALUES)], METADATA)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "path", ["_transaction_log/x.split", "_transaction_log/00000000000000000009.json", "_transaction_log"]
)
def test_paths_must_stay_outside_the_log(path: str) -> None:
    with pytest.raises(SchemaError, match="Write data files beside the log, not into it"):
        check_adds([add(path, partition_values=VALUES)], METADATA)


def test_names_that_only_begin_like_the_log_are_fine() -> None:
    check_adds([add("_transaction_logs/x", partition_values=VALUES)], METADATA)


def test_a_size_is_not_negative() -> None:
    with pytest.raises(SchemaError, match=r"a has the size -1\. Give the size of the file in bytes"):
        check_adds([add("a", partition_values=VALUES, size=-1)], METADATA)


def test_a_file_is_added_once() -> None:
    with pytest.raises(SchemaError, match=r"a is added twice in one commit\. Add each file once"):
        check_adds(
            [add("a", partition_values=VALUES), add("b", partition_values=VALUES), add("a", partition_values=VALUES)],
            METADATA,
        )


@pytest.mark.parametrize(
    "bad",
    [
        add("a", partition_values={}),
        add("../a", partition_values={"day": "2024-01-01"}),
        add("_transaction_log/a", partition_values={"day": "2024-01-01"}),
        add("a", partition_values={"day": "2024-01-01"}, size=-1),
    ],
    ids=["partition", "outside", "log", "size"],
)
def test_a_commit_with_one_bad_add_writes_nothing(bad: Any) -> None:
    place, log = new_table(PARTITIONED, ("day",))
    good = add("good", partition_values={"day": "2024-01-01"})
    for write in (log.add_files, log.overwrite_files):
        with pytest.raises((SchemaError, UnsafePathError)):
            write([good, bad])
    with pytest.raises((SchemaError, UnsafePathError)):
        log.merge_files([], [bad])
    assert place.commits() == 1
