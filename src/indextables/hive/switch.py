"""The other way to swap: point the table or its partitions at fresh directories, one `ALTER` for each, and move nothing.

No directory is ever missing, and it works where directories cannot be renamed. It leaves the rule that locations in the Metastore
never change, so it is used only where it was asked for. Here the Metastore says what happened to a directory:

    points at    meaning                       undo
    original     not switched, or put back     drop the fresh directory
    fresh one    switched                      point at the original, carry over what others have added, drop the fresh directory
    elsewhere    somebody else's doing         stop and report
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import RecoveryError
from indextables.hive.directory import SWITCHED
from indextables.hive.filesystem import fingerprint
from indextables.hive.find import split_name
from indextables.hive.journal import State
from indextables.hive.model import HivePartition
from indextables.hive.swap import Assessment, Sight, Swapper

if TYPE_CHECKING:
    from indextables.hive.connect import Lake
    from indextables.hive.directory import Directory
    from indextables.hive.journal import Journal, Run
    from indextables.hive.model import HiveTable


def swapper_of(lake: Lake, journal: Journal, run: Run) -> Swapper:
    """Return what swaps the directories of a run, in the way that the run has chosen."""
    return (Switcher if run.staging == SWITCHED else Swapper)(lake, journal, run)


class Switcher(Swapper):
    """Switches the locations of one run, and switches them back."""

    def swap(self, directory: Directory) -> float:
        """Point the table at a verified replacement; there is no moment without a directory.

        Raises:
            ConcurrentChangeError: The original files are not those that were read; at most the location has changed.
        """
        self.require_unchanged(directory)
        self._point(directory, directory.staging)
        # Who asked for the location before it changed may have written since.
        self._require_unchanged(directory, self._system(directory).files(directory.location), "during the switch")
        return 0.0

    def assess(self, directory: Directory) -> Assessment:
        """Return what happened to a directory, by what the Metastore points at.

        Raises:
            RecoveryError: No run leaves it like this.
        """
        system = self._system(directory)
        original, fresh = system.files(directory.location), system.files(directory.staging)
        place = self._held(self._table(), directory).location
        if original is None:
            raise self._stop(directory, "its original files are gone")
        if place == directory.location:
            return Assessment(Sight.UNTOUCHED, self._extras(directory, fresh or (), original))
        if place != directory.staging:
            raise self._stop(directory, f"the Metastore points at {place}")
        if fresh is None and self._run.state in {State.UNDOING, State.UNDONE}:
            return Assessment(Sight.BETWEEN)  # the dead process was heard after everything had been put back
        own = [entry for entry in fresh or () if entry.path in directory.new_names()]
        if not directory.after or fingerprint(own) != directory.after:
            raise self._stop(directory, "its compacted files were removed or rewritten since")
        return Assessment(Sight.SWAPPED, self._extras(directory, fresh or (), original))

    def undo(self, directory: Directory) -> tuple[str, ...]:
        """Point at the original files again; what others have added since is carried over when the fresh directory is dropped.

        Raises:
            RecoveryError: No run leaves it like this; nothing was touched.
        """
        if self.assess(directory).sight is not Sight.UNTOUCHED:
            self._point(directory, directory.location)
        return ()

    def drop_staging(self, directory: Directory) -> tuple[str, ...]:
        """Delete the fresh directory of a replacement that the Metastore does not point at."""
        if self.came_back(directory):
            raise self._stop(directory, "the Metastore points at its replacement, which is kept")
        return super().drop_staging(directory)

    def came_back(self, directory: Directory) -> bool:
        """Tell whether the Metastore points at the fresh directory of a run that was undone; not if nothing is left to point."""
        table = self._find_table()
        held = table and self._find(table, directory)
        return held is not None and held.location == directory.staging

    def _point(self, directory: Directory, place: str) -> None:
        metastore = self._lake.metastore
        with metastore.one_writer:
            table = self._table()
            held = self._held(table, directory)
            self._lake.on_step(f"point table at {place}")
            if isinstance(held, HivePartition):
                metastore.alter_partitions(table, [held.changed(location=place)])
            else:
                metastore.alter(held.changed(location=place))

    def _held(self, table: HiveTable, directory: Directory) -> HiveTable | HivePartition:
        held = self._find(table, directory)
        if held is None:
            raise self._stop(directory, f"the partition {directory.name} is no longer in the Metastore")
        return held

    def _find(self, table: HiveTable, directory: Directory) -> HiveTable | HivePartition | None:
        """Return what points at a directory or its replacement; None if it was dropped."""
        return next(self._lake.metastore.partitions(table, [directory.name]), None) if table.keys else table

    def _table(self) -> HiveTable:
        table = self._find_table()
        if table is None:
            raise RecoveryError(self._run.source, f"run {self._run.id}: the table is no longer in the Metastore")
        return table

    def _find_table(self) -> HiveTable | None:
        table = self._lake.metastore.table(*split_name(self._run.source))
        return table if table is not None and self._run.belongs_to(table) else None
