"""Engines that remember lists of files are told, partition by partition, whenever directories have changed for good."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from indextables.hive import Lake, compact, list_runs, recover, rollback
from indextables.hive.refresh import refresh_statements
from tests.hive.tables import add_partition, create_table, events, fill, flat

if TYPE_CHECKING:
    from pathlib import Path


def test_every_swap_and_every_way_back_is_told(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.t", f"{tmp_path}/t", keys=[("d", "date"), ("n", "int"), ("s", "string")])
    fill(lake, add_partition(lake, table, ["2026-02-23", "7", "O'Neil\\"]), files=2, rows=2)
    told: list[tuple[str, tuple[str, ...]]] = []
    listening = replace(lake, on_swapped=lambda *heard: told.append(heard))
    statement = f"REFRESH `{database}`.`t` PARTITION (`d`=DATE '2026-02-23', `n`=7, `s`='O\\'Neil\\\\')"
    compact(listening, table.full_name)
    rollback(listening, table.full_name)
    assert told == [(table.full_name, (statement,))] * 2
    compact(listening, table.full_name)
    assert len(told) == 3
    assert recover(listening, table=table.full_name) == []
    assert len(told) == 3


def test_a_flat_table_the_default_partition_and_very_many_partitions(lake: Lake, database: str, tmp_path: Path) -> None:
    name, _ = flat(lake, database, tmp_path, [events(0, 1), events(1, 1)])
    told: list[tuple[str, ...]] = []
    compact(replace(lake, on_swapped=lambda _, statements: told.append(statements)), name)
    assert told == [(f"REFRESH `{database}`.`t`",)]
    table = create_table(lake, f"{database}.p", f"{tmp_path}/p", keys=[("n", "int")])
    (statement,) = refresh_statements(table, ["n=__HIVE_DEFAULT_PARTITION__"])
    assert statement.endswith("PARTITION (`n`=NULL)")
    assert refresh_statements(table, [f"n={n}" for n in range(1001)]) == (f"REFRESH `{database}`.`p`",)


def test_a_listener_that_fails_changes_nothing_about_the_run(lake: Lake, database: str, tmp_path: Path) -> None:
    name, _ = flat(lake, database, tmp_path, [events(0, 1), events(1, 1)])

    def fail(_: str, __: tuple[str, ...]) -> None:
        raise OSError("Impala is away")

    with pytest.raises(OSError, match="Impala is away"):
        compact(replace(lake, on_swapped=fail), name)
    assert [run.state for run in list_runs(lake, table=name)] == ["complete"]


def test_names_and_values_never_become_part_of_a_statement(lake: Lake, database: str, tmp_path: Path) -> None:
    table = create_table(lake, f"{database}.p", f"{tmp_path}/p", keys=[("n", "int"), ("s", "string")])
    (statement,) = refresh_statements(table, ["n=1); DROP TABLE t --/s=');"])
    assert statement == f"REFRESH `{database}`.`p` PARTITION (`n`='1); DROP TABLE t --', `s`='\\');')"
    (renamed,) = refresh_statements(table.as_external("a`b", {}, created=0), ["n=-1.5e3/s=x"])
    assert renamed == f"REFRESH `{database}`.`a``b` PARTITION (`n`=-1.5e3, `s`='x')"
