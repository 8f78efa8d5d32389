"""What clients were told, and when: all that a judge may know of a table besides the bytes in its store.

Each call carries a token that no other call has and that its commit, if there is one, shows in its bytes. So a judge finds the
commit of a call without trusting the call's answer, and also where the caller died before it heard anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Literal, NamedTuple

from indextables.errors import CommitUnknownError, IndexTablesError, OutcomeUnknownError
from indextables.log.commit import CommitResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

Verb = Literal["create", "append", "overwrite", "remove", "merge", "skip", "describe", "move"]


class Told(Enum):
    """What became of a call, as its caller knows it."""

    PENDING = "nothing, for the process died"
    DONE = "done"
    FAILED = "not done"
    UNKNOWN = "nobody knows"
    NONSENSE = "an error that no caller can be prepared for"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What a call is to do, in terms of rows: `adds` come, `takes` go, and an overwrite lets all others go."""

    verb: Verb
    adds: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    batch: tuple[str, int] | None = None
    schema: str | None = None


@dataclass(kw_only=True, slots=True)
class Call:
    """One call that was to change the table."""

    token: str
    wish: Wish
    started: int
    told: Told = Told.PENDING
    ended: int | None = None
    version: int | None = None
    commit_id: str | None = None
    written: bool = True
    error: BaseException | None = None

    def __str__(self) -> str:
        at = "" if self.version is None else f" at {self.version}"
        return f"{self.wish.verb} {self.token} ({self.told.value}{at}{f', {self.error!r}' if self.error else ''})"


class View(NamedTuple):
    """A version of the table as somebody sees it: active files, counts of skips, the last batch of each application."""

    version: int
    files: tuple[str, ...]
    skips: tuple[tuple[str, int], ...]
    description: str | None
    batches: tuple[tuple[str, int, int], ...]


@dataclass(kw_only=True, slots=True)
class Look:
    """One call that only read the table; `hidden` if the store may have denied it something that was there."""

    client: str
    started: int
    hidden: bool = False
    view: View | None = None
    error: BaseException | None = None


@dataclass(slots=True)
class History:
    """All calls to one table, in the order in which they started.

    Attributes:
        calls: Those that change it.
        looks: Those that read it.
        rows: What each data file holds.
        slots: The bytes at each version that was ever seen to be there for good.
        fates: For each call of unknown outcome the version that it turned out to be, or None if it did not land.
        hides: Whether the store may deny an object that is there; then nobody can blame a reader for not seeing it.
    """

    calls: list[Call] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    rows: dict[str, tuple[str, ...]] = field(default_factory=dict)
    slots: dict[int, bytes] = field(default_factory=dict)
    fates: dict[str, int | None] = field(default_factory=dict)
    hides: bool = False
    _clock: int = 0

    def copy(self) -> Self:
        """Return a history that goes on from here on its own; what is over is shared."""
        return replace(
            self,
            calls=self.calls.copy(),
            looks=self.looks.copy(),
            rows=self.rows.copy(),
            slots=self.slots.copy(),
            fates=self.fates.copy(),
        )

    def change(self, token: str, wish: Wish, act: Callable[[], CommitResult | int]) -> Call:
        """Let a client change the table and write down what it is told. Only a crash gets through."""
        call = Call(token=token, wish=wish, started=self._tick())
        self.calls.append(call)
        try:
            result = act()
        except (CommitUnknownError, OutcomeUnknownError) as error:
            call.told, call.error = Told.UNKNOWN, error
        except IndexTablesError as error:
            call.told, call.error = Told.FAILED, error
        except Exception as error:  # noqa: BLE001 - which is what must never happen, and is judged later
            call.told, call.error = Told.NONSENSE, error
        else:
            call.told = Told.DONE
            if isinstance(result, CommitResult):
                call.version, call.commit_id, call.written = result.version, result.commit_id, result.written
            else:
                call.version, call.written = result, False
        call.ended = self._tick()
        return call

    def look(self, client: str, act: Callable[[], View]) -> Look:
        """Let a client read the table and write down what it sees. Only a crash gets through."""
        look = Look(client=client, started=self._tick(), hidden=self.hides)
        self.looks.append(look)
        try:
            look.view = act()
        except Exception as error:  # noqa: BLE001 - judged later
            look.error = error
        self._tick()
        return look

    def acknowledged_before(self, moment: int) -> int:
        """Return the greatest version that somebody was told of before a moment; -1 if nobody was."""
        return max(
            (call.version for call in self.calls if call.version is not None and _ended(call) < moment), default=-1
        )

    def see(self, slots: Mapping[int, bytes], *, acknowledged_only: bool = False) -> list[str]:
        """Remember what is at each version, and say where it is something else than before.

        Args:
            slots: The bytes at each version.
            acknowledged_only: Leave out what nobody was told of: until a crash is over it may still go.
        """
        told = {call.version for call in self.calls if call.told is Told.DONE}
        changed = [f"version {version} is gone" for version in self.slots if version not in slots]
        for version, data in slots.items():
            if (version in told or not acknowledged_only) and self.slots.setdefault(version, data) != data:
                changed.append(f"version {version} changed")
        return changed

    def _tick(self) -> int:
        self._clock += 1
        return self._clock


def _ended(call: Call) -> float:
    return float("inf") if call.ended is None else call.ended
