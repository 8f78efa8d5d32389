"""A real process is killed at every storage call of a repair in place, on a real disk; the next repair finishes what it began.

One child process forks for each kill, so that a hundred of them cost little more than one. A run takes a sample of the calls,
and with more effort all of them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from indextables.errors import LogCorruptionError
from indextables.log.open import open_log
from indextables.log.repair import Way, repair, undo_repair
from indextables.storage.local import LocalStore
from indextables.testing.faulty import FaultStore
from indextables.testing.models import PosixModel
from tests.faults.repair_scenarios import REPAIRS, Job, old_log, start
from tests.support.effort import sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SHARE = 1 / 19

CHILD = """
import os, signal, sys
from indextables.config import Settings
from indextables.log.repair import repair_store
from indextables.storage.local import LocalStore
from indextables.testing.faulty import FaultStore

class Deadly(FaultStore):
    def __init__(self, inner, index):
        super().__init__(inner)
        self.index = index
    def _strike(self, op, path):
        strike = super()._strike(op, path)
        if len(self.calls) == self.index:
            os.kill(os.getpid(), signal.SIGKILL)
        return strike

settings = Settings.resolve({"spark.indextables.checkpoint.parallelism": 1})
for argument in sys.argv[1:]:
    directory, _, index = argument.rpartition("@")
    child = os.fork()
    if not child:
        repair_store(Deadly(LocalStore(directory), int(index)), settings=settings, dry_run=False)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, flush=True)
"""


def laid_out(tree: dict[str, bytes], directory: Path) -> None:
    for path, data in tree.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def go_back(place: Path) -> None:
    """Undo every repair that took effect: the one that was killed may be one of two."""
    while True:
        try:
            undo_repair(str(place))
        except LogCorruptionError as error:
            if "nothing to undo" not in str(error):
                raise
            return


def calls_of(job: Job) -> int:
    store = FaultStore(start(job.name, PosixModel).model.clone())
    job.run(store)
    return len(store.calls)


@pytest.mark.parametrize("job", REPAIRS, ids=lambda job: job.name)
def test_a_killed_repair_leaves_the_old_log_or_the_new_one_and_the_next_one_finishes_it(
    job: Job, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    begin = start(job.name, PosixModel)
    indices = [1, *sample(range(2, calls_of(job)), SHARE, name=job.name)]
    places = [tmp_path / str(index) for index in indices]
    for place in places:
        laid_out(dict(begin.damaged), place)
    arguments = [f"{place}@{index}" for place, index in zip(places, indices, strict=True)]
    answer = subprocess.run([sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, check=True)
    signals = [int(line) for line in answer.stdout.split()]
    for place, signal in zip(places, signals, strict=True):
        result = repair(str(place), dry_run=False)
        assert signal == 9 or result.way is Way.NOTHING, "a repair that came to its end leaves nothing to do"
        files = frozenset(open_log(str(place)).list_files()["path"].to_pylist())
        assert files == begin.after
        assert repair(str(place), dry_run=False).way is Way.NOTHING
        go_back(place)
        tree = {meta.path: LocalStore(place).get(meta.path) for meta in LocalStore(place).list_from("")}
        assert {path: tree.get(path) for path in old_log(begin.damaged)} == old_log(begin.damaged)
        shutil.rmtree(place)
    record_property("repairs killed", signals.count(9))
    assert 9 in signals
