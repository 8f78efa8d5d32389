"""A clock that tests set, for a table whose files are days old although it was made a moment ago."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from indextables.config import Settings
from indextables.testing.models import S3Model
from indextables.testing.virtual import EPOCH_MS, virtual_runtime
from tests.support.logs import SCHEMA, Place, add

if TYPE_CHECKING:
    from collections.abc import Callable

    from indextables.log.log import TransactionLog
    from indextables.runtime import Runtime
    from indextables.testing.models import Model

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
_PREFIX = "spark.indextables."


def configured(**options: object) -> Settings:
    """Return settings; the keys are given without their prefix, with `__` for a dot."""
    return Settings.resolve({f"{_PREFIX}{key.replace('__', '.')}": value for key, value in options.items()})


@dataclass
class Clock:
    """What time it is for everybody who looks here; time passes when somebody sleeps, or when a test says so."""

    ms: int = EPOCH_MS

    def now_ms(self) -> int:
        return self.ms

    def forward(self, *, days: float = 0, hours: float = 0) -> None:
        self.ms += int(days * DAY_MS + hours * HOUR_MS)

    def runtime(self, seed: int = 0, *, skew_ms: int = 0) -> Runtime:
        """Return a runtime that goes by this clock, wrong by `skew_ms`."""

        def sleep(seconds: float) -> None:
            self.ms += int(seconds * 1000)

        return replace(
            virtual_runtime(seed),
            now_ms=lambda: self.ms + skew_ms,
            monotonic=lambda: self.ms / 1000,
            sleep=sleep,
        )


@dataclass
class OldTable:
    """A table on a store that goes by the same clock, and whoever works on it.

    Attributes:
        clock: The time.
        store_skew_ms: By how much the store's clock is wrong.
        make: The kind of store.
    """

    clock: Clock = field(default_factory=Clock)
    store_skew_ms: int = 0
    make: Callable[..., Model] = S3Model

    def __post_init__(self) -> None:
        self.model = self.make(now_ms=lambda: self.clock.ms + self.store_skew_ms)

    def place(self, *, seed: int = 0, skew_ms: int = 0) -> Place:
        return Place(model=self.model, runtime=self.clock.runtime(seed, skew_ms=skew_ms), checkpoints=True)

    def open(self, *, seed: int = 0, skew_ms: int = 0, **options: Any) -> TransactionLog:
        """Return the log as a process that has just started sees it, with these settings."""
        return self.place(seed=seed, skew_ms=skew_ms).log(configured(**options))

    def create(self) -> None:
        self.open().initialize(SCHEMA)

    def append(self, count: int = 1, *, log: TransactionLog | None = None) -> None:
        """Append files, a commit each, without a checkpoint."""
        log = log or self.open(seed=1, checkpoint__enabled=False)
        for _ in range(count):
            log.add_files([add(f"f{log.latest_version() + 1}")])

    def names(self) -> set[str]:
        """Return what lies in the store."""
        return set(self.model.tree())
