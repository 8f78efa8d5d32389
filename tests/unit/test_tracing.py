"""Operations are spans in a program that traces with OpenTelemetry, and cost nothing in one that does not."""

from __future__ import annotations

import logging
import subprocess
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from indextables import IndexTablesError, Table, hive, merge_splits, purge, repair
from indextables.errors import MetastoreError, PredicateError, SchemaError
from indextables.hive.channel import SocketChannel
from indextables.hive.connect import Lake, open_file_systems
from indextables.hive.metastore import Metastore
from indextables.spark.listing import Listing
from indextables.spark.question import Question
from indextables.tracing import UNTRACED, span
from tests.support.tracing import own_opentelemetry, tracing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

CANARY = "canary-77ab-do-not-show"
SECRETS = {
    "spark.indextables.aws.accessKey": CANARY,
    "spark.indextables.aws.secretKey": CANARY,
    "fs.s3a.session.token": CANARY,
    "fs.azure.account.key": CANARY,
}


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    with tracing() as held:
        yield held


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "day": [id_ % 2 for id_ in ids]})


def tree(spans: InMemorySpanExporter) -> list[str]:
    """Return the names of spans in the order in which they began, each below the one that it is part of."""
    ended = sorted(spans.get_finished_spans(), key=lambda one: (one.start_time or 0, -(one.end_time or 0)))
    depths: dict[int, int] = {}
    for one in ended:
        depths[_id(one)] = 0 if one.parent is None else depths[one.parent.span_id] + 1
    return ["  " * depths[_id(one)] + one.name for one in ended]


def _id(one: ReadableSpan) -> int:
    assert one.context is not None
    return int(one.context.span_id)


def facts(spans: InMemorySpanExporter, name: str) -> dict[str, Any]:
    """Return the attributes of the newest span of a name."""
    return dict([one for one in spans.get_finished_spans() if one.name == name][-1].attributes or {})


def test_an_append_is_a_span_and_its_commits_are_inside(spans: InMemorySpanExporter, tmp_path: Path) -> None:
    done = Table(tmp_path).append(rows(1, 2, 3), partition_by=["day"])
    assert tree(spans) == ["indextables.append", "  indextables.commit", "  indextables.commit"]
    assert facts(spans, "indextables.append") == {
        "indextables.table": str(tmp_path),
        "indextables.version": 1,
        "indextables.files": 2,
        "indextables.rows": 3,
        "indextables.bytes": done.bytes_added,
    }
    created, appended = (one for one in spans.get_finished_spans() if one.name == "indextables.commit")
    assert created.attributes == {
        "indextables.table": str(tmp_path),
        "indextables.operation": "create",
        "indextables.version": 0,
    }
    assert appended.attributes == {
        "indextables.table": str(tmp_path),
        "indextables.operation": "append",
        "indextables.version": 1,
        "indextables.attempts": 1,
    }
    assert all(one.status.is_ok for one in spans.get_finished_spans()), "that there was no table is no error"


def test_it_is_part_of_the_span_in_which_the_program_calls_it(spans: InMemorySpanExporter, tmp_path: Path) -> None:
    with import_module("opentelemetry.trace").get_tracer("program").start_as_current_span("nightly load"):
        Table(tmp_path).append(rows(1))
    assert tree(spans)[:2] == ["nightly load", "  indextables.append"]


def test_what_a_commit_brings_with_it_stands_beside_the_commit(spans: InMemorySpanExporter, tmp_path: Path) -> None:
    table = Table(tmp_path, options={"spark.indextables.checkpoint.interval": 1})
    table.append(rows(1))
    assert tree(spans) == [
        "indextables.append",
        "  indextables.commit",
        "  indextables.commit",
        "  indextables.checkpoint",
        "    indextables.snapshot",
        "  indextables.cleanup",
    ]


def planned(path: str) -> None:
    snapshot = Table(path).snapshot()
    Listing(snapshot).answer(Question(np.array([True, False]), ()))


OPERATIONS: dict[str, Callable[[str], object]] = {
    "overwrite": lambda path: Table(path).overwrite(rows(9)),
    "delete": lambda path: Table(path).delete("id = 1"),
    "scan": lambda path: Table(path).to_arrow(where="id > 1"),
    "snapshot": lambda path: Table(path).snapshot(),
    "commit": lambda path: Table(path).restore(1),
    "checkpoint": lambda path: Table(path).checkpoint(),
    "cleanup": lambda path: Table(path).cleanup(),
    "repair": repair,
    "merge": lambda path: merge_splits(None, path),
    "purge": lambda path: purge(None, path),
    "spark.plan": planned,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_that_people_wait_for_is_a_span(name: str, tmp_path: Path) -> None:
    path = str(tmp_path)
    Table(path).append(rows(1, 2, 3), partition_by=["day"])
    Table(path).append(rows(4, 5))
    with tracing() as spans:
        OPERATIONS[name](path)
    found = facts(spans, f"indextables.{name}")
    assert found["indextables.table"] == path
    assert {"indextables.version", "indextables.files"} & set(found)
    assert {type(value) for value in found.values()} <= {str, int, bool}


def test_a_scan_tells_what_it_read(spans: InMemorySpanExporter, tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.append(rows(*range(10)), partition_by=["day"])
    table.to_arrow(where="day = 1", columns=["id"])
    assert facts(spans, "indextables.scan") == {
        "indextables.table": str(tmp_path),
        "indextables.version": 1,
        "indextables.files": 1,
        "indextables.rows": 5,
    }


def test_what_is_read_of_a_large_checkpoint_is_a_snapshot_too(tmp_path: Path) -> None:
    options = {"spark.indextables.checkpoint.maxFileSize": "1KB", "spark.indextables.checkpoint.parallelism": 1}
    table = Table(tmp_path, options=options)
    table.append(pa.table({"day": range(12), "id": range(12)}), partition_by=["day"])
    table.checkpoint()
    with tracing() as spans:
        Table(tmp_path, options=options).to_arrow(where="day = 0")
    assert tree(spans) == ["indextables.scan", "  indextables.snapshot"]
    assert facts(spans, "indextables.snapshot")["indextables.files"] < 12


def test_an_error_marks_the_span_that_it_ends(spans: InMemorySpanExporter, tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.append(rows(1))
    with pytest.raises(SchemaError):
        table.append(pa.table({"other": [1]}))
    failed = spans.get_finished_spans()[-1]
    assert (failed.name, failed.status.is_ok) == ("indextables.append", False)
    assert [event.attributes and event.attributes["exception.type"] for event in failed.events] == [
        "indextables.errors.SchemaError"
    ]
    assert "indextables.version" not in (failed.attributes or {})


@pytest.mark.parametrize("work", [hive.analyze, hive.compact, hive.rollback, hive.cleanup])
def test_lakekeeper_has_spans_of_its_own_name(work: Callable[[Lake, str], object], spans: InMemorySpanExporter) -> None:
    lake = Lake(metastore=Metastore(lambda: SocketChannel("thrift://127.0.0.1:1")), systems=open_file_systems())
    with pytest.raises(MetastoreError):
        work(lake, "sales.events")
    (failed,) = spans.get_finished_spans()
    assert failed.name == f"lakekeeper.{work.__name__}"
    assert (failed.attributes or {})["lakekeeper.table"] == "sales.events"
    assert not failed.status.is_ok


@pytest.mark.parametrize(
    "address",
    [
        f"s3://key:{CANARY}@bucket/table",
        f"s3://bucket/table?X-Amz-Signature={CANARY}",
        f"abfss://container:{CANARY}@account.dfs.core.windows.net/table",
        f"hdfs://namenode/table?delegation={CANARY}",
    ],
)
def test_an_address_that_carries_a_secret_is_in_no_span(address: str, spans: InMemorySpanExporter) -> None:
    for work in (lambda: Table(address).append(rows(1)), lambda: purge(None, address), lambda: repair(address)):
        with (
            pytest.raises(IndexTablesError),
            import_module("opentelemetry.trace").get_tracer("program").start_as_current_span("program"),
        ):
            work()
    seen = "".join(one.to_json() for one in spans.get_finished_spans())
    assert "UnsafePathError" in seen
    assert CANARY not in seen


def test_options_that_are_secrets_are_in_no_span(spans: InMemorySpanExporter, tmp_path: Path) -> None:
    table = Table(tmp_path, options=SECRETS)
    table.append(rows(1))
    table.checkpoint()
    purge(None, str(tmp_path), options=SECRETS)
    repair(str(tmp_path), options=SECRETS)
    with pytest.raises(PredicateError):
        table.delete("nonsense =")
    unreachable = {
        "spark.indextables.aws.endpoint": "http://127.0.0.1:1",
        "spark.indextables.aws.region": "us-east-1",
        "spark.indextables.transaction.retry.maxAttempts": 1,
    }
    with pytest.raises(IndexTablesError):
        Table("s3://bucket/table", options=SECRETS | unreachable).to_arrow()
    ended = spans.get_finished_spans()
    assert "s3://bucket/table" in ended[-1].to_json()
    assert [one.name for one in ended if CANARY in one.to_json()] == []


class Broken:
    """What takes spans in a program that has a mistake in it."""

    def __init__(self, *calls: str) -> None:
        self._calls = calls

    def __getattr__(self, name: str) -> Callable[..., None]:
        def call(*_: object, **__: object) -> None:
            if name in self._calls:
                raise RuntimeError(name)

        return call


@pytest.mark.usefixtures("spans")
@pytest.mark.parametrize("call", ["on_start", "on_end"])
def test_a_tracer_that_fails_fails_no_commit(call: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    trace = import_module("opentelemetry.trace")
    trace.get_tracer_provider().add_span_processor(Broken(call))
    with caplog.at_level(logging.DEBUG, "indextables.tracing"):
        assert Table(tmp_path).append(rows(1)).version == 1
        assert Table(tmp_path).count() == 1
        with pytest.raises(SchemaError):
            Table(tmp_path).append(pa.table({"other": [1]}))
    assert "The span indextables.commit could not be" in caplog.text
    assert not trace.get_current_span().get_span_context().is_valid, "no span is left open"


def test_a_span_that_cannot_be_described_fails_no_commit(
    spans: InMemorySpanExporter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("opentelemetry.sdk.trace").Span, "set_attributes", None)
    assert Table(tmp_path).append(rows(1)).version == 1
    assert tree(spans) == ["indextables.append", "  indextables.commit", "  indextables.commit"]


def test_opentelemetry_that_is_being_imported_is_not_waited_for(tmp_path: Path) -> None:
    with own_opentelemetry():
        sys.modules["opentelemetry.trace"] = ModuleType("opentelemetry.trace")
        assert Table(tmp_path).append(rows(1)).version == 1


def test_a_library_that_only_imports_the_interface_changes_nothing(tmp_path: Path) -> None:
    with own_opentelemetry():
        import_module("opentelemetry.trace")
        assert Table(tmp_path).append(rows(1)).version == 1
        assert Table(tmp_path).to_arrow().num_rows == 1


def test_without_opentelemetry_no_span_is_made() -> None:
    with own_opentelemetry():
        assert span("indextables.commit", table="t") is UNTRACED
        with span("indextables.commit") as noted:
            noted.note(version=1)
        assert noted is UNTRACED


def test_without_opentelemetry_none_is_imported(tmp_path: Path) -> None:
    code = f"""
import sys, pyarrow as pa, indextables as it
table = it.Table({str(tmp_path)!r})
table.append(pa.table({{"id": [1, 2]}}))
table.delete("id = 1")
table.checkpoint(), table.cleanup(), it.purge(None, table.path), it.repair(table.path), it.merge_splits(None, table.path)
print(table.to_arrow().num_rows, [name for name in sys.modules if name.startswith("opentelemetry")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1 []"
