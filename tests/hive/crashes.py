"""A table that is killed again and again, and what must be true of it every time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from random import Random
from typing import TYPE_CHECKING, Any

from indextables.hive import Lake, Options, cleanup, compact, list_runs, recover, rollback
from indextables.hive.find import find_table
from indextables.hive.names import is_staging
from tests.hive.killing import Outcome, run_command
from tests.hive.tables import Snapshot, add_partition, create_table, fill, read_table

if TYPE_CHECKING:
    from indextables.hive.filesystem import Entry
    from indextables.hive.model import HivePartition
    from tests.support.metastore import MetastoreService

COMMANDS = ("compact", "rollback", "cleanup")
_NEVER = 1000  # no command has so many steps
_STEPS_OF_RECOVERY = 16


@dataclass
class Patient:
    """A partitioned table with one partition outside its root, and how it looks uncompacted and compacted.

    Attributes:
        lake: For everything that is not killed.
        service: The Metastore, for processes that are.
        name: The table.
        place: The directory that holds it, and all that runs put beside it.
        rows: Its rows, which never change.
        old_files: Its files by partition before compaction.
        swap: How its directories are swapped.
    """

    lake: Lake
    service: MetastoreService
    name: str
    place: str
    rows: Snapshot
    old_files: dict[str, list[str]]
    swap: str = "rename"

    @classmethod
    def make(cls, lake: Lake, service: MetastoreService, name: str, place: str, *, swap: str = "rename") -> Patient:
        table = create_table(lake, name, f"{place}/t", keys=[("day", "string")])
        for index, day in enumerate(["1", "2", "3"]):
            location = add_partition(lake, table, [day], location=f"{place}/far/{day}" if day == "3" else None)
            fill(lake, location, files=3, rows=4, start=100 * index)
        patient = cls(lake, service, name, place, read_table(lake, name), {}, swap)
        patient.old_files = patient.files()
        return patient

    def files(self) -> dict[str, list[str]]:
        return {name: [entry.path for entry in self._entries(place)] for name, place in self._locations().items()}

    def state(self) -> tuple[Any, ...]:
        """Everything that a second recovery must leave alone: the trees around the table, and its runs."""
        held = [(one.values, one.location, one.parameters) for one in self._partitions()]
        return self._tree(), list_runs(self.lake, table=self.name), held

    def is_old(self) -> bool:
        return self.files() == self.old_files

    def heal(self) -> None:
        """Recover twice and check that the table is whole, all old or all new, and that the second time changed nothing."""
        recover(self.lake, table=self.name)
        self.check()
        before = self.state()
        assert recover(self.lake, table=self.name) == []
        assert self.state() == before

    def check(self) -> dict[str, list[str]]:
        assert read_table(self.lake, self.name) == self.rows
        files = self.files()
        new = {name: ["part-00000.parquet"] for name in files}
        assert files in (self.old_files, new), f"old and new files are mixed: {files}"
        assert all(run.state in {"complete", "undone"} for run in list_runs(self.lake, table=self.name))
        return files

    def kill(self, command: str, *, kill_at: int | None = None, after: float | None = None) -> Outcome:
        outcome = run_command(self.service.uri, command, self.name, swap=self.swap, kill_at=kill_at, after=after)
        self.service.wait_until_quiet(len(self.lake.metastore._open))
        return outcome

    def set_stage(self, command: str) -> None:
        """From an old table, bring about what a command works on."""
        if command in {"rollback", "cleanup"}:
            compact(self.lake, self.name, options=Options(swap=self.swap))

    def restore(self) -> None:
        """Make the table old again, with the original files written anew where a cleanup has deleted them."""
        if not self.is_old() and any(run.state == "complete" for run in list_runs(self.lake, table=self.name)):
            rollback(self.lake, self.name)
        cleanup(self.lake, self.name)
        if not self.is_old():
            for index, place in enumerate(self._locations().values()):
                system = self.lake.systems.at(place)
                system.remove_tree(place)
                system.make_directory(place)
                fill(self.lake, place, files=3, rows=4, start=100 * index)
        assert self.check() == self.old_files
        assert not [entry.path for entry in self._tree() if is_staging(entry.name)]

    def _locations(self) -> dict[str, str]:
        return {f"day={one.values[0]}": one.location for one in self._partitions()}

    def _partitions(self) -> list[HivePartition]:
        table = find_table(self.lake, self.name)
        return list(self.lake.metastore.partitions(table, self.lake.metastore.partition_names(table)))

    def _tree(self) -> list[Entry]:
        return self._entries(self.place)

    def _entries(self, place: str) -> list[Entry]:
        return self.lake.systems.at(place).entries(place)


def kill_at_every_step(patient: Patient, command: str) -> int:
    """Kill a command before each step that it takes; return how many times."""
    patient.set_stage(command)
    steps = patient.kill(command, kill_at=_NEVER).steps
    patient.restore()
    for step in range(1, steps + 1):
        patient.set_stage(command)
        assert patient.kill(command, kill_at=step).killed
        patient.heal()
        patient.restore()
    return steps


def kill_inside_recovery(patient: Patient, *, moments: int) -> int:
    """Kill compaction at each step, and then its recovery at so many of its steps; return how often both died."""
    steps = patient.kill("compact", kill_at=_NEVER).steps
    patient.restore()
    kills = tried = 0
    for first in range(1, steps + 1):
        # The earlier compaction dies, the fewer steps there are to recover from.
        every = range(1, min(first, _STEPS_OF_RECOVERY) + 1)
        for second in Random(first).sample(every, min(moments, len(every))):
            assert patient.kill("compact", kill_at=first).killed
            kills += patient.kill("recover", kill_at=second).killed
            patient.heal()
            patient.restore()
            tried += 1
    assert kills >= tried // 3
    return kills


def kill_at_random_moments(patient: Patient, *, kills: int, seed: int) -> int:
    """Kill commands, and recoveries of them, until so many were caught alive; return how many were."""
    random = Random(seed)
    lasts = {}
    for command in COMMANDS:
        patient.set_stage(command)
        lasts[command] = patient.kill(command).seconds
        patient.heal()
        patient.restore()
    caught = tried = 0
    for command in cycle(COMMANDS):
        patient.set_stage(command)
        outcomes = [patient.kill(command, after=random.uniform(0, lasts[command]))]
        if outcomes[0].killed and tried % 2:
            outcomes.append(patient.kill("recover", after=random.uniform(0, lasts[command] / 2)))
        patient.heal()
        patient.restore()
        tried += len(outcomes)
        caught += sum(outcome.killed for outcome in outcomes)
        if caught >= kills:
            break
        assert tried < 5 * kills + 20, f"only {caught} of {tried} were caught alive"
    return caught
