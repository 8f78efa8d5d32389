"""Tests that need a server which a command of its own fetches run only where pytest is pointed at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def ignored_unless_pointed_at(folder: Path, config: pytest.Config) -> bool | None:
    """Return what `pytest_ignore_collect` answers: True to pass a folder over, None to leave it to others."""
    start = config.invocation_params.dir
    pointed = any((start / argument.partition("::")[0]).resolve().is_relative_to(folder) for argument in config.args)
    return None if pointed else True
