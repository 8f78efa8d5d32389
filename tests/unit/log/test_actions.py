from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET, Raw

from indextables.errors import IndexTablesError
from indextables.log.actions import ACTIONS, Action, Add, Format, MetaData, Protocol, Remove, Skip, encode_action
from indextables.log.lines import parse_lines

SPEC = Path(__file__).resolve().parents[3] / "docs" / "spec" / "log-format.md"

# The examples of the format's first description, as one line each.
EXAMPLES: dict[str, tuple[bytes, Action]] = {
    "protocol": (
        b'{"protocol":{"minReaderVersion":2,"minWriterVersion":2}}',
        Protocol(min_reader_version=2, min_writer_version=2),
    ),
    "metaData": (
        (
            b'{"metaData":{"id":"a8b3c4d5-e6f7-g8h9-i0j1-k2l3m4n5o6p7","name":null,"description":null,'
            b'"format":{"provider":"indextables","options":{}},'
            b'"schemaString":"{\\"type\\":\\"struct\\",\\"fields\\":[{\\"name\\":\\"message\\",\\"type\\":\\"string\\"}]}",'
            b'"partitionColumns":["date","hour"],"configuration":{},"createdTime":1704067200000}}'
        ),
        MetaData(
            id="a8b3c4d5-e6f7-g8h9-i0j1-k2l3m4n5o6p7",
            name=None,
            description=None,
            format=Format(provider="indextables", options={}),
            schema_string='{"type":"struct","fields":[{"name":"message","type":"string"}]}',
            partition_columns=["date", "hour"],
            configuration={},
            created_time=1704067200000,
        ),
    ),
    "add": (
        (
            b'{"add":{"path":"date=2024-01-01/hour=10/3f2504e0-4f89-11d3-9a0c-0305e82c3301.split",'
            b'"partitionValues":{"date":"2024-01-01","hour":"10"},"size":104857600,"modificationTime":1704067200000,'
            b'"dataChange":true,"minValues":{"timestamp":"1704067200","level":"DEBUG"},'
            b'"maxValues":{"timestamp":"1704070800","level":"ERROR"},"numRecords":100000,'
            b'"footerStartOffset":104857000,"footerEndOffset":104857600,"hasFooterOffsets":true}}'
        ),
        Add(
            path="date=2024-01-01/hour=10/3f2504e0-4f89-11d3-9a0c-0305e82c3301.split",
            partition_values={"date": "2024-01-01", "hour": "10"},
            size=104857600,
            modification_time=1704067200000,
            data_change=True,
            min_values={"timestamp": "1704067200", "level": "DEBUG"},
            max_values={"timestamp": "1704070800", "level": "ERROR"},
            num_records=100000,
            footer_start_offset=104857000,
            footer_end_offset=104857600,
            has_footer_offsets=True,
        ),
    ),
    "remove": (
        (
            b'{"remove":{"path":"date=2024-01-01/hour=10/old-split.split","deletionTimestamp":1704070800000,'
            b'"dataChange":true,"partitionValues":{"date":"2024-01-01","hour":"10"},"size":52428800}}'
        ),
        Remove(
            path="date=2024-01-01/hour=10/old-split.split",
            deletion_timestamp=1704070800000,
            data_change=True,
            partition_values={"date": "2024-01-01", "hour": "10"},
            size=52428800,
        ),
    ),
    "mergeskip": (
        (
            b'{"mergeskip":{"path":"date=2024-01-01/hour=10/corrupted.split","skipTimestamp":1704067200000,'
            b'"reason":"Failed to merge split: Invalid footer offset","operation":"merge",'
            b'"partitionValues":{"date":"2024-01-01","hour":"10"},"size":104857600,'
            b'"retryAfter":1704153600000,"skipCount":2}}'
        ),
        Skip(
            path="date=2024-01-01/hour=10/corrupted.split",
            skip_timestamp=1704067200000,
            reason="Failed to merge split: Invalid footer offset",
            operation="merge",
            partition_values={"date": "2024-01-01", "hour": "10"},
            size=104857600,
            retry_after=1704153600000,
            skip_count=2,
        ),
    ),
}

ADD = b'"path":"p","partitionValues":{},"size":1,"modificationTime":2,"dataChange":true'


def parse(line: bytes) -> Action:
    (action,) = parse_lines(line, path="p")
    return action


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_example_of_each_action_is_its_line_both_ways(key: str) -> None:
    line, action = EXAMPLES[key]
    assert parse(line) == action
    assert encode_action(action) == line


def test_there_are_five_actions() -> None:
    assert set(ACTIONS) == set(EXAMPLES) == {"protocol", "metaData", "add", "remove", "mergeskip"}


def test_the_metadata_of_the_checkpoint_example_has_only_three_fields() -> None:
    metadata = parse(b'{"metaData":{"id":"1","schemaString":"{}","partitionColumns":["date","hour"]}}')
    assert metadata == MetaData(id="1", schema_string="{}", partition_columns=["date", "hour"])


def test_absent_null_and_empty_are_three_states() -> None:
    states: list[tuple[bytes, object]] = [(b"", UNSET), (b',"tags":null', None), (b',"tags":{}', {})]
    for text, value in states:
        line = b'{"add":{%b%b}}' % (ADD, text)
        action = parse(line)
        assert isinstance(action, Add)
        assert action.tags == value
        assert type(action.tags) is type(value)
        assert encode_action(action) == line


def test_a_null_an_empty_and_a_missing_partition_value_are_three_states() -> None:
    line = b'{"remove":{"path":"p","dataChange":false,"partitionValues":{"a":null,"b":""}}}'
    action = parse(line)
    assert isinstance(action, Remove)
    assert action.partition_values == {"a": None, "b": ""}
    assert encode_action(action) == line


@pytest.mark.parametrize("key", EXAMPLES)
def test_unknown_fields_survive_with_their_values_and_follow_the_known_ones(key: str) -> None:
    line, known = EXAMPLES[key]
    extra = b'"newInt":12345678901,"newFloat":1.50,"newList":[1, {"deep":[null,true]}],"new\\"Name":"\\u00e9"'
    action = parse(line[:-2] + b"," + extra + b"}}")
    assert set(action.extra) == {"newInt", "newFloat", "newList", 'new"Name'}
    assert bytes(action.extra["newFloat"]) == b"1.50"
    assert msgspec.structs.replace(action, extra={}) == known
    written = encode_action(action)
    assert written.startswith(line[:-2])
    assert json.loads(written) == json.loads(line[:-2] + b"," + extra + b"}}")
    assert parse(written) == action


def test_unknown_fields_inside_the_format_of_the_metadata_survive() -> None:
    line = (
        b'{"metaData":{"id":"1","format":{"provider":"p","options":{},"version":3},"schemaString":"{}",'
        b'"partitionColumns":[],"owner":"me"}}'
    )
    action = parse(line)
    assert isinstance(action, MetaData)
    assert isinstance(action.format, Format)
    assert action.format.extra == {"version": Raw(b"3")}
    assert encode_action(action) == line


def test_a_field_named_like_our_own_room_for_unknown_fields_is_an_unknown_field() -> None:
    for text in (b"{}", b'{"a":1}', b"null", b"7"):
        line = b'{"add":{%b,"(unknown fields)":%b,"extra":%b}}' % (ADD, text, text)
        action = parse(line)
        assert action.extra == {"(unknown fields)": Raw(text), "extra": Raw(text)}
        assert encode_action(action) == line


def test_numbers_and_booleans_in_maps_of_texts_become_their_text() -> None:
    action = parse(b'{"add":{%b,"minValues":{"a":1.50,"b":true,"c":-7,"d":null,"e":"x"}}}' % ADD)
    assert isinstance(action, Add)
    assert action.min_values == {"a": "1.50", "b": "true", "c": "-7", "d": None, "e": "x"}


def test_explicit_nulls_everywhere_are_read_and_kept() -> None:
    names = [field.encode_name for field in msgspec.structs.fields(Add) if not field.required and field.name != "extra"]
    line = b'{"add":{%b,%b}}' % (ADD, b",".join(b'"%b":null' % name.encode() for name in names))
    assert encode_action(parse(line)) == line


def test_half_of_a_surrogate_pair_is_not_written() -> None:
    with pytest.raises(IndexTablesError, match="surrogate"):
        encode_action(Remove(path="\ud800", data_change=True))


@pytest.mark.parametrize("key", ACTIONS)
def test_the_written_format_lists_exactly_these_fields(key: str) -> None:
    section = SPEC.read_text().split(f"### `{key}`", 1)[1].split("\n#", 1)[0].split("\nThe object ", 1)[0]
    documented = re.findall(r"^\| `(\w+)` \| (yes|no) \|", section, flags=re.MULTILINE)
    fields = [field for field in msgspec.structs.fields(ACTIONS[key]) if field.name != "extra"]
    assert documented == [(field.encode_name, "yes" if field.required else "no") for field in fields]
