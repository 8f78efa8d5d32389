"""The seeds of every target, made and not stored: what is valid, what is known to be bad, and damage drawn from fixed dice.

Only inputs that were findings once are files, in `found/`.
"""

from __future__ import annotations

import json
import zlib
from itertools import product
from typing import TYPE_CHECKING, Final

from indextables.log.codec import decode, encode
from indextables.log.layout import MAX_VERSION
from indextables.log.lines import format_lines
from indextables.testing.virtual import dice
from tests.fuzz.run import FOUND
from tests.fuzz.subjects import commits_of, files_of, split_file
from tests.fuzz.thrift import damaged_footer
from tests.property.test_checkpoints import damaged
from tests.support.logs import add
from tests.unit.log.test_lines import BAD_LINES, REMOVE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LONGEST: Final = 4096
_CODECS: Final = ("gzip", "zstd", "lz4", "snappy")

UNSAFE_PATHS: Final = (
    "", ".", "..", "/", "//", "../x", "a/..", "a/../b", "a/./b", "a//b", "a/", "/etc/passwd", "~/x", "a/.../b", "..a", "a..",
    "%2e%2e/x", "%2E%2E%2Fx", "..%2f..%2fx", "%252e%252e/x", "%25252e%25252e%25252fx", "a/%2e/b", "a%2f..%2f..%2fb", "%2e%2e%5cx",
    "..\\x", "\\\\host\\share", "C:\\x", "C:/x", "file:///etc/passwd", "file:x", "s3://bucket/x", "S3A://b/x", "hdfs://h:8020/x",
    "http://169.254.169.254/latest", "data:,x", "a:b", "day=1:2/x", "x\0y", "x\ny", "x\ry", "x\x1by", "x\x7fy", "x\x85y", "x\u2028y",
    "．．/x", "․․/x", "‥/x", "。。/x", "a／..／b", "∕etc", "\u202etxt.exe", "d=..%2F..%2Fx/y", "d=../x", "d=%2e%2e/x", "d=a%2F..%2Fb/y",
    "é/e\u0301", "A/a", "_transaction_log/00000000000000000000.json", "x" * 1025, "y/" * 2048 + "z", "%", "%2", "%zz", "100%",
)  # fmt: skip
"""Paths that lead outside, look as if they did, or are odd and harmless."""

VALUES: Final = (
    "", " ", ".", "..", "../..", "/", "//", "=", "a=b", "==", "%", "%25", "%2F", "%%", "%zz", "100%", "a/b", "a\\b", "'", '"', "`", ";",
    "--", "${hiveconf:x}", "#", "?", "*", "[", "]", "{", "}", "^", ":", "\0", "\n", "\x1b", "\x7f", "\x85", "\u2028", "é", "e\u0301", "日本",
    "😀", "\ufeff", "__HIVE_DEFAULT_PARTITION__", "__hive_default_partition__", "null", "NULL", "2024-01-01", "x" * 300,
)  # fmt: skip
"""Values of partitions that break paths, statements or codecs."""

PREDICATES: Final = (
    "c0", "NOT c0", "c1 = 1", "c1 <=> NULL", "c2 != -5 AND c3 > 7", "c4 BETWEEN -1 AND 9223372036854775807", "c5 = 'NaN'",
    "c6 IN (1.5, NULL, 1e308)", "c7 < 1.25", "c8 >= CAST('1.5' AS DECIMAL(18,4))", "c11 LIKE 'a%'", "c11 LIKE '%\\_%'",
    "c11 LIKE 'x#%%' ESCAPE '#'", "startswith(c11, 'a')", "c11 = 'it''s'", 'c11 = "q"', "c11 IN ('', 'a', 'é', '\\u0041')",
    "c12 = X'00ff'", "c13 = DATE '2024-01-01'", "c13 > '2024-01-01'", "c14 < TIMESTAMP '2024-01-01 00:00:00+02:00'",
    "c15 = TIMESTAMP_NTZ '2024-01-01 12:00:00'", "n.c0 IS NULL", "c11 IS NOT NULL OR (c1 = 2 AND NOT c2 IN (1, 2))",
    "(c1 = 1) IS TRUE", "c1 = c2", "c1 = 1;", "c1 = 1; DROP TABLE x", "c1 = 1 -- x", "/* x */ c1 = 1", "`c1` = 1", "`c``1` = 1",
    "c1 = (SELECT 1)", "EXISTS (SELECT 1)", "c1 IN (SELECT c1 FROM t)", "exec('x')", "reflect('java.lang.Runtime','exec')",
    "java_method('a','b')", "${hiveconf:x} = 1", "c11 RLIKE '(a+)+$'", "c1 + 1 = 2", "true", "NULL", "", " ", "(", ")", "'", "`", "\0",
    "c1 = 1e999", "c1 = 99999999999999999999999999999999999999999", "c1 = -0", "c6 = -0.0", "c6 > 1D", "c1 = 1L", "c1 = 1Y",
    "c1 = 0x10", "c1 = 1_000", "((((((((((c0))))))))))", "NOT NOT NOT NOT c0", "c0 = true = false", "c0 AND", "OR c0", "c1 == 1",
    "c7 = CAST('1' AS DECIMAL(a8))", "c7 = CAST('1' AS DECIMAL(99999999999,2))", "c7 = CAST('1' AS DECIMAL(2,5))", "c7 = CAST(1 AS DECIMAL(9,9,9))",
    "c1 <> 1", "c1 !> 1", "c1 IS DISTINCT FROM 1", "c11 ILIKE 'a'", "c11 LIKE ANY ('a')", "c11 = 'a' COLLATE utf8", "@x = 1", ":p = 1",
    "? = 1", "c1 = INTERVAL '1' DAY", "c13 = current_date()", "c1 = 1 UNION SELECT 2", "CASE WHEN c0 THEN true END", "c.d.e.f = 1",
)  # fmt: skip
"""Conditions in Spark's SQL, near it, and far from it."""


def seeds(target: str) -> list[bytes]:
    """Return the inputs that a target starts from: those that are made, then those that were found."""
    found = sorted(path for path in (FOUND / target).glob("*") if path.is_file())
    return [*_SEEDS[target](), *(path.read_bytes() for path in found)]


def _damages(data: bytes, count: int, name: str) -> Iterator[bytes]:
    for number in range(count):
        broken = damaged(data, dice(len(data), zlib.crc32(name.encode()), number))
        if broken is not None:
            yield broken


def _commit_lines() -> Iterator[bytes]:
    yield from (line for line, _ in BAD_LINES.values() if len(line) <= _LONGEST)
    good = [REMOVE, *format_lines([add("p", tags={"a": None, "b": "c"}, stats="{}", num_records=3)]).splitlines()]
    good += [line for data in list(commits_of("JSON"))[:4] for line in decode(data, path="p").splitlines()]
    for number, line in enumerate(good):
        yield line
        yield from _damages(line, 3, f"line {number}")


def _commit_files() -> Iterator[bytes]:
    plain = [decode(data, path="p") for data in list(commits_of("parquet"))[:8]]
    for number, lines in enumerate(plain):
        yield lines
        yield from _damages(lines, 2, f"commit {number}")
        for codec in _CODECS:
            packed = encode(lines, codec=codec)
            yield packed
            yield from _damages(packed, 1, f"{codec} {number}")
    paths = [json.dumps(path) for path in UNSAFE_PATHS if len(path) < 100]
    yield from (b'{"remove":{"path":%b,"dataChange":true}}\n' % path.encode() for path in paths)


def _pointers() -> Iterator[bytes]:
    good = files_of("parquet")["pointer"]
    yield good
    yield from _damages(good, 20, "pointer")
    for version in (-1, 0, 8, 15, 16, 17, 24, 10**6, MAX_VERSION, MAX_VERSION + 1, 10**30):
        yield b'{"version":%d}' % version
        yield b'{"version":%d,"format":"parquet","checksum":"x"}' % version
        yield b'{"version":%d,"format":"json","checksum":"x","parts":-1}' % version
    yield from (
        b"",
        b"{}",
        b"[]",
        b"null",
        b"0",
        b'{"version":null}',
        b'{"version":1.5}',
        b'{"version":"16"}',
        b"[" * 2000,
    )


def _checkpoints() -> Iterator[bytes]:
    stored = files_of("parquet")
    kinds = {0: stored["manifest"], 8: stored["part 0"], 4: files_of("JSON")["JSON"], 12: b""}
    for (kind, data), low in product(kinds.items(), range(4)):
        head = bytes([kind | low])
        yield head + data
        yield from (head + broken for broken in _damages(data or b"{}", 6, f"checkpoint {kind} {low}"))


def _splits() -> Iterator[bytes]:
    for ours in (True, False):
        data = split_file(ours=ours)
        yield data
        yield from _damages(data, 20, f"split {ours}")
        yield from (damaged_footer(data, dice(ours, number)) for number in range(40))
        yield data[:4] + data[-400:]
        yield data[-8:] * 2


def _paths() -> Iterator[bytes]:
    yield from (path.encode() for path in UNSAFE_PATHS)
    yield "a\ud800b".encode(errors="surrogatepass")


def _partitions() -> Iterator[bytes]:
    yield from (value.encode() for value in VALUES)
    yield from (f"{value}\x1fname\x1f{value}".encode() for value in VALUES)
    yield from (f"{value}={value}/x=1/part.split".encode() for value in VALUES)


def _predicates() -> Iterator[bytes]:
    yield from (text.encode() for text in PREDICATES)


_SEEDS: Final[dict[str, Callable[[], Iterator[bytes]]]] = {
    "commit-line": _commit_lines,
    "commit-file": _commit_files,
    "pointer": _pointers,
    "checkpoint": _checkpoints,
    "split-footer": _splits,
    "path-resolver": _paths,
    "partition-codec": _partitions,
    "predicate": _predicates,
}
