from __future__ import annotations

import pytest

from indextables.errors import UnsafePathError
from indextables.storage.paths import (
    HIVE_DEFAULT_PARTITION,
    canonical,
    escape_partition_value,
    is_below,
    parse_partition_path,
    partition_path,
    unescape_partition_value,
)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty segment"),
        ("/etc/passwd", "absolute"),
        ("a//b", "empty segment"),
        ("a/", "empty segment"),
        ("../x", "dot segment"),
        ("a/../../x", "dot segment"),
        ("a/./b", "dot segment"),
        ("%2e%2e/x", "dot segment"),
        ("%2f", "encoded slash"),
        ("a/x%2F", "encoded slash"),
        ("%252fx/a", "encoded slash"),
        ("%2E%2e/x", "dot segment"),
        ("%252e%252e/x", "dot segment"),
        ("%25252e./x", "dot segment"),
        ("%%32e", "dot segment"),
        ("%%32e%%32e/x", "dot segment"),
        ("%2%65%2%65%2fx", "dot segment"),
        ("%ef%bc%8e%ef%bc%8e/x", "dot segment"),
        ("a%" + "25" * 8 + "41", "encoded more than 8 times"),
        ("..%2fx", "dot segment"),
        ("a/..%5cx", "dot segment"),
        ("‥/x", "dot segment"),
        ("．．/x", "dot segment"),
        ("․․/x", "dot segment"),
        ("..\\x", "backslash"),
        ("a\x00b", "control character"),
        ("a\nb", "control character"),
        ("a\x7fb", "control character"),
        ("a\x85b", "control character"),
        ("a\ud800", "surrogate"),
        ("s3://bucket/key", "names another store"),
        ("file:/etc/passwd", "names another store"),
        ("hdfs:x", "names another store"),
        ("x" * 1025, "longer than 1024"),
        ("x/" * 2048 + "y", "longer than 4096"),
    ],
)
def test_an_unsafe_path_is_refused_with_its_reason(path: str, reason: str) -> None:
    with pytest.raises(UnsafePathError, match=reason) as caught:
        canonical(path)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "path",
    [
        "a",
        "a/b.split",
        "date=2024-01-01/x",
        "d=..%2Fx/y",
        "d=a%2F..%2Fb/y",
        "...",
        "..a",
        "a..",
        "ünï/ço",
        "d=．．/x",
        "a%20b",
        "100%",
    ],
)
def test_a_safe_path_is_returned_unchanged(path: str) -> None:
    assert canonical(path) == path


def test_below_means_whole_segments() -> None:
    assert is_below("sales/a", "sales")
    assert not is_below("sales-evil/a", "sales")
    assert not is_below("sales", "sales")
    assert is_below("anything", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2024-01-01", "2024-01-01"),
        ("a/b", "a%2Fb"),
        ("a=b", "a%3Db"),
        ("100%", "100%25"),
        ("x:y", "x%3Ay"),
        ("O'Neil", "O%27Neil"),
        ('say "hi"', "say %22hi%22"),
        ("[x]{y}^", "%5Bx%5D%7By}%5E"),
        ("a\\b", "a%5Cb"),
        ("tab\there", "tab%09here"),
        ("#?*", "%23%3F%2A"),
        ("äöü 日本", "äöü 日本"),
        ("../", "..%2F"),
        (None, HIVE_DEFAULT_PARTITION),
        ("", HIVE_DEFAULT_PARTITION),
    ],
)
def test_values_are_escaped_as_hive_and_spark_do(value: str | None, text: str) -> None:
    assert escape_partition_value(value) == text
    assert unescape_partition_value(text) == (value or None)


def test_a_percent_sign_that_escapes_nothing_is_kept() -> None:
    assert unescape_partition_value("100%zz%") == "100%zz%"


def test_a_partition_has_one_directory_a_column() -> None:
    assert (
        partition_path([("date", "2024-01-01"), ("ref", "a/b"), ("x", None)])
        == f"date=2024-01-01/ref=a%2Fb/x={HIVE_DEFAULT_PARTITION}"
    )


def test_a_partition_path_is_read_back() -> None:
    path = f"date=2024-01-01/ref=a%2Fb/x={HIVE_DEFAULT_PARTITION}/part.split"
    assert parse_partition_path(path) == [("date", "2024-01-01"), ("ref", "a/b"), ("x", None)]
