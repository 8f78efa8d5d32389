from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.cli.conftest import Answer


def test_checkpoint_sums_the_newest_version_up(run: Callable[..., Answer], copy: Path) -> None:
    answer = run("checkpoint", copy, "--json")
    assert answer.json["version"] == 12
    assert answer.json["files"] == 12
    assert list((copy / "_transaction_log").glob("_checkpoints/*12.checkpoint*"))
    assert "Checkpoint of version 12: 12 files in 1 part" in run("checkpoint", copy).out


def test_checkpoint_takes_settings(run: Callable[..., Answer], copy: Path) -> None:
    answer = run("checkpoint", copy, "--json", "--option", "spark.indextables.checkpoint.format=json")
    assert answer.json["format"] == "json"


def test_cleanup_deletes_old_commits_and_says_so(run: Callable[..., Answer], copy: Path) -> None:
    soon = (
        "--option",
        "spark.indextables.logRetention.duration=0s",
        "--option",
        "spark.indextables.checkpoint.retention=1",
    )
    foretold = run("cleanup", copy, "--dry-run", *soon)
    commits = list((copy / "_transaction_log").glob("*.json"))
    assert foretold.out.startswith("Would delete")
    done = run("cleanup", copy, "--json", *soon).json
    assert done["commits"] == len(commits) - len(list((copy / "_transaction_log").glob("*.json"))) > 0
    assert foretold.out.startswith(f"Would delete {done['commits']} commits")
    assert run("count", copy).out == "120\n"


def test_cleanup_without_anything_to_do_does_nothing(run: Callable[..., Answer], copy: Path) -> None:
    assert run("cleanup", copy).out.startswith("Deleted 0 commits, 0 checkpoints and 0 other files")


def test_restore_makes_a_new_version_like_an_old_one(run: Callable[..., Answer], copy: Path) -> None:
    assert run("restore", copy, 4).out == "Version 13 is as version 4 was.\n"
    assert run("count", copy).out == "40\n"
    again = run("restore", copy, 4, "--json").json
    assert again["written"] is False
    assert run("restore", copy, 4).out == "Nothing to do: version 13 is as version 4 was.\n"
    assert run("history", copy, "--limit", 1, "--json").json[0]["operation"] == "restore"
