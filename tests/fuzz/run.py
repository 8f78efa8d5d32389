"""Runs a target under atheris: `python -m tests.fuzz.run --target commit-file --seconds 60`.

It starts from the seeds, which it writes into a directory of its own, and stops at the first finding, whose input it leaves
in `tests/fuzz/found/TARGET/`: there every test run replays it.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import random
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

FOUND = Path(__file__).parent / "found"
"""Inputs that were findings once, a directory for each target."""

_PARQUET = frozenset({"split-footer", "checkpoint"})
_IN_FOOTERS = 0.7  # of the changes to a Parquet file


def main() -> None:
    """Fuzz one target for some time."""
    atheris = _atheris()
    with atheris.instrument_imports(include=["indextables", "msgspec", "tests.fuzz"]):
        from tests.fuzz.corpus import seeds  # noqa: PLC0415 - what is imported here is what is measured
        from tests.fuzz.targets import TARGETS  # noqa: PLC0415
        from tests.fuzz.thrift import damaged_footer  # noqa: PLC0415
    arguments = argparse.ArgumentParser(description="Fuzz one target")
    arguments.add_argument("--target", choices=sorted(TARGETS), required=True)
    arguments.add_argument("--seconds", type=int, default=60)
    chosen = arguments.parse_args()
    logging.disable()
    found = FOUND / chosen.target
    found.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        for number, seed in enumerate(seeds(chosen.target)):
            (Path(directory) / f"{number:04d}").write_bytes(seed)

        def mutated(data: bytes, longest: int, seed: int) -> bytes:
            """Change an input as the fuzzer does, or in a way that the reader of a footer understands."""
            dice = random.Random(seed)
            changed = damaged_footer(data, dice) if dice.random() < _IN_FOOTERS else data
            return changed if changed != data and len(changed) <= longest else bytes(atheris.Mutate(data, longest))

        limits = [f"-max_total_time={chosen.seconds}", "-timeout=10", "-rss_limit_mb=3000", "-max_len=8192"]
        atheris.Setup(
            [sys.argv[0], *limits, "-print_final_stats=1", f"-artifact_prefix={found}/", directory],
            TARGETS[chosen.target],
            **({"custom_mutator": mutated} if chosen.target in _PARQUET else {}),
        )
        atheris.Fuzz()


def _atheris() -> ModuleType:
    try:
        return importlib.import_module("atheris")
    except ImportError:
        sys.exit(
            "Fuzzing needs atheris, which is not installed here: pip install atheris. The seeds are replayed without it."
        )


if __name__ == "__main__":
    main()
