from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from indextables.errors import LogCorruptionError
from indextables.log import bulk_decode, codec
from indextables.log.actions import Action, Add, MetaData, Protocol, Remove, Skip
from indextables.log.bulk_decode import decode_commits, decode_few
from indextables.log.columns import ActionColumns, ActionKeys, columns_of
from indextables.log.lines import format_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEYS = ActionKeys(partition=("date",), statistics=("id", "name"), tags=("writer",))


def add(path: str, **fields: object) -> Add:
    given: dict[str, object] = {
        "partition_values": {"date": "2024-01-01"},
        "size": 10,
        "modification_time": 20,
        "data_change": True,
        "min_values": {"id": "1", "name": "a"},
        "max_values": {"id": "9", "name": "é😀"},
        "tags": {"writer": "1"},
    }
    return Add(path=path, **(given | fields))  # type: ignore[arg-type]


def remove(path: str) -> Remove:
    return Remove(path=path, data_change=True, partition_values={"date": None}, size=5)


PROTOCOL = Protocol(min_reader_version=2, min_writer_version=2)
METADATA = MetaData(id="1", schema_string="{}", partition_columns=["date"], configuration={"a": "b"})
SKIP = Skip(path="s", skip_timestamp=1, reason="broken", operation="merge", skip_count=2)


def decode(*commits: list[Action] | bytes, keys: ActionKeys | None = KEYS) -> ActionColumns:
    files = [commit if isinstance(commit, bytes) else format_lines(commit) for commit in commits]
    return decode_commits(list(enumerate(files)), path_of="log/{}.json".format, keys=keys)


@pytest.fixture
def slow_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the versions that were read line by line."""
    versions: list[int] = []
    original = bulk_decode._Decoder.read_lines

    def recorded(decoder: bulk_decode._Decoder, files: list[tuple[int, bytes]]) -> bulk_decode._Part:
        versions.extend(version for version, _ in files)
        return original(decoder, files)

    monkeypatch.setattr(bulk_decode._Decoder, "read_lines", recorded)
    return versions


def places(columns: ActionColumns, table: str = "adds") -> list[tuple[str, int, int]]:
    rows = getattr(columns, table).select(["path", "version", "ordinal"]).to_pylist()
    return [(row["path"], row["version"], row["ordinal"]) for row in rows]


class TestColumns:
    def test_every_field_is_a_column_with_the_name_of_its_attribute(self) -> None:
        columns = decode([add("a"), remove("b"), SKIP])
        for table, kind in ((columns.adds, Add), (columns.removes, Remove), (columns.skips, Skip)):
            names = [name for name in kind.__struct_fields__ if name != "extra"]
            assert table.column_names == [*names, "version", "ordinal", "extra"]

    def test_values_arrive_typed_and_maps_as_structs(self) -> None:
        row = decode([add("a", num_records=7, split_tags=["x"], has_footer_offsets=False)]).adds.to_pylist()[0]
        assert row["partition_values"] == {"date": "2024-01-01"}
        assert row["max_values"] == {"id": "9", "name": "é😀"}
        assert (row["num_records"], row["split_tags"], row["has_footer_offsets"], row["stats"]) == (
            7,
            ["x"],
            False,
            None,
        )

    def test_version_and_ordinal_place_every_action(self, slow_reads: list[int]) -> None:
        columns = decode(
            [PROTOCOL, METADATA],
            [add("a"), remove("b"), add("c"), SKIP],
            [METADATA, PROTOCOL, add("d"), add("e")],
            [remove("f")],
        )
        assert places(columns) == [("a", 1, 0), ("c", 1, 2), ("d", 2, 2), ("e", 2, 3)]
        assert places(columns, "removes") == [("b", 1, 1), ("f", 3, 0)]
        assert places(columns, "skips") == [("s", 1, 3)]
        assert columns.protocols == ((0, 0, PROTOCOL), (2, 1, PROTOCOL))
        assert columns.metadatas == ((0, 1, METADATA), (2, 0, METADATA))
        assert slow_reads == []

    def test_protocol_and_metadata_may_stand_anywhere(self) -> None:
        columns = decode([add("a"), METADATA, remove("b"), PROTOCOL, add("c")])
        assert places(columns) == [("a", 0, 0), ("c", 0, 4)]
        assert places(columns, "removes") == [("b", 0, 2)]
        assert columns.metadatas == ((0, 1, METADATA),)
        assert columns.protocols == ((0, 3, PROTOCOL),)

    def test_no_commits_give_empty_tables(self) -> None:
        columns = decode()
        assert (columns.adds.num_rows, columns.removes.num_rows, columns.skips.num_rows) == (0, 0, 0)
        assert columns.adds.schema.field("min_values").type.num_fields == 2

    def test_null_and_empty_values_differ_and_absent_is_null(self) -> None:
        rows = decode(
            [
                add("null", partition_values={"date": None}),
                add("empty", partition_values={"date": ""}),
                add("absent", partition_values={}, tags={}, min_values=None),
            ]
        ).adds.to_pylist()
        assert [row["partition_values"]["date"] for row in rows] == [None, "", None]
        assert [row["tags"] for row in rows] == [{"writer": "1"}, {"writer": "1"}, {"writer": None}]
        assert rows[2]["min_values"] is None

    def test_unknown_fields_are_kept_as_text(self) -> None:
        line = format_lines([add("a")])[:-3] + b',"new":[1,{"x":null}],"more":1.50}}\n'
        columns = decode(format_lines([add("b")]) + line, [add("c")])
        assert columns.adds["extra"].to_pylist() == [None, '{"new":[1,{"x":null}],"more":1.50}', None]

    def test_texts_that_look_like_times_or_numbers_stay_texts(self) -> None:
        values = {"id": "2024-01-01T00:00:00Z", "name": "007"}
        assert decode([add("a", min_values=values)]).adds["min_values"].to_pylist() == [values]

    @pytest.mark.parametrize("name", ["gzip", "zstd", "lz4", "snappy", "none"])
    def test_files_are_read_as_they_are_stored(self, name: str) -> None:
        columns = decode(codec.encode(format_lines([add("a"), add("b")]), codec=name), [add("c")])
        assert places(columns) == [("a", 0, 0), ("b", 0, 1), ("c", 1, 0)]

    @pytest.mark.parametrize("read", [decode_commits, decode_few])
    def test_an_envelope_in_an_envelope_is_no_commit(self, read: Callable[..., ActionColumns]) -> None:
        once = codec.encode(format_lines([add("a")]), codec="snappy")
        assert once.endswith(b"\n"), "nothing has to be added to it"
        twice = codec.encode(once, codec="gzip")
        with pytest.raises(LogCorruptionError):
            read([(0, twice)], path_of=str)

    def test_a_missing_last_newline_changes_nothing(self, slow_reads: list[int]) -> None:
        columns = decode(format_lines([add("a")])[:-1], format_lines([add("b")])[:-1])
        assert places(columns) == [("a", 0, 0), ("b", 1, 0)]
        assert slow_reads == []


class TestKeys:
    def test_the_expected_keys_come_first_and_others_follow_sorted(self) -> None:
        expected = ActionKeys(partition=("z", "date"), statistics=("name",), tags=())
        columns = decode([add("a", tags={"q": "1", "b": "2"})], keys=expected)
        assert columns.keys == ActionKeys(
            partition=("z", "date"),
            statistics=("name", "id"),
            tags=("b", "q"),
            fields=("max_values", "min_values", "tags"),
        )
        assert columns.adds["partition_values"].to_pylist() == [{"z": None, "date": "2024-01-01"}]

    def test_keys_that_nobody_expected_are_learned_without_reading_line_by_line(self, slow_reads: list[int]) -> None:
        commits: list[list[Action]] = [[add(f"{n}")] for n in range(50)]
        assert decode(*commits, keys=None).keys == replace(KEYS, fields=("max_values", "min_values", "tags"))
        assert slow_reads == []

    def test_a_field_that_shows_late_is_read_too(self) -> None:
        commits: list[list[Action]] = [[add(f"{n}") for _ in range(20)] for n in range(40)]
        commits[33][7] = add("new", num_merge_ops=3)
        columns = decode(*commits)
        assert [row["num_merge_ops"] for row in columns.adds.to_pylist() if row["path"] == "new"] == [3]
        assert columns.adds["num_merge_ops"].null_count == 799

    def test_a_key_that_shows_late_widens_what_was_read_before(self) -> None:
        commits: list[list[Action]] = [[add(f"{n}") for _ in range(20)] for n in range(40)]
        commits[33][7] = add("new", min_values={"added": "1"})
        columns = decode(*commits)
        assert columns.keys.statistics == ("id", "name", "added")
        assert columns.adds.num_rows == 800
        found = [row["path"] for row in columns.adds.to_pylist() if row["min_values"]["added"] is not None]
        assert found == ["new"]

    def test_only_the_file_that_needs_it_is_read_line_by_line(self, slow_reads: list[int]) -> None:
        commits: list[list[Action] | bytes] = [[add(f"{n}")] for n in range(64)]
        commits[41] = format_lines([add("41")]).replace(b'{"add":', b'{ "add": ')
        assert places(decode(*commits)) == [(f"{n}", n, 0) for n in range(64)]
        assert slow_reads == [41]

    def test_keys_without_end_are_refused_before_they_fill_the_memory(self) -> None:
        actions: list[Action] = [Remove(path="p", data_change=True, tags={str(n): "1"}) for n in range(3000)]
        with pytest.raises(LogCorruptionError, match="too many different keys"):
            decode(actions)
        spread: list[list[Action]] = [actions[n : n + 100] for n in range(0, 3000, 100)]
        with pytest.raises(LogCorruptionError, match="too many different keys"):
            decode(*spread)


class TestOrder:
    def test_batches_and_threads_keep_the_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bulk_decode, "_BATCH_BYTES", 1000)
        commits: list[list[Action]] = [[add(f"{n}-{m}") for m in range(n % 4 + 1)] for n in range(200)]
        expected = [(f"{n}-{m}", n, m) for n in range(200) for m in range(n % 4 + 1)]
        assert places(decode(*commits)) == expected

    def test_one_large_commit_is_read_in_pieces(self, monkeypatch: pytest.MonkeyPatch, slow_reads: list[int]) -> None:
        monkeypatch.setattr(bulk_decode, "_PIECE_BYTES", 1000)
        actions: list[Action] = [PROTOCOL, METADATA, *(add(f"{n}") for n in range(100)), remove("r"), add("last")]
        columns = decode(actions, [add("x")])
        assert places(columns) == [*((f"{n}", 0, n + 2) for n in range(100)), ("last", 0, 103), ("x", 1, 0)]
        assert places(columns, "removes") == [("r", 0, 102)]
        assert slow_reads == []

    @pytest.mark.parametrize("bytes_a_batch", [1, 1000, 1 << 20])
    def test_of_several_damaged_files_the_first_is_reported(
        self, monkeypatch: pytest.MonkeyPatch, bytes_a_batch: int
    ) -> None:
        monkeypatch.setattr(bulk_decode, "_BATCH_BYTES", bytes_a_batch)
        commits: list[list[Action] | bytes] = [[add(f"{n}")] for n in range(30)]
        commits[7] = format_lines([add("7"), add("7")])[:-20]
        commits[8] = b"\x01\x01broken"
        commits[9] = b'{"protocol":{}}'
        with pytest.raises(LogCorruptionError) as caught:
            decode(*commits)
        assert (caught.value.path, caught.value.line) == ("log/7.json", 2)


_CHILD = """
import json, pathlib, sys
from indextables.errors import LogCorruptionError
from indextables.log.bulk_decode import decode_commits
for text in json.loads(pathlib.Path(sys.argv[1]).read_text()):
    try:
        decode_commits([(0, text.encode())], path_of=str)
    except LogCorruptionError as error:
        print(error.line)
"""


def test_what_ends_arrows_reader_or_misleads_it_never_reaches_it(tmp_path: Path) -> None:
    good = format_lines([add("a")]).decode().rstrip()
    deep = "[" * 100_000 + "]" * 100_000
    objects = '{"a":' * 100_000 + "1" + "}" * 100_000
    bad = [
        "null",
        f"{good}\nnull",
        f"{good}null{good}",
        f"{good} null\n{good}",
        f"{good}{good}",
        good.replace(",", ",\n", 1),
        f'{good[:-2]},"new":{deep}}}}}',
        f'{good[:-2]},"new":{objects}}}}}',
        good.replace('"a"', deep, 1),
        good.replace('"a"', objects, 1),
        good.replace('{"date":"2024-01-01"}', '{"date":' * 100_000 + "1" + "}" * 100_000),
        '{"add":' * 100_000 + "{}" + "}" * 100_000,
        f'{good[:-2]},"splitTags":{deep}}}}}',
        f'{good[:-1]},"remove":null}}',
        f'{good[:-1]},"remove":{{"path":"b","dataChange":true}}}}',
        '{"remove":null,' + good[1:],
        '{"add":{}}',
        '{"add":null}',
    ]
    file = tmp_path / "commits.json"
    file.write_text(json.dumps(bad))
    done = subprocess.run([sys.executable, "-c", _CHILD, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "2", "1", "1", "1", *["1"] * 13]


_THREADS = """
import os, pathlib, sys
from indextables.log.bulk_decode import decode_commits
data = pathlib.Path(sys.argv[1]).read_bytes()
before = len(os.listdir("/proc/self/task"))
print(decode_commits([(0, data)], path_of=str).removes.num_rows, len(os.listdir("/proc/self/task")) - before)
"""


def test_a_large_commit_with_new_keys_leaves_no_thread_behind(tmp_path: Path) -> None:
    """Arrow's own would go on with what was given up, and some ends of a process then became an abort."""
    rows = 150_000
    file = tmp_path / "commit"
    file.write_bytes(b'{"remove":{"path":"p","dataChange":true,"partitionValues":{"date":"2024-01-01"}}}\n' * rows)
    done = subprocess.run([sys.executable, "-c", _THREADS, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(rows), "0"]


def test_required_fields_are_those_that_the_action_classes_require() -> None:
    assert [column.name for column in columns_of(Add) if column.required] == [
        "path",
        "partition_values",
        "size",
        "modification_time",
        "data_change",
    ]
