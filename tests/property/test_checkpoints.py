"""A checkpoint says the same as the commits that it sums up, in every form, at every version, and damage never changes an answer.

The histories and the model are those of the replay tests. A checkpoint holds its files in another order than replay, and leaves
out removes that are older than the log is kept; nothing else may differ.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, example, given, seed, settings
from hypothesis import strategies as st

from indextables.config import Checkpoint, Compression, Retention, Settings
from indextables.errors import IndexTablesError
from indextables.log.checkpoint import parts as parts_of_checkpoints
from indextables.log.checkpoint.finder import CheckpointFinder
from indextables.log.checkpoint.finder import Place as Found
from indextables.log.layout import (
    LOG_DIRECTORY,
    POINTER,
    commit_path,
    commit_version,
    json_checkpoint_path,
    manifest_path,
)
from indextables.log.plain import replay_plainly
from indextables.testing.virtual import dice
from tests.property.test_log_replay import EVERYTHING, STEPS, History, summary
from tests.support.effort import times

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from indextables.log.state import LogState
    from indextables.testing.models import Model
    from tests.support.logs import Place

PARTS: Final = range(2)
SEQUENCES: Final = times(80 if os.environ.get("CI") else 60) // len(PARTS)
DAMAGES: Final = times(520 if os.environ.get("CI") else 60)
"""Of each kind of file, all forms together."""

FORMS: Final = {
    "parquet": Checkpoint(compression="snappy"),
    "parquet in parts": Checkpoint(compression="zstd", max_file_size=1024),
    "JSON": Checkpoint(format="json", compression_enabled=False),
    "JSON, compressed": Checkpoint(format="json"),
}


def settings_for(form: str) -> Settings:
    # A checkpoint is written when the test says so.
    return Settings(checkpoint=replace(FORMS[form], interval=10**6), compression=Compression(codec="gzip"))


def unordered(state: LogState, *, places: bool) -> dict[str, Any]:
    """Return a state without what a checkpoint may change: the order of files, and what is older than the log is kept."""
    told = summary(state)
    oldest = state.timestamp - Retention().log_ms
    told["removes"] = [row for row in told["removes"] if row.get("deletionTimestamp", oldest) >= oldest]
    told["files"] = sorted(told["files"], key=lambda row: str(row["path"]))
    if not places:
        for rows in (told["files"], told["removes"], told["skips"]):
            for row in rows:
                del row["version"], row["ordinal"]
    return told


def check_form(history: History, form: str, chance: random.Random) -> Counter[str]:
    """Write checkpoints of some versions, the later ones on top of the earlier ones, and read every version with them."""
    place, latest = history.place, history.model.version
    place.checkpoints = True
    writer = place.log(settings_for(form))
    versions = sorted(chance.sample(range(latest + 1), min(latest + 1, 3)))
    places = form.startswith("parquet")
    reused = 0
    for version in versions:
        reused += writer.checkpoint(version).parts_reused
        found = Found(version=version, parquet=places)
        loaded = CheckpointFinder(place.model, Settings()).load(found)
        assert loaded.ours
        assert unordered(loaded.state, places=places) == unordered(replay_plainly(place.model, version), places=places)
    for version in range(latest + 1):
        fresh = place.log(settings_for(form))
        expected = unordered(replay_plainly(place.model, version), places=False)
        assert unordered(fresh.snapshot(version).state, places=False) == expected
        if version == latest:
            assert unordered(fresh.snapshot().state, places=False) == expected
            assert (fresh.metadata, fresh.protocol) == (fresh.snapshot().metadata, fresh.snapshot().protocol)
    return Counter(checkpoints=len(versions), reused=reused, versions=latest + 1, sequences=1)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_every_version_is_the_same_with_a_checkpoint_in_any_form(part: int) -> None:
    seen: Counter[str] = Counter()

    @seed(part)
    @settings(max_examples=SEQUENCES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.integers(0, 5), STEPS, st.sampled_from(sorted(FORMS)), st.integers(0, 2**32))
    @example(0, EVERYTHING, "parquet", 1)
    @example(1, EVERYTHING, "parquet in parts", 1)
    @example(2, EVERYTHING, "JSON", 1)
    @example(3, EVERYTHING, "JSON, compressed", 1)
    def check(shape: int, steps: list[tuple[str, int]], form: str, number: int) -> None:
        history = History(shape)
        for operation, choice in steps:
            history.run(operation, choice)
        seen.update(check_form(history, form, dice(number)))
        seen[form] += 1

    check()
    print(", ".join(f"{count} {name}" for name, count in seen.most_common()))
    assert all(seen[form] for form in FORMS)
    assert seen["sequences"] >= SEQUENCES
    assert seen["reused"]


def table_with_checkpoints(form: str) -> tuple[Place, int]:
    """Return a table of two dozen versions with checkpoints at 8 and 16, and how many versions it has."""
    history = History(1)
    for number in range(24):
        history.run(("append", "append", "remove", "merge", "skip", "batch")[number % 6], number)
    history.place.checkpoints = True
    log = history.place.log(settings_for(form))
    for version in (8, 16):
        log.checkpoint(version)
    return history.place, history.model.version


def damaged(data: bytes, chance: random.Random) -> bytes | None:
    """Return the bytes as a failing disk, a killed writer or a careless person would leave them; None: deleted."""
    match chance.randrange(7):
        case 0:
            return None
        case 1:
            return b""
        case 2:
            return data[: chance.randrange(len(data))]
        case 3:
            place = chance.randrange(len(data))
            return data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]
        case 4:
            start, length = chance.randrange(len(data)), chance.randint(1, 64)
            return data[:start] + bytes(length) + data[start + length :]
        case 5:
            return data + chance.randbytes(chance.randint(1, 9))
        case _:
            return chance.choice([b"{}", b"null", b"\x01\x01", b'{"version":99999}', b'{"version":-1}', b"PAR1PAR1"])


FILES: Final = {
    "pointers": POINTER,
    "manifests": manifest_path(16),
    "Parquet checkpoints": "",
    "JSON checkpoints": json_checkpoint_path(16),
}
"""Where each kind of file is; a Parquet checkpoint may be in parts, of which one is drawn."""

DAMAGED: Final = [
    *((form, "pointers", len(FORMS)) for form in FORMS),
    ("parquet", "manifests", 2),
    ("parquet in parts", "manifests", 2),
    ("parquet", "Parquet checkpoints", 2),
    ("parquet in parts", "Parquet checkpoints", 2),
    ("JSON", "JSON checkpoints", 2),
    ("JSON, compressed", "JSON checkpoints", 2),
]
"""In which form which kind of file is damaged, and how many forms share the damages of that kind."""


@pytest.mark.slow
@pytest.mark.parametrize(("form", "kind", "forms"), DAMAGED)
def test_damage_to_what_is_beside_the_commits_never_changes_the_answer(
    form: str,
    kind: str,
    forms: int,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    if form == "parquet in parts":  # small as they are, some are read in threads
        monkeypatch.setattr(parts_of_checkpoints, "_WORTH_A_THREAD", 0)
    place, latest = table_with_checkpoints(form)
    expected = {version: unordered(replay_plainly(place.model, version), places=False) for version in (12, 16, latest)}
    parts = [path for path in place.model.tree() if path.endswith(".parquet") and f"/{16:020d}." in path]
    told = Counter[str]()
    for number in range(DAMAGES // forms):
        chance = dice(number)
        path = FILES[kind] or chance.choice(parts)
        original = place.model.get(path)
        bad = damaged(original, chance)
        _write(place.model, path, bad)
        version = chance.choice([None, 12, 16])
        state = place.log(settings_for(form)).snapshot(version).state
        assert unordered(state, places=False) == expected[latest if version is None else version], number
        told["untouched" if bad == original else "damaged"] += 1
        place.model.put(path, original)
    record_property(f"damaged {kind}", told["damaged"])
    assert told["damaged"] >= DAMAGES / forms * 0.9


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_damage_where_the_commits_are_gone_is_an_error_or_the_right_answer(form: str) -> None:
    place, latest = table_with_checkpoints(form)
    expected = unordered(replay_plainly(place.model), places=False)
    for path in list(place.model.tree()):
        if (version := commit_version(path)) is not None and version < 16:
            place.model.delete(path)
    assert unordered(place.log(settings_for(form)).snapshot().state, places=False) == expected
    checkpoint = [
        path for path in place.model.tree() if path.startswith(LOG_DIRECTORY) and commit_version(path) is None
    ]
    outcomes = Counter[str]()
    for number in range(DAMAGES // len(FORMS)):
        chance = dice(number)
        path = chance.choice(checkpoint)
        original = place.model.get(path)
        _write(place.model, path, damaged(original, chance))
        try:
            state = place.log(settings_for(form)).snapshot().state
        except IndexTablesError as error:
            outcomes[type(error).__name__] += 1
        else:
            outcomes["right"] += 1
            assert unordered(state, places=False) == expected, (number, path)
        place.model.put(path, original)
    print(f"{form}: {latest + 1} versions, {dict(outcomes)}")
    assert outcomes["right"]
    assert sum(outcomes.values()) == DAMAGES // len(FORMS)


def _write(model: Model, path: str, data: bytes | None) -> None:
    if data is None:
        model.delete(path)
    else:
        model.put(path, data)


def test_the_commits_alone_are_enough() -> None:
    place, latest = table_with_checkpoints("parquet")
    expected = unordered(place.log(settings_for("parquet")).snapshot().state, places=False)
    for path in list(place.model.tree()):
        if commit_version(path) is None:
            place.model.delete(path)
    assert sorted(place.model.tree()) == [commit_path(version) for version in range(latest + 1)]
    assert unordered(place.log(settings_for("parquet")).snapshot().state, places=False) == expected
