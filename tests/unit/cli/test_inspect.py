from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.log.open import open_log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.cli.conftest import Answer


def test_describe_tells_what_a_table_is(run: Callable[..., Answer], table: Path) -> None:
    answer = run("describe", table)
    assert answer.code == 0
    assert answer.err == ""
    lines = dict(line.split(maxsplit=1) for line in answer.out.splitlines())
    assert lines["table"].strip() == str(table)
    assert lines["version"].startswith("12, committed 20")
    assert lines["files"].startswith("12, ")
    assert lines["rows"].strip() == "120"
    assert lines["partitioned"].strip() == "by  day"


def test_describe_as_json_has_numbers_and_not_words(run: Callable[..., Answer], table: Path) -> None:
    described = run("describe", table, "--json").json
    assert described["version"] == 12
    assert described["rows"] == 120
    assert described["files"] == 12
    assert described["partition_columns"] == ["day"]
    assert described["committed"].endswith("Z")
    assert described["bytes"] == sum(file.stat().st_size for file in table.rglob("*.split"))


def test_describe_looks_at_an_earlier_version(run: Callable[..., Answer], table: Path) -> None:
    assert run("describe", table, "--version", 3, "--json").json["rows"] == 30


def test_describe_looks_at_a_moment(run: Callable[..., Answer], table: Path) -> None:
    moment = run("history", table, "--json").json[-4]["timestamp"]
    assert run("describe", table, "--timestamp", moment, "--json").json["version"] == 3


def test_describe_shows_name_and_properties(run: Callable[..., Answer], tmp_path: Path) -> None:
    path = tmp_path / "named"
    open_log(str(path)).initialize(pa.schema([("a", pa.int64())]), name="sales", configuration={"owner": "me"})
    out = run("describe", path).out
    assert "sales" in out
    assert "property owner" in out
    assert "unknown" not in out


def test_what_a_table_says_cannot_command_a_terminal(run: Callable[..., Answer], tmp_path: Path) -> None:
    path = tmp_path / "evil"
    open_log(str(path)).initialize(pa.schema([("a", pa.int64())]), name="\x1b[2J[bold]x", description="a\nb")
    out = run("describe", path).out
    assert "\\x1b[2J[bold]x" in out
    assert "a\\x0ab" in out
    assert "\x1b" not in out


def test_schema_shows_sparks_types(run: Callable[..., Answer], table: Path) -> None:
    rows = [line.split() for line in run("schema", table).out.splitlines()[2:]]
    assert rows == [["id", "long", "yes", "no"], ["level", "string", "yes", "no"], ["day", "date", "yes", "yes"]]


def test_schema_as_json_is_a_list_of_columns(run: Callable[..., Answer], table: Path) -> None:
    columns = run("schema", table, "--json").json
    assert [column["name"] for column in columns] == ["id", "level", "day"]
    assert [column["partition"] for column in columns] == [False, False, True]


def test_schema_shows_nested_types(run: Callable[..., Answer], tmp_path: Path) -> None:
    path = tmp_path / "nested"
    open_log(str(path)).initialize(pa.schema([("a", pa.struct([("b", pa.list_(pa.int64()))]))]))
    assert "struct<b: list<" in run("schema", path).out
    assert run("schema", path, "--json").json[0]["type"]["type"] == "struct"


def test_history_is_newest_first(run: Callable[..., Answer], table: Path) -> None:
    rows = [line.split() for line in run("history", table).out.splitlines()[2:]]
    assert [int(row[0]) for row in rows] == list(range(12, -1, -1))
    assert rows[0][3] == "append"
    assert rows[-1][3] == "create"


def test_history_stops_where_it_is_told_to(run: Callable[..., Answer], table: Path) -> None:
    assert [row["version"] for row in run("history", table, "--limit", 2, "--json").json] == [12, 11]


def test_history_says_when_it_leaves_something_out(run: Callable[..., Answer], tmp_path: Path) -> None:
    log = open_log(str(tmp_path / "long"))
    log.initialize(pa.schema([("a", pa.int64())]))
    for number in range(55):
        log.update_metadata(description=str(number))
    answer = run("history", tmp_path / "long")
    assert len(answer.out.splitlines()) == 52
    assert "--limit" in answer.err
    assert len(run("history", tmp_path / "long", "--json").json) == 56
    assert run("history", tmp_path / "long", "--limit", 56).err == ""


def test_skips_shows_why_and_until_when(run: Callable[..., Answer], copy: Path) -> None:
    assert run("skips", copy).out == "No file is skipped.\n"
    assert run("skips", copy, "--json").json == []
    log = open_log(str(copy))
    path = log.list_files()["path"][0].as_py()
    log.record_skipped_file(path, reason="it is damaged", operation="merge")
    (skip,) = run("skips", copy, "--json").json
    assert skip["path"] == path
    assert skip["reason"] == "it is damaged"
    assert skip["skip_count"] == 1
    assert skip["retry_after"] > skip["skip_timestamp"]
    assert "it is damaged" in run("skips", copy).out
    assert run("skips", copy, "--version", 12).out == "No file is skipped.\n"
