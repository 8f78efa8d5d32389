"""What the reliability suites must count: for every change, and in a night. Names are those of `record_property` in the tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SUITES = (
    "tests/contract",
    "tests/faults",
    "tests/fuzz",
    "tests/hive/test_crashes.py",
    "tests/hive/test_damaged_files.py",
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
    """A figure, and how large it must be.

    Attributes:
        what: What is counted.
        least: How many every change must reach; None where any number is welcome.
        names: The names under which tests count it; they are added up.
        nightly: How many a night should reach; 0 where any number is welcome, None where a night does no more than every change.
        fewest: Whether the names are kinds, of each of which there must be so many.
    """

    what: str
    least: int | None
    names: tuple[str, ...]
    nightly: int | None = None
    fewest: bool = False

    def measured(self, figures: Mapping[str, int]) -> int | None:
        """Return what was counted; None if nothing was."""
        counted = [figures[name] for name in self.names if name in figures]
        return (min if self.fewest else sum)(counted) if counted else None

    def is_whole(self, figures: Mapping[str, int]) -> bool:
        """Return whether all that count had their turn."""
        return figures.keys() >= set(self.names)


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
        150_000,
    ),
    Target(
        "A second fault, while the first one is being recovered from",
        1_000,
        ("double faults", "double faults of upkeep"),
        50_000,
    ),
    Target("Interleavings of two clients", 5_000, ("interleavings of two",), 400_000),
    Target(
        "Interleavings of three and four clients", 2_000, ("interleavings of more", "interleavings of upkeep"), 100_000
    ),
    Target("Steps of random work on a whole table, each checked", 10_000, ("stateful: steps",), 2_000_000),
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
        10_000,
    ),
    Target(
        "Commits of eight processes that race; none lost, none doubled", 800, ("commits of racing writers",), 32_000
    ),
    Target("Writers suspended in mid-air (SIGSTOP) while others went on", 20, ("writers suspended by SIGSTOP",), 40),
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
        5_000,
    ),
    Target(
        "Flipped bits and cut files: splits, commits, checkpoints, their manifests, pointers, files of Hive tables; of each at least",
        500,
        (
            "damaged splits",
            "damaged commits",
            "damaged Parquet checkpoints",
            "damaged JSON checkpoints",
            "damaged manifests",
            "damaged pointers",
            "damaged pages of Hive tables",
            "damaged Parquet files of Hive tables",
            "damaged ORC files of Hive tables",
        ),
        20_000,
        fewest=True,
    ),
    Target("Inputs of eight fuzz targets, replayed", 300, ("fuzz seeds",)),
    Target("Minutes of processor time for fuzzing", None, ("fuzz: processor minutes",), 240),
    Target("Inputs that the fuzzers tried", None, ("fuzz: inputs",), 0),
    Target("States of the model of a commit, all of them", None, ("states of the commit model",), 1_000_000),
    Target("Bug zoo: seeded faults that the suites caught", 25, ("bug zoo: seeded faults caught",)),
    Target("Hostile inputs that were refused", 300, ("security payloads",)),
    Target("Seconds of mixed work by nine processes, with kills", 60, ("soak: seconds",), 1_800),
)
SOAK = {
    "versions": "soak: versions",
    "rows written": "soak: rows",
    "reads": "soak: reads",
    "SIGKILLs": "soak: SIGKILLs",
    "MB that memory grew by after the warm-up, at most": "soak: MB that memory grew by after the warm-up",
    "handles gained after the warm-up, at most": "soak: handles gained after the warm-up",
}
