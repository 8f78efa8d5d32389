"""Figures of benchmarks become data, a page, and a verdict about what became slower."""

from __future__ import annotations

import platform
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from benchmarks.check import least, slower
from benchmarks.measured import Median, Run, load, machine, result, save
from benchmarks.page import page, plot

if TYPE_CHECKING:
    from pathlib import Path

OPEN = result("open", Median([0.09, 0.1, 0.11]), 0.8, beside="delta-rs", asked=10)
SCAN = result("scan", 2.0, 1.9, beside="pyarrow", asked=0.9, is_limit=True)
MEMORY = result("memory for 10 files", 60.0, unit="MB", asked=50)
RUN = Run(
    bench="log",
    about="How quickly a log opens.",
    command="python benchmarks/bench_log.py",
    is_quick=False,
    machine={"cores": "2"},
    results=[OPEN, SCAN, MEMORY],
)


def test_a_ratio_is_theirs_divided_by_ours_and_the_spread_that_of_our_rounds() -> None:
    assert OPEN.ratio == 0.8 / 0.1
    assert OPEN.spread is not None
    assert round(OPEN.spread, 3) == 0.05
    assert (SCAN.spread, MEMORY.ratio) == (None, None)


def test_what_was_asked_is_a_ratio_or_the_most_that_it_may_take() -> None:
    assert (OPEN.met, SCAN.met, MEMORY.met) == (False, True, False)
    assert result("no peer", 1.0).met is None


def test_a_run_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    save(tmp_path / "new" / "log.json", "log", "What.\nIt is.\n\nMore.\n\nRun: it", RUN.results, is_quick=True)
    read = load(tmp_path / "new" / "log.json")
    assert read.results == RUN.results
    assert (read.about, read.is_quick, read.bench) == ("What. It is.", True, "log")


def test_a_run_is_not_written_unless_somebody_asks(tmp_path: Path) -> None:
    save(None, "log", "", [], is_quick=True)
    assert list(tmp_path.iterdir()) == []


def test_the_machine_is_described_without_its_name() -> None:
    facts = machine()
    assert {"cores", "processor", "python", "pyarrow"} <= set(facts)
    assert platform.node() not in facts.values()


def test_the_page_has_a_line_a_result_and_says_what_was_missed() -> None:
    text = page([RUN])
    assert "| open | 100 ms | delta-rs | 800 ms | 8.0x | 5% | 10.0x | **missed** |" in text
    assert "| scan | 2.00 s | pyarrow (limit) | 1.90 s | 0.95x |  | 0.90x | met |" in text
    assert "| memory for 10 files | 60 MB |  |  |  |  | 50 MB | **missed** |" in text
    assert "| cores | 2 |" in text


def test_a_drawing_has_two_bars_for_each_line_that_has_a_peer() -> None:
    tree = ET.fromstring(plot(RUN))
    bars = [item.get("class") for item in tree.iter("{http://www.w3.org/2000/svg}rect")]
    legend, drawn = bars[:3], bars[3:]
    assert legend == ["ours", "peer", "limit"]
    assert drawn == ["ours", "peer", "ours", "limit"]


def test_the_best_of_all_runs_counts_against_four_fifths_of_what_is_kept() -> None:
    def now(*ratios: float) -> list[Run]:
        return [replace(RUN, results=[replace(OPEN, ratio=ratio), SCAN]) for ratio in ratios]

    assert slower(RUN, now(6.5)) == []
    assert slower(RUN, now(6.3)) == ["open, beside delta-rs: 6.30x, and 8.00x is kept"]
    assert slower(RUN, now(2.0, 7.0)) == []


def test_a_line_that_is_not_measured_any_more_is_reported() -> None:
    assert slower(RUN, [replace(RUN, results=[OPEN])]) == ["scan, beside pyarrow: it is not measured any more"]


def test_what_is_kept_is_the_least_ratio_of_each_line() -> None:
    runs = [replace(RUN, results=[replace(OPEN, ratio=ratio), SCAN, MEMORY]) for ratio in (8.0, 7.0, 9.0)]
    assert [line.ratio for line in least(runs).results] == [7.0, SCAN.ratio, None]
