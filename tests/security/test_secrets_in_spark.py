"""S15 in Spark: a secret that is set as an option or in the session is in no plan, no error, no log line and no file."""

from __future__ import annotations

import io
import logging
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest

import indextables
from tests.security.crafted import contents
from tests.security.test_secrets import CANARY, SECRET_OPTIONS, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    for name in SECRET_OPTIONS:
        spark.conf.set(name, CANARY)
    indextables.register(spark)
    yield spark
    for name in SECRET_OPTIONS:
        spark.conf.unset(name)


def plans(frame: DataFrame) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        for mode in ("extended", "codegen", "cost", "formatted"):
            frame.explain(mode=mode)
    execution: Any = frame._jdf.queryExecution()
    parts = [execution.toString(), execution.logical().toString(), execution.logical().toJSON()]
    return "\n".join([printed.getvalue(), *map(str, parts)])


def test_no_plan_error_log_or_file_holds_a_secret(
    session: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, record_property: Any
) -> None:
    path = str(tmp_path / "t")
    options = dict.fromkeys(SECRET_OPTIONS, CANARY)
    rows = session.range(20).selectExpr("id", "id % 3 AS p")
    seen = []
    with caplog.at_level(logging.DEBUG, logger="indextables"):
        indextables.write(rows, path, partition_by=["p"], options=options)
        rows.write.format("indextables").options(**options).mode("append").save(path)
        frames = [
            indextables.read(session, path, options=options).where("id > 3"),
            session.read.format("indextables").options(**options).load(path).where("id > 3"),
        ]
        for frame in frames:
            assert frame.count() == 32
            seen += [plans(frame), shown(frame), str(frame.schema)]
        seen.append(str(indextables.sql(session, f"DESCRIBE INDEXTABLES TRANSACTION LOG '{path}'").collect()))
        for wrong in (
            lambda: indextables.read(session, str(tmp_path / "none"), options=options),
            lambda: session.read.format("indextables").options(**options).load(str(tmp_path / "none")).count(),
            lambda: indextables.write(rows, path, replace_where="nonsense =", options=options),
        ):
            with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark wraps ours in several of its own
                wrong()
            seen.append(shown(caught.value))
    assert CANARY not in caplog.text
    found = [text for text in seen if CANARY in text]
    assert not found, found[0][max(0, found[0].index(CANARY) - 300) : found[0].index(CANARY) + 100]
    assert not [name for name, data in contents(tmp_path).items() if CANARY.encode() in data]
    record_property("security payloads", 2 * len(SECRET_OPTIONS))
