"""Real processes die by SIGKILL in the middle of checkpoints and cleanup, again and again on the same table.

After every death the table opens and shows what was acknowledged, and the next run that gets through removes what the dead
left behind. The steps are drawn; with more effort a process dies at every one.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pytest

from indextables.log import open as open_log
from indextables.log.layout import commit_version, floor_version
from tests.races.upkeep_worker import Life, launched
from tests.support.effort import times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.launcher import Processes

LEAST_KILLS = 30
DAY_S = 24 * 3600
KEPT_VERSIONS = 3
LONGEST_LIFE_S = 0.12
IN_A_ROW = 5
"""So many die one after the other before a run gets through, which removes what all of them left behind."""

_COMMON = {
    "spark.indextables.checkpoint.interval": "1",
    "spark.indextables.checkpoint.retention": str(KEPT_VERSIONS),
    "spark.indextables.checkpoint.parallelism": "1",
}
FORMS = {
    "parquet": {},
    "parts": {"spark.indextables.checkpoint.maxFileSize": "1K"},
    "json": {"spark.indextables.checkpoint.format": "json"},
}


@dataclass
class Bench:
    """A table on the local disk, the processes that work on it, and what they were told."""

    root: Path
    form: str
    lives: int = 0
    kills: int = 0
    told: dict[int, str] = field(default_factory=dict)

    @property
    def log_directory(self) -> Path:
        return self.root / "table" / "_transaction_log"

    def create(self) -> None:
        open_log(str(self.root / "table")).initialize(pa.schema([("id", pa.int64())]))

    def age(self) -> None:
        """Make every file forty days older."""
        for path in self.log_directory.rglob("*"):
            if path.is_file():
                then = path.stat().st_mtime - 40 * DAY_S
                os.utime(path, (then, then))

    def life(self, *, dies_at: int = 0, count_steps: bool = False) -> Life:
        self.lives += 1
        return Life(
            table=str(self.root / "table"),
            options={**_COMMON, **FORMS[self.form]},
            file=f"file-{self.lives}.split",
            history=str(self.root / "history"),
            dies_at=dies_at,
            steps=str(self.root / "steps") if count_steps else "",
        )

    def steps(self, keepers: Processes[Life]) -> int:
        """Return how many steps a life takes that is left alone."""
        self.age()
        assert keepers.wait(keepers.start(self.life(count_steps=True))) == 0
        return int((self.root / "steps").read_text().split()[-1])

    def files(self) -> list[Path]:
        return [path for path in self.log_directory.rglob("*") if path.is_file()]

    def check(self) -> None:
        """The table opens, shows a row of versions, and each of them holds what was committed up to it."""
        for line in (self.root / "history").read_text().splitlines():
            at, name = line.split(" ", 1)
            assert self.told.setdefault(int(at), name) == name, "two were told the same version"
        log = open_log(str(self.root / "table"))
        versions = log.versions()
        assert versions == list(range(versions[0], versions[-1] + 1))
        assert max(self.told) <= versions[-1], "what was acknowledged is gone"
        before: set[str] = set()
        for version in versions:
            found = log.snapshot(version).files["path"].to_pylist()
            now = set(found)
            assert len(found) == len(now) == version, "each version adds one file"
            assert before <= now
            assert {name for at, name in self.told.items() if at <= version} <= now
            assert not {name for at, name in self.told.items() if at > version} & now
            before = now

    def check_nothing_is_left_over(self) -> None:
        names = {str(path.relative_to(self.root / "table")) for path in self.files()}
        versions = open_log(str(self.root / "table")).versions()
        commits = sorted(version for name in names if (version := commit_version(name)) is not None)
        assert commits == versions
        assert len(versions) == KEPT_VERSIONS
        assert sum(floor_version(name) is not None for name in names) == 1
        used: set[str] = set()
        for name in names:
            if "_checkpoints" in name and name.endswith(".json"):
                manifest = msgspec.json.decode((self.root / "table" / name).read_bytes())
                used.update(part["path"] for part in manifest["files"])
        assert {name for name in names if name.endswith(".parquet")} == used
        assert not [name for name in names if ".it-tmp-" in name]


def die_at_step(bench: Bench, keepers: Processes[Life], step: int) -> None:
    bench.age()
    bench.kills += keepers.wait(keepers.start(bench.life(dies_at=step))) < 0
    bench.check()


def die_at_any_moment(bench: Bench, keepers: Processes[Life], chance: random.Random) -> None:
    bench.age()
    pid = keepers.start(bench.life())
    time.sleep(chance.uniform(0, LONGEST_LIFE_S))  # a moment that nothing in the table decides
    bench.kills += keepers.kill(pid)
    bench.check()


def get_through(bench: Bench, keepers: Processes[Life]) -> None:
    bench.steps(keepers)
    bench.check()
    bench.check_nothing_is_left_over()


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_sigkill_in_upkeep_loses_nothing_and_leaves_nothing_for_long(
    form: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    bench = Bench(tmp_path, form)
    bench.create()
    with launched() as keepers:
        for _ in range(4):
            every = range(1, bench.steps(keepers) + 1)
        chance = random.Random(form)
        for number, step in enumerate(sorted(chance.sample(every, min(times(10), len(every)))), 1):
            die_at_step(bench, keepers, step)
            if number % IN_A_ROW == 0:
                get_through(bench, keepers)
        for _ in range(times(4)):
            die_at_any_moment(bench, keepers, chance)
        get_through(bench, keepers)
    record_property("SIGKILLs in upkeep", bench.kills)
    print(
        f"{form}: {bench.kills} SIGKILLs in {bench.lives} lives of {len(every)} steps, {len(bench.told)} commits told"
    )
    assert bench.kills >= LEAST_KILLS / len(FORMS)
