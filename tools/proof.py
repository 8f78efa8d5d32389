"""From the reports of a test run to `docs/reliability.md`: every figure on that page was counted by a test of that run.

    python tools/proof.py --suites               the suites that the page is about
    python tools/proof.py report.xml ...         reads JUnit reports, writes docs/reliability.json and the page
    python tools/proof.py                        writes the page from docs/reliability.json

Tests count with pytest's `record_property`. A run with a failure writes nothing: there is nothing to prove then.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "reliability.json"
PAGE = ROOT / "docs" / "reliability.md"
SUITES = (
    "tests/contract",
    "tests/faults",
    "tests/fuzz",
    "tests/hive/test_crashes.py",
    "tests/hive/test_metastore_faults.py",
    "tests/model",
    "tests/property",
    "tests/races",
    "tests/security",
    "tests/soak",
    "tests/stateful",
    "tests/unit/table/test_merging.py",
    "tests/unit/table/test_purging.py",
    "tests/zoo",
)
EVERY_CHANGE = ("s3-model", "posix-model", "hdfs-model", "local", "moto")
STORES = (*EVERY_CHANGE, "s3-server", "hadoop", "hdfs")
"""The stores of the contract; one whose name begins like another's comes first."""


@dataclass(frozen=True)
class Target:
    """A figure that every change must reach.

    Attributes:
        what: What is counted.
        least: How many there must be; None where any number is welcome.
        names: The names under which tests count it; they are added up.
    """

    what: str
    least: int | None
    names: tuple[str, ...]


TARGETS = (
    Target(
        "Faults at storage calls: each scenario, call, kind of fault, once and for ever, on each store",
        10_000,
        (
            "fault cases",
            "fault cases of upkeep",
            "fault cases of repairs",
            "fault cases of restores",
            "merge faults",
            "purge faults",
        ),
    ),
    Target(
        "A second fault, while the first one is being recovered from",
        1_000,
        ("double faults", "double faults of upkeep"),
    ),
    Target("Interleavings of two clients", 5_000, ("interleavings of two",)),
    Target("Interleavings of three and four clients", 2_000, ("interleavings of more", "interleavings of upkeep")),
    Target("Steps of random work on a whole table, each checked", 10_000, ("stateful: steps",)),
    Target("Faults that struck in these steps", None, ("stateful: faults that struck",)),
    Target(
        "SIGKILLs of real processes",
        300,
        (
            "SIGKILLs of writers",
            "SIGKILLs in upkeep",
            "repairs killed",
            "soak: SIGKILLs",
            "lakekeeper: SIGKILLs at a step",
            "lakekeeper: SIGKILLs at a step of a switch",
            "lakekeeper: SIGKILLs at random moments",
            "lakekeeper: SIGKILLs inside recovery",
        ),
    ),
    Target("Commits of eight processes that race; none lost, none doubled", 800, ("commits of racing writers",)),
    Target("Writers suspended in mid-air (SIGSTOP) while others went on", 20, ("writers suspended by SIGSTOP",)),
    Target("Operations that a full disk stopped", 20, ("operations on a full disk",)),
    Target("Writes denied because a permission was lost in mid-run", 20, ("writes denied in mid-run",)),
    Target(
        "Directory swaps of Hive tables killed at a step",
        30,
        ("lakekeeper: SIGKILLs at a step", "lakekeeper: SIGKILLs at a step of a switch"),
    ),
    Target("Directory swaps killed again inside recovery", 10, ("lakekeeper: SIGKILLs inside recovery",)),
    Target(
        "Requests to S3 through a proxy that loses, delays, doubles, refuses and cuts",
        200,
        ("lost answers settled", "requests of tables on S3 that went wrong", "late writes to tables on S3"),
    ),
    Target("Split files with flipped bits or cut short", 500, ("damaged splits read", "damaged footers described")),
    Target("Inputs of eight fuzz targets, replayed", 300, ("fuzz seeds",)),
    Target("States of the model of a commit, all of them", None, ("states of the commit model",)),
    Target("Bug zoo: seeded faults that the suites caught", 25, ("bug zoo: seeded faults caught",)),
    Target("Hostile inputs that were refused", 300, ("security payloads",)),
    Target("Seconds of mixed work by nine processes, with kills", 60, ("soak: seconds",)),
)
SOAK = {
    "versions": "soak: versions",
    "rows written": "soak: rows",
    "reads": "soak: reads",
    "SIGKILLs": "soak: SIGKILLs",
    "MB that memory grew by after the warm-up, at most": "soak: MB that memory grew by after the warm-up",
    "handles gained after the warm-up, at most": "soak: handles gained after the warm-up",
}


def read_reports(paths: Iterable[Path]) -> dict[str, Any]:
    """Return what a run counted, from its JUnit reports.

    Raises:
        SystemExit: A test failed.
    """
    figures: Counter[str] = Counter()
    contract: Counter[str] = Counter()
    tests, seconds, canary, days, bad = 0, 0.0, 0, set(), []
    for path in paths:
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


def rendered(proof: Mapping[str, Any]) -> str:
    """Return the page for what a run counted."""
    run, figures = proof["run"], proof["figures"]
    rows = [_row(target, figures) for target in TARGETS]
    rows.insert(-3, ("Bug zoo: the canary, a fault that must make its detector fail", "it fails", _canary(proof)))
    rows.append(("Stores that pass the one contract suite of at least 60 cases", _listed(EVERY_CHANGE), _stores(proof)))
    table = "\n".join(f"| {what} | {target} | {measured} |" for what, target, measured in rows)
    soak = "\n".join(f"| {what} | {figures.get(name, 'not in this run')} |" for what, name in SOAK.items())
    return _TEXT.format(
        table=table,
        soak=soak,
        suites=" ".join(SUITES),
        day=run["day"],
        tests=f"{run['tests']:,}",
        minutes=run["minutes"],
        python=run["python"],
        system=run["system"],
    )


def _row(target: Target, figures: Mapping[str, int]) -> tuple[str, str, str]:
    counted = [figures[name] for name in target.names if name in figures]
    wanted = "" if target.least is None else f"{target.least:,}"
    if not counted:
        return target.what, wanted, "not in this run"
    total = sum(counted)
    if target.least is None or total >= target.least:
        return target.what, wanted, f"{total:,}"
    lacks = "too few" if len(counted) == len(target.names) else "because not all of their suites were in this run"
    return target.what, wanted, f"{total:,}, {lacks}"


def _canary(proof: Mapping[str, Any]) -> str:
    return "it fails" if proof["canary"] else "not in this run"


def _stores(proof: Mapping[str, Any]) -> str:
    passed = [name for name, cases in proof["contract"].items() if cases >= 60]
    return _listed(passed) if passed else "not in this run"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    if list(arguments) == ["--suites"]:
        print(" ".join(SUITES))
        return
    if arguments:
        proof = read_reports(map(Path, arguments))
        FIGURES.write_text(json.dumps(proof, indent=2) + "\n")
    PAGE.write_text(rendered(json.loads(FIGURES.read_text())))


_TEXT = """\
# Reliability

What a table promises, what it does not, and how that was tested the last time. This page is written by `make proof`: every figure
was counted by the tests of that run, and none by hand.

## What we promise

1.  **An acknowledged commit stays.** It survives the death of any client, and on a local disk a power cut, too.
2.  **A read sees exactly one committed version, whole.** Not a part of one, and not a mixture of two.
3.  **A commit ends in one of four ways**: done; in conflict; failed; or unknown, as `CommitUnknownError`, with the id and the version
    by which `resolve_commit` tells later which it was. The same batch of the same application is written once, however often it is sent.
4.  **Cleanup and purge delete nothing that is needed**: nothing that a version which is kept can reach, and nothing that is younger
    than the limit.
5.  **After recovery a compacted Hive table is all old or all new**, never a mixture, and files that others wrote meanwhile are kept.
6.  **Damaged or hostile input gives an error with a name**, never silently missing rows, a program that hangs, or foreign code that runs.

## What we do not promise

- Stores that cannot create a file only if it is absent. They are refused when a table is opened.
- Transactions over several tables.
- A read without a gap while a Hive table on HDFS is swapped by two renames: there is a moment without a live directory. With a
  Hive Metastore a compaction can switch the location instead, which has no such moment.
- Swaps by renaming on S3. They are refused.
- A log that is cleaned up with a shorter `logRetention.duration` than its writers were given: a writer that slept for longer than the
  cleaner keeps commits could be told of a version that nobody sees. Give all clients of a table the same limit.

## What can go wrong, and is made to go wrong

| Fault | Where it is injected |
| --- | --- |
| the process dies before or after any storage call, or inside a write | models of S3, HDFS and a local disk; real processes by SIGKILL |
| a power cut takes what was not synced: data, names in directories, in any combination | the model of a local disk |
| the answer is lost, with the effect done, not done, or done later | every write of the models; the proxy in front of S3 and of HDFS |
| a hidden retry does something twice | every write of the models; the proxy in front of S3 |
| 409, 412, 500, 503, lost permission, once and for ever | every call of the models; the proxy in front of S3 |
| a listing that is stale, doubled, cut short, or lacks a page | the models; the proxy in front of S3 |
| clocks that are wrong by an hour, that jump, that stand still | random work on a whole table; retention and cleanup |
| the disk is full after so many bytes | the models; real files, by a limit of the process |
| a permission is lost in mid-run | the models; a real process without rights on a local disk |
| a writer sleeps, and wakes up when the table has moved on, or was cleaned up | real processes by SIGSTOP; interleavings |
| many writers, readers, a merger and a cleaner at once | interleavings of every storage call; real processes |
| bits flip, files are cut short, swapped or missing | log, checkpoints, split files |
| `close` or `fsync` fails after good writes | the models |
| renames that overwrite, nest, or answer false | the model of HDFS; a real HDFS |
| others write to a Hive table while it is compacted; the Metastore does not answer | Lakekeeper, in processes of its own |
| a task is retried or has a twin; the driver dies after the tasks | Spark |
| input made to do harm: paths, JSON, Parquet, names, statements | see [Security](security.md) |

After each case a judge looks at the table from outside: it reads the log with a reader of its own, and knows besides only what
clients were told. That versions have no gaps and never change, that rows at every version are those of the commits up to it, that
what was acknowledged is there once and what failed is not, that readers never go back, that the table opens without help, and that a
second recovery changes nothing, is checked each time. The judges themselves are on trial, too: in the bug zoo mistakes are built into
the product on purpose, one at a time, and each must be noticed.

## Target and measured

| What | Target of every change | Measured |
| --- | --- | --- |
{table}

Violations in all of these: none. A run with one writes no page.

The mixed work of real processes on a local disk, in this run:

| What | Measured |
| --- | --- |
{soak}

This run: {day}, {tests} tests, {minutes} minutes of them, Python {python}, {system}.

## How to run it again

<!-- not run: it takes many minutes and writes this page -->
```bash
make proof
```

Longer runs are a matter of environment variables:

| Variable | What it does |
| --- | --- |
| `INDEXTABLES_ALL_CASES=1` | takes every case where a run takes a sample |
| `INDEXTABLES_STATEFUL_RUNS`, `INDEXTABLES_STATEFUL_STEPS` | how many runs of random work on a whole table, and how long; nightly 20,000 and 100 |
| `INDEXTABLES_SOAK_SECONDS` | how long the mixed work of real processes lasts; nightly 1800 |

Real servers are besides: `make test-s3` and `make test-hdfs` run the contract, the races and the kills on a real S3 server and a real
HDFS. A case that fails prints its seed or its steps, and is kept as a test of its own.
"""


if __name__ == "__main__":
    main(sys.argv[1:])
