"""The reader of regular lines never says anything that the exact reader does not say; where it is in doubt it says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import IndexTablesError
from indextables.log.actions import Add
from indextables.log.columns import ActionKeys, columns_of, keys_of, schema_of, table_of
from indextables.log.lines import format_lines, parse_lines
from indextables.log.regular import RegularReader

if TYPE_CHECKING:
    from collections.abc import Sequence

KEYS = ActionKeys(
    partition=("date",), statistics=("id", "name"), tags=("w", "commit"), fields=("tags", "min_values", "num_records")
)


def add(number: int, **fields: object) -> Add:
    given_: dict[str, object] = {
        "path": f"date=2024-01-{number % 28 + 1:02d}/part-{number}.split",
        "partition_values": {"date": f"2024-01-{number % 28 + 1:02d}"},
        "size": 1000 + number,
        "modification_time": 1,
        "data_change": True,
        "tags": {"w": "1"},
        "min_values": {"id": str(number * 7), "name": "é" * (number % 3)},
        "num_records": number,
    }
    return Add(**(given_ | fields))  # type: ignore[arg-type]


def read(data: bytes, *, keys: ActionKeys = KEYS, reader: RegularReader | None = None) -> pa.Table | None:
    octets = np.frombuffer(data, np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(octets == ord("\n"))[:-1] + 1))
    arrays = (reader or RegularReader()).read(data, starts, np.arange(len(starts)), keys=keys)
    return None if arrays is None else pa.table(arrays, names=[column.name for column in columns_of(Add)])


def exactly(data: bytes, keys: ActionKeys = KEYS) -> pa.Table:
    actions = parse_lines(data, path="")
    rows = [(0, ordinal, action) for ordinal, action in enumerate(actions) if isinstance(action, Add)]
    assert len(rows) == len(actions)
    return table_of(Add, rows, keys).select([column.name for column in columns_of(Add)])


def commit(adds: Sequence[Add]) -> bytes:
    return format_lines(adds)


class TestRegularLines:
    def test_they_are_read_as_the_exact_reader_reads_them(self) -> None:
        data = commit([add(number) for number in range(50)])
        assert read(data) == exactly(data)

    def test_several_shapes_keep_the_order_of_lines(self) -> None:
        adds = [
            add(number, tags={"w": "1", "commit": f'{{"id":"{number}"}}'} if number % 10 == 0 else {"w": "1"})
            for number in range(100)
        ]
        data = commit(adds)
        table = read(data)
        assert table == exactly(data)
        assert table["path"].to_pylist() == [each.path for each in adds]

    @pytest.mark.parametrize("tags", [None, {}, {"w": None}])
    def test_absent_null_and_empty_are_told_apart(self, tags: dict[str, str | None] | None) -> None:
        data = commit([add(number, tags=tags if number % 2 else {"w": "1"}) for number in range(20)])
        assert read(data) == exactly(data)

    def test_a_table_without_partitions_has_an_empty_struct(self) -> None:
        keys = ActionKeys(statistics=KEYS.statistics, tags=KEYS.tags, fields=KEYS.fields)
        data = commit([add(number, partition_values={}) for number in range(20)])
        assert read(data, keys=keys) == exactly(data, keys)

    def test_shapes_are_remembered_and_others_are_looked_for_where_they_do_not_fit(self) -> None:
        reader = RegularReader()
        for tags in ({"w": "1"}, {"w": "2", "commit": "x"}, {"w": "1"}):
            data = commit([add(number, tags=tags) for number in range(20)])
            assert read(data, reader=reader) == exactly(data)

    def test_a_remembered_shape_may_be_longer_than_all_that_is_read_next(self) -> None:
        reader, keys = RegularReader(), KEYS.widened(ActionKeys(fields=("stats",)))
        long = commit([add(number, stats="s" * 10_000) for number in range(20)])
        assert read(long, keys=keys, reader=reader) == exactly(long, keys)
        short = commit([add(1)])
        assert read(short, keys=keys, reader=reader) == exactly(short, keys)

    def test_lines_of_other_kinds_stand_between_them_unread(self) -> None:
        other = b'{"remove":{"path":"x","dataChange":true}}\n'
        lines = [line + b"\n" for line in commit([add(number) for number in range(20)]).splitlines()]
        data = b"".join(other + line for line in lines)
        starts = np.cumsum([0, *(len(part) for line in lines for part in (other, line))])[:-1]
        arrays = RegularReader().read(data, starts, np.arange(1, 40, 2), keys=KEYS)
        assert arrays is not None
        assert arrays[0].to_pylist() == exactly(b"".join(lines))["path"].to_pylist()


class TestDoubt:
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b"part-7.split", b"part-7\\n.split"),
            (b"part-7.split", b"part-7\\\\.split"),
            (b"part-7.split", b"part-7\x01.split"),
            (b"part-7.split", b"part-7\xff.split"),
            (b'"size":1007', b'"size":0x1f'),
            (b'"size":1007', b'"size":01007'),
            (b'"size":1007', b'"size":-7'),
            (b'"size":1007', b'"size":1e3'),
            (b'"size":1007', b'"size":99999999999999999999'),
            (b'"size":1007', b'"size":"7"'),
            (b'"size":1007', b'"size":'),
            (b'"dataChange":true', b'"dataChange":null'),
            (b'"dataChange":true', b'"dataChange":"t"'),
            (b'"tags":{"w":"1"}', b'"tags":"w"'),
            (b'"tags":{"w":"1"}', b'"tags":true'),
            (b'"tags":{"w":"1"}', b'"tags":{"new":"1"}'),
            (b'"tags":{"w":"1"}', b'"tags":{"w":1}'),
            (b'"tags":{"w":"1"}', b'"tags":{"w":{}}'),
            (b'"size":1007,', b""),
            (b'"numRecords":7', b'"numRecords":7,"new":1'),
        ],
    )
    def test_one_line_in_doubt_is_enough_to_leave_all_to_others(self, old: bytes, new: bytes) -> None:
        lines = commit([add(number) for number in range(20)]).splitlines(keepends=True)
        assert old in lines[7]
        lines[7] = lines[7].replace(old, new, 1)
        assert read(b"".join(lines)) is None

    def test_a_very_long_line_is_left_to_others(self) -> None:
        assert read(commit([add(0), add(1, path="p" * (1 << 20))])) is None

    def test_too_many_shapes_are_left_to_others(self) -> None:
        optional = ("tags", "min_values", "num_records")
        adds = [
            add(number, **{name: None for bit, name in enumerate(optional) if number >> bit & 1})
            for number in range(64)
        ]
        assert read(commit(adds)) is None


@given(data=st.data())
def test_a_damaged_byte_is_never_read_otherwise_than_by_the_exact_reader(data: st.DataObject) -> None:
    """Bytes are overwritten in regular lines with those that mean something in JSON, or with any."""
    adds = [add(number, tags={"w": "1"} if number % 5 else {"w": "1", "commit": '"x"'}) for number in range(12)]
    content = bytearray(commit(adds))
    newlines = {position for position, byte in enumerate(content) if byte == ord("\n")}
    places = st.integers(0, len(content) - 1).filter(lambda position: position not in newlines)
    byte = st.one_of(st.sampled_from(b'"\\{}:,0123456789-tn e'), st.integers(11, 255))
    for position, value in data.draw(st.lists(st.tuples(places, byte), min_size=1, max_size=3)):
        content[position] = value
    found = read(bytes(content))
    if found is None:
        return
    try:
        expected = exactly(bytes(content))
    except IndexTablesError as error:
        pytest.fail(f"read what the exact reader refuses: {error}")
    assert found == expected


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
_TAGS = st.dictionaries(st.sampled_from(["w", "commit", 'q"']), st.none() | _TEXTS)
_ADDS = st.builds(
    add,
    st.integers(0, 10**6),
    path=_TEXTS.filter(bool),
    tags=st.none() | _TAGS,
    stats=st.sampled_from([None, '{"nullCount":{"id":0}}']),
)


@given(st.lists(_ADDS, min_size=1, max_size=30))
def test_whatever_is_read_is_what_was_written(adds: list[Add]) -> None:
    data, keys = commit(adds), keys_of(adds)
    found = read(data, keys=keys)
    assert found is None or found == exactly(data, keys)
    assert found is None or found.schema.types == schema_of(Add, keys).types[: found.num_columns]
