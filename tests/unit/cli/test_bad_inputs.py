"""What people get wrong: each of these is answered with one sentence and the right exit code, and never with a traceback."""

from __future__ import annotations

import gzip
import http.server
import json
import shutil
import socket
import threading
from typing import TYPE_CHECKING, NamedTuple

import pytest

from indextables.log.open import open_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.unit.cli.conftest import Answer

FAILED, USAGE, DAMAGE = 1, 2, 3
ONE_ATTEMPT = "--option spark.indextables.transaction.retry.maxAttempts=1"


class Case(NamedTuple):
    """A command line, in which names in braces stand for places, its exit code, and words of the answer."""

    line: str
    code: int
    words: str
    where: str | None = None


CASES = [
    # Called wrongly.
    Case("desribe {table}", USAGE, "did you mean describe?"),
    Case("frobnicate {table}", USAGE, "There is no command 'frobnicate'."),
    Case("--frobnicate", USAGE, "No such option"),
    Case("describe", USAGE, "Missing argument 'TABLE'"),
    Case("describe {nothing}", USAGE, "the path of the table is empty"),
    Case("describe {nul}", USAGE, "a path cannot hold"),
    Case("describe {table} {table}", USAGE, "unexpected extra argument"),
    Case("describe {table} --frobnicate", USAGE, "No such option"),
    Case("describe {table} --version", USAGE, "requires an argument"),
    Case("describe {table} --version new", USAGE, "'new' is not a valid integer"),
    Case("describe {table} --version -1", USAGE, "-1 is not in the range"),
    Case("describe {table} --version 99999999999999999999999x", USAGE, "not a valid integer"),
    Case("describe {table} --version 1 --timestamp 2024-01-01", USAGE, "cannot be given together"),
    Case("describe {table} --timestamp 2024-01-01 --version 1", USAGE, "cannot be given together"),
    Case("describe {table} --json=yes", USAGE, "does not take a value"),
    Case("describe {table} --option secret", USAGE, "a setting is written key=value"),
    Case("describe {table} --option =5", USAGE, "a setting is written key=value"),
    Case(
        "describe {table} --option spark.indextables.checkpoint.intervall=5",
        USAGE,
        "the closest one is spark.indextables.checkpoint.interval",
    ),
    Case(
        "describe {table} --option checkpoint.interval=5",
        USAGE,
        "there is no setting checkpoint.interval; the closest one is spark.indextables.checkpoint.interval",
    ),
    Case("describe {table} --option spark.master=local", USAGE, "there is no setting spark.master"),
    Case("history {table} --limit 0", USAGE, "0 is not in the range"),
    Case("history {table} --limit few", USAGE, "'few' is not a valid integer"),
    Case("files {table} --limit -3", USAGE, "-3 is not in the range"),
    Case("head {table} -n 0", USAGE, "0 is not in the range"),
    Case("head {table} -n many", USAGE, "'many' is not a valid integer"),
    Case("explain {table}", USAGE, "Missing option '--where'"),
    Case("count {table} --where", USAGE, "requires an argument"),
    Case("restore {table}", USAGE, "Missing argument 'VERSION'"),
    Case("restore {table} first", USAGE, "'first' is not a valid integer"),
    Case("restore {table} -1", USAGE, "No such option"),
    Case("repair {table} --undo --target {empty}", USAGE, "--undo goes with no other choice"),
    Case("repair {table} --schema {missing}", USAGE, "does not exist"),
    Case("repair {table} --schema {picture}", USAGE, "is not text"),
    Case("merge {table} --max-groups 0", USAGE, "0 is not in the range"),
    Case("convert", USAGE, "Missing argument 'SOURCE'"),
    Case("report {table}", USAGE, "Missing option '-o'"),
    Case("report {table} -o", USAGE, "requires an argument"),
    Case("report {table} -o {empty}", USAGE, "is a directory"),
    # There is no table there.
    Case("describe {missing}", FAILED, "There is no table at"),
    Case("describe {empty}", FAILED, "it holds no _transaction_log"),
    Case("describe {file}", FAILED, "{file}"),
    Case("describe {file}/below", FAILED, "{file}/below"),
    Case("describe {stranger}", FAILED, "it holds no _transaction_log"),
    Case(f"describe {{long}} {ONE_ATTEMPT}", FAILED, ""),
    Case("describe {newline}", FAILED, "There is no table at"),
    Case(f"describe {{loop}} {ONE_ATTEMPT}", FAILED, ""),
    Case("describe {table}/_transaction_log", FAILED, "There is no table at"),
    Case("history {missing}", FAILED, "There is no table at"),
    Case("files {missing}", FAILED, "There is no table at"),
    Case("schema {missing}", FAILED, "There is no table at"),
    Case("skips {missing}", FAILED, "There is no table at"),
    Case("head {missing}", FAILED, "There is no table at"),
    Case("count {missing}", FAILED, "There is no table at"),
    Case("explain {missing}", FAILED, "There is no table at", where="a = 1"),
    Case("checkpoint {missing}", FAILED, "There is no table at"),
    Case("cleanup {missing}", FAILED, "There is no table at"),
    Case("restore {missing} 0", FAILED, "There is no table at"),
    Case("verify {missing}", FAILED, "There is no table at"),
    Case("repair {missing}", FAILED, "There is no table at"),
    Case("repair {empty} --undo", FAILED, "there is nothing to undo"),
    Case("merge {missing}", FAILED, "There is no table at"),
    Case("purge {missing}", FAILED, "There is no table at"),
    Case("convert {missing}", FAILED, "{missing}"),
    Case("config {missing}", FAILED, "There is no table at"),
    Case("report {missing} -o {empty}/a.html", FAILED, "There is no table at"),
    Case(
        "report {table} -o {missing}/a.html", USAGE, "there is no directory {missing}. Create it, or name another file"
    ),
    # Addresses that nothing serves.
    Case("describe gopher://host/table", FAILED, "no adapter serves this scheme"),
    Case("report gopher://host/table --json", FAILED, "no adapter serves this scheme"),
    Case("describe viewfs://cluster/table", FAILED, "Use it from Spark"),
    Case("describe s3:///table", FAILED, ""),
    Case("describe s3://me:hush@bucket/table", FAILED, ""),
    Case("describe s3://bucket/table?versionId=1", FAILED, ""),
    Case("describe file://elsewhere/table", FAILED, "names no other host"),
    Case(f"describe s3://bucket/table {{denied}} {ONE_ATTEMPT}", FAILED, "was refused"),
    Case(f"describe s3://bucket/table {{dead}} {ONE_ATTEMPT}", FAILED, "cannot be reached"),
    Case("describe s3://bucket/table --option fs.s3a.path.style.access=perhaps", FAILED, "true or false"),
    Case("describe s3://bucket/table --option fs.s3a.endpoint=ftp://x", FAILED, "a web address"),
    Case("describe s3://bucket/table --option fs.s3a.access.key=hush", FAILED, "fs.s3a.secret.key"),
    Case("describe s3://bucket/table --option fs.s3a.endpoint=http://me:hush@host", FAILED, "without user, password"),
    # Values that cannot be.
    Case("describe {table} --version 99", FAILED, "Available: 0 to 12"),
    Case("describe {table} --version 99999999999999999999999", FAILED, "Available: 0 to 12"),
    Case("describe {table} --timestamp soon", FAILED, "an ISO 8601 time"),
    Case("describe {table} --timestamp 2024-01-01T12:00:00", FAILED, "with a zone"),
    Case("describe {table} --timestamp 1970-01-01", FAILED, "has no version at 0 ms"),
    Case("describe {table} --timestamp 2024-13-45", FAILED, "an ISO 8601 time"),
    Case("checkpoint {copy} --option spark.indextables.checkpoint.interval=0", FAILED, "a whole number from 1"),
    Case("checkpoint {copy} --option spark.indextables.checkpoint.format=xml", FAILED, "one of parquet, json"),
    Case("cleanup {copy} --option spark.indextables.logRetention.duration=old", FAILED, "logRetention.duration"),
    Case("restore {copy} 99", FAILED, "Available: 0 to 12"),
    Case("merge {copy} --target-size big", FAILED, "target_size is set to 'big'"),
    Case("merge {copy} --target-size 0", FAILED, "target_size"),
    Case("purge {copy} --older-than soon", FAILED, "older_than is set to 'soon'"),
    Case("purge {copy} --older-than 1m", FAILED, "24h or more"),
    Case("convert {copy}", FAILED, "There is a table at"),
    Case("convert {stranger}", FAILED, ""),
    Case("convert sales.events", FAILED, "tables are found through Spark"),
    Case("repair {copy} --target {table} --no-dry-run", FAILED, "There is a table at"),
    # Conditions that cannot be read, or do not fit the table.
    Case("count {table}", FAILED, "^", where="level ="),
    Case("count {table}", FAILED, "^", where=""),
    Case("count {table}", FAILED, "^", where="(id = 1"),
    Case("count {table}", FAILED, "^", where="level = 'ERROR"),
    Case("count {table}", FAILED, "^", where="id = 1; DROP TABLE events"),
    Case("count {table}", FAILED, "^", where="id IN (SELECT id FROM other)"),
    Case("count {table}", FAILED, "^", where="frobnicate(id) = 1"),
    Case("count {table}", FAILED, "^", where="day = '2024-31-12'"),
    Case("count {table}", FAILED, "", where="id"),
    Case("files {table}", FAILED, "There is no column lvel", where="lvel = 'ERROR'"),
    Case("head {table}", FAILED, "There is no column id.x", where="id.x = 1"),
    Case("explain {table}", FAILED, "^", where="WHERE id = 1"),
    Case("merge {table} --dry-run", FAILED, "^", where="level ="),
    Case("report {table} --json", FAILED, "^", where="level ="),
    Case("report {table} --json", FAILED, "There is no column lvel", where="lvel = 1"),
    Case("head {table} --columns id,nothing", FAILED, "There are no columns nothing"),
    Case("head {table} --columns ,", FAILED, "There are no columns"),
    # Tables that are damaged, or too new.
    Case("describe {gap}", FAILED, "3"),
    Case("describe {garbage}", FAILED, "is damaged"),
    Case("history {garbage}", FAILED, "is damaged"),
    Case("describe {truncated}", FAILED, "is damaged"),
    Case("report {garbage} --json", FAILED, "is damaged"),
    Case("report {gap} --json", FAILED, "3"),
    Case("describe {empty_commit}", FAILED, "is damaged"),
    Case("describe {unknown_action}", FAILED, "unknown action 'cdc'"),
    Case("describe {too_new}", FAILED, "Upgrade indextables"),
    Case("verify {too_new}", FAILED, "Upgrade indextables"),
    Case("describe {no_metadata}", FAILED, "no metaData action"),
    Case("schema {bad_schema}", FAILED, "schema"),
    Case("head {bad_split}", FAILED, "cannot be read"),
    Case("head {lost_split}", FAILED, "There is no"),
    Case("count {lost_split}", FAILED, "There is no", where="level LIKE '%R'"),
    Case("restore {purged} 1", FAILED, "data files that are gone"),
    Case("purge {gap} --no-dry-run", FAILED, ""),
    Case("merge {garbage}", FAILED, "is damaged"),
    # Damage that was asked for.
    Case("verify {gap}", DAMAGE, ""),
    Case("verify {garbage}", DAMAGE, ""),
    Case("verify {truncated}", DAMAGE, ""),
    Case("verify {bad_split}", DAMAGE, ""),
    Case("verify {lost_split}", DAMAGE, ""),
    Case("doctor {missing}", DAMAGE, ""),
    Case("doctor gopher://host/table", DAMAGE, ""),
    Case(f"doctor s3://bucket/table {{denied}} {ONE_ATTEMPT}", DAMAGE, ""),
]


class _Denial(http.server.BaseHTTPRequestHandler):
    """Refuses whatever it is asked."""

    def do_GET(self) -> None:
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815 - the base class looks for this name

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def denied() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Denial)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def broken(table: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Copies of the table, each damaged in its own way. Commands that change them find them as the others left them."""
    root = tmp_path_factory.mktemp("broken")

    def copy(name: str) -> Path:
        return shutil.copytree(table, root / name)

    def commit(name: str, version: int, data: bytes | None) -> Path:
        damaged = copy(name)
        file = damaged / "_transaction_log" / f"{version:020}.json"
        file.write_bytes(data) if data is not None else file.unlink()
        return damaged

    def new_log(name: str, *actions: object) -> Path:
        (root / name / "_transaction_log").mkdir(parents=True)
        lines = "".join(json.dumps(action) + "\n" for action in actions)
        (root / name / "_transaction_log" / f"{0:020}.json").write_text(lines)
        return root / name

    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 2}}
    metadata = {
        "metaData": {
            "id": "a",
            "format": {"provider": "indextables", "options": {}},
            "schemaString": "no schema",
            "partitionColumns": [],
            "configuration": {},
        }
    }
    checkpointless = commit("gap", 3, None)
    shutil.rmtree(checkpointless / "_transaction_log" / "_checkpoints")
    places = {
        "gap": checkpointless,
        "garbage": commit("garbage", 12, b"{not json\n"),
        "truncated": commit("truncated", 12, b"\x01\x01" + gzip.compress(b'{"add":{}}\n' * 100)[:40]),
        "empty_commit": commit("empty_commit", 12, b""),
        "unknown_action": commit("unknown_action", 12, b'{"cdc":{"path":"x"}}\n'),
        "too_new": new_log("too_new", {"protocol": {"minReaderVersion": 99, "minWriterVersion": 99}}, metadata),
        "no_metadata": new_log("no_metadata", protocol),
        "bad_schema": new_log("bad_schema", protocol, metadata),
        "bad_split": copy("bad_split"),
        "lost_split": copy("lost_split"),
        "purged": copy("purged"),
        "copy": copy("copy"),
    }
    for split in places["bad_split"].rglob("*.split"):
        split.write_bytes(bytes(split.stat().st_size))
    open_log(str(places["purged"])).restore(0)
    for split in [*places["purged"].rglob("*.split"), *places["lost_split"].rglob("*.split")]:
        split.unlink()
    return places


@pytest.fixture(scope="module")
def places(
    table: Path, broken: dict[str, Path], denied: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    root = tmp_path_factory.mktemp("places")
    (root / "empty").mkdir()
    (root / "file").write_text("hello")
    (root / "picture").write_bytes(b"\x89PNG\xff\xfe")
    (root / "stranger").mkdir()
    (root / "stranger" / "notes.txt").write_text("hello")
    (root / "loop").symlink_to(root / "loop")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    credentials = "--option fs.s3a.access.key=me --option fs.s3a.secret.key=hush --option fs.s3a.endpoint="
    return {
        "table": str(table),
        "nothing": "",
        "missing": str(root / "missing"),
        "empty": str(root / "empty"),
        "file": str(root / "file"),
        "picture": str(root / "picture"),
        "stranger": str(root / "stranger"),
        "loop": str(root / "loop"),
        "long": str(root / ("x" * 300)),
        "nul": str(root / "a\0b"),
        "newline": str(root / "a\nb"),
        "denied": f"{credentials}{denied}",
        "dead": f"{credentials}http://127.0.0.1:{port}",
        **{name: str(path) for name, path in broken.items()},
    }


def _arguments(case: Case, places: dict[str, str]) -> list[str]:
    words = case.line.split(" ")
    filled = [(word, word.format(**places)) for word in words]
    # What stands for several words was made of words; a path stays one, whatever is in it.
    several = ("{denied}", "{dead}")
    arguments = [part for word, text in filled for part in (text.split(" ") if word in several else [text])]
    return arguments if case.where is None else [*arguments, "--where", case.where]


def test_there_are_as_many_as_promised() -> None:
    assert len(CASES) >= 60
    assert len({(case.line, case.where) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.line} {case.where or ''}".strip())
def test_a_bad_input_gets_one_sentence_and_an_exit_code(
    run: Callable[..., Answer], places: dict[str, str], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    answer = run(*_arguments(case, places))
    assert answer.code == case.code, answer.err
    assert "Traceback" not in answer.out + answer.err
    assert "hush" not in answer.out + answer.err
    if case.code == DAMAGE:
        assert answer.out
        return
    assert answer.out == ""
    sentence, *caret = [line for line in answer.err.splitlines() if ": warning: " not in line]
    assert sentence.startswith("indextables: ")
    assert sentence.endswith((".", "?"))
    assert all(line.startswith("  ") for line in caret)
    assert (case.words.format(**places) if "{" in case.words else case.words) in answer.err
