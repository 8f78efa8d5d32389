from __future__ import annotations

import pytest

from indextables.report.words import counted, number, share, short, size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (1536, "1.5 KB"),
        (5 << 30, "5.0 GB"),
        (3 << 50, "3.0 PB"),
        (1 << 62, "4,096.0 PB"),
    ],
)
def test_bytes_come_in_the_unit_that_suits_them(count: int, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "unknown"),
        (0, "0"),
        (9_999, "9,999"),
        (10_000, "10 k"),
        (56_780, "56.8 k"),
        (1_234_567, "1.2 M"),
        (5_000_000_000, "5 bn"),
        (7_300_000_000_000, "7.3 tn"),
    ],
)
def test_large_counts_are_short(count: int | None, text: str) -> None:
    assert short(count) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 0, "0 %"),
        (0, 9, "0 %"),
        (1, 100_000, "< 0.1 %"),
        (1, 100, "1.0 %"),
        (1, 3, "33 %"),
        (99_999, 100_000, "> 99.9 %"),
        (9, 9, "100 %"),
    ],
)
def test_a_share_is_never_rounded_to_nothing_or_all(part: int, whole: int, text: str) -> None:
    assert share(part, whole) == text


def test_one_of_a_thing_has_no_s() -> None:
    assert [counted(1, "file"), counted(2_000, "file"), number(None)] == ["1 file", "2,000 files", "unknown"]
