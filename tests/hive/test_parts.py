"""The parts of Lakekeeper that need no Metastore."""

from __future__ import annotations

import contextlib
import io
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import AlreadyExistsError, ConfigError, MetastoreError, NotFoundError
from indextables.hive import Options, load_configuration
from indextables.hive.channel import SocketChannel
from indextables.hive.checksum import Check, check_table
from indextables.hive.directory import Directory, compress_names, places
from indextables.hive.filesystem import Entry, fingerprint, split_location
from indextables.hive.local import LocalFileSystem
from indextables.hive.model import Column, HiveTable
from indextables.hive.names import backup_name, escape, is_staging, parse_partition, partition_name, unescape
from indextables.hive.rewrite import plan_groups
from indextables.hive.thrift import (
    Kind,
    ProtocolViolationError,
    Struct,
    decode_message,
    encode_call,
    string_map,
    strings,
)
from indextables.hive.where import PartitionFilter

if TYPE_CHECKING:
    from pathlib import Path

KEYS = [Column("date", "string"), Column("n", "int")]


def test_a_struct_with_unknown_fields_comes_back_as_it_was() -> None:
    inner = Struct()
    inner.set(99, Kind.DOUBLE, 1.5)
    inner.set(7, Kind.BOOL, True)
    table = Struct()
    table.set(1, Kind.STRING, "größe")
    table.set(9, Kind.MAP, string_map({"a": "b"}))
    table.set(77, Kind.LIST, strings(["x", ""]))
    table.set(78, Kind.STRUCT, inner)
    table.set(79, Kind.I64, -(1 << 62))
    _, name, sequence, back = decode_message(io.BytesIO(encode_call("m", 5, table)))
    assert (name, sequence, back) == ("m", 5, table)
    changed = HiveTable(back).changed(parameters={"c": "d"})
    assert changed.raw.get(78) == inner
    assert changed.parameters == {"c": "d"}
    assert HiveTable(back).parameters == {"a": "b"}


@given(st.binary(max_size=60))
def test_bytes_that_are_no_message_give_a_typed_error(data: bytes) -> None:
    with pytest.raises(ProtocolViolationError):
        decode_message(io.BytesIO(data))


@given(st.data())
def test_a_damaged_message_is_refused_or_read_but_never_hangs(data: st.DataObject) -> None:
    message = bytearray(encode_call("get_table", 1, Struct({1: (Kind.STRING, "database"), 2: (Kind.I32, 7)})))
    place = data.draw(st.integers(0, len(message) - 1))
    message[place] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(ProtocolViolationError):
        decode_message(io.BytesIO(bytes(message)))


def test_a_metastore_that_is_not_there_is_named() -> None:
    with pytest.raises(MetastoreError, match=r"127\.0\.0\.1:1"):
        SocketChannel("thrift://127.0.0.1:1").call("get_all_databases", Struct())
    with pytest.raises(MetastoreError, match="thrift://host:9083"):
        SocketChannel("http://somewhere")


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "i": st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
            "s": st.none() | st.text(max_size=8),
            "f": st.none() | st.floats(),
            "l": st.none() | st.lists(st.none() | st.binary(max_size=3), max_size=3),
            "m": st.none() | st.fixed_dictionaries({"a": st.none() | st.booleans(), "b": st.lists(st.integers(0, 9))}),
        }
    ),
    max_size=20,
)
SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("s", pa.string()),
        ("f", pa.float64()),
        ("l", pa.list_(pa.binary())),
        ("m", pa.struct([("a", pa.bool_()), ("b", pa.list_(pa.int64()))])),
    ]
)


@pytest.mark.slow
@given(ROWS, st.randoms(use_true_random=False))
def test_a_check_does_not_depend_on_order_or_on_how_rows_are_cut(rows: list[dict[str, Any]], random: Any) -> None:
    table = pa.Table.from_pylist(rows, SCHEMA)
    order = list(range(len(rows)))
    random.shuffle(order)
    cut = random.randint(0, len(rows))
    shuffled = table.take(pa.array(order, pa.int64()))
    whole = check_table(table)
    assert whole.difference(check_table(shuffled)) == ""
    if rows:
        assert Check.total([check_table(shuffled.slice(0, cut)), check_table(shuffled.slice(cut))]) == whole


@pytest.mark.slow
@given(ROWS.filter(len), st.data())
def test_a_check_notices_any_changed_value(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    table = pa.Table.from_pylist(rows, SCHEMA)
    other = data.draw(ROWS.filter(lambda found: len(found) == len(rows)) | st.just(rows[:-1] or rows))
    changed = pa.Table.from_pylist(other, SCHEMA)
    same = sorted(map(repr, table.to_pylist())) == sorted(map(repr, changed.to_pylist()))
    if not same and _columns_differ(table, changed):
        assert check_table(table).difference(check_table(changed)) != ""


def _columns_differ(one: pa.Table, other: pa.Table) -> bool:
    """Whether some column differs as a multiset; rows that only pair values otherwise are not what a check is for."""
    return any(
        sorted(map(repr, one[name].to_pylist())) != sorted(map(repr, other[name].to_pylist())) for name in SCHEMA.names
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["ab", "c"], ["a", "bc"]),
        (["", "x"], ["x", None]),
        ([0.0], [-0.0]),
        ([[1, 2]], [[2, 1]]),
        ([[], [1]], [[1], None]),
        ([b"\x00"], [b"\x00\x00"]),
    ],
)
def test_a_check_tells_look_alikes_apart(one: list[Any], other: list[Any]) -> None:
    kind = pa.array(one).type
    first, second = (check_table(pa.table({"v": pa.array(values, kind)})) for values in (one, other))
    assert first.difference(second) != ""


def test_a_check_of_long_strings_uses_several_pieces() -> None:
    long = "x" * 3_000_000
    one = pa.table({"v": [long, "short", long + "y"]})
    other = pa.table({"v": [long, "short", long + "z"]})
    assert check_table(one) == check_table(one.take([2, 0, 1]))
    assert check_table(one) != check_table(other)


@given(st.text(min_size=1).filter(lambda text: "\x00" not in text))
def test_a_partition_value_survives_the_way_into_a_path_and_back(value: str) -> None:
    if "%" not in value or unescape(value) == value or escape(value) != value:
        assert unescape(escape(value)) == value
    assert "/" not in escape(value)
    ((key, held),) = parse_partition(partition_name(["K"], [value]))
    assert (key, held) == ("k", value)


def test_names() -> None:
    assert backup_name("events", "1772029800") == "__bkp_events_20260225_143000"
    assert is_staging("ref=A__old_1772054071")
    assert is_staging("flat__compact_tmp_1772054071")
    assert not any(map(is_staging, ["flat", "flat__old_", "flat__old_x", "__old_1", "old_1772054071"]))
    assert places("hdfs://n/t/a=1", root="hdfs://n/t", run="7", staging="hidden") == (
        "hdfs://n/t/_lakekeeper/7/a=1__old_7",
        "hdfs://n/t/_lakekeeper/7/a=1__compact_tmp_7",
    )
    assert places("hdfs://n/far", root="hdfs://n/t", run="7", staging="hidden")[0] == "hdfs://n/far__old_7"


@given(st.sets(st.integers(0, 3000), min_size=1, max_size=30))
def test_names_of_new_files_survive_their_short_form(numbers: set[int]) -> None:
    names = {f"part-{number:05d}.parquet" for number in numbers}
    short = compress_names(names)
    assert Directory(name="", location="", old="", staging="", before="", files=short).new_names() == names


@pytest.mark.parametrize(
    ("location", "parts"),
    [
        ("hdfs://host:8020/a/b=c%2F", ("hdfs", "host:8020", "/a/b=c%2F")),
        ("file:/tmp/x y", ("file", "", "/tmp/x y")),
        ("file:///tmp/x", ("file", "", "/tmp/x")),
        ("/tmp/a:b", ("", "", "/tmp/a:b")),
        ("S3A://bucket/x", ("s3a", "bucket", "/x")),
    ],
)
def test_locations_are_taken_apart_as_hadoop_does(location: str, parts: tuple[str, str, str]) -> None:
    assert split_location(location) == parts


@given(st.lists(st.integers(1, 500), min_size=1, max_size=60), st.integers(1, 900))
def test_groups_hold_every_file_once_and_are_as_many_as_the_size_asks_for(sizes: list[int], target: int) -> None:
    files = [Entry(f"f{index:03d}", size, 0) for index, size in enumerate(sizes)]
    groups = plan_groups(files, target)
    assert [entry for group in groups for entry in group] == files
    assert len(groups) <= max(1, -(-sum(sizes) // target))


def test_a_fingerprint_changes_with_every_change() -> None:
    base = [Entry("a", 1, 1), Entry("b", 2, 2)]
    others = [base[:1], [Entry("a", 1, 2), base[1]], [Entry("a", 2, 1), base[1]], [*base, Entry("_t", 0, 0, True)]]
    assert len({fingerprint(entries) for entries in [base, *others]}) == 5
    assert fingerprint(base) == fingerprint(base[::-1])


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("date = 'a'", {"a/1", "a/10"}),
        ("n >= 4", {"a/10", "b/10"}),
        ("n in (1, 2)", {"a/1", "b/2"}),
        ("n between 4 and 10", {"a/10", "b/10"}),
        ("date like 'b%' and not n = 10", {"b/2"}),
        ("date is null", {"__HIVE_DEFAULT_PARTITION__/3"}),
        ("date > 'a' or n = 1", {"a/1", "b/2", "b/10"}),
        ("(date <> 'a')", {"b/2", "b/10"}),
    ],
)
def test_a_condition_chooses_partitions(where: str, expected: set[str]) -> None:
    held = [("a", "1"), ("a", "10"), ("b", "2"), ("b", "10"), ("__HIVE_DEFAULT_PARTITION__", "3")]
    chosen = PartitionFilter(KEYS, where=where)
    assert {f"{d}/{n}" for d, n in held if chosen.accepts([("date", d), ("n", n)])} == expected


@pytest.mark.parametrize("where", ["other = 1", "date =", "length(date) = 3", "n = 'x'", "date"])
def test_a_condition_that_cannot_be_answered_is_refused(where: str) -> None:
    with pytest.raises(ConfigError):
        PartitionFilter(KEYS, where=where)


@pytest.mark.parametrize("name", ["nokey", "other=1", "=1"])
def test_a_partition_that_cannot_be_meant_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        PartitionFilter(KEYS, partitions=[name])


def test_a_configuration_file(tmp_path: Path) -> None:
    path = tmp_path / "lakekeeper.yaml"
    path.write_text(
        "defaults: {target_size: 256MB, staging: hidden}\n"
        "include: ['sales.*']\nexclude: sales.tmp_*\n"
        "tables:\n  Other.Events: {sort_by: [id], codec: zstd, threshold: 1048576}\n"
    )
    held = load_configuration(path)
    assert held.options("sales.a") == Options(target_size=256 << 20, staging="hidden")
    assert held.options("other.events") == Options(
        target_size=256 << 20, staging="hidden", sort_by=("id",), codec="zstd", threshold=1 << 20
    )
    assert [held.wants(n) for n in ("sales.a", "sales.tmp_1", "other.events", "other.x")] == [True, False, True, False]


@pytest.mark.parametrize(
    "text",
    [
        "defaults: {target_sise: 1MB}",
        "defaults: {target_size: big}",
        "defaults: {codec: lzo}",
        "include: {a: b}",
        "tables: [a]",
        "- a",
        "surprise: 1",
        "a: [",
    ],
)
def test_a_configuration_file_with_a_mistake_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lakekeeper.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError):
        load_configuration(path)


def test_the_local_disk_never_nests_or_replaces(tmp_path: Path) -> None:
    system = LocalFileSystem()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    with pytest.raises(AlreadyExistsError):
        system.rename(str(tmp_path / "a"), str(tmp_path / "b"))
    with pytest.raises(AlreadyExistsError):
        system.rename(str(tmp_path / "a" / "file"), str(tmp_path / "b" / "file"))
    with pytest.raises(NotFoundError):
        system.rename(str(tmp_path / "missing"), str(tmp_path / "c"))
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["file"]
    system.rename(f"file:{tmp_path}/a/file", f"file:{tmp_path}/b/other")
    assert (tmp_path / "b" / "other").read_text() == "a"


def test_a_file_that_was_half_moved_is_moved_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "from").write_text("x")
    os.link(tmp_path / "from", tmp_path / "to")
    LocalFileSystem().rename(str(tmp_path / "from"), str(tmp_path / "to"))
    assert not (tmp_path / "from").exists()
    assert (tmp_path / "to").read_text() == "x"


def test_hashes_of_every_primitive_type_differ_with_the_value() -> None:
    for kind in (pa.int8(), pa.uint16(), pa.int32(), pa.float32(), pa.date32(), pa.timestamp("us"), pa.time64("ns")):
        zero, one = (pa.array(np.array([value], np.int64)).cast(pa.int64()) for value in (0, 1))
        first, second = (
            check_table(pa.table({"v": array.cast(kind) if kind != pa.date32() else array.cast(pa.int32()).cast(kind)}))
            for array in (zero, one)
        )
        assert first != second
