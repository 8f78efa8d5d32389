"""A store that fails where a plan says so, and the sweep that makes it fail everywhere.

The oldest trick for trusted storage: run the operation, let call 1 fail, then call 2, and so on until it gets through; each
in every way that there is, once and for ever; then look at what is left.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeVar, cast

from indextables.errors import (
    AlreadyExistsError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    StorageError,
    StorageUnavailableError,
)
from indextables.storage.base import ObjectMeta, Store
from indextables.testing.faults import Crash, FaultKind, Mode, Op, Plan, applicable, repeats, varies
from indextables.testing.memory import Model, WriteOp
from indextables.testing.virtual import dice

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["ALL", "Case", "Crash", "FaultKind", "FaultStore", "Plan", "applicable", "sweep"]

T = TypeVar("T")

ALL = tuple(FaultKind)
"""Every kind of fault."""

_INSIDE = frozenset(
    {
        FaultKind.TORN_WRITE,
        FaultKind.LATE_EFFECT,
        FaultKind.DUPLICATE,
        FaultKind.DISK_FULL,
        FaultKind.CLOSE_FAILS,
        FaultKind.SYNC_FAILS,
    }
)
_ALL_STEPS = 1_000_000


class _Strike(NamedTuple):
    kind: FaultKind
    chance: random.Random


class FaultStore(Store):
    """Passes every call on to another store, counting, and lets the one that the plan names go wrong.

    Listings are lazy and count when the first object is asked for.

    Args:
        inner: The store to fail; a `Model` for the kinds of faults that strike inside a write.
        plan: The fault; None counts only.

    Attributes:
        calls: Every call so far, as its name and path.
        fired: How often the fault struck.
        dead: Whether the process is dead; whatever it still tries, in a `finally` for example, does not happen.
    """

    def __init__(self, inner: Store, plan: Plan | None = None) -> None:
        if plan is not None and plan.kind in _INSIDE and not isinstance(inner, Model):
            raise TypeError(f"{plan.kind.name} strikes inside a write, which takes one of the models, not {inner!r}")
        self._inner = inner
        self.lists_whole_directories = inner.lists_whole_directories
        self._plan = plan
        self._lock = threading.Lock()
        self.calls: list[tuple[Op, str]] = []
        self.fired = 0
        self.dead = False

    @property
    def url(self) -> str:
        return self._inner.url

    def put_if_absent(self, path: str, data: bytes) -> None:
        self._write("put_if_absent", path, data)

    def put(self, path: str, data: bytes) -> None:
        self._write("put", path, data)

    def delete(self, path: str) -> None:
        self._write("delete", path, b"")

    def get(self, path: str) -> bytes:
        return self._read("get", path, lambda: self._inner.get(path), _damaged)

    def get_range(self, path: str, start: int, length: int) -> bytes:
        return self._read("get_range", path, lambda: self._inner.get_range(path, start, length), _damaged)

    def head(self, path: str) -> ObjectMeta:
        return self._read("head", path, lambda: self._inner.head(path))

    def exists(self, path: str) -> bool:
        try:
            return self._read("exists", path, lambda: self._inner.exists(path))
        except NotFoundError:
            return False

    def list_staged(self, prefix: str) -> Iterator[ObjectMeta]:
        return self._inner.list_staged(prefix)

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        return self._list(prefix, self._inner.list_from(prefix, start_after))

    def _strike(self, op: Op, path: str) -> _Strike | None:
        """Count a call, and say what goes wrong with it."""
        with self._lock:
            if self.dead:
                raise Crash(f"{op} {path} by a dead process")
            self.calls.append((op, path))
            plan, index = self._plan, len(self.calls)
            if plan is None or index < plan.index or (plan.mode == "once" and index > plan.index):
                return None
            if not applicable(plan.kind, op):
                return None
            self.fired += 1
            return _Strike(plan.kind, dice(plan.seed, index))

    def _write(self, op: WriteOp, path: str, data: bytes) -> None:
        strike = self._strike(op, path)
        if strike is None:
            self._do(op, path, data)
            return
        self._refuse(strike.kind, path)
        if strike.kind in _INSIDE:
            self._write_inside(strike, op, path, data)
            return
        match strike.kind:
            case FaultKind.CONFLICT_409:
                raise AlreadyExistsError(path, store=self.url, detail="409, another writer was at work")
            case FaultKind.ANSWER_LOST_NOT_DONE:
                raise OutcomeUnknownError(path, store=self.url)
        with suppress(StorageError):
            self._do(op, path, data)
        if strike.kind is FaultKind.CRASH_AFTER:
            self._die(path)
        raise OutcomeUnknownError(path, store=self.url)

    def _write_inside(self, strike: _Strike, op: WriteOp, path: str, data: bytes) -> None:
        model = cast("Model", self._inner)  # the constructor saw to it
        match strike.kind:
            case FaultKind.LATE_EFFECT:
                model.postpone(op, path, data, calls=strike.chance.choice([1, 2, 3, 4, None]))
                raise OutcomeUnknownError(path, store=self.url)
            case FaultKind.DUPLICATE:
                self._do(op, path, data)
                if op == "put_if_absent":
                    raise AlreadyExistsError(path, store=self.url, detail="412, a hidden retry met its own write")
                model.postpone(op, path, data, calls=strike.chance.randint(1, 4))
            case FaultKind.SYNC_FAILS:
                model.leave_unsynced(op, path, data)
                raise OutcomeUnknownError(
                    path, store=self.url, detail="the last sync failed", readable_is_durable=False
                )
            case FaultKind.CLOSE_FAILS:
                model.interrupt(op, path, data, steps=_ALL_STEPS)
                raise StorageUnavailableError(path, store=self.url, detail="closing the file failed")
            case FaultKind.DISK_FULL:
                model.interrupt(op, path, data, steps=strike.chance.randint(0, 6))
                raise StorageUnavailableError(path, store=self.url, detail="no space left on device")
            case _:
                with suppress(StorageError):
                    model.interrupt(op, path, data, steps=strike.chance.randint(0, 8))
                self._die(path)

    def _read(
        self, op: Op, path: str, call: Callable[[], T], damage: Callable[[T, _Strike], T] = lambda answer, _: answer
    ) -> T:
        strike = self._strike(op, path)
        if strike is None:
            return call()
        self._refuse(strike.kind, path)
        if strike.kind is FaultKind.MISSING:
            raise NotFoundError(path, store=self.url)
        answer = call()
        if strike.kind is FaultKind.CRASH_AFTER:
            self._die(path)
        return damage(answer, strike)

    def _list(self, prefix: str, found: Iterator[ObjectMeta]) -> Iterator[ObjectMeta]:
        strike = self._strike("list_from", prefix)
        if strike is None:
            yield from found
            return
        chance = strike.chance
        match strike.kind:
            case FaultKind.STALE_LIST:
                rows = list(found)
                newest = sorted(rows, key=lambda row: (row.modified_ms, row.path))[-chance.randint(1, 3) :]
                yield from (row for row in rows if row not in newest)
            case FaultKind.TRUNCATED_LIST:
                rows = list(found)
                yield from rows[: chance.randrange(max(len(rows), 1))]
            case FaultKind.DUPLICATE_LIST:
                rows = list(found)
                twice = chance.sample(rows, chance.randint(1, len(rows))) if rows else []
                for row in rows:
                    yield from (row, row) if row in twice else (row,)
            case kind:
                if kind is not FaultKind.CRASH_BEFORE:
                    before = chance.choice([0, 1, 2, 3])
                    yield from (row for _, row in zip(range(before), found, strict=False))
                self._refuse(kind, prefix)
                self._die(prefix)

    def _do(self, op: WriteOp, path: str, data: bytes) -> None:
        if op == "put_if_absent":
            self._inner.put_if_absent(path, data)
        elif op == "put":
            self._inner.put(path, data)
        else:
            self._inner.delete(path)

    def _refuse(self, kind: FaultKind, path: str) -> None:
        """Raise for the kinds that keep any call from doing anything."""
        if kind is FaultKind.CRASH_BEFORE:
            self._die(path)
        if kind is FaultKind.UNAVAILABLE:
            raise StorageUnavailableError(path, store=self.url, detail="503, slow down")
        if kind is FaultKind.PERMISSION:
            raise PermissionDeniedError(path, store=self.url, detail="the token expired")

    def _die(self, path: str) -> NoReturn:
        self.dead = True
        raise Crash(f"crash at call {len(self.calls)}, {path}")


def _damaged(answer: bytes, strike: _Strike) -> bytes:
    if not answer:
        return answer
    position = strike.chance.randrange(len(answer))
    damaged = answer[:position]
    if strike.kind is FaultKind.BIT_FLIP:
        damaged += bytes([answer[position] ^ (1 << strike.chance.randrange(8))]) + answer[position + 1 :]
    return damaged


@dataclass(frozen=True, slots=True)
class Case:
    """One fault at one call of a scenario on one kind of store.

    Attributes:
        make: Makes the store below, in the state that the scenario starts from.
        plan: The fault.
        op: The call that it strikes at first.
        path: The path of that call.
    """

    make: Callable[[], Model]
    plan: Plan
    op: Op
    path: str

    def __str__(self) -> str:
        plan = self.plan
        return f"{plan.kind.value}, {plan.mode}, at call {plan.index} ({self.op} {self.path}), seed {plan.seed}"


def sweep(
    scenario: Callable[[Store], object],
    *,
    stores: Iterable[Callable[[], Model]],
    kinds: Iterable[FaultKind] = ALL,
    modes: Iterable[Mode] = ("once", "forever"),
    seeds: Iterable[int] = (0,),
) -> Iterator[Case]:
    """Yield every case of a scenario: each call of it, with each kind of fault that can strike there, once and for ever.

    The scenario runs once on each store, without faults, to learn its calls; it must then make the same calls again.

    Args:
        scenario: What to disturb.
        stores: Make the stores to run on: a model's class, or the `clone` of one in a state of your choice.
        kinds: The kinds of faults.
        modes: How often they strike; where once and for ever are the same, only the first.
        seeds: How chance is drawn; where chance plays no part, only the first.
    """
    kinds, modes, seeds = tuple(kinds), tuple(modes), tuple(seeds)
    for make in stores:
        dry = FaultStore(make())
        scenario(dry)
        for index, (op, path) in enumerate(dry.calls, start=1):
            for kind in kinds:
                if applicable(kind, op):
                    for mode in modes if repeats(kind) else modes[:1]:
                        for seed in seeds if varies(kind) else seeds[:1]:
                            yield Case(make, Plan(index, kind, mode, seed), op, path)
