"""What a changed bit or a lost tail does to a commit: the same actions or a typed error, whoever reads it."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import IndexTablesError, LogCorruptionError
from indextables.log import codec
from indextables.log.actions import Action, Add, MetaData, Protocol, Remove, Skip
from indextables.log.bulk_decode import decode_commits
from indextables.log.columns import ActionColumns, ActionKeys, table_of
from indextables.log.lines import format_lines, parse_lines
from tests.support.effort import times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHECKED = ("gzip", "zstd", "lz4")
CASES = times(600)
KEYS = ActionKeys(partition=("date", "hour"), statistics=("id", "name"), tags=("indextables.writer",))

COMMIT: list[Action] = [
    Protocol(min_reader_version=2, min_writer_version=2),
    MetaData(id="4d1c", schema_string='{"type":"struct","fields":[]}', partition_columns=["date", "hour"]),
    *(
        Add(
            path=f"date=2024-01-{n:02}/hour=1{n}/part-{n:05}-é{n * 7919:x}.split",
            partition_values={"date": f"2024-01-{n:02}", "hour": None},
            size=1_000_000 + n * 7919,
            modification_time=1_704_067_200_000 + n,
            data_change=True,
            tags={"indextables.writer": "0.1.0"},
            min_values={"id": str(n), "name": f"name {n}"},
            max_values={"id": str(n * 1000), "name": 'last "name"'},
            num_records=n * 100,
        )
        for n in range(9)
    ),
    Remove(path="date=2024-01-01/hour=10/old.split", data_change=True, deletion_timestamp=1),
    Skip(path="s.split", skip_timestamp=1, reason="bad footer", operation="merge", skip_count=1),
]


def damaged(data: bytes, seed: str) -> Iterator[bytes]:
    """Give truncations and changed bits, of the file and of its middle, half of each."""
    rng = random.Random(seed)
    for case in range(CASES):
        if case % 2:
            yield data[: rng.randrange(len(data))]
        else:
            broken = bytearray(data)
            for _ in range(rng.choice((1, 1, 1, 2, 8))):
                broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
            yield bytes(broken)


def read_lines(data: bytes) -> list[Action] | str:
    try:
        return parse_lines(codec.decode(data, path="0"), path="0")
    except IndexTablesError as error:
        return type(error).__name__


def read_bulk(data: bytes) -> ActionColumns | str:
    try:
        return decode_commits([(0, data)], path_of=str, keys=KEYS)
    except IndexTablesError as error:
        return type(error).__name__


def check_bulk(data: bytes, expected: list[Action] | str) -> None:
    columns = read_bulk(data)
    if isinstance(columns, str) or isinstance(expected, str):
        assert columns == expected
        return
    for kind, table in ((Add, columns.adds), (Remove, columns.removes), (Skip, columns.skips)):
        rows = [(0, n, action) for n, action in enumerate(expected) if isinstance(action, kind)]
        assert table == table_of(kind, rows, columns.keys)


@given(st.binary(min_size=1), st.sampled_from(["gzip", "zstd", "lz4", "snappy", "none", "auto"]), st.integers(0, 9))
def test_what_is_encoded_is_decoded(data: bytes, name: str, level: int) -> None:
    stored = codec.encode(b"{" + data, codec=name, level=level)
    assert codec.decode(stored, path="p") == b"{" + data


@given(st.binary(max_size=200), st.sampled_from(sorted(range(256))))
def test_any_bytes_after_the_magic_byte_are_decoded_or_refused(data: bytes, code: int) -> None:
    with suppress(LogCorruptionError):
        codec.decode(bytes((0x01, code)) + data, path="p")


@pytest.mark.parametrize("name", CHECKED)
def test_damage_to_a_file_with_a_checksum_never_changes_what_it_says(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    outcomes: Counter[bool] = Counter()
    for broken in damaged(codec.encode(format_lines(COMMIT), codec=name), name):
        if not codec.is_compressed(broken):
            continue  # the magic byte itself was hit: it is a plain file now, see below
        result = read_lines(broken)
        assert result == COMMIT or isinstance(result, str)
        check_bulk(broken, result)
        outcomes[isinstance(result, str)] += 1
    record_property("damaged commits", outcomes.total())
    assert outcomes[True] > CASES // 2


@pytest.mark.parametrize("name", ["none", "snappy", *CHECKED])
def test_damage_to_any_file_is_read_alike_by_both_readers_or_refused_by_both(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    outcomes: Counter[bool] = Counter()
    for broken in damaged(codec.encode(format_lines(COMMIT), codec=name), f"{name}, both"):
        result = read_lines(broken)
        check_bulk(broken, result)
        outcomes[isinstance(result, str)] += 1
    record_property("damaged commits", outcomes.total())
    assert outcomes[True] > CASES // 3


def test_one_damaged_file_among_many_is_the_one_that_is_named() -> None:
    good = codec.encode(format_lines(COMMIT), codec="gzip")
    rng = random.Random(4)
    for _ in range(100):
        victim = rng.randrange(20)
        files = [(n, good[: rng.randrange(2, len(good))] if n == victim else good) for n in range(20)]
        with pytest.raises(LogCorruptionError) as caught:
            decode_commits(files, path_of="log/{}.json".format, keys=KEYS)
        assert caught.value.path == f"log/{victim}.json"
