from __future__ import annotations

import contextlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import UnsafePathError
from indextables.log.safety import check_paths
from indextables.storage.paths import canonical

PIECES = st.sampled_from(
    [
        ".",
        "..",
        "/",
        "//",
        "%2e",
        "%2E",
        "%252e",
        "%2f",
        "=",
        "a",
        "é",
        "．",
        "\\",
        ":",
        "\x00",
        "\x7f",
        "\x85",
        " ",
        "x" * 600,
    ]
)


def check(*paths: str) -> None:
    check_paths(pa.chunked_array([list(paths)], pa.string()))


@given(st.lists(st.one_of(st.lists(PIECES, max_size=6).map("".join), st.text(max_size=20)), max_size=5))
def test_the_quick_look_refuses_exactly_what_the_exact_one_refuses(paths: list[str]) -> None:
    encodable = [path for path in paths if _is_text(path)]
    bad = [path for path in encodable if not _is_canonical(path)]
    if bad:
        with pytest.raises(UnsafePathError) as caught:
            check(*encodable)
        assert caught.value.path == bad[0]
    else:
        check(*encodable)


def _is_text(path: str) -> bool:
    with contextlib.suppress(UnicodeEncodeError):
        return path.encode() is not None
    return False


def _is_canonical(path: str) -> bool:
    with contextlib.suppress(UnsafePathError):
        return canonical(path) is not None
    return False


def test_no_paths_are_no_danger() -> None:
    check_paths(pa.chunked_array([], pa.string()))


def test_long_paths_are_refused() -> None:
    check("a/" * 500 + "a")
    with pytest.raises(UnsafePathError, match="longer than 4096 bytes"):
        check("a/" * 2500 + "a")
    with pytest.raises(UnsafePathError, match="a segment is longer than 1024 bytes"):
        check("a" * 1025)
