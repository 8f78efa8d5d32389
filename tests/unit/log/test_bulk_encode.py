from __future__ import annotations

import json

import pyarrow as pa
import pytest
from msgspec import UNSET, Raw

from indextables.log import bulk_encode
from indextables.log.actions import Add
from indextables.log.bulk_encode import encode_adds
from indextables.log.columns import ActionKeys, keys_of, table_of
from indextables.log.lines import format_lines, parse_lines

NASTY = [
    "",
    '"',
    "\\",
    '\\"',
    "\n\r\t",
    "\x00\x01\x08\x0b\x0c\x1f\x7f",
    "é😀\u2028\u2029",
    "</script>",
    "a" * 5000,
    '\\u0041"\\',
]


def table(*adds: Add, keys: ActionKeys | None = None) -> pa.Table:
    return table_of(Add, [(0, n, add) for n, add in enumerate(adds)], keys or keys_of(adds))


def add(path: str = "p", **fields: object) -> Add:
    given: dict[str, object] = {"partition_values": {}, "size": 1, "modification_time": 2, "data_change": True}
    return Add(path=path, **(given | fields))  # type: ignore[arg-type]


def test_the_lines_are_those_that_each_action_has_by_itself() -> None:
    adds = [
        add("a", partition_values={"d": "1"}, tags={"t": "x"}, num_records=5, has_footer_offsets=True),
        add("b", partition_values={"d": ""}, data_change=False, size=-1, stats='{"nullCount":{"a":0}}'),
        add("c", partition_values={"d": None}, min_values={"x": "1"}, max_values={}, split_tags=["q", None]),
    ]
    assert encode_adds(table(*adds)) == format_lines(adds)


@pytest.mark.parametrize("text", NASTY)
def test_any_text_comes_back_in_every_place_where_text_can_be(text: str) -> None:
    action = add(
        text or "p",
        partition_values={f"k{text}": text},
        stats=text,
        tags={f"t{text}": text},
        min_values={f"m{text}": text, "n": text},
        split_tags=[text],
        doc_mapping_json=text,
        extra={f"e{text}": Raw(json.dumps([text]).encode())},
    )
    assert parse_lines(encode_adds(table(action, action)), path="p") == [action, action]


def test_nulls_are_left_out_except_where_a_partition_value_is_null() -> None:
    action = add(partition_values={"d": None}, tags=None, min_values={"a": None, "b": "1"})
    line = json.loads(encode_adds(table(action)))["add"]
    assert line["partitionValues"] == {"d": None}
    assert line["minValues"] == {"b": "1"}
    assert "tags" not in line
    assert "stats" not in line


def test_unknown_fields_are_written_back_as_they_were() -> None:
    adds = [add("a", extra={"new": Raw(b'{"x": [1.50]}')}), add("b")]
    assert encode_adds(table(*adds)) == format_lines(adds)


def test_the_columns_of_place_and_unknown_fields_may_be_missing() -> None:
    adds = [add("a"), add("b")]
    rows = table(*adds).drop_columns(["version", "ordinal", "extra"])
    assert encode_adds(rows) == format_lines(adds)


def test_no_rows_are_no_bytes() -> None:
    assert encode_adds(table().slice(0, 0)) == b""


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_batches_chunks_and_slices_do_not_show(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    adds = [add(f"path-{n}", min_values={"a": str(n)} if n % 3 else UNSET) for n in range(50)]
    whole = table(*adds)
    chunked = pa.concat_tables([whole.slice(0, 13), whole.slice(13, 1), whole.slice(14)])
    monkeypatch.setattr(bulk_encode, "_BATCH_ROWS", rows)
    assert encode_adds(chunked) == format_lines(adds)
    assert encode_adds(whole.slice(7, 20)) == format_lines(adds[7:27])


def test_long_texts_make_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    adds = [add(f"{n}" * 2000) for n in range(10)]
    monkeypatch.setattr(bulk_encode, "_BATCH_BYTES", 3000)
    assert encode_adds(table(*adds)) == format_lines(adds)
