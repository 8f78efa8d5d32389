"""Tables that the original implementation wrote are sound in the eyes of a repair, and a repaired copy of each is the same table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from indextables.log.open import open_log
from indextables.log.repair import Way, repair
from tests.support.fixtures import fixture_tables

if TYPE_CHECKING:
    from pathlib import Path

    from indextables.log.snapshot import Snapshot


def content(snapshot: Snapshot) -> dict[str, object]:
    left_out = {"version", "ordinal"}
    rows = {
        row["path"]: {name: value for name, value in row.items() if name not in left_out}
        for row in snapshot.files.to_pylist()
    }
    return {
        "files": rows,
        "ours": snapshot.ours.to_pylist(),
        "id": snapshot.metadata.id,
        "schema": snapshot.metadata.schema_string,
        "skips": sorted(snapshot.skips["path"].to_pylist()),
        "removes": sorted(snapshot.removes["path"].to_pylist()),
    }


@pytest.mark.parametrize("table", fixture_tables(), ids=lambda table: table.name)
def test_nothing_is_wrong_with_them_and_a_copy_is_the_same(table: Path, tmp_path: Path) -> None:
    result = repair(str(table), str(tmp_path / "copy"), dry_run=False)
    assert (result.findings, result.exact, result.way) == ((), True, Way.COPY)
    before, after = open_log(str(table)).snapshot(), open_log(str(tmp_path / "copy")).snapshot()
    assert content(after) == content(before)
    assert repair(str(table)).way is Way.NOTHING
