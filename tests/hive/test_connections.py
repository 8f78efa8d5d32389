"""How many connections a Metastore has to serve, and that an answer reaches nobody but who asked for it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from indextables.hive import Lake, compact, rollback
from indextables.hive.metastore import Metastore
from indextables.hive.thrift import Kind, MessageType, Struct, strings
from tests.hive.tables import add_partition, create_table, fill

if TYPE_CHECKING:
    from pathlib import Path

THREADS = 4


class Line:
    """A connection that does what it is told to do in a call."""

    def __init__(self, during: object) -> None:
        self._during = during
        self.calls = self.closed = 0

    def call(self, _name: str, _arguments: Struct) -> tuple[MessageType, Struct]:
        self.calls += 1
        if isinstance(self._during, Barrier):
            self._during.wait(10)
        if isinstance(self._during, BaseException) and self.calls == 1:
            raise self._during
        return MessageType.REPLY, Struct({0: (Kind.LIST, strings(["default"]))})

    def close(self) -> None:
        self.closed += 1


def test_a_lake_that_lives_long_holds_no_more_connections_than_it_has_threads(
    lake: Lake, database: str, tmp_path: Path
) -> None:
    lake = replace(lake, threads=THREADS)
    table = create_table(lake, f"{database}.t", f"file:{tmp_path}/t", keys=[("day", "string")])
    for day in "123456":
        fill(lake, add_partition(lake, table, [day]), files=2, rows=1)
    for _ in range(3):
        compact(lake, table.full_name)
        rollback(lake, table.full_name)
    assert len(lake.metastore._open) <= THREADS + 1  # the caller's own thread asks, too


def test_a_thread_takes_the_connection_that_another_has_left() -> None:
    line = Line(None)
    metastore = Metastore(lambda: line)
    for _ in range(3):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(metastore.databases).result() == ["default"]
    assert (line.calls, len(metastore._open)) == (3, 1)


def test_calls_at_the_same_time_share_no_connection() -> None:
    both = Barrier(2)
    lines: list[Line] = []

    def connect() -> Line:
        lines.append(Line(both))
        return lines[-1]

    metastore = Metastore(connect)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: metastore.databases(), range(2))) == [["default"]] * 2
    assert [line.calls for line in lines] == [1, 1]
    metastore.close()
    assert [line.closed for line in lines] == [1, 1]


def test_who_is_interrupted_leaves_no_answer_to_the_next_one() -> None:
    line = Line(KeyboardInterrupt())
    metastore = Metastore(lambda: line)
    with pytest.raises(KeyboardInterrupt):
        metastore.databases()
    assert line.closed == 1
    assert metastore.databases() == ["default"]
