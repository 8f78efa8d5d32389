"""S15, S16, S19: a secret that a user gives is seen by the store alone, and a table cannot make us call anybody else.

The credentials' own rules are in tests/unit/storage/test_credentials.py, and what a server repeats in its answers is cut away in
tests/faults/test_s3_answers.py.
"""

from __future__ import annotations

import copy
import http.server
import json
import logging
import socket
import threading
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from indextables import IndexTablesError, Table, repair
from indextables.cli.main import commands
from indextables.config import Settings
from indextables.errors import UnsafePathError
from indextables.log.actions import encode_action
from indextables.spark.purge import purge
from indextables.storage.open import open_store
from tests.security.crafted import contents, line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CANARY = "canary-5e1f-do-not-show"
SECRET_OPTIONS = [
    "spark.indextables.aws.accessKey",
    "spark.indextables.aws.secretKey",
    "spark.indextables.aws.sessionToken",
    "fs.s3a.access.key",
    "fs.s3a.secret.key",
    "fs.s3a.session.token",
    "fs.s3a.bucket.b.secret.key",
    "spark.hadoop.fs.s3a.secret.key",
    "fs.azure.account.key",
    "fs.azure.account.key.acc.dfs.core.windows.net",
    "fs.azure.sas.fixed.token",
    "fs.azure.account.oauth2.client.secret",
    "fs.gs.auth.service.account.private.key",
]
SECRET_VARIABLES = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_STORAGE_KEY",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
]


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name in SECRET_VARIABLES:
        monkeypatch.setenv(name, CANARY)
    return dict.fromkeys(SECRET_OPTIONS, CANARY)


def shown(*things: object) -> str:
    """Return everything that somebody could see of some objects."""
    texts = []
    for thing in things:
        texts += [repr(thing), str(thing), repr(getattr(thing, "__dict__", ""))]
        if isinstance(thing, BaseException):
            texts += traceback.format_exception(thing)
            texts.append(repr(getattr(thing, "__notes__", "")))
    return "\n".join(texts)


def test_a_table_that_was_written_with_secrets_holds_none(
    secrets: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture, record_property: Any
) -> None:
    path = str(tmp_path / "t")
    with caplog.at_level(logging.DEBUG):
        table = Table(path, options=secrets)
        table.append(pa.table({"id": [1, 2], "p": ["a", "b"]}), partition_by=["p"], app="a", batch=1)
        table.overwrite(pa.table({"id": [3], "p": ["a"]}), where="p = 'a'")
        table.delete("id = 2")
        results = [
            table.checkpoint(),
            table.cleanup(),
            purge(None, path, options=secrets),
            repair(path, options=secrets),
        ]
        results += [table.history().to_pylist(), table.files().to_pylist(), table.metadata, table.protocol]
        results += [
            table,
            table.log,
            table.snapshot(),
            table.cache_stats(),
            table.explain("id > 1"),
            table.verify_stats().to_pylist(),
        ]
        for wrong in (lambda: table.delete("nonsense ="), lambda: Table(path, version=99, options=secrets).count()):
            with pytest.raises(IndexTablesError) as caught:
                wrong()
            results.append(caught.value)
    assert caplog.records
    assert CANARY not in caplog.text
    assert CANARY not in shown(*results)
    assert not [name for name, data in contents(tmp_path).items() if CANARY.encode() in data or CANARY in name]
    record_property("security payloads", len(SECRET_OPTIONS) + len(SECRET_VARIABLES))


ADDRESSES = [
    f"s3://key:{CANARY}@bucket/table",
    f"s3://{CANARY}@bucket/table",
    f"s3a://key:{CANARY}@bucket/table",
    f"s3://bucket/table?X-Amz-Signature={CANARY}",
    f"s3://bucket/table?sig={CANARY}#x",
    f"https://bucket.s3.amazonaws.com/table?X-Amz-Signature={CANARY}",
    f"https://user:{CANARY}@host/table",
    f"abfss://container:{CANARY}@account.dfs.core.windows.net/table",
    f"abfss://c@user:{CANARY}@account.dfs.core.windows.net/table",
    f"az://c@{CANARY}.example.com/table?sv=1&sig={CANARY}",
    f"gs://user:{CANARY}@bucket/table",
    f"hdfs://user:{CANARY}@namenode:8020/table",
    f"hdfs://namenode/table?delegation={CANARY}",
    f"file://user:{CANARY}@host/table",
    f"wasbs://c:{CANARY}@host/table",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_carries_a_secret_is_refused_and_not_repeated(
    address: str, caplog: pytest.LogCaptureFixture, record_property: Any
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(IndexTablesError) as caught:
        Table(address).append(pa.table({"id": [1]}))
    assert CANARY not in caplog.text
    assert CANARY not in shown(caught.value)
    record_property("security payloads", 1)


@pytest.mark.parametrize("command", ["files", "history", "describe", "count", "verify", "doctor", "config"])
def test_the_command_shows_no_secret_even_when_it_fails_and_explains(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    for name in SECRET_VARIABLES:
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    good = str(tmp_path / "t")
    Table(good).append(pa.table({"id": [1]}))
    options = [
        "--option",
        f"spark.indextables.aws.secretKey={CANARY}",
        "--option",
        f"spark.indextables.aws.accessKey={CANARY}",
    ]
    bad = [
        "--option",
        f"spark.indextables.aws.secretKey={CANARY}",
        "--option",
        "spark.indextables.transaction.retry.maxAttempts=-1",
    ]
    few = ["--option", "spark.indextables.transaction.retry.maxAttempts=1"]
    for arguments in ([command, good, *options], [command, good, *bad], [command, "s3://bucket/t", *options, *few]):
        result = CliRunner().invoke(commands, [*arguments, "--debug"], prog_name="indextables")
        text = result.stdout + result.stderr + shown(result.exception)
        assert CANARY not in text, text
    record_property("security payloads", 3)


@contextmanager
def servers() -> Iterator[tuple[str, str, list[str]]]:
    """Run two servers: one sends everybody to the other, which notes who came."""
    seen: list[str] = []

    class Inner(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.command} {self.path} {self.headers}")
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_PUT = do_HEAD = do_DELETE = do_POST = do_GET  # noqa: N815 - the names that the server looks for

        def log_message(self, *_: object) -> None:
            return

    class Outer(Inner):
        def do_GET(self) -> None:
            self.send_response(307)
            self.send_header("Location", f"http://127.0.0.1:{inner.server_port}{self.path}")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_PUT = do_HEAD = do_DELETE = do_POST = do_GET  # noqa: N815 - the names that the server looks for

    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), Inner) as inner,
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), Outer) as outer,
    ):
        threads = [threading.Thread(target=server.serve_forever) for server in (inner, outer)]
        for thread in threads:
            thread.start()
        try:
            yield f"http://127.0.0.1:{outer.server_port}", f"http://127.0.0.1:{inner.server_port}", seen
        finally:
            for server, thread in zip((inner, outer), threads, strict=True):
                server.shutdown()
                thread.join()


def test_neither_key_nor_signature_follows_a_redirect_to_another_server(record_property: Any) -> None:
    with servers() as (outer, _, seen):
        options = {
            "spark.indextables.aws.accessKey": "key",
            "spark.indextables.aws.secretKey": CANARY,
            "spark.indextables.aws.endpoint": outer,
            "spark.indextables.aws.region": "us-east-1",
            "spark.indextables.transaction.retry.maxAttempts": "1",
        }
        for work in (
            lambda: Table("s3://bucket/t", options=options).count(),
            lambda: Table("s3://bucket/t", options=options).append(pa.table({"id": [1]})),
        ):
            with pytest.raises(IndexTablesError) as caught:
                work()
            assert CANARY not in shown(caught.value)
    assert not any(request.startswith(("PUT", "POST", "DELETE")) for request in seen), "a write goes where it was sent"
    for secret in (CANARY, "AWS4-HMAC-SHA256", "Signature="):
        assert secret not in "".join(seen)
    record_property("security payloads", 2)


def test_a_log_cannot_make_us_call_another_host(tmp_path: Path, record_property: Any) -> None:
    with servers() as (_, inner, seen), socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0)
        port = listener.getsockname()[1]
        host = inner.removeprefix("http://")
        paths = [
            f"{inner}/x.split",
            f"s3://bucket@{host}/x",
            f"//{host}/x",
            f"hdfs://127.0.0.1:{port}/x",
            f"http:{host}/x",
            f"\\\\{host}\\x",
            f"ftp://{host}/x",
            f"jdbc:mysql://{host}/x",
            f"ldap://{host}/x",
            f"gopher://{host}/x",
        ]
        root = tmp_path / "t"
        Table(str(root)).append(pa.table({"id": [1]}))
        for path in paths:
            file = root / "_transaction_log" / f"{2:020d}.json"
            file.write_bytes(line("add", path=path))
            with pytest.raises(UnsafePathError):
                Table(str(root)).to_arrow()
        configuration = {"spark.indextables.aws.endpoint": inner, "location": f"{inner}/t", "fs.defaultFS": inner}
        described = json.loads(encode_action(Table(str(root), version=1).metadata))["metaData"]
        file.write_bytes(line("metaData", **described | {"configuration": configuration}))
        assert Table(str(root)).to_arrow().num_rows == 1
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert seen == []
    record_property("security payloads", len(paths) + len(configuration))


def test_settings_and_stores_show_nothing_when_copied_or_compared(
    secrets: dict[str, str], record_property: Any
) -> None:
    settings = Settings.resolve(secrets)
    store = open_store("s3://bucket/t", settings=settings, properties=secrets)
    assert CANARY not in shown(settings, copy.deepcopy(settings), store, settings.aws)
    with pytest.raises(AssertionError) as caught:
        assert settings == Settings(), "pytest itself shows both"
    assert CANARY not in shown(caught.value)
    record_property("security payloads", len(secrets))
