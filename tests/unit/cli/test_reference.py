from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from indextables.cli.endings import State
from indextables.cli.main import commands
from indextables.cli.reference import reference

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "command-line.md"


def test_the_reference_page_is_what_the_commands_say() -> None:
    command = "run python -m indextables.cli.reference > docs/reference/command-line.md"
    assert PAGE.read_text(encoding="utf-8") == reference(), command


def _examples() -> list[str]:
    root = click.Context(commands, info_name="indextables", obj=State())
    texts = [commands.epilog, *(commands.get_command(root, name).epilog for name in commands.list_commands(root))]  # type: ignore[union-attr] # all of them are there
    lines = (line.strip() for text in texts for line in (text or "").splitlines())
    return sorted({line for line in lines if line.startswith("indextables ")})


@pytest.mark.parametrize("example", _examples())
def test_each_example_is_a_command_line_that_is_understood(example: str) -> None:
    root = click.Context(commands, info_name="indextables", obj=State())
    name, command, rest = commands.resolve_command(root, shlex.split(example)[1:])
    assert command is not None
    with command.make_context(name, rest, parent=root) as ctx:
        assert ctx.params
