"""The judge of a table whose early commits go: it remembers what they said, so that nobody can hide a loss behind cleanup."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from indextables.errors import IndexTablesError
from indextables.log.layout import commit_path, commit_version
from indextables.testing.memory import Model, Step
from indextables.testing.models import HdfsModel, PosixModel, S3Model
from tests.faults.clients import Client
from tests.faults.invariants import replay, slots_of, violations
from tests.faults.upkeep_clock import DAY_MS, Clock, configured
from tests.support.history import History, Told, View

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from indextables.config import Settings
    from indextables.log.snapshot import Snapshot
    from indextables.runtime import Runtime
    from indextables.testing.memory import WriteOp

KEPT_DAYS = 30
KEPT_VERSIONS = 2
_FLOOR = re.compile(r"_transaction_log/_floor/(\d{20})")
_MANIFEST = re.compile(r"_transaction_log/_checkpoints/(\d{20})\.checkpoint\.json")
_PART = re.compile(r"_transaction_log/_checkpoints/.*\.parquet")

# Threads would make their calls in any order, and a case must be the same case every time.
_CALM = {
    "checkpoint__parallelism": 1,
    "transaction__retry__maxAttempts": 4,
    "checkpoint__retention": KEPT_VERSIONS,
    "logRetention__duration": KEPT_DAYS * DAY_MS,
    "checkpoint__interval": 1000,
}


def calm(**options: object) -> Settings:
    """Return settings under which a job makes the same calls every time, and writes checkpoints when it is asked to."""
    return configured(**{**_CALM, **options})


CALM = calm()
RECOVERY = calm(checkpoint__interval=1)
READERS = {
    "by checkpoints": CALM,
    "by commits": calm(checkpoint__enabled=False),
    "plainly": calm(transaction__useOptimized=False),
}


class Witnessed(Model):
    """A store that remembers what every version said first, and when that was; it has a clock of its own."""

    def __init__(self, *, clock: Clock | None = None, **options: Any) -> None:
        self.clock = clock or Clock()
        super().__init__(now_ms=self.clock.now_ms, **options)
        self.seen: dict[int, bytes] = {}
        self.born: dict[int, int] = {}

    def clone(self) -> Self:
        twin = super().clone()
        clock = Clock(self.clock.ms)
        twin.__dict__.update(clock=clock, _now_ms=clock.now_ms, seen=self.seen.copy(), born=self.born.copy())
        return twin

    def crash(self, seed: int) -> None:
        """Cut the power, which may take what was never acknowledged: that a version said so once means nothing then."""
        super().crash(seed)
        tree = self.tree()
        slots, floor = slots_of(tree), floor_of(tree)
        for version in [version for version in self.seen if version >= floor]:
            if version in slots:
                self.seen[version] = slots[version]
            else:
                del self.seen[version], self.born[version]

    def _steps(self, op: WriteOp, path: str, data: bytes) -> Iterator[Step]:
        version = commit_version(path) if op != "delete" else None
        for step in super()._steps(op, path, data):  # type: ignore[safe-super]  # a store stands beside this class
            self._note(version, path, data)
            yield step
        self._note(version, path, data)

    def _note(self, version: int | None, path: str, data: bytes) -> None:
        if version is not None and version not in self.seen:
            file = self._files.file(path)
            if file is not None and file.data == data:
                self.seen[version], self.born[version] = data, self.clock.ms


class WitnessedS3(Witnessed, S3Model):
    pass


class WitnessedHdfs(Witnessed, HdfsModel):
    pass


class WitnessedPosix(Witnessed, PosixModel):
    pass


STORES: tuple[type[Witnessed], ...] = (WitnessedS3, WitnessedHdfs, WitnessedPosix)


def floor_of(tree: Mapping[str, bytes]) -> int:
    """Return the version below which commits may be gone."""
    return max((int(found[1]) for path in tree if (found := _FLOOR.fullmatch(path))), default=0)


def truth_of(model: Witnessed) -> dict[int, bytes]:
    """Return what each version says, or said before it was cleaned up."""
    tree = model.tree()
    floor = floor_of(tree)
    past = {version: data for version, data in model.seen.items() if version < floor}
    return past | {version: data for version, data in slots_of(tree).items() if version >= floor}


def broken(model: Witnessed, history: History, *, final: bool = True) -> list[str]:
    """Return every promise that is broken, as if no commit had ever been cleaned up; and what was cleaned up too early."""
    truth = truth_of(model)
    found = violations({commit_path(version): data for version, data in truth.items()}, history, final=final)
    floor, latest = floor_of(model.tree()), max(truth, default=-1)
    if floor > max(0, latest - KEPT_VERSIONS + 1):
        found.append(f"P4: only versions from {floor} are kept, of {latest}")
    young = [version for version in range(floor) if model.clock.ms - model.born.get(version, 0) <= KEPT_DAYS * DAY_MS]
    return found + [f"P4: version {version} was cleaned up too early" for version in young]


class State(NamedTuple):
    """All that what happens next depends on: the objects and their times, the truth, the time, the kind of store."""

    objects: frozenset[tuple[str, bytes, int]]
    truth: frozenset[tuple[int, bytes]]
    now_ms: int
    make: type[Witnessed]

    @property
    def tree(self) -> dict[str, bytes]:
        return {path: data for path, data, _ in self.objects}

    @classmethod
    def of(cls, model: Witnessed) -> State:
        tree = model.tree()
        objects = frozenset((meta.path, tree[meta.path], meta.modified_ms) for meta in model.list_from(""))
        return cls(objects, frozenset(truth_of(model).items()), model.clock.ms, type(model))

    def restored(self) -> Witnessed:
        """Return a store in this state."""
        model = self.make()
        for path, data, modified_ms in sorted(self.objects, key=lambda entry: entry[2]):
            model.clock.ms = modified_ms
            model.put(path, data)
        model.clock.ms = self.now_ms
        for version, data in self.truth:
            model.seen[version] = data
            model.born.setdefault(version, 0)
        return model


def aftermath(model: Witnessed, history: History, *, seed: int) -> list[str]:
    """Let everything crash, and return what is wrong with the table then, and after the next run of everything.

    I7: it opens without help. I10, I11: every version that is shown is what its commits said. I12, I8: a next run takes a
    commit, removes what is left over, and one more changes nothing.
    """
    found = broken(model, history, final=False)
    model.crash(seed)
    found += broken(model, history)
    return found or list(_recovered(State.of(model)))


@lru_cache(maxsize=1 << 13)
def _recovered(state: State) -> tuple[str, ...]:
    """Judge the next runs; most cases leave the same few states."""
    found = shown_wrongly(state.tree, state.truth)
    model, history = state.restored(), History()
    if not state.truth:
        return (*found,)
    model.clock.forward(days=1)
    client = Client("z", model, history, settings=RECOVERY, runtime=quiet(model.clock, 0))
    call = client.append()
    if call.told is not Told.DONE:
        found.append(f"I7: {call}")
    if found:
        return (*found,)
    found += shown_wrongly(model.tree(), frozenset(truth_of(model).items()))
    tree = model.tree()
    found += [f"I12: {path} is left over" for path in leftovers(tree)]
    try:
        client.log.cleanup()
    except IndexTablesError as error:
        found.append(f"I8: {error!r}")
    if model.tree() != tree:
        found.append(f"I8: cleaning up again changed {sorted(model.tree().items() ^ tree.items())}")
    return (*found,)


def quiet(clock: Clock, seed: int) -> Runtime:
    """Return a runtime in which waiting takes no time, so that a job which had to wait leaves the same as one which had not."""
    return replace(clock.runtime(seed), sleep=lambda _: None, uniform=lambda least, _: least)


def leftovers(tree: Mapping[str, bytes]) -> list[str]:
    """Return the files that nobody needs: parts that no manifest names, commits below the floor, marks below the greatest."""
    floor = floor_of(tree)
    named: set[str] = set()
    for path, data in tree.items():
        if _MANIFEST.fullmatch(path):
            manifest = msgspec.json.decode(data)
            parts = [*manifest["files"], manifest.get("removes"), manifest.get("skips")]
            named.update(part["path"] for part in parts if part)
    unused = [path for path in tree if _PART.fullmatch(path) and path not in named]
    below = [commit_path(version) for version in slots_of(tree) if version < floor]
    marks = [path for path in tree if (found := _FLOOR.fullmatch(path)) and int(found[1]) < floor]
    return sorted([*unused, *below, *marks])


def shown_wrongly(tree: Mapping[str, bytes], truth: frozenset[tuple[int, bytes]]) -> list[str]:
    """Return what is wrong with the versions that a new process is shown, whichever way it reads."""
    visible = frozenset((path, data) for path, data in tree.items())
    return list(_shown_wrongly(visible, truth))


@lru_cache(maxsize=1 << 13)
def _shown_wrongly(tree: frozenset[tuple[str, bytes]], truth: frozenset[tuple[int, bytes]]) -> tuple[str, ...]:
    model, found = S3Model(), []
    for path, data in tree:
        model.put(path, data)
    if not truth:
        return ()
    views, floor = replay(dict(truth)), floor_of(dict(tree))
    for way, settings in READERS.items():
        log = Client("y", model, History(), settings=settings, runtime=quiet(Clock(), 0)).log
        try:
            versions = log.versions()
            if versions[-1] != len(views) - 1 or not 0 <= versions[0] <= floor:
                found.append(f"I7: read {way}, the versions are {versions}, not {floor} to {len(views) - 1}")
            wanted = versions[::-1] if settings is CALM else versions[-1:]
            found += [
                f"I10: read {way}, version {version} is {seen}, not {views[version]}"
                for version in wanted
                if (seen := view_of(log.snapshot(version))) != views[version]
            ]
        except IndexTablesError as error:
            found.append(f"I7: read {way}: {error!r}")
    return (*found,)


def view_of(snapshot: Snapshot) -> View:
    """Return a version of the table as the judge describes it."""
    skips = snapshot.skips
    return View(
        snapshot.version,
        tuple(sorted(snapshot.files["path"].to_pylist())),
        tuple(sorted(zip(skips["path"].to_pylist(), skips["skip_count"].to_pylist(), strict=True))),
        snapshot.metadata.description or None,
        tuple(sorted((app, batch.number, batch.version) for app, batch in snapshot.transactions.items())),
    )
