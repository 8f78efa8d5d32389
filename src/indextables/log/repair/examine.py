"""The diagnosis: what is wrong with a log, how much of it is exact, and which is the least repair that mends it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from indextables.errors import LogCorruptionError
from indextables.log.codec import decode
from indextables.log.commit_info import find_info
from indextables.log.layout import LOG_DIRECTORY, commit_path, manifest_path
from indextables.log.lines import parse_lines
from indextables.log.repair.backup import list_backups
from indextables.log.repair.describe import describe
from indextables.log.repair.files import DataFiles, compare_files
from indextables.log.repair.findings import Problem, Way
from indextables.log.repair.inventory import take_inventory
from indextables.log.repair.steady import readable
from indextables.log.repair.survivors import find_survivors

if TYPE_CHECKING:
    from indextables.config import Settings
    from indextables.log.actions import Action
    from indextables.log.commit_info import CommitInfo
    from indextables.log.repair.backup import Backup
    from indextables.log.repair.findings import Finding
    from indextables.log.repair.inventory import Inventory
    from indextables.log.repair.survivors import Survivors
    from indextables.storage.base import Store

UNDO: Final = "undo repair"
"""The operation of the commit that keeps writers away while a repair is undone."""

_HEAD: Final = 2  # protocol and metadata, which carries the facts


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagnosis:
    """What is wrong with a log, and what follows.

    Attributes:
        inventory: The files of the log.
        survivors: What they still say.
        restart: The backup of an earlier repair whose commit holds the whole table.
        bad: The versions whose commits are missing or damaged.
        exact_from: The oldest version from which on every version can be loaded exactly; None if there is none.
        data: How the data files compare with it.
        findings: Everything that is wrong.
        way: The least repair.
    """

    inventory: Inventory
    survivors: Survivors
    restart: Backup | None
    bad: tuple[int, ...]
    exact_from: int | None
    data: DataFiles
    findings: tuple[Finding, ...]
    way: Way

    @property
    def exact(self) -> bool:
        """Whether the newest version is known to be complete."""
        base = self.survivors.base
        starts = [base.place.version] if base is not None and base.ours else []
        starts += [self.restart.version] if self.restart is not None else []
        if self.survivors.completed or (base is not None and not base.ours):
            return False
        if not starts:
            return not self.bad and self.inventory.first == 0 and bool(self.inventory.commits)
        return all(version <= max(starts) for version in self.bad)


def examine(store: Store, settings: Settings) -> Diagnosis:
    """Return what is wrong with the log of a table.

    Raises:
        LogCorruptionError: An undo has begun and is not finished, or versions jump beyond reason.
    """
    inventory = take_inventory(store, settings)
    _refuse_unfinished_undo(store, inventory)
    restart = _restart(store, inventory)
    survivors = find_survivors(store, settings, inventory, restart=restart.version if restart else None)
    if restart is not None and survivors.state is not None:
        batches = {**restart.transactions, **survivors.state.transactions}
        survivors = replace(survivors, state=replace(survivors.state, transactions=batches))
    inventory = _without(inventory, survivors)
    bad = _bad(inventory, survivors, restart)
    exact_from = _exact_from(inventory, bad)
    data = compare_files(store, survivors.state, settings) if survivors.state is not None else DataFiles()
    if not bad and not survivors.completed and inventory.commits:
        data = replace(data, unreferenced=())  # nothing is lost, so what nobody names is no trace of it
    unfinished = restart is not None and _is_unfinished(restart, inventory)
    findings = tuple(describe(inventory, survivors, restart if unfinished else None, bad, exact_from, data))
    way = _way(inventory, survivors, bad, exact_from, unfinished=unfinished, findings=findings)
    return Diagnosis(
        inventory=inventory,
        survivors=survivors,
        restart=restart,
        bad=bad,
        exact_from=exact_from,
        data=data,
        findings=findings,
        way=way,
    )


def _without(inventory: Inventory, survivors: Survivors) -> Inventory:
    """Return the files of a log with a checkpoint marked that contradicts its commits."""
    if (wrong := survivors.contradicts) is None:
        return inventory
    marked = replace(wrong, problem="its files are not those that the commits add up to")
    return replace(inventory, checkpoints=tuple(marked if found is wrong else found for found in inventory.checkpoints))


def commit_facts(store: Store, version: int) -> CommitInfo | None:
    """Return what a commit of a repair or of an undo says about itself, which is in its first lines; None for any other."""
    path = f"{store.url}/{commit_path(version)}"

    def first_lines(data: bytes) -> list[Action]:
        return parse_lines(b"\n".join(decode(data, path=path).split(b"\n", _HEAD)[:_HEAD]), path=path)

    data = readable(store, commit_path(version), first_lines)
    try:
        return find_info(first_lines(data or b""), version)
    except LogCorruptionError:
        return None


def _refuse_unfinished_undo(store: Store, inventory: Inventory) -> None:
    if not inventory.commits:
        return
    info = commit_facts(store, inventory.newest)
    if info is not None and info.operation == UNDO:
        raise LogCorruptionError(
            f"{store.url}/{LOG_DIRECTORY}",
            "a repair is being undone, or was and did not get to its end",
            versions=[inventory.newest],
            way_out="Run undo_repair, which finishes it",
        )


def _restart(store: Store, inventory: Inventory) -> Backup | None:
    """Return the newest repair whose commit is there and holds the whole table."""
    for backup in list_backups(store):
        if backup.whole and backup.version in inventory.commits and took_effect(store, backup):
            return backup
    return None


def took_effect(store: Store, backup: Backup) -> bool:
    """Tell whether the commit is there that a repair made this backup for, if it is one that makes a commit."""
    if backup.way != Way.REWRITE:
        return True
    info = commit_facts(store, backup.version)
    return info is not None and info.id == backup.commit_id


def _is_unfinished(restart: Backup, inventory: Inventory) -> bool:
    """Tell whether something of a repair is still to do: its checkpoint, its mark, or old files to take away."""
    version = restart.version
    if inventory.floor > version:
        return False
    if any(copy.path in inventory.objects for copy in restart.copies if copy.path not in _kept_paths(version)):
        return True
    if version == 0:
        return False
    sound = any(found.usable and found.ours and found.place.version == version for found in inventory.checkpoints)
    return not sound or inventory.floor < version


def _kept_paths(version: int) -> set[str]:
    """Return what a repair writes under names that may have been in use before."""
    return {f"{LOG_DIRECTORY}/_last_checkpoint", commit_path(version), manifest_path(version)}


def _bad(inventory: Inventory, survivors: Survivors, restart: Backup | None) -> tuple[int, ...]:
    bad = {*inventory.missing, *survivors.damaged}
    base = survivors.base
    if base is not None and base.ours and inventory.commits:
        bad.update(range(inventory.newest + 1, base.place.version + 1))
    return tuple(sorted(version for version in bad if restart is None or version > restart.version))


def _exact_from(inventory: Inventory, bad: tuple[int, ...]) -> int | None:
    last_bad = max(bad, default=-1)
    if not inventory.commits:
        return None
    if inventory.first == 0 and not bad:
        return 0
    starts = [
        found.place.version
        for found in inventory.checkpoints
        if found.usable and (found.ours or not bad) and last_bad <= found.place.version <= inventory.newest
    ]
    within = [version for version in starts if version >= inventory.first - 1]
    if not within:
        return None
    exact = max(min(within), last_bad + 1, inventory.first)
    return exact if exact <= inventory.newest else None


def _way(
    inventory: Inventory,
    survivors: Survivors,
    bad: tuple[int, ...],
    exact_from: int | None,
    *,
    unfinished: bool,
    findings: tuple[Finding, ...],
) -> Way:
    if survivors.state is None or survivors.state.metadata is None:
        return Way.REWRITE
    if unfinished and not bad:
        return Way.FINISH
    if exact_from is None or survivors.completed:
        return Way.REWRITE
    if exact_from > inventory.first or bad:
        return Way.TRIM
    mendable = {Problem.CHECKPOINT_DAMAGED, Problem.CHECKPOINT_FOREIGN, Problem.POINTER}
    return Way.CHECKPOINTS if any(found.problem in mendable for found in findings) else Way.NOTHING
