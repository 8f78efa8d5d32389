"""The findings of an examination, one by one, in the order in which a person wants to read them: commits, checkpoints, files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.log.layout import LOG_DIRECTORY, commit_path, manifest_path
from indextables.log.repair.findings import Finding, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.log.repair.backup import Backup
    from indextables.log.repair.files import DataFiles
    from indextables.log.repair.inventory import Inventory
    from indextables.log.repair.survivors import Survivors


def describe(
    inventory: Inventory,
    survivors: Survivors,
    unfinished: Backup | None,
    bad: tuple[int, ...],
    exact_from: int | None,
    data: DataFiles,
) -> Iterator[Finding]:
    """Yield everything that is wrong.

    Args:
        inventory: The files of the log.
        survivors: What they still say.
        unfinished: An earlier repair that did not get to its end.
        bad: The versions whose commits are missing or damaged.
        exact_from: The oldest version from which on every version can be loaded exactly.
        data: How the data files compare with the log.
    """
    if unfinished is not None:
        yield Finding(
            problem=Problem.UNFINISHED,
            path=unfinished.directory,
            version=unfinished.version,
            detail="an earlier repair did not get to its end, or its checkpoint is gone",
        )
    for version in bad:
        found = survivors.damaged.get(version)
        if found is None or found.filler:
            yield Finding(problem=Problem.COMMIT_MISSING, path=commit_path(version), version=version)
            continue
        kept = f"{len(found.actions)} lines are kept"
        aside = f", {found.set_aside} good lines are half of a replacement and not applied" if found.set_aside else ""
        yield Finding(
            problem=Problem.COMMIT_DAMAGED,
            path=commit_path(version),
            version=version,
            lines=found.lost_lines,
            detail=f"{found.reason}; {kept}{aside}",
        )
    yield from _checkpoint_findings(inventory, survivors, bad, exact_from)
    if survivors.state is None or survivors.state.metadata is None:
        yield Finding(
            problem=Problem.METADATA_LOST,
            path=LOG_DIRECTORY,
            detail="nothing says what the table is: its schema must be given, and its id is a new one",
        )
    yield from _file_findings(survivors, data)


def _checkpoint_findings(
    inventory: Inventory, survivors: Survivors, bad: tuple[int, ...], exact_from: int | None
) -> Iterator[Finding]:
    for found in inventory.checkpoints:
        place = found.place
        if not found.usable:
            yield Finding(
                problem=Problem.CHECKPOINT_DAMAGED, path=place.path, version=place.version, detail=found.problem
            )
        elif found.ours and place.version > inventory.newest:
            yield Finding(problem=Problem.CHECKPOINT_AHEAD, path=place.path, version=place.version)
    if inventory.pointer is not None:
        yield inventory.pointer
    base = survivors.base
    if base is not None and not base.ours:
        yield Finding(
            problem=Problem.CHECKPOINT_FOREIGN,
            path=base.place.path,
            version=base.place.version,
            detail="commits before it are gone, and it may lack files",
        )
    if inventory.first > 0 and not bad and (exact_from is None or exact_from > inventory.first):
        yield Finding(
            problem=Problem.CHECKPOINT_MISSING,
            path=manifest_path(inventory.first),
            version=inventory.first,
            detail="the oldest versions cannot be loaded without it",
        )


def _file_findings(survivors: Survivors, data: DataFiles) -> Iterator[Finding]:
    for path in data.missing:
        yield Finding(problem=Problem.FILE_MISSING, path=path)
    for path in data.changed:
        yield Finding(problem=Problem.FILE_CHANGED, path=path)
    for path in survivors.doubtful:
        yield Finding(
            problem=Problem.FILE_DOUBTFUL, path=path, detail="kept: a commit has it, and the checkpoint does not"
        )
    for path in survivors.left_out:
        yield Finding(
            problem=Problem.FILE_DOUBTFUL,
            path=path,
            detail="left out: commits and checkpoint differ, and it is in the less reliable one",
        )
    for path in data.unreferenced:
        yield Finding(problem=Problem.FILE_UNREFERENCED, path=path)
