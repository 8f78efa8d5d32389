"""The commit protocol keeps its invariants in every state that it can come into, and each of its rules is needed for that.

A run looks at the smaller models; with more effort it looks at those with three writers and faults, too, three million states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.model.protocol import RULES, Protocol
from tests.model.search import search, violations
from tests.support.effort import EFFORT

if TYPE_CHECKING:
    from collections.abc import Callable

RIVALS: Final = frozenset({1, 2})
SMALL: Final = {
    "two writers, two faults, a crash": Protocol(writers=2, faults=2, crashes=1),
    "two rivals, two faults, a crash": Protocol(writers=2, faults=2, crashes=1, rivals=RIVALS),
    "two writers, three faults": Protocol(writers=2, faults=3, crashes=0, tries=3),
    "three writers": Protocol(writers=3, faults=0, crashes=0),
}
LARGE: Final = {
    "three writers, a fault": Protocol(writers=3, faults=1, crashes=0),
    "three writers, a crash": Protocol(writers=3, faults=0, crashes=1),
    "three writers, two of them rivals, a fault, a crash": Protocol(writers=3, faults=1, crashes=1, rivals=RIVALS),
}
MODELS: Final = SMALL | (LARGE if EFFORT > 1 else {})
NEEDED: Final = {
    "read back": ("I4", Protocol(faults=1, crashes=0, without=frozenset({"read back"}))),
    "same slot": ("I1", Protocol(without=frozenset({"same slot"}))),
    "floor check": ("I4", Protocol(writers=3, faults=0, crashes=0, without=frozenset({"floor check"}))),
    "age": ("I4", Protocol(without=frozenset({"age"}))),
    "doubt": ("I4", Protocol(without=frozenset({"doubt"}))),
    "resolve": ("I5", Protocol(faults=1, crashes=0, without=frozenset({"resolve"}))),
    "files stay": ("I9", Protocol(without=frozenset({"files stay"}))),
    "validated": ("I3", Protocol(without=frozenset({"validated"}))),
    "mark first": ("I1", Protocol(without=frozenset({"mark first"}))),
    "create": ("I1", Protocol(without=frozenset({"create"}))),
}
SECOND_LINE: Final = "own id"


@pytest.mark.parametrize("name", MODELS)
def test_every_state_keeps_every_invariant(name: str, record_property: Callable[[str, object], None]) -> None:
    found = search(MODELS[name])
    record_property("states of the commit model", found.states)
    print(f"{found.states} states with {name}")
    assert not found.broken, found
    assert found.whole


@pytest.mark.parametrize("rule", NEEDED)
def test_without_a_rule_an_invariant_breaks(rule: str) -> None:
    invariant, protocol = NEEDED[rule]
    found = search(protocol)
    print(f"Without the rule that {RULES[rule]}: {found}")
    assert found.broken.startswith(invariant), found.broken or f"all {found.states} states are sound without it"


def test_a_writer_that_knows_its_own_commit_is_a_second_line_of_defence() -> None:
    """Alone nothing depends on it; where nothing is read back either, commits are doubled."""
    assert search(Protocol(without=frozenset({SECOND_LINE}))).whole
    assert search(Protocol(without=frozenset({SECOND_LINE, "read back"}))).broken.startswith("I3")


def test_every_rule_was_switched_off() -> None:
    assert NEEDED.keys() | {SECOND_LINE} == RULES.keys()


def test_a_trace_leads_to_the_state_that_it_was_found_in() -> None:
    _, protocol = NEEDED["same slot"]
    found = search(protocol)
    state = protocol.start()
    for step in found.trace:
        state = dict(protocol.next_states(state))[step]
    assert next(violations(state)) == found.broken
    assert len(found.trace) == 6


def test_a_model_without_faults_has_as_many_states_as_can_be_counted_by_hand() -> None:
    """One writer, no room for faults, and no version to sum up before it commits: begin, send, wait, won, done."""
    alone = Protocol(writers=1, versions=2, tries=1, faults=0, crashes=0)
    steps = [alone.start()]
    while following := [after for step, after in alone.next_states(steps[-1]) if not step.startswith("a checkpoint")]:
        (after,) = following
        steps.append(after)
    assert len(steps) == 5
