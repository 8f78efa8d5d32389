"""What happens to a run from outside: somebody acts before one of its steps, or its process dies there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from indextables.hive.channel import SocketChannel
from indextables.hive.thrift import Kind, Struct, strings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from indextables.hive import Lake
    from indextables.hive.model import HiveTable
    from tests.support.metastore import MetastoreService


class DiedError(Exception):
    """The process is no more: whatever it would have done next is not done."""


def dying(lake: Lake, step: str) -> Lake:
    """Return a lake whose process dies before a step and takes no other one, not even to put things back."""
    dead: list[str] = []

    def on_step(reached: str) -> None:
        if dead or reached.startswith(step):
            dead.append(reached)
            raise DiedError(reached)

    return replace(lake, threads=1, on_step=on_step)


def acting(lake: Lake, step: str, act: Callable[[], object], *, always: bool = False) -> Lake:
    """Return a lake where somebody acts before a step: the first time, or every time."""
    done: list[str] = []

    def on_step(reached: str) -> None:
        if reached.startswith(step) and (always or not done):
            done.append(reached)
            act()

    return replace(lake, threads=1, on_step=on_step)


def tree(place: Path) -> list[tuple[str, int, int]]:
    """Return everything below a directory with its size and time, which is the same as before only if nothing was touched."""
    found = ((path, path.lstat()) for path in sorted(place.rglob("*")))
    return [(str(path.relative_to(place)), info.st_size, info.st_mtime_ns) for path, info in found]


def drop_partition(service: MetastoreService, table: HiveTable, value: str) -> None:
    """Drop a partition and none of its files."""
    arguments = {1: (Kind.STRING, table.database), 2: (Kind.STRING, table.name)}
    channel = SocketChannel(service.uri)
    channel.call("drop_partition", Struct({**arguments, 3: (Kind.LIST, strings([value])), 4: (Kind.BOOL, False)}))
    channel.close()
