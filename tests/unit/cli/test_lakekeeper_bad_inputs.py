"""What people get wrong with `lakekeeper`: each of these is answered with one sentence and an exit code, never with a traceback."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner

from indextables.cli.lakekeeper import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FAILED, USAGE = 1, 2


class Case(NamedTuple):
    """A command line, in which names in braces stand for places, its exit code, and words of the answer."""

    line: str
    code: int
    words: str


CASES = [
    # Called wrongly.
    Case("--frobnicate", USAGE, "No such option"),
    Case("frobnicate", USAGE, "There is no command 'frobnicate'."),
    Case("analyse", USAGE, "did you mean analyze?"),
    Case("analyze", USAGE, "Name either --table or --database"),
    Case("analyze --table a.b --database a", USAGE, "Name either --table or --database"),
    Case("analyze --table", USAGE, "requires an argument"),
    Case("analyze a.b", USAGE, "unexpected extra argument"),
    Case("analyze --table a.b --threshold much", USAGE, "--threshold is set to 'much'"),
    Case("compact", USAGE, "Name either --table or --config"),
    Case("compact --table a.b --config file", USAGE, "Name either --table or --config"),
    Case("compact --table a.b --target-size huge", USAGE, "--target-size is set to 'huge'"),
    Case("compact --table a.b --target-size 0", USAGE, "1 or more"),
    Case("compact --table a.b --target-size -5MB", USAGE, "1 or more"),
    Case("compact --table a.b --codec lzo", USAGE, "'lzo' is not one of"),
    Case("compact --table a.b --staging moon", USAGE, "'moon' is not one of"),
    Case("cleanup", USAGE, "Missing option '--table'"),
    Case("cleanup --table a.b --older-than yesterday", USAGE, "'yesterday' is not an age"),
    Case("cleanup --table a.b --older-than -1d", USAGE, "'-1d' is not an age"),
    Case("rollback", USAGE, "Missing option '--table'"),
    Case("rollback --table a.b --run", USAGE, "requires an argument"),
    Case("list-runs --json=yes", USAGE, "does not take a value"),
    Case("report", USAGE, "Missing option '--database'"),
    Case("report --database a", USAGE, "Missing option '-o'"),
    Case("report --database a -o {folder}", USAGE, "is a directory"),
    # No Metastore, or something else in its place.
    Case("list-runs", FAILED, "No Hive Metastore is named"),
    Case("--metastore= list-runs", FAILED, "No Hive Metastore is named"),
    Case("report --database a -o {folder}/a.html", FAILED, "No Hive Metastore is named"),
    Case("--metastore thrift:// list-runs", FAILED, "Name it as thrift://host:9083"),
    Case("--metastore http://127.0.0.1:1 doctor", FAILED, "Name it as thrift://host:9083"),
    Case("--metastore thrift://host:port recover", FAILED, "Name it as thrift://host:9083"),
    Case("--metastore thrift://127.0.0.1:99999 recover", FAILED, "Name it as thrift://host:9083"),
    Case("--metastore thrift://[::1 recover", FAILED, "Name it as thrift://host:9083"),
    Case("--metastore thrift://nowhere.invalid:9083 list-runs", FAILED, "Check hive.metastore.uris"),
    Case("--metastore {dead} list-runs", FAILED, "Connection refused"),
    Case("--metastore {dead} analyze --table a.b", FAILED, "Connection refused"),
    Case("--metastore {dead} compact --table a.b --dry-run", FAILED, "Connection refused"),
    Case("--metastore {dead} rollback --table a.b", FAILED, "Connection refused"),
    Case("--metastore {dead} cleanup --table a.b", FAILED, "Connection refused"),
    Case("--metastore {dead} report --database a --json", FAILED, "Connection refused"),
    Case("--metastore {closing} list-runs", FAILED, "Check hive.metastore.uris"),
    Case("--metastore {web} list-runs", FAILED, "not Thrift"),
    Case("--metastore {dead} recover --table a.b --database c", FAILED, "Name one of them"),
    # Configuration files that cannot be read, or say what cannot be.
    Case("--metastore {dead} compact --config {folder}", FAILED, "a readable YAML file"),
    Case("--metastore {dead} compact --config {folder}/missing.yaml", FAILED, "a readable YAML file"),
    Case("--metastore {dead} compact --config {folder}/picture.yaml", FAILED, "a readable YAML file"),
    Case("--metastore {dead} compact --config {folder}/broken.yaml", FAILED, "a readable YAML file"),
    Case("--metastore {dead} compact --config {folder}/python.yaml", FAILED, "a readable YAML file"),
    Case("--metastore {dead} compact --config {folder}/list.yaml", FAILED, "a mapping with defaults"),
    Case("--metastore {dead} compact --config {folder}/text.yaml", FAILED, "a mapping with defaults"),
    Case("--metastore {dead} compact --config {folder}/unknown.yaml", FAILED, "one of defaults"),
    Case("--metastore {dead} compact --config {folder}/size.yaml", FAILED, "defaults.target_size is set to 'big'"),
    Case("--metastore {dead} compact --config {folder}/codec.yaml", FAILED, "codec is set to 5"),
    Case("--metastore {dead} compact --config {folder}/staging.yaml", FAILED, "staging is set to ['moon']"),
    Case("--metastore {dead} compact --config {folder}/include.yaml", FAILED, "a list of names"),
    Case("--metastore {dead} compact --config {folder}/tables.yaml", FAILED, "tables with their options"),
    Case("--metastore {dead} compact --config {folder}/sort.yaml", FAILED, "a list of names"),
    Case("--metastore {dead} compact --config {folder}/table.yaml", FAILED, "a.b: frobnicate is set to 1"),
]
FILES = {
    "broken": "a: [",
    "python": "!!python/object/apply:os.getcwd []",
    "list": "- a",
    "text": "hello",
    "unknown": "frobnicate: 1",
    "size": "defaults: {target_size: big}",
    "codec": "defaults: {codec: 5}",
    "staging": "defaults: {staging: [moon]}",
    "include": "include: {a: 1}",
    "tables": "tables: [a]",
    "sort": "defaults: {sort_by: 5}",
    "table": "tables: {a.b: {frobnicate: 1}}",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("lakekeeper")
    for name, text in FILES.items():
        (folder / f"{name}.yaml").write_text(text)
    (folder / "picture.yaml").write_bytes(b"\x89PNG\xff\xfe")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = unused.getsockname()[1]
    servers = {
        "closing": _server(b""),
        "web": _server(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    }
    yield {
        "folder": str(folder),
        "dead": f"thrift://127.0.0.1:{dead}",
        **{name: f"thrift://127.0.0.1:{held.getsockname()[1]}" for name, (held, _) in servers.items()},
    }
    for held, thread in servers.values():
        held.shutdown(socket.SHUT_RDWR)
        held.close()
        thread.join()


def _server(answer: bytes) -> tuple[socket.socket, threading.Thread]:
    """Answer whatever is said with the same bytes, and hang up."""
    held = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = held.accept()
            except OSError:
                return
            with connection:
                connection.recv(64)
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    return held, thread


def test_no_case_is_there_twice() -> None:
    assert len({case.line for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.line)
def test_a_bad_input_gets_one_sentence_and_an_exit_code(
    places: dict[str, str], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HIVE_CONF_DIR", "HADOOP_CONF_DIR", "SPARK_CONF_DIR", "LAKEKEEPER_METASTORE"):
        monkeypatch.delenv(name, raising=False)
    result = CliRunner().invoke(main, [word.format(**places) for word in case.line.split(" ")], prog_name="lakekeeper")
    assert result.exit_code == case.code, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    (sentence,) = result.stderr.splitlines()
    assert sentence.startswith("lakekeeper: ")
    assert sentence.endswith((".", "?"))
    assert case.words in sentence


def test_a_damaged_hive_site_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hive-site.xml").write_text("<configuration><property>")
    monkeypatch.setenv("HIVE_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("LAKEKEEPER_METASTORE", raising=False)
    result = CliRunner().invoke(main, ["list-runs"], prog_name="lakekeeper")
    assert result.exit_code == FAILED
    (sentence,) = result.stderr.splitlines()
    assert f"{tmp_path}/hive-site.xml cannot be read" in sentence
