"""The journal of a run is its backup table: everything that recovery must know stands in the Metastore before it matters.

The table's properties say whose backup it is and how far the run came; each of its partitions (or the table itself, where there
are none) says for one directory what was in it and what replaces it. Backups are found by these properties. A name that looks
like a backup's proves nothing, since `events` is a prefix of `events_archive`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from indextables.errors import MetastoreError, UnfinishedRunError
from indextables.hive.directory import Directory, read_directory
from indextables.hive.names import BACKUP_PREFIX, backup_name, partition_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.hive.connect import Lake
    from indextables.hive.model import HivePartition, HiveTable

RUN = "lakekeeper.run"
STATE = "lakekeeper.state"
SOURCE = "lakekeeper.source"
_TOKEN = "lakekeeper.token"  # noqa: S105 - tells our own table from another's when the answer to its creation got lost
_CREATED = "lakekeeper.source.created"
_ROOT = "lakekeeper.source.location"
_STAGING = "lakekeeper.staging"
_ACCURATE = "COLUMN_STATS_ACCURATE"


class State(StrEnum):
    """How far a run came."""

    PREPARING = "preparing"
    """Replacements are being written; nothing has moved."""
    SWAPPING = "swapping"
    """Every replacement is verified; directories are being renamed."""
    COMPLETE = "complete"
    """Every directory is replaced."""
    UNDOING = "undoing"
    """Directories are being put back."""
    UNDONE = "undone"
    """Every directory is what it was; the backup points at the table's own directories."""
    CLEANING = "cleaning"
    """The original files are being deleted."""


UNFINISHED = frozenset({State.PREPARING, State.SWAPPING, State.UNDOING, State.CLEANING})


@dataclass(kw_only=True)
class Run:
    """A run, by its backup table.

    Attributes:
        backup: The backup table.
        sealed: Its partitions by their names, as this process has written them down before it renames.
    """

    backup: HiveTable
    sealed: dict[str, HivePartition] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The time of its start in seconds, which all of its directories carry in their names."""
        return self.backup.parameters[RUN]

    @property
    def state(self) -> State:
        """How far it came."""
        return State(self.backup.parameters[STATE])

    @property
    def source(self) -> str:
        """The table's full name."""
        return self.backup.parameters[SOURCE]

    @property
    def root(self) -> str:
        """The table's location when the run began."""
        return self.backup.parameters[_ROOT]

    @property
    def staging(self) -> str:
        """Where its directories are: `sibling`, `hidden`, or `location` where the Metastore is pointed at the replacements."""
        return self.backup.parameters.get(_STAGING, "sibling")

    @property
    def hides(self) -> bool:
        """Whether it uses the hidden directory in the table's root."""
        return self.staging != "sibling"

    def belongs_to(self, table: HiveTable) -> bool:
        """Tell whether this is a backup of that very table, and not of an earlier one of the same name."""
        parameters = self.backup.parameters
        return parameters[SOURCE] == table.full_name and parameters.get(_CREATED) == str(table.created)


class Journal:
    """Reads and writes runs."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._metastore = lake.metastore

    def runs(self, database: str, table: str | None = None) -> list[Run]:
        """Return the runs of a table, or of all tables of a database, oldest first."""
        names = self._metastore.table_names(database, like=f"{BACKUP_PREFIX}{table or ''}*")
        found = [Run(backup=backup) for backup in self._metastore.tables(database, names) if _is_backup(backup)]
        source = f"{database}.{table}"
        return sorted((run for run in found if table is None or run.source == source), key=lambda run: int(run.id))

    def begin(
        self,
        table: HiveTable,
        directories: Sequence[Directory],
        partitions: Sequence[HivePartition],
        *,
        run: str,
        staging: str,
    ) -> Run:
        """Create the backup of a run whose directories are these, with its partitions registered where they are now.

        Raises:
            UnfinishedRunError: Another run has begun at the same time.
        """
        properties = {key: value for key, value in table.parameters.items() if key != _ACCURATE} | {
            "external.table.purge": "false",
            "discover.partitions": "false",  # Hive would register what is not ours to keep
            RUN: run,
            _TOKEN: self._lake.runtime.new_id(),
            STATE: State.PREPARING,
            SOURCE: table.full_name,
            _CREATED: str(table.created),
            _ROOT: table.location,
            _STAGING: staging,
        }
        if not table.keys:
            properties |= directories[0].properties()
        backup = table.as_external(backup_name(table.name, run), properties, created=int(run))
        self._lake.on_step("create backup table")
        if not self._metastore.create(backup) and self._existing(backup).parameters.get(_TOKEN) != properties[_TOKEN]:
            raise UnfinishedRunError(table.full_name, run=run, state="begun in the same second")
        try:
            self._refuse_company(table, run)
            if table.keys:
                self._lake.on_step("register backup partitions")
                pairs = zip(directories, partitions, strict=True)
                held = [_backup_partition(backup, directory, partition) for directory, partition in pairs]
                self._metastore.add_partitions(backup, held)
        except BaseException:
            self._metastore.drop(backup)  # nothing is written yet that it would have to remember
            raise
        return Run(backup=self._existing(backup))

    def directories(self, run: Run) -> list[Directory]:
        """Return the directories of a run as they stand in its backup."""
        if not run.backup.keys:
            return [self._directory(run, "", run.backup.parameters)]
        return [self._directory(run, self._name(run, held), held.parameters) for held in self.partitions(run)]

    def partitions(self, run: Run) -> list[HivePartition]:
        """Return the partitions of a run's backup."""
        return list(self._metastore.partitions(run.backup, self._metastore.partition_names(run.backup)))

    def seal(self, run: Run, directories: Sequence[Directory]) -> None:
        """Write down what the verified replacements are, and that renaming begins."""
        self._lake.on_step("record replacements")
        if run.backup.keys:
            by_name = {directory.name: directory for directory in directories}
            held = {self._name(run, one): one for one in self.partitions(run)}
            run.sealed = {
                name: one.changed(parameters=one.parameters | by_name[name].properties()) for name, one in held.items()
            }
            self._metastore.alter_partitions(run.backup, run.sealed.values())
            self.set_state(run, State.SWAPPING)
        else:
            self.set_state(run, State.SWAPPING, directories[0].properties())

    def set_state(self, run: Run, state: State, properties: dict[str, str] | None = None) -> None:
        """Write down how far a run came."""
        self._lake.on_step(f"state {state}")
        run.backup = run.backup.changed(parameters={**run.backup.parameters, STATE: state, **(properties or {})})
        self._metastore.alter(run.backup)

    def follow(self, run: Run, directory: Directory) -> None:
        """Let the backup of a sealed run find a directory at its old place; nobody has a live one until this is done."""
        if run.backup.keys:
            moved = run.sealed[directory.name].changed(location=directory.old)
            self._metastore.alter_partitions(run.backup, [moved])
        else:
            self.repoint(run, {"": directory.old})

    def repoint(self, run: Run, moves: dict[str, str]) -> None:
        """Let the backup find directories, by their names, in other places; where they are now is asked, not remembered."""
        if not run.backup.keys:
            location = moves.get("")
            if location is not None and run.backup.location != location:
                run.backup = run.backup.changed(location=location)
                self._metastore.alter(run.backup)
            return
        with self._metastore.one_writer:
            held = self._metastore.partitions(run.backup, list(moves))
            moved = [
                one.changed(location=moves[name])
                for one in held
                if (name := self._name(run, one)) in moves and one.location != moves[name]
            ]
            self._metastore.alter_partitions(run.backup, moved)

    def forget(self, run: Run) -> None:
        """Drop the backup table; no file is touched."""
        self._lake.on_step("drop backup table")
        self._metastore.drop(run.backup)

    def _refuse_company(self, table: HiveTable, run: str) -> None:
        """Leave the table to another run that began at the same time: each sees the other's backup, and both may leave."""
        for other in self.runs(table.database, table.name):
            if other.id != run and other.state in UNFINISHED:
                raise UnfinishedRunError(table.full_name, run=other.id, state=other.state)

    def _existing(self, backup: HiveTable) -> HiveTable:
        held = self._metastore.table(backup.database, backup.name)
        if held is None:
            raise MetastoreError("create_table", kind="missing", detail=f"{backup.full_name} is not there")
        return held

    @staticmethod
    def _directory(run: Run, name: str, properties: dict[str, str]) -> Directory:
        return read_directory(properties, name=name, root=run.root, run=run.id, staging=run.staging)

    @staticmethod
    def _name(run: Run, partition: HivePartition) -> str:
        return partition_name([key.name for key in run.backup.keys], partition.values)


def _is_backup(table: HiveTable) -> bool:
    parameters = table.parameters
    return (
        table.name.startswith(BACKUP_PREFIX)
        and {RUN, STATE, SOURCE, _ROOT} <= parameters.keys()
        and parameters[RUN].isdigit()
        and parameters[STATE] in set(State)
    )


def _backup_partition(backup: HiveTable, directory: Directory, partition: HivePartition) -> HivePartition:
    held = partition.in_table(backup)
    return held.changed(parameters={**partition.parameters, **directory.properties()})
