from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from indextables.table import Table
from tests.support.s3 import S3Endpoint, moto_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.unit.cli.conftest import Answer


@pytest.fixture(scope="module")
def endpoint() -> Iterator[S3Endpoint]:
    with moto_server() as server:
        yield server


@pytest.mark.xdist_group("moto")
def test_commands_work_on_a_table_in_a_bucket(run: Callable[..., Answer], endpoint: S3Endpoint) -> None:
    path, options = f"s3://{endpoint.bucket}/events", endpoint.options()
    given = [part for key, value in options.items() for part in ("--option", f"{key}={value}")]
    for start in (0, 10):
        Table(path, options=options).append(pa.table({"id": list(range(start, start + 10))}))
    assert run("describe", path, "--json", *given).json["rows"] == 20
    assert [row["id"] for row in run("head", path, "--where", "id > 17", "--json", *given).json] == [18, 19]
    assert run("checkpoint", path, "--json", *given).json["version"] == 2
    assert run("verify", path, *given).out.endswith("1 checkpoint and 2 data files: all is well.\n")
    assert "Merged 2 files into 1" in run("merge", path, *given).out
    checks = {check["name"]: check for check in run("doctor", path, "--json", *given).json["checks"]}
    assert checks["writes"]["status"] == "ok"
    assert endpoint.secret_key not in str(checks)
    free = {check["name"]: check for check in run("doctor", f"{path}-new", "--json", *given).json["checks"]}
    assert free["table"]["status"] == "not set"
    assert free["writes"]["status"] == "ok"
