"""Putting every directory of a run back, whatever happened to it: after an exception, after a crash, or because one asks for it.

The run stays in the state `undoing` until all is done, and each step looks before it acts, so dying in here is one more crash that
the next attempt recovers from.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from indextables.errors import RecoveryError
from indextables.hive.find import split_name
from indextables.hive.journal import Journal, Run, State
from indextables.hive.names import HIDDEN_STAGING
from indextables.hive.statistics import restore_statistics, update_statistics
from indextables.hive.swap import Assessment, Sight
from indextables.hive.switch import swapper_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.hive.connect import Lake
    from indextables.hive.directory import Directory


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """What was done about a run.

    Attributes:
        table: The table's full name.
        run: The run.
        found: The state that it was found in.
        state: The state that it is in now.
        directories: How many directories it has.
        carried: Files of others that were carried into the table's directories.
    """

    table: str
    run: str
    found: str
    state: str
    directories: int
    carried: tuple[str, ...] = field(default=())


def assess_all(lake: Lake, run: Run, directories: Sequence[Directory]) -> list[Assessment]:
    """Return what happened to each directory.

    Raises:
        RecoveryError: At least one is as no run leaves it; all of these are named.
    """
    swapper = swapper_of(lake, Journal(lake), run)
    found, troubles = [], []
    with ThreadPoolExecutor(lake.threads) as pool:
        for future in [pool.submit(swapper.assess, directory) for directory in directories]:
            try:
                found.append(future.result())
            except RecoveryError as error:
                troubles.append(error.reason)
    if troubles:
        raise RecoveryError(run.source, "; ".join(dict.fromkeys(troubles)))
    return found


def undo_run(lake: Lake, run: Run, directories: Sequence[Directory]) -> Recovery:
    """Put every directory of a run back.

    Args:
        lake: Metastore and file systems.
        run: The run.
        directories: As its journal has them now; to ask for those of a wide table takes a Metastore seconds.

    Raises:
        RecoveryError: A directory is as no run leaves it; nothing was touched.
    """
    journal = Journal(lake)
    swapper = swapper_of(lake, journal, run)
    found = run.state
    assess_all(lake, run, directories)
    if run.state is not State.UNDOING:
        journal.set_state(run, State.UNDOING)
    carried: dict[str, list[str]] = {}
    with ThreadPoolExecutor(lake.threads) as pool:
        for directory, names in zip(directories, pool.map(swapper.undo, directories), strict=True):
            if names:
                carried.setdefault(directory.name, []).extend(names)
    lake.on_step("point backup at live")
    journal.repoint(run, {directory.name: directory.location for directory in directories})
    with ThreadPoolExecutor(lake.threads) as pool:
        for directory, names in zip(directories, pool.map(swapper.drop_staging, directories), strict=True):
            if names:
                carried.setdefault(directory.name, []).extend(names)
    _drop_hidden_directory(lake, run)
    table = lake.metastore.table(*split_name(run.source))
    if table is not None and run.belongs_to(table):
        lake.on_step("restore statistics")
        restore_statistics(lake, table, directories, carried)
    journal.set_state(run, State.UNDONE)
    return Recovery(
        table=run.source,
        run=run.id,
        found=found,
        state=run.state,
        directories=len(directories),
        carried=tuple(f"{name}/{file}" if name else file for name, files in carried.items() for file in files),
    )


def finish_run(lake: Lake, run: Run, directories: Sequence[Directory]) -> None:
    """Write down that a run whose directories are all swapped is complete."""
    table = lake.metastore.table(*split_name(run.source))
    if table is not None and run.belongs_to(table):
        lake.on_step("update statistics")
        update_statistics(lake, table, directories)
    Journal(lake).set_state(run, State.COMPLETE)


def is_swapped(assessments: Sequence[Assessment]) -> bool:
    """Tell whether every directory has its replacement in place."""
    return all(assessment.sight is Sight.SWAPPED for assessment in assessments)


def _drop_hidden_directory(lake: Lake, run: Run) -> None:
    """Delete the hidden directory of a run once it holds no file."""
    if not run.hides or not lake.systems.supports(run.root):
        return
    system = lake.systems.at(run.root)
    place = f"{run.root}/{HIDDEN_STAGING}/{run.id}"
    entries = system.files(place)
    if entries is not None and all(entry.is_dir for entry in entries):
        system.remove_tree(place)
        system.remove_empty(f"{run.root}/{HIDDEN_STAGING}")
