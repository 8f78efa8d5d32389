"""The page on reliability says what a run counted, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tools import proof
from tools.targets import SUITES, TARGETS

if TYPE_CHECKING:
    from pathlib import Path

REPORT = """<?xml version="1.0"?><testsuites><testsuite timestamp="2024-05-06T07:08:09">
<testcase classname="tests.faults.test_a" name="test_one" time="90"><properties>
<property name="fault cases" value="9000"/><property name="purge faults" value="1234"/>
<property name="of another kind" value="text"/></properties></testcase>
<testcase classname="tests.zoo.test_zoo" name="test_the_canary_makes_its_detector_fail" time="30"><properties>
<property name="fault cases" value="1"/></properties>{ending}</testcase>
<testcase classname="tests.contract.test_store_contract.TestPut" name="test_x[moto]" time="0"/>
</testsuite></testsuites>"""


NOTHING_LONGER: dict[str, dict[str, int]] = {"figures": {}, "efforts": {}}


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.xml"
    path.write_text(REPORT.format(ending=""))
    return path


def test_the_page_is_what_its_figures_say() -> None:
    kept = [json.loads(path.read_text()) for path in (proof.FIGURES, proof.LONGER)]
    assert proof.PAGE.read_text() == proof.rendered(*kept)


def test_figures_of_several_tests_are_added_up(report: Path) -> None:
    found = proof.read_report(report)
    assert found["figures"] == {"fault cases": 9001, "purge faults": 1234}
    assert (found["run"]["tests"], found["run"]["minutes"], found["run"]["day"]) == (3, 2, "2024-05-06")
    assert found["contract"] == {"moto": 1}
    assert found["canary"]


def test_what_was_counted_is_shown_beside_its_target_and_what_was_not_is_said(report: Path) -> None:
    page = proof.rendered(proof.read_report(report), NOTHING_LONGER)
    assert "| 10,000 | 10,235 |" in page
    assert "| Steps of random work on a whole table, each checked | 10,000 | not in this run |" in page
    assert "| it fails | it fails |" in page


def test_a_figure_that_is_short_says_whether_all_of_its_suites_ran() -> None:
    run = {"day": "", "tests": 0, "minutes": 0, "python": "", "system": ""}
    nothing = {"run": run, "canary": False, "contract": {}}
    whole = {"double faults": 1, "double faults of upkeep": 2}
    assert "| 1,000 | 3, too few |" in proof.rendered({**nothing, "figures": whole}, NOTHING_LONGER)
    part = {"double faults": 1}
    assert "| 1,000 | 1, because not all of their suites were" in proof.rendered(
        {**nothing, "figures": part}, NOTHING_LONGER
    )


def test_of_kinds_the_one_with_the_fewest_counts() -> None:
    (damages,) = (target for target in TARGETS if target.fewest)
    figures = dict.fromkeys(damages.names, 700) | {damages.names[0]: 499}
    assert damages.measured(figures) == 499


def test_longer_runs_of_other_suites_are_added_and_of_the_same_ones_replaced() -> None:
    first = proof.longer(NOTHING_LONGER, {"double faults": 10, "fault cases": 20}, effort=4)
    second = proof.longer(first, {"double faults": 4_000}, effort=9)
    assert second["figures"] == {"double faults": 4_000, "fault cases": 20}
    assert second["efforts"] == {"double faults": 9, "fault cases": 4}


def test_what_longer_runs_counted_is_shown_with_their_effort(report: Path) -> None:
    kept = proof.longer(NOTHING_LONGER, {"double faults": 4_000}, effort=9)
    kept = proof.longer(kept, {"double faults of upkeep": 1, "fuzz: processor minutes": 30}, effort=None)
    page = proof.rendered(proof.read_report(report), kept)
    assert "| 50,000 | 4,001 | 9 |" in page
    assert "| 240 | 30 |  |" in page
    assert "| 400,000 | not yet |  |" in page


def test_a_run_is_short_of_what_it_counted_too_little_of_or_not_at_all(report: Path) -> None:
    short = proof.shortfalls(proof.read_report(report))
    faults, doubles = TARGETS[0].what, TARGETS[1].what
    assert faults not in short
    assert doubles in short
    assert "the contract on moto" in short
    assert "the canary" not in short


def test_no_figure_on_the_page_is_short_of_its_target() -> None:
    assert "too few" not in proof.PAGE.read_text()


def test_a_run_with_a_failure_proves_nothing(report: Path) -> None:
    report.write_text(REPORT.format(ending="<failure/>"))
    with pytest.raises(SystemExit, match="test_the_canary"):
        proof.read_report(report)


def test_the_suites_of_the_page_exist() -> None:
    assert [suite for suite in SUITES if not (proof.ROOT / suite).exists()] == []
