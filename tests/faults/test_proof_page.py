"""The page on reliability says what a run counted, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tools import proof

if TYPE_CHECKING:
    from pathlib import Path

REPORT = """<?xml version="1.0"?><testsuites><testsuite timestamp="2024-05-06T07:08:09">
<testcase classname="tests.faults.test_a" name="test_one" time="90"><properties>
<property name="fault cases" value="9000"/><property name="purge faults" value="1234"/>
<property name="of another kind" value="text"/></properties></testcase>
<testcase classname="tests.zoo.test_zoo" name="test_the_canary_makes_its_detector_fail" time="30">{ending}</testcase>
<testcase classname="tests.contract.test_store_contract.TestPut" name="test_x[moto]" time="0"/>
</testsuite></testsuites>"""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.xml"
    path.write_text(REPORT.format(ending=""))
    return path


def test_the_page_is_what_its_figures_say() -> None:
    assert proof.PAGE.read_text() == proof.rendered(json.loads(proof.FIGURES.read_text()))


def test_no_figure_on_the_page_is_short_of_its_target() -> None:
    assert "too few" not in proof.PAGE.read_text()


def test_figures_of_several_tests_and_reports_are_added_up(report: Path) -> None:
    found = proof.read_reports([report, report])
    assert found["figures"] == {"fault cases": 18000, "purge faults": 2468}
    assert (found["run"]["tests"], found["run"]["minutes"], found["run"]["day"]) == (6, 4, "2024-05-06")
    assert found["contract"] == {"moto": 2}
    assert found["canary"]


def test_what_was_counted_is_shown_beside_its_target_and_what_was_not_is_said(report: Path) -> None:
    page = proof.rendered(proof.read_reports([report]))
    assert "| 10,000 | 10,234 |" in page
    assert "| Steps of random work on a whole table, each checked | 10,000 | not in this run |" in page
    assert "| it fails | it fails |" in page


def test_a_figure_that_is_short_says_whether_all_of_its_suites_ran() -> None:
    run = {"day": "", "tests": 0, "minutes": 0, "python": "", "system": ""}
    nothing = {"run": run, "canary": False, "contract": {}}
    whole = {"double faults": 1, "double faults of upkeep": 2}
    assert "| 1,000 | 3, too few |" in proof.rendered({**nothing, "figures": whole})
    part = {"double faults": 1}
    assert "| 1,000 | 1, because not all of their suites were" in proof.rendered({**nothing, "figures": part})


def test_a_run_with_a_failure_proves_nothing(report: Path) -> None:
    report.write_text(REPORT.format(ending="<failure/>"))
    with pytest.raises(SystemExit, match="test_the_canary"):
        proof.read_reports([report])


def test_the_suites_of_the_page_exist() -> None:
    assert [suite for suite in proof.SUITES if not (proof.ROOT / suite).exists()] == []
