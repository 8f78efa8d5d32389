"""A run that died at its last partition is put back within a minute: with an effort of 200, ten thousand partitions of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from indextables.hive import Lake, compact, recover
from tests.hive.moments import DiedError, dying
from tests.hive.tables import create_table, fill, partition_of
from tests.support.effort import times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PARTITIONS = times(50)
LONGEST_S = 60


@pytest.mark.slow
def test_recovery_takes_no_longer_than_a_minute(
    lake: Lake, database: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    table = create_table(lake, f"{database}.wide", f"{tmp_path}/wide", keys=[("n", "string")])
    partitions = [partition_of(table, [f"{number:05d}"]) for number in range(PARTITIONS)]
    lake.metastore.add_partitions(table, partitions)
    for partition in partitions:
        fill(lake, partition.location, files=2, rows=1)
    with pytest.raises(DiedError):
        compact(dying(lake, f"rename to live: n={PARTITIONS - 1:05d}"), table.full_name)
    assert len(list(tmp_path.glob("wide/n=*__old_*"))) == PARTITIONS
    started = time.monotonic()
    assert len(recover(lake, table=table.full_name)) == 1
    seconds = time.monotonic() - started
    assert not list(tmp_path.glob("wide/n=*__old_*"))
    assert len(list(tmp_path.glob("wide/n=*/*.parquet"))) == 2 * PARTITIONS
    print(f"{PARTITIONS} partitions recovered in {seconds:.1f} s")
    record_property("lakekeeper: partitions recovered", PARTITIONS)
    record_property("lakekeeper: milliseconds of that recovery", round(seconds * 1000))
    assert seconds <= LONGEST_S
