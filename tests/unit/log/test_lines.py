from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from indextables.errors import IndexTablesError, LogCorruptionError, UnknownActionError
from indextables.log import lines
from indextables.log.actions import Add, Protocol, Remove
from indextables.log.bulk_decode import decode_commits
from indextables.log.lines import format_lines, parse_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REMOVE = b'{"remove":{"path":"p","dataChange":true}}'
OPEN = b'{"remove":{"path":"p","dataChange":true,'

# Each is one line that follows a good one: what it is, its bytes, and what the error says.
BAD_LINES: dict[str, tuple[bytes, str]] = {
    "nesting in an unknown field": (OPEN + b'"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}", "deeper than 64"),
    "nesting in a known field": (b'{"remove":{"path":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_002, "deeper than 64"),
    "nesting that never closes": (OPEN + b'"x":' + b"[" * 100_000, "deeper than 64"),
    "nesting instead of an action": (b"[" * 100_000, "deeper than 64"),
    "nesting of 65": (OPEN + b'"x":' + b"[" * 63 + b"]" * 63 + b"}}", "deeper than 64"),
    "a number of 5,000 digits": (OPEN + b'"size":' + b"9" * 5000 + b"}}", "does not fit in 64 bits"),
    "an unknown number of 5,000 digits": (OPEN + b'"x":' + b"9" * 5000 + b"}}", "does not fit in 64 bits"),
    "a number beyond int64": (OPEN + b'"size":9223372036854775808}}', "does not fit in 64 bits"),
    "a number below int64": (OPEN + b'"size":-9223372036854775809}}', "does not fit in 64 bits"),
    "an infinite float": (OPEN + b'"x":1e999}}', "too large"),
    "NaN": (OPEN + b'"size":NaN}}', "NaN is not a JSON number"),
    "an unknown NaN": (OPEN + b'"x":[NaN]}}', "NaN is not a JSON number"),
    "Infinity": (OPEN + b'"size":Infinity}}', "Infinity is not a JSON number"),
    "-Infinity": (OPEN + b'"x":-Infinity}}', "-Infinity is not a JSON number"),
    "a fraction for a whole number": (OPEN + b'"size":1.0}}', "Expected `int"),
    "a text for a number": (OPEN + b'"size":"1"}}', "Expected `int"),
    "a key twice": (b'{"remove":{"path":"p","dataChange":true,"path":"q"}}', "'path' appears twice"),
    "a key twice, once null": (OPEN + b'"size":1,"size":null}}', "'size' appears twice"),
    "a key twice, with blanks": (b'{"remove":{"path" :"p","dataChange":true,"path":"q"}}', "'path' appears twice"),
    "a key twice, escaped": (OPEN + b'"\\u0070ath":"q"}}', "'path' appears twice"),
    "a key twice in a map": (OPEN + b'"tags":{"a":"1","a":"2"}}}', "'a' appears twice"),
    "a key that ends in a backslash twice": (OPEN + b'"tags":{"a\\\\":"1","a\\\\":"2"}}}', "appears twice"),
    "a key twice in an unknown field": (OPEN + b'"x":{"y":[{"a":1,"a":1}]}}}', "'a' appears twice"),
    "an action twice": (REMOVE[:-1] + b"," + REMOVE[1:], "'remove' appears twice"),
    "two actions": (b'{"remove":{"path":"p","dataChange":true},"protocol":{}}', "holds 2 actions"),
    "an action and a null one": (REMOVE[:-1] + b',"add":null}', "holds 2 actions"),
    "two objects": (REMOVE + REMOVE, "Extra data"),
    "an object and null": (REMOVE + b"null", "Extra data"),
    "no action": (b"{}", "holds 0 actions"),
    "an array": (b"[]", "Expected `object`"),
    "null": (b"null", "Expected `object`"),
    "a text": (b'"remove"', "Expected `object`"),
    "a null action": (b'{"remove":null}', "Expected `object`"),
    "a listed action": (b'{"remove":[]}', "Expected `object`"),
    "blanks": (b"   ", "not JSON"),
    "a field that lacks": (b'{"remove":{"path":"p"}}', "missing required field `dataChange`"),
    "a null that must not be": (b'{"remove":{"path":null,"dataChange":true}}', "Expected `str`"),
    "an object in a map of texts": (OPEN + b'"tags":{"a":{}}}}', "Expected `str | null`"),
    "a list for a map of texts": (OPEN + b'"tags":[]}}', "Expected `object | null`"),
    "a byte order mark": (b"\xef\xbb\xbf" + REMOVE, "not JSON"),
    "bad UTF-8": (b'{"remove":{"path":"\xff","dataChange":true}}', "bad UTF-8"),
    "a surrogate in UTF-8": (b'{"remove":{"path":"\xed\xa0\x80","dataChange":true}}', "bad UTF-8"),
    "bad UTF-8 in an unknown field": (OPEN + b'"x":"\xc0\x80"}}', "bad UTF-8"),
    "bad UTF-8 in a key": (OPEN + b'"\xff":1}}', "bad UTF-8"),
    "a lone high surrogate": (b'{"remove":{"path":"\\ud800","dataChange":true}}', "half of a surrogate pair"),
    "a lone low surrogate": (b'{"remove":{"path":"\\udc00","dataChange":true}}', "half of a surrogate pair"),
    "a lone surrogate in an unknown field": (OPEN + b'"x":["\\udbff x"]}}', "half of a surrogate pair"),
    "a NUL in a text": (b'{"remove":{"path":"a\x00b","dataChange":true}}', "not JSON"),
    "a NUL between": (b'{"remove":\x00{"path":"p","dataChange":true}}', "not JSON"),
    "a NUL at the end": (REMOVE + b"\x00", "not JSON"),
    "only NULs": (b"\x00" * 100, "not JSON"),
    "a control character": (b'{"remove":{"path":"a\x1fb","dataChange":true}}', "not JSON"),
    "a trailing comma": (b'{"remove":{"path":"p","dataChange":true,}}', "not JSON"),
    "a comment": (REMOVE + b"//", "not JSON"),
    "single quotes": (REMOVE.replace(b'"', b"'"), "not JSON"),
    "a cut off line": (REMOVE[:-9], "not JSON"),
    "300,000 values": (OPEN + b'"x":[' + b"1," * 300_000 + b"1]}}", "more than 262144 values"),
    "300,000 actions": (b"{" + b",".join(b'"%d":1' % n for n in range(300_000)) + b"}", "more than 262144 values"),
}


def read_lines(data: bytes) -> object:
    return parse_lines(data, path="log/7.json")


def read_bulk(data: bytes) -> object:
    return decode_commits([(6, REMOVE), (7, data)], path_of="log/{}.json".format)


both_readers = pytest.mark.parametrize("read", [read_lines, read_bulk])


@pytest.mark.parametrize("name", BAD_LINES)
@both_readers
def test_a_bad_line_is_refused_within_a_second_by_file_and_line(name: str, read: Callable[[bytes], object]) -> None:
    line, reason = BAD_LINES[name]
    data = REMOVE + b"\n\n" + line + b"\n" + REMOVE + b"\n"
    started = time.process_time()
    with pytest.raises(LogCorruptionError) as caught:
        read(data)
    assert time.process_time() - started < 1
    assert reason in str(caught.value)
    assert (caught.value.path, caught.value.line) == ("log/7.json", 3)


@both_readers
@pytest.mark.parametrize("name", ["commitInfo", "Add", "adds", "", "a" * 5000])
def test_an_unknown_action_is_named_with_its_file_and_line(name: str, read: Callable[[bytes], object]) -> None:
    data = REMOVE + b'\n{"%b":{}}\n' % name.encode()
    with pytest.raises(UnknownActionError) as caught:
        read(data)
    assert (caught.value.path, caught.value.line, caught.value.action) == ("log/7.json", 2, name[:100])


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\r\n\n"])
def test_a_commit_without_actions_is_damage(data: bytes) -> None:
    with pytest.raises(LogCorruptionError, match="holds no action"):
        parse_lines(data, path="p")


def test_a_byte_order_mark_is_named() -> None:
    with pytest.raises(LogCorruptionError, match="byte order mark") as caught:
        parse_lines(b"\xef\xbb\xbf" + REMOVE, path="p")
    assert caught.value.line == 1


@pytest.mark.parametrize(
    "data",
    [
        REMOVE,
        REMOVE + b"\n",
        REMOVE + b"\r\n",
        b"\n\n" + REMOVE + b"\n\n\n",
        b"\r\n" + REMOVE,
        b' \t{ "remove" : {"path":"p" , "dataChange": true } } ',
        b'{"remove":{"\\u0070ath":"\\u0070","dataChange":true}}',
    ],
)
def test_layout_that_means_nothing_is_tolerated(data: bytes) -> None:
    assert parse_lines(data, path="p") == [Remove(path="p", data_change=True)]


def test_nesting_of_64_is_accepted_and_brackets_inside_texts_do_not_count() -> None:
    deepest = OPEN + b'"x":' + b"[" * 62 + b"]" * 62 + b"}}"
    text = OPEN + b'"tags":{"a\\"[":"' + b'{[\\"\\\\' * 1000 + b'"}}}'
    assert len(parse_lines(deepest + b"\n" + text, path="p")) == 2


def test_quotes_colons_and_blanks_inside_texts_are_not_taken_for_keys() -> None:
    texts = ['a":1', "\\", '\\":', '" :', ' "x" ', "\t", "{}", '\\\\":', '":":":']
    actions = [Remove(path=text, data_change=True, tags={text: text, "t": None}) for text in texts]
    assert parse_lines(format_lines(actions), path="p") == actions


def test_actions_keep_their_order() -> None:
    actions = [Remove(path=str(n), data_change=True) for n in range(100)]
    actions[50:50] = [Protocol(min_reader_version=1, min_writer_version=1)]  # type: ignore[list-item]
    assert parse_lines(format_lines(actions), path="p") == actions


def test_a_commit_is_a_line_for_each_action() -> None:
    assert format_lines([Remove(path="p", data_change=True)] * 2) == REMOVE + b"\n" + REMOVE + b"\n"


class TestBounds:
    def test_a_line_has_at_most_16_mib(self) -> None:
        room = (16 << 20) - len(REMOVE)
        longest = REMOVE.replace(b'"p"', b'"p' + b"a" * room + b'"')
        assert len(parse_lines(longest, path="p")) == 1
        with pytest.raises(LogCorruptionError, match="16777216 are the most") as caught:
            parse_lines(REMOVE + b"\n" + longest.replace(b'"p', b'"pp'), path="p")
        assert caught.value.line == 2

    @both_readers
    def test_a_commit_has_at_most_256_mib(self, read: Callable[[bytes], object]) -> None:
        data = bytes((256 << 20) + 1)
        with pytest.raises(LogCorruptionError, match="268435456 are the most"):
            read(data)

    def test_nothing_is_written_that_no_reader_takes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(IndexTablesError, match="without actions"):
            format_lines([])
        monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100)
        with pytest.raises(IndexTablesError, match="several commits"):
            format_lines([Remove(path="p" * 100, data_change=True)])
        monkeypatch.setattr(lines, "MAX_FILE_BYTES", 100)
        with pytest.raises(IndexTablesError, match="several commits"):
            format_lines([Remove(path="p", data_change=True)] * 3)


_MEASURED = """
import json, pathlib, resource, sys, time
from indextables.errors import LogCorruptionError
from indextables.log.bulk_decode import decode_commits
from indextables.log.lines import parse_lines
data = pathlib.Path(sys.argv[1]).read_bytes()
read = {"lines": lambda: parse_lines(data, path="p"), "bulk": lambda: decode_commits([(0, data)], path_of=str)}[sys.argv[2]]
before = resource.getrusage(resource.RUSAGE_SELF)
try:
    read()
    result = "accepted"
except LogCorruptionError as error:
    result = error.reason
after = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([result, after.ru_utime - before.ru_utime, (after.ru_maxrss - before.ru_maxrss) / 1024]))
"""

# Made when they are needed: together they are as large as all that a worker holds otherwise.
LARGE: dict[str, tuple[Callable[[], bytes], str]] = {
    "brackets to the longest line": (lambda: b"[" * (16 << 20), "deeper"),
    "lists to the longest line": (lambda: OPEN + b'"x":[' + b"[]," * 5_590_000 + b"1]}}", "values"),
    "texts to the longest line": (lambda: OPEN + b'"x":[' + b'"a",' * 4_190_000 + b"1]}}", "values"),
    "digits to the longest line": (lambda: OPEN + b'"size":' + b"9" * 16_700_000 + b"}}", "64 bits"),
    "escapes to the longest line": (lambda: OPEN + b'"x":"' + b'\\\\\\"' * 4_190_000, "not JSON"),
    "a line of 17 MiB": (lambda: REMOVE.replace(b'"p"', b'"' + b"p" * (17 << 20) + b'"'), "are the most"),
    "a line of 250 MiB": (lambda: b"{" * (250 << 20), "are the most"),
    "newlines to the largest commit": (lambda: b"\n" * (256 << 20), "blank lines of more than"),
    "CR LF to the largest commit": (lambda: b"\r\n" * (128 << 20), "blank lines of more than"),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("reader", ["lines", "bulk"])
def test_hostile_input_up_to_the_caps_costs_at_most_256_mib(name: str, reader: str, tmp_path: Path) -> None:
    make, reason = LARGE[name]
    data = make()
    file = tmp_path / "commit"
    file.write_bytes(data + b"\n" if len(data) < 256 << 20 else data)
    command = [sys.executable, "-c", _MEASURED, str(file), reader]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result, seconds, mebibytes = json.loads(done.stdout)
    assert reason in result
    assert seconds < 1
    assert mebibytes < 256


def test_an_add_with_ten_thousand_statistics_is_no_hostile_input() -> None:
    values = {f"column_{n}": str(n) for n in range(10_000)}
    add = Add(
        path="p",
        partition_values={},
        size=1,
        modification_time=2,
        data_change=True,
        min_values=dict(values),
        max_values=dict(values),
    )
    assert parse_lines(format_lines([add]), path="p") == [add]
