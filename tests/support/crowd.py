"""Many writers on one table, and what must hold afterwards, judged from their histories and the bytes in the store alone."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from indextables.config import Settings
from indextables.log import open as open_log
from indextables.log.actions import Add
from indextables.log.codec import decode
from indextables.log.commit_info import find_info
from indextables.log.layout import LOG_DIRECTORY, commit_path, commit_version
from indextables.log.lines import parse_lines
from indextables.storage.open import open_store
from indextables.storage.temporary import is_temporary
from tests.support.writers import Acknowledged, Attempt, Job, Refused, Unknown, launched

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64())])
_WRITERS = 8
_ENDLESS = 1_000_000
_LONGEST_LIFE_S = 0.2
# Writers that lose a race come back at once, so that most of a life is spent inside a commit.
_HASTE = {
    "spark.indextables.transaction.retry.baseDelayMs": "1",
    "spark.indextables.transaction.retry.maxDelayMs": "20",
    "spark.indextables.transaction.retry.maxAttempts": "1000",
}


@dataclass(frozen=True)
class Table:
    """Where a table is, and how to open it."""

    url: str
    options: Mapping[str, str]
    work: Path

    def create(self) -> None:
        open_log(self.url, self.options).initialize(SCHEMA)

    def job(self, name: str, *, appends: int = _ENDLESS, options: Mapping[str, str] | None = None) -> Job:
        return Job(
            url=self.url,
            options={**self.options, **(options or {})},
            name=name,
            history=str(self.work / f"{name}.history"),
            appends=appends,
        )


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the histories and the table say together.

    Attributes:
        commits: Versions after the first one.
        acknowledged: Attempts whose writer was told that they are committed.
        refused: Attempts whose writer was told that they are not; none of them is in the table.
        silent: Attempts whose writer was told nothing, or that nobody knows.
        silent_commits: Those of them that are in the table all the same.
        lost: Acknowledged attempts that are not in the table, at their version, with their id and files.
        doubled: Attempts that are in the table more than once.
        retries: How often an acknowledged attempt found its version taken.
    """

    commits: int
    acknowledged: int
    refused: int
    silent: int
    silent_commits: int
    lost: int
    doubled: int
    retries: int


@dataclass(frozen=True, kw_only=True)
class Story:
    """What many writers did to one table."""

    verdict: Verdict
    kills: int
    seconds: float

    def line(self, name: str) -> str:
        """Return the counts as one line to print."""
        verdict = self.verdict
        what = f"{self.kills} SIGKILLs of {_WRITERS} writers" if self.kills else f"{_WRITERS} writers"
        fates = f", {verdict.silent} died in a commit, {verdict.silent_commits} of them landed" if self.kills else ""
        return (
            f"{name}: {what}: {verdict.commits} commits, {verdict.lost} lost, {verdict.doubled} doubled, "
            f"{verdict.retries} retries, {verdict.refused} refused{fates}, {self.seconds:.1f} s"
        )


def append_together(table: Table, *, appends: int) -> Story:
    """Let eight writers make so many commits each, and judge what came of it."""
    table.create()
    started = time.monotonic()
    with launched() as writers:
        pids = [writers.start(table.job(f"writer-{number}", appends=appends)) for number in range(_WRITERS)]
        endings = [writers.wait(pid) for pid in pids]
    seconds = time.monotonic() - started
    assert endings == [0] * _WRITERS
    return Story(verdict=judge(table), kills=0, seconds=seconds)


def append_and_die(table: Table, *, rounds: int, kills: int, seed: int) -> Story:
    """Let eight writers append while they are killed at random moments, and judge what came of it.

    Args:
        table: Where; it is made here.
        rounds: How often everybody is killed, and the table judged.
        kills: How many writers are killed and replaced in a round before that.
        seed: Decides who dies when.
    """
    table.create()
    chance = random.Random(seed)
    started = time.monotonic()
    killed = lives = 0
    verdict = judge(table)
    with launched() as writers:

        def live() -> int:
            nonlocal lives
            lives += 1
            return writers.start(table.job(f"life-{lives}", options=_HASTE))

        for _ in range(rounds):
            alive = [live() for _ in range(_WRITERS)]
            for death in range(kills + _WRITERS):
                time.sleep(chance.uniform(0, _LONGEST_LIFE_S))  # a moment that nothing in the table decides
                victim = alive.pop(chance.randrange(len(alive)))
                assert writers.kill(victim), "a writer ended before it was killed; what it said is above"
                killed += 1
                assert open_log(table.url, table.options).latest_version() >= verdict.commits
                if death < kills:
                    alive.append(live())
            verdict = judge(table)
            assert verdict.lost == verdict.doubled == 0
    return Story(verdict=verdict, kills=killed, seconds=time.monotonic() - started)


def judge(table: Table) -> Verdict:
    """Compare the histories of all writers with the table, and fail where they contradict each other.

    Everything but a loss and a double is asserted here: versions are dense, a commit is an attempt as a whole, none was
    refused, listings show no leftovers, order in time is order in the log, and the files are what the commits add up to.
    """
    attempts, acknowledged, refused = _read_histories(table.work)
    silent = attempts.keys() - acknowledged.keys() - refused
    commits = _read_commits(table)
    places: dict[frozenset[str], list[int]] = {}
    for version, (_, paths) in commits.items():
        places.setdefault(frozenset(paths), []).append(version)
    assert places.keys() <= {frozenset(attempt.paths) for attempt in attempts.values()}, "nobody tried this commit"
    assert not places.keys() & {frozenset(attempts[key].paths) for key in refused}, "a refused attempt landed"
    lost = sum(
        commits.get(answer.version, ("", ())) != (answer.commit_id, tuple(attempts[key].paths))
        for key, answer in acknowledged.items()
    )
    _check_order_in_time(attempts, acknowledged)
    # A request of a writer that is dead by now may still be carried out, so the table is asked for just what was read.
    files = Counter(open_log(table.url, table.options).snapshot(len(commits)).files["path"].to_pylist())
    assert files == Counter({path for _, paths in commits.values() for path in paths})
    return Verdict(
        commits=len(commits),
        acknowledged=len(acknowledged),
        refused=len(refused),
        silent=len(silent),
        silent_commits=sum(frozenset(attempts[key].paths) in places for key in silent),
        lost=lost,
        doubled=sum(len(versions) > 1 for versions in places.values()),
        retries=sum(answer.tries - 1 for answer in acknowledged.values()),
    )


_Key = tuple[str, int]


def _read_histories(work: Path) -> tuple[dict[_Key, Attempt], dict[_Key, Acknowledged], set[_Key]]:
    """Return the attempts, the acknowledgements, and which attempts were refused."""
    attempts: dict[_Key, Attempt] = {}
    acknowledged: dict[_Key, Acknowledged] = {}
    refused: set[_Key] = set()
    decoder = msgspec.json.Decoder(Attempt | Acknowledged | Refused | Unknown)
    for history in sorted(work.glob("*.history")):
        # What follows the last newline is a line that its writer did not live to finish.
        for line in history.read_bytes().split(b"\n")[:-1]:
            event = decoder.decode(line)
            key = (history.name, event.number)
            if isinstance(event, Attempt):
                attempts[key] = event
            elif isinstance(event, Acknowledged):
                acknowledged[key] = event
            elif isinstance(event, Refused):
                refused.add(key)
    return attempts, acknowledged, refused


def _read_commits(table: Table) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return the id and the files of every commit after the first, read from the store file by file."""
    store = open_store(table.url, settings=Settings.resolve(table.options), properties=table.options)
    listed = [meta.path for meta in store.list_from(LOG_DIRECTORY)]
    assert not [path for path in listed if is_temporary(path.rpartition("/")[2])]
    listed = [path for path in listed if commit_version(path) is not None]
    assert listed == [commit_path(version) for version in range(len(listed))], "versions are not dense"
    commits = {}
    for version, path in enumerate(listed[1:], start=1):
        actions = parse_lines(decode(store.get(path), path=path), path=path)
        info = find_info(actions, version)  # there are none where a file is a copy of another version
        assert all(isinstance(action, Add) for action in actions)
        commits[version] = (
            info.id if info else "",
            tuple(action.path for action in actions if isinstance(action, Add)),
        )
    return commits


def _check_order_in_time(attempts: Mapping[_Key, Attempt], acknowledged: Mapping[_Key, Acknowledged]) -> None:
    """Assert that what was acknowledged before an attempt began has a smaller version than that attempt."""
    events = sorted(
        [(answer.at, 0, answer.version) for answer in acknowledged.values()]
        + [(attempts[key].at, 1, answer.version) for key, answer in acknowledged.items()]
    )
    newest = 0
    for _, is_start, version in events:
        if is_start:
            assert version > newest, f"version {version} began after version {newest} was acknowledged"
        else:
            newest = max(newest, version)
