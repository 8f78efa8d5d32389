"""Detectors of what swaps of directories do to files of others: a foreign writer comes at every step, and at every rename.

The swap and its undoing run on a real disk. What they note in the Metastore meanwhile plays no part in it: what happened to a
directory is read from what exists.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from indextables.errors import ConcurrentChangeError
from indextables.hive.channel import SocketChannel
from indextables.hive.connect import Lake, open_file_systems
from indextables.hive.directory import Directory, with_replacement
from indextables.hive.filesystem import fingerprint
from indextables.hive.journal import RUN, SOURCE, Journal, Run
from indextables.hive.metastore import Metastore
from indextables.hive.model import HiveTable
from indextables.hive.swap import Swapper
from indextables.hive.thrift import Kind, Struct, string_map
from tests.zoo.detectors import Detector

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_RUN = "1700000000"
_MOST_MOMENTS = 20


class _Notes(Journal):
    """A journal that nobody reads."""

    def repoint(self, run: Run, moves: dict[str, str]) -> None:
        """Note nothing."""


@dataclass
class _Foreigner:
    """A writer that knows nothing of any swap, and writes a file of its own at one moment."""

    live: Path
    at: int
    moments: int = 0
    wrote: list[str] = field(default_factory=list)

    def moment(self, _: str = "") -> None:
        self.moments += 1
        if self.moments == self.at:
            self.live.mkdir(exist_ok=True)
            name = f"foreign-{self.at}.parquet"
            (self.live / name).write_bytes(b"rows of somebody else")
            self.wrote.append(name)


def _swap_and_undo(live: Path, lake: Lake) -> Iterator[str]:
    """Swap a directory of two files for one with a merged one, and take it back; yield what is at the place after each."""
    system = lake.systems.at(str(live))
    live.mkdir(parents=True)
    for name in ("a.parquet", "b.parquet"):
        (live / name).write_bytes(name.encode())
    old, staging = f"{live}.old", f"{live}.new"
    directory = Directory(
        name="", location=str(live), old=old, staging=staging, before=fingerprint(system.entries(str(live)))
    )
    system.make_directory(staging)
    system.write(f"{staging}/part-00000.parquet", b"merged")
    directory = with_replacement(
        directory, after=fingerprint(system.entries(staging)), names=["part-00000.parquet"], rows=2
    )
    raw = Struct()
    raw.set(9, Kind.MAP, string_map({RUN: _RUN, SOURCE: "d.t"}))
    swapper = Swapper(lake, _Notes(lake), Run(backup=HiveTable(raw)))
    try:
        swapper.swap(directory)
    except ConcurrentChangeError:
        pass
    else:
        yield "swapped"
    swapper.undo(directory)
    swapper.drop_staging(directory)
    yield "undone"


def _judged(directory: Path, *, by_step: bool) -> Iterator[str]:
    for at in range(1, _MOST_MOMENTS):
        live = directory / str(at) / "t"
        foreigner = _Foreigner(live, at)
        metastore = Metastore(lambda: SocketChannel("thrift://127.0.0.1:1"))
        lake = Lake(metastore=metastore, systems=open_file_systems(), threads=1)
        if by_step:
            lake = Lake(metastore=metastore, systems=lake.systems, threads=1, on_step=foreigner.moment)
        with pytest.MonkeyPatch.context() as patch:
            if not by_step:
                _before_renames(patch, foreigner)
            for stage in _swap_and_undo(live, lake):
                names = {file.name for file in live.iterdir()}
                wanted = {
                    *foreigner.wrote,
                    *(["part-00000.parquet"] if stage == "swapped" else ["a.parquet", "b.parquet"]),
                }
                if wanted - names:
                    yield f"I14: {stage}, with a writer at moment {at}: {sorted(wanted - names)} are lost of {sorted(wanted)}"
        if foreigner.moments < at:
            return


def _before_renames(patch: pytest.MonkeyPatch, foreigner: _Foreigner) -> None:
    rename = os.rename

    def overtaken(source: Any, target: Any, **named: Any) -> None:
        foreigner.moment()
        rename(source, target, **named)

    patch.setattr(os, "rename", overtaken)


SWAPS_BY_STEP = Detector(
    "a foreign writer at each step", "a swap and its undoing", lambda place: _judged(place, by_step=True)
)
SWAPS_BY_CALL = Detector(
    "overtaken at a system call", "a swap and its undoing", lambda place: _judged(place, by_step=False)
)
