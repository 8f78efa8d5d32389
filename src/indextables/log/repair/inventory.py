"""What is there: every file of a log by what it is, which commits are missing, and which checkpoints can be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from indextables.errors import CheckpointError, LogCorruptionError, NotFoundError, UnsafePathError
from indextables.log.checkpoint.finder import CheckpointFinder, Place
from indextables.log.checkpoint.parts import check_part
from indextables.log.checkpoint.pointer import read_pointer
from indextables.log.layout import (
    LOG_DIRECTORY,
    MAX_VERSION,
    POINTER,
    commit_path,
    commit_version,
    floor_version,
    json_checkpoint_version,
    manifest_version,
)
from indextables.log.repair.findings import Finding, Problem
from indextables.log.repair.steady import is_absent, steady_list

if TYPE_CHECKING:
    from indextables.config import Settings
    from indextables.storage.base import ObjectMeta, Store

_MOST_MISSING: Final = 100_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """A checkpoint that seems to be there.

    Attributes:
        place: Where.
        ours: Whether it carries a checksum of ours, and keeps it.
        problem: Why it cannot be used; empty if it can.
    """

    place: Place
    ours: bool
    problem: str = ""

    @property
    def usable(self) -> bool:
        """Whether it can be read."""
        return not self.problem


@dataclass(frozen=True, kw_only=True, eq=False)
class Inventory:
    """The files of a log.

    Attributes:
        objects: Everything below the log's directory, by path.
        commits: The versions that have a commit, in order.
        missing: The versions between the first and the newest commit that have none, and those before that nothing explains.
        first: The version that the log should begin at.
        floor: The version that cleanup left as the oldest one.
        checkpoints: The checkpoints, newest first.
        pointer: What is wrong with the pointer; None if nothing is.
    """

    objects: dict[str, ObjectMeta]
    commits: tuple[int, ...]
    missing: tuple[int, ...]
    first: int
    floor: int
    checkpoints: tuple[Checkpoint, ...]
    pointer: Finding | None

    @property
    def newest(self) -> int:
        """The newest version that has a commit; -1 where none has."""
        return self.commits[-1] if self.commits else -1

    def usable(self, *, ours: bool) -> list[Checkpoint]:
        """Return the checkpoints that can be used, newest first: ours, or others."""
        return [found for found in self.checkpoints if found.usable and found.ours == ours]


def take_inventory(store: Store, settings: Settings) -> Inventory:
    """Return what is there.

    Raises:
        LogCorruptionError: The versions jump so far that no log could have had those in between.
    """
    objects = steady_list(store, LOG_DIRECTORY)
    found = {version for path in objects if (version := commit_version(path)) is not None}
    floor = max((version for path in objects if (version := floor_version(path)) is not None), default=0)
    while (following := max(found, default=-1) + 1) <= MAX_VERSION and store.exists(commit_path(following)):
        found.add(following)
        objects[commit_path(following)] = store.head(commit_path(following))
    if POINTER not in objects and store.exists(POINTER):
        objects[POINTER] = store.head(POINTER)
    checkpoints = _checkpoints(store, settings, objects)
    commits = tuple(sorted(version for version in found if version >= floor))
    first = _first(commits, floor, checkpoints)
    missing = _missing(store, commits, first)
    commits = tuple(sorted({*commits, *missing.found}))
    objects |= {path: store.head(path) for path in map(commit_path, missing.found)}
    return Inventory(
        objects=objects,
        commits=commits,
        missing=missing.lost,
        first=first,
        floor=floor,
        checkpoints=checkpoints,
        pointer=_pointer(store, objects, commits[-1] if commits else -1, checkpoints),
    )


def _first(commits: tuple[int, ...], floor: int, checkpoints: tuple[Checkpoint, ...]) -> int:
    """Return where the log begins: at its mark, else where a checkpoint explains that earlier commits are gone, else at 0."""
    if floor or not commits or commits[0] == 0:
        return floor
    explained = any(found.usable and found.place.version >= commits[0] - 1 for found in checkpoints)
    return commits[0] if explained else 0


@dataclass(frozen=True, slots=True)
class _Missing:
    lost: tuple[int, ...]
    found: tuple[int, ...]


def _missing(store: Store, commits: tuple[int, ...], first: int) -> _Missing:
    if not commits:
        return _Missing((), ())
    if commits[-1] - first + 1 - len(commits) > _MOST_MISSING:
        raise LogCorruptionError(
            f"{store.url}/{LOG_DIRECTORY}",
            f"it jumps to version {commits[-1]}",
            versions=commits[-1:],
            way_out="Move the commits away whose numbers cannot be right, and repair the rest",
        )
    absent = sorted(set(range(first, commits[-1])).difference(commits))
    lost = tuple(version for version in absent if is_absent(store, commit_path(version)))
    return _Missing(lost, tuple(sorted(set(absent).difference(lost))))


def _checkpoints(store: Store, settings: Settings, objects: dict[str, ObjectMeta]) -> tuple[Checkpoint, ...]:
    places = {
        Place(version=version, parquet=parquet)
        for path in objects
        for parquet, version in ((True, manifest_version(path)), (False, json_checkpoint_version(path)))
        if version is not None
    }
    hint = read_pointer(store)
    if hint is not None:
        # A listing may lack what is newest, and the pointer is about that.
        named = Place(version=hint.version, parquet=hint.format != "json")
        if named not in places and store.exists(named.path):
            places.add(named)
            objects[named.path] = store.head(named.path)
    return tuple(_judged(store, settings, place) for place in sorted(places, reverse=True))


def _judged(store: Store, settings: Settings, place: Place) -> Checkpoint:
    first = _judged_once(store, settings, place)
    return first if first.usable else _judged_once(store, settings, place)


def _judged_once(store: Store, settings: Settings, place: Place) -> Checkpoint:
    finder = CheckpointFinder(store, settings)
    try:
        if not place.parquet:
            return Checkpoint(place=place, ours=finder.load(place).ours)
        for part in finder.manifest(place.version).all_parts:
            check_part(store.get(part.path), part, version=place.version)
        return Checkpoint(place=place, ours=True)
    except NotFoundError as error:
        return Checkpoint(place=place, ours=place.parquet, problem=f"{error.path} is missing")
    except CheckpointError as error:
        return Checkpoint(place=place, ours=place.parquet, problem=error.reason)
    except UnsafePathError as error:
        return Checkpoint(place=place, ours=place.parquet, problem=error.problem)


def _pointer(
    store: Store, objects: dict[str, ObjectMeta], newest: int, checkpoints: tuple[Checkpoint, ...]
) -> Finding | None:
    if POINTER not in objects:
        return None
    hint = read_pointer(store) or read_pointer(store)
    if hint is None:
        detail = "it cannot be read"
    elif hint.version > newest:
        detail = f"it names version {hint.version}, and {newest} is the newest"
    elif not any(found.usable and found.place.version == hint.version for found in checkpoints):
        detail = f"it names version {hint.version}, which has no usable checkpoint"
    else:
        return None
    return Finding(problem=Problem.POINTER, path=POINTER, detail=detail)
