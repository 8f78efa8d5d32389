"""From the reports of a test run to `docs/reliability.md`: every figure on that page was counted by a test of that run.

    python -m tools.proof --suites                        the suites that the page is about
    python -m tools.proof report.xml                      reads the report of a whole run, and writes the page
    python -m tools.proof --effort 10 report.xml          reads that of a longer run of some suites, and adds it to the page
    python -m tools.proof fuzz.json                       adds what the fuzzers counted
    python -m tools.proof --check report.xml              writes nothing, and fails if a figure is short of its target
    python -m tools.proof                                 writes the page from what was kept

Tests count with pytest's `record_property`, and the fuzzers in a JSON file. A run with a failure writes nothing: there is nothing to
prove then.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from tools.targets import EVERY_CHANGE, SOAK, STORES, SUITES, TARGETS, Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "reliability.json"
LONGER = ROOT / "docs" / "reliability-longer.json"
PAGE = ROOT / "docs" / "reliability.md"
TEMPLATE = ROOT / "tools" / "reliability.template.md"


def read_report(path: Path) -> dict[str, Any]:
    """Return what a run counted, from its JUnit report.

    Raises:
        SystemExit: A test failed.
    """
    figures: Counter[str] = Counter()
    contract: Counter[str] = Counter()
    tests, seconds, canary, days, bad = 0, 0.0, 0, set(), []
    for suite in ET.parse(path).iter("testsuite"):
        days.add(suite.get("timestamp", "")[:10])
        for case in suite.iter("testcase"):
            name = case.get("name", "")
            if case.find("failure") is not None or case.find("error") is not None:
                bad.append(f"{case.get('classname')}::{name}")
            tests += 1
            seconds += float(case.get("time", "0"))
            canary += "canary" in name
            if "test_store_contract" in case.get("classname", ""):
                contract.update(_store_of(name))
            for entry in case.iter("property"):
                value = entry.get("value", "")
                if value.lstrip("-").isdigit():
                    figures[entry.get("name", "")] += int(value)
    if bad:
        raise SystemExit("Nothing was written, because tests failed:\n" + "\n".join(bad))
    return {
        "run": {
            "day": max(days, default=""),
            "tests": tests,
            "minutes": round(seconds / 60),
            "python": platform.python_version(),
            "system": f"{platform.system()}, {os.cpu_count()} cores",
        },
        "canary": canary > 0,
        "contract": dict(sorted(contract.items())),
        "figures": dict(sorted(figures.items())),
    }


def _store_of(name: str) -> list[str]:
    """Return the store that a test of the contract ran on, if it is one of them."""
    return [store for store in STORES if re.search(rf"[\[-]{store}[\]-]", name)][:1]


def longer(kept: Mapping[str, Any], counted: Mapping[str, int], *, effort: int | None) -> dict[str, Any]:
    """Return what was kept of longer runs with another one, which replaces what it counted anew."""
    figures = {**kept["figures"], **counted}
    efforts = {**kept["efforts"], **(dict.fromkeys(counted, effort) if effort else {})}
    return {"figures": dict(sorted(figures.items())), "efforts": dict(sorted(efforts.items()))}


def rendered(proof: Mapping[str, Any], kept: Mapping[str, Any]) -> str:
    """Return the page for what a run counted, and what was kept of longer ones."""
    run, figures = proof["run"], proof["figures"]
    return TEMPLATE.read_text().format(
        table=_lines(measured_rows(proof)),
        longer=_lines(_longer_row(target, kept) for target in TARGETS if target.nightly is not None),
        soak=_lines((what, _soaked(figures, name), _soaked(kept["figures"], name)) for what, name in SOAK.items()),
        day=run["day"],
        tests=f"{run['tests']:,}",
        minutes=run["minutes"],
        python=run["python"],
        system=run["system"],
    )


def measured_rows(proof: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return each figure of a run: what it is, its target, and what was counted."""
    figures = proof["figures"]
    rows = [_row(target, figures) for target in TARGETS if target.least or target.measured(figures) is not None]
    rows.append(("Bug zoo: the canary, a fault that must make its detector fail", "it fails", _canary(proof)))
    rows.append(("Stores that pass the one contract suite of at least 60 cases", _listed(EVERY_CHANGE), _stores(proof)))
    return rows


def shortfalls(proof: Mapping[str, Any]) -> list[str]:
    """Return which figures of a run do not reach their targets."""
    figures = proof["figures"]
    short = [target.what for target in TARGETS if target.least and (target.measured(figures) or 0) < target.least]
    short += [] if proof["canary"] else ["the canary"]
    return short + [f"the contract on {store}" for store in EVERY_CHANGE if proof["contract"].get(store, 0) < 60]


def _check(report: Path) -> None:
    """Show the figures of a run beside their targets, and end with an error if one is short."""
    proof = read_report(report)
    table = Table("what", "target", "measured", title="Figures of this run", title_justify="left")
    for row in measured_rows(proof):
        table.add_row(*row)
    Console(width=140).print(table)
    if short := shortfalls(proof):
        raise SystemExit("Short of their targets: " + "; ".join(short))


def _lines(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(target: Target, figures: Mapping[str, int]) -> tuple[str, str, str]:
    measured = target.measured(figures)
    wanted = "" if target.least is None else f"{target.least:,}"
    if measured is None:
        return target.what, wanted, "not in this run"
    if target.least is None or measured >= target.least:
        return target.what, wanted, f"{measured:,}"
    lacks = "too few" if target.is_whole(figures) else "because not all of their suites were in this run"
    return target.what, wanted, f"{measured:,}, {lacks}"


def _longer_row(target: Target, kept: Mapping[str, Any]) -> tuple[str, str, str, str]:
    measured = target.measured(kept["figures"])
    efforts = sorted({kept["efforts"][name] for name in target.names if name in kept["efforts"]})
    shown = "not yet" if measured is None else f"{measured:,}"
    wanted = f"{target.nightly:,}" if target.nightly else ""
    return target.what, wanted, shown, " and ".join(map(str, efforts))


def _soaked(figures: Mapping[str, int], name: str) -> str:
    return f"{figures[name]:,}" if name in figures else "not in this run"


def _canary(proof: Mapping[str, Any]) -> str:
    return "it fails" if proof["canary"] else "not in this run"


def _stores(proof: Mapping[str, Any]) -> str:
    passed = [name for name, cases in proof["contract"].items() if cases >= 60]
    return _listed(passed) if passed else "not in this run"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Write docs/reliability.md from what test runs counted")
    parser.add_argument("report", nargs="?", type=Path, help="a JUnit report, or figures in JSON")
    parser.add_argument(
        "--effort", type=int, default=1, help="what INDEXTABLES_EFFORT was; above 1 the run is a longer one"
    )
    parser.add_argument("--suites", action="store_true", help="only print the suites that the page is about")
    parser.add_argument(
        "--check", action="store_true", help="write nothing, and fail if a figure is short of its target"
    )
    asked = parser.parse_args()
    if asked.suites:
        print(" ".join(SUITES))
        return
    report: Path | None = asked.report
    if report is not None and not report.is_file():
        parser.error(f"there is no report at {report}: run the tests with --junitxml={report} first")
    if asked.check and report is None:
        parser.error("--check needs the report of a run")
    if report is not None:
        if asked.check:
            _check(report)
            return
        if report.suffix == ".json":
            _keep(LONGER, longer(json.loads(LONGER.read_text()), json.loads(report.read_text()), effort=None))
        elif asked.effort > 1:
            _keep(LONGER, longer(json.loads(LONGER.read_text()), read_report(report)["figures"], effort=asked.effort))
        else:
            _keep(FIGURES, read_report(report))
    PAGE.write_text(rendered(json.loads(FIGURES.read_text()), json.loads(LONGER.read_text())))


def _keep(path: Path, found: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
