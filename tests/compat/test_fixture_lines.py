"""Every file of the log that the original implementation wrote is read, and written back without losing a field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from indextables.log import codec
from indextables.log.actions import Add, MetaData, Protocol, Remove, Skip
from indextables.log.bulk_decode import decode_commits
from indextables.log.bulk_encode import encode_adds
from indextables.log.columns import table_of
from indextables.log.lines import format_lines, parse_lines
from tests.support.fixtures import fixture_tables, log_files

if TYPE_CHECKING:
    from pathlib import Path

TABLES = fixture_tables()
FILES = [file for table in TABLES for file in log_files(table)]


def name(path: Path) -> str:
    return "/".join(path.parts[-3:]) if path.suffix else path.name


def content(file: Path) -> bytes:
    return codec.decode(file.read_bytes(), path=str(file))


def test_the_corpus_is_whole() -> None:
    assert len(TABLES) == 13
    stored = {(codec.detect(file.read_bytes()), "checkpoint" in file.name) for file in FILES}
    assert stored == {("gzip", False), ("gzip", True), (None, False), (None, True)}


@pytest.mark.parametrize("file", FILES, ids=name)
def test_a_file_is_read_and_written_back_without_losing_a_field(file: Path) -> None:
    before = content(file)
    after = format_lines(parse_lines(before, path=str(file)))
    assert [json.loads(line) for line in after.splitlines()] == [json.loads(line) for line in before.splitlines()]


@pytest.mark.parametrize("file", FILES, ids=name)
def test_its_lines_come_back_byte_for_byte(file: Path) -> None:
    assert format_lines(parse_lines(content(file), path=str(file))) == content(file)


@pytest.mark.parametrize("table", TABLES, ids=name)
def test_the_bulk_reader_says_the_same_of_a_whole_table(table: Path) -> None:
    files = dict(enumerate(log_files(table)))
    columns = decode_commits(
        [(number, file.read_bytes()) for number, file in files.items()], path_of=lambda number: str(files[number])
    )
    placed = [
        (number, ordinal, action)
        for number, file in files.items()
        for ordinal, action in enumerate(parse_lines(content(file), path=str(file)))
    ]
    assert placed
    for kind, found in ((Add, columns.adds), (Remove, columns.removes), (Skip, columns.skips)):
        assert found == table_of(kind, [place for place in placed if isinstance(place[2], kind)], columns.keys)  # type: ignore[misc]
    assert list(columns.protocols) == [place for place in placed if isinstance(place[2], Protocol)]
    assert list(columns.metadatas) == [place for place in placed if isinstance(place[2], MetaData)]


@pytest.mark.parametrize("table", TABLES, ids=name)
def test_adds_in_columns_are_written_back_without_losing_a_value(table: Path) -> None:
    contents = [content(file) for file in log_files(table)]
    columns = decode_commits(list(enumerate(contents)), path_of=str)
    lines = [json.loads(line) for text in contents for line in text.splitlines()]
    adds = [line["add"] for line in lines if "add" in line]
    written = [json.loads(line)["add"] for line in encode_adds(columns.adds).splitlines()]
    assert written == [{key: value for key, value in add.items() if value is not None} for add in adds]
