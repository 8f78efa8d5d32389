from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.config.settings import registry
from indextables.log.open import open_log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    import pytest

    from tests.unit.cli.conftest import Answer


def _by_key(answer: Answer) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in answer.json}


def test_config_shows_every_key(run: Callable[..., Answer]) -> None:
    rows = _by_key(run("config", "--json"))
    assert list(rows) == [entry.setting.key for entry in registry().values()]
    assert all(row["meaning"] for row in rows.values())
    out = run("config").out
    assert all(key in out for key in rows)


def test_config_tells_where_a_value_came_from(run: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    given = ("spark.indextables.checkpoint.interval=20", "fs.s3a.endpoint=https://s3.example.org")
    rows = _by_key(run("config", "--json", "--option", given[0], "--option", given[1]))
    interval = rows["spark.indextables.checkpoint.interval"]
    assert (interval["value"], interval["source"], interval["default"]) == ("20", "--option", "10")
    region = rows["spark.indextables.aws.region"]
    assert (region["value"], region["source"]) == ("eu-west-1", "environment AWS_REGION")
    endpoint = rows["spark.indextables.aws.endpoint"]
    assert (endpoint["value"], endpoint["source"]) == ("https://s3.example.org", "--option fs.s3a.endpoint")
    assert rows["spark.indextables.checkpoint.format"]["source"] == "default"


def test_config_shows_no_secret(run: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "hush-token")
    options = (
        "--option",
        "spark.indextables.aws.accessKey=hush-access",
        "--option",
        "spark.indextables.aws.secretKey=hush-secret",
    )
    for form in ((), ("--json",)):
        answer = run("config", *options, *form)
        assert answer.code == 0
        assert "hush" not in answer.out + answer.err
        assert "********" in answer.out


def test_config_of_a_table_shows_its_properties(run: Callable[..., Answer], tmp_path: Path) -> None:
    open_log(str(tmp_path)).initialize(pa.schema([("a", pa.int64())]), configuration={"owner": "me"})
    rows = _by_key(run("config", tmp_path, "--json"))
    assert (rows["owner"]["value"], rows["owner"]["source"]) == ("me", "table")
