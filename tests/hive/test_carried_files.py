"""What others wrote meanwhile is carried into the directory that stays, as what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from indextables.hive import Lake, compact, recover
from tests.hive.moments import DiedError, dying
from tests.hive.tables import events, flat, read_table, write_parquet


@pytest.mark.parametrize("name", ["_SUCCESS", "._SUCCESS.crc", "_metadata"])
def test_what_is_hidden_stays_hidden_under_another_name(lake: Lake, database: str, tmp_path: Path, name: str) -> None:
    table, place = flat(lake, database, tmp_path, [events(0, 5), events(5, 5)])
    (Path(place) / name).write_text("before")
    with pytest.raises(DiedError):
        compact(dying(lake, "rename to live"), table)
    write_parquet(lake, f"{place}/new.parquet", events(100, 1))
    (Path(place) / name).write_text("since")
    (done,) = recover(lake, table=table)
    assert read_table(lake, table).count == 11
    (carried,) = (file for file in done.carried if "carried" in file)
    assert carried.startswith(name[0])
    assert sorted(path.read_text() for path in Path(place).iterdir() if path.name in {name, carried}) == [
        "before",
        "since",
    ]
