"""A table to look at, copies of it to break, and the command that does both."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from indextables.cli.main import commands
from indextables.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VERSIONS = 12


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = "Callable[..., Answer]"


@pytest.fixture
def run() -> Callable[..., Answer]:
    def invoke(*args: object) -> Answer:
        result = CliRunner().invoke(commands, [str(arg) for arg in args], prog_name="indextables")
        return Answer(result.exit_code, result.stdout, result.stderr)

    return invoke


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve appends of ten rows, three days in turn; a checkpoint after the tenth. Nobody changes it."""
    path = tmp_path_factory.mktemp("cli") / "events"
    events = Table(str(path))
    for number in range(VERSIONS):
        events.append(
            pa.table(
                {
                    "id": pa.array(range(number * 10, number * 10 + 10), pa.int64()),
                    "level": ["ERROR" if row % 5 == 0 else "INFO" for row in range(10)],
                    "day": [dt.date(2024, 1, 1 + number % 3)] * 10,
                }
            ),
            partition_by=["day"],
        )
    return path


@pytest.fixture
def copy(table: Path, tmp_path: Path) -> Path:
    """A copy of the table, to change or to break."""
    return shutil.copytree(table, tmp_path / "events")
