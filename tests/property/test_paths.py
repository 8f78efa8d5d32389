from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import UnsafePathError
from indextables.storage.paths import (
    canonical,
    escape_partition_value,
    parse_partition_path,
    partition_path,
    unescape_partition_value,
)

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=100)


@given(TEXT)
def test_every_value_survives_its_directory(value: str) -> None:
    assert unescape_partition_value(escape_partition_value(value)) == (
        None if value == "__HIVE_DEFAULT_PARTITION__" else value
    )


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_every_partition_path_is_safe_and_is_read_back(pairs: list[tuple[str, str]]) -> None:
    path = partition_path(pairs) + "/part.split"
    if len(path.encode()) <= 4096 and all(len(segment.encode()) <= 1024 for segment in path.split("/")):
        assert canonical(path) == path
    expected = [tuple(None if text == "__HIVE_DEFAULT_PARTITION__" else text for text in pair) for pair in pairs]
    assert [(name, value) for name, value in parse_partition_path(path)] == [
        (name or "__HIVE_DEFAULT_PARTITION__", value) for name, value in expected
    ]


@given(st.text(max_size=60))
def test_a_path_is_refused_or_stays_inside(path: str) -> None:
    with contextlib.suppress(UnsafePathError):
        segments = canonical(path).split("/")
        assert all(segment not in {"", ".", ".."} for segment in segments)
        assert not path.startswith("/")
        assert path.isprintable() or not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in path)
