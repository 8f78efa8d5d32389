"""Every seed of every target, replayed without a fuzzer, and the fuzzers' own judges, which must notice what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from indextables.log import plain, strict
from indextables.log.checkpoint import finder
from indextables.log.checkpoint.manifest import Manifest
from indextables.log.checkpoint.pointer import Pointer
from indextables.log.layout import POINTER
from indextables.predicate.predicate import Predicate
from indextables.storage import paths
from tests.fuzz import targets
from tests.fuzz.corpus import seeds
from tests.fuzz.run import FOUND
from tests.fuzz.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("target", TARGETS)
def test_every_seed_is_refused_or_means_the_same_to_everybody(target: str, record_property: Any) -> None:
    inputs = seeds(target)
    for data in inputs:
        TARGETS[target](data)
    record_property("fuzz seeds", len(inputs))


def test_there_are_as_many_seeds_as_promised_and_no_target_lacks_any() -> None:
    counts = {target: len(set(seeds(target))) for target in TARGETS}
    assert sum(counts.values()) >= 300
    assert min(counts.values()) >= 30
    assert {path.name for path in FOUND.iterdir()} <= TARGETS.keys(), "what was found belongs to a target"


SPOILED: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "commit-line": (
        targets,
        "read_line",
        lambda line, *, path, number: strict.read_line(line.swapcase(), path=path, number=number),
    ),
    "commit-file": (plain, "canonical", lambda path: path),
    "pointer": (finder, "read_pointer", lambda store: msgspec.json.decode(store.get(POINTER), type=Pointer)),
    "checkpoint": (finder, "decode_manifest", lambda data, **_: msgspec.json.decode(data, type=Manifest)),
    "split-footer": (targets, "open_split", lambda *_: (_ for _ in ()).throw(RuntimeError("not ours"))),
    "path-resolver": (targets, "canonical", lambda path: path),
    "partition-codec": (targets, "escape_partition_value", lambda value: paths.escape_partition_value(value).lower()),
    "predicate": (Predicate, "may_match", Predicate.must_match),
}


@pytest.mark.parametrize("target", SPOILED)
def test_a_target_notices_a_reader_that_is_wrong(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = seeds(target)
    for data in inputs:  # the tables that are attacked are made once, and must be made before the reader is wrong
        TARGETS[target](data)
    owner, name, wrong = SPOILED[target]
    monkeypatch.setattr(owner, name, wrong)
    noticed = 0
    for data in inputs:
        try:
            TARGETS[target](data)
        except Exception:  # noqa: BLE001 - whatever it raises is a finding
            noticed += 1
    assert noticed


def test_each_target_was_tried_with_a_reader_that_is_wrong() -> None:
    assert SPOILED.keys() == TARGETS.keys()
