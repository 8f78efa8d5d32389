from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from indextables.cli.endings import State
from indextables.cli.lakekeeper import main as lakekeeper
from indextables.cli.main import commands
from indextables.cli.reference import reference

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "command-line.md"


def test_the_reference_page_is_what_the_commands_say() -> None:
    command = "run python -m indextables.cli.reference > docs/reference/command-line.md"
    assert PAGE.read_text(encoding="utf-8") == reference(), command


GROUPS = {"indextables": commands, "lakekeeper": lakekeeper}


def _examples() -> list[str]:
    found = set()
    for program, group in GROUPS.items():
        root = click.Context(group, info_name=program, obj=State())
        texts = [group.epilog, *(group.get_command(root, name).epilog for name in group.list_commands(root))]  # type: ignore[union-attr] # all of them are there
        lines = (line.strip() for text in texts for line in (text or "").splitlines())
        found |= {line for line in lines if line.startswith(f"{program} ")}
    return sorted(found)


@pytest.mark.parametrize("example", _examples())
def test_each_example_is_a_command_line_that_is_understood(example: str) -> None:
    program, *words = shlex.split(example)
    group = GROUPS[program]
    with group.make_context(program, words, obj=State()) as root:
        name, command, rest = group.resolve_command(root, [*root._protected_args, *root.args])
        assert command is not None
        with command.make_context(name, rest, parent=root) as ctx:
            assert ctx.params


@pytest.mark.parametrize("program", GROUPS)
def test_every_command_is_found_by_its_name_and_explains_itself(program: str) -> None:
    group = GROUPS[program]
    root = click.Context(group, info_name=program, obj=State())
    for name in group.list_commands(root):
        command = group.get_command(root, name)
        assert command is not None
        assert command.name == name
        assert command.help
        assert command.epilog
