from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from indextables.log import codec
from indextables.log.actions import Action, Add, Format, MetaData, Protocol, Remove, Skip, encode_action
from indextables.log.bulk_decode import decode_commits, decode_few
from indextables.log.bulk_encode import encode_adds
from indextables.log.columns import ActionKeys, Row, table_of
from indextables.log.lines import format_lines, parse_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

    from indextables.log.columns import ActionColumns

texts = st.text(max_size=12)
names = st.sampled_from(["a", "b", "date", 'q"\\', "é😀", "", " ", "x:"]) | texts
integers = st.integers(-(2**63), 2**63 - 1)
maps = st.dictionaries(names, st.none() | texts, max_size=4)


def json_values() -> SearchStrategy[object]:
    floats = st.floats(allow_nan=False, allow_infinity=False)
    scalars = st.none() | st.booleans() | integers | floats | texts
    return st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


# No known field is called like these, with "new" before whatever follows.
unknown = st.dictionaries(
    texts.map("new".__add__), json_values().map(lambda value: Raw(json.dumps(value).encode())), max_size=2
)


def optional(values: SearchStrategy[object]) -> SearchStrategy[object]:
    return st.just(UNSET) | st.none() | values


protocols = st.builds(
    Protocol,
    min_reader_version=integers,
    min_writer_version=integers,
    reader_features=optional(st.lists(texts, max_size=2)),
    writer_features=optional(st.lists(texts, max_size=2)),
    extra=unknown,
)
metadatas = st.builds(
    MetaData,
    id=texts,
    name=optional(texts),
    description=optional(texts),
    format=optional(st.builds(Format, provider=texts, options=optional(maps), extra=unknown)),
    schema_string=texts,
    partition_columns=st.lists(texts, max_size=3),
    configuration=optional(maps),
    created_time=optional(integers),
    extra=unknown,
)
adds = st.builds(
    Add,
    path=texts,
    partition_values=maps,
    size=integers,
    modification_time=integers,
    data_change=st.booleans(),
    stats=optional(texts),
    tags=optional(maps),
    min_values=optional(maps),
    max_values=optional(maps),
    num_records=optional(integers),
    has_footer_offsets=optional(st.booleans()),
    time_range_start=optional(texts),
    split_tags=optional(st.lists(st.none() | texts, max_size=2)),
    doc_mapping_json=optional(texts),
    extra=st.just({}) | unknown,
)
removes = st.builds(
    Remove,
    path=texts,
    deletion_timestamp=optional(integers),
    data_change=st.booleans(),
    extended_file_metadata=optional(st.booleans()),
    partition_values=optional(maps),
    size=optional(integers),
    tags=optional(maps),
    extra=st.just({}) | unknown,
)
skips = st.builds(
    Skip,
    path=texts,
    skip_timestamp=integers,
    reason=texts,
    operation=texts,
    partition_values=optional(maps),
    size=optional(integers),
    retry_after=optional(integers),
    skip_count=optional(integers),
    extra=st.just({}) | unknown,
)
actions: SearchStrategy[Action] = st.one_of(adds, removes, skips, protocols, metadatas)
commits = st.lists(actions, min_size=1, max_size=6)
keys = st.builds(
    ActionKeys,
    partition=st.lists(names, unique=True, max_size=3).map(tuple),
    statistics=st.lists(names, unique=True, max_size=3).map(tuple),
    tags=st.lists(names, unique=True, max_size=3).map(tuple),
)


@given(actions)
def test_an_action_is_what_its_line_says(action: Action) -> None:
    line = encode_action(action)
    (back,) = parse_lines(line, path="p")
    assert back == action
    assert encode_action(back) == line
    assert b"\n" not in line


@given(commits)
def test_a_commit_is_what_its_lines_say_in_order(commit: list[Action]) -> None:
    assert parse_lines(format_lines(commit), path="p") == commit


@given(
    st.lists(commits, min_size=1, max_size=5),
    keys,
    st.sampled_from(["gzip", "zstd", "lz4", "snappy", "none", "auto"]),
    st.sampled_from([b"\n", b"\r\n", b"\n\n"]),
    st.sampled_from([decode_commits, decode_few]),
)
def test_the_bulk_reader_and_the_line_reader_say_the_same(
    history: list[list[Action]],
    expected: ActionKeys,
    codec_name: str,
    newline: bytes,
    decode: Callable[..., ActionColumns],
) -> None:
    contents = [format_lines(commit).replace(b"\n", newline) for commit in history]
    files = [(version * 3, codec.encode(content, codec=codec_name)) for version, content in enumerate(contents)]
    columns = decode(files, path_of=str, keys=expected)

    placed = [(v * 3, n, action) for v, commit in enumerate(history) for n, action in enumerate(commit)]
    tables: list[tuple[type[Row], object]] = [(Add, columns.adds), (Remove, columns.removes), (Skip, columns.skips)]
    for kind, table in tables:
        rows = [(v, n, action) for v, n, action in placed if isinstance(action, kind)]
        assert table == table_of(kind, rows, columns.keys)
    assert list(columns.protocols) == [place for place in placed if isinstance(place[2], Protocol)]
    assert list(columns.metadatas) == [place for place in placed if isinstance(place[2], MetaData)]
    assert columns.keys.partition[: len(expected.partition)] == expected.partition


@given(st.lists(adds, min_size=1, max_size=8))
def test_columns_of_adds_come_back_from_the_lines_that_they_are_written_as(rows: list[Add]) -> None:
    before = decode_commits([(0, format_lines(rows))], path_of=str)
    after = decode_commits([(0, encode_adds(before.adds))], path_of=str, keys=before.keys)
    same = before.adds.drop_columns(["extra"])
    assert after.adds.drop_columns(["extra"]) == same
    assert [text and json.loads(text) for text in after.adds["extra"].to_pylist()] == [
        text and json.loads(text) for text in before.adds["extra"].to_pylist()
    ]
