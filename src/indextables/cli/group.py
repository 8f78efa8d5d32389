"""A command that has commands, whose modules are imported when they run.

Showing what there is must not wait for code that does it, so the list of commands has its own words for each. Whatever goes wrong
in one of them ends here, in one sentence and an exit code.
"""

from __future__ import annotations

import difflib
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from indextables.cli.endings import PIPE_CLOSED, State, ending_of, logging_to_stderr, quiet_stdout, write_anything

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Commands(click.Group):
    """Finds commands by name, and turns whatever goes wrong into one sentence and an exit code.

    Args:
        sections: By title, by name of a command: the module of `indextables.cli` that holds it, and its words. In its module
            a command is called by its name, with underscores for dashes.
        attributes: As click's groups take them.
    """

    def __init__(self, *, sections: Mapping[str, Mapping[str, tuple[str, str]]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self._sections = sections
        self._modules = {name: module for held in sections.values() for name, (module, _) in held.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return every command, in the order of the help."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Return a command, whose module is imported now."""
        if cmd_name not in self._modules:
            return None
        module = import_module(f"indextables.cli.{self._modules[cmd_name]}")
        command = getattr(module, cmd_name.replace("-", "_"))
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that a line names; a name that is nearly right is answered with the right one."""
        name = args[0]
        if name not in self._modules and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, self._modules, n=1)
            ctx.fail(f"There is no command {name!r}{f'; did you mean {near[0]}?' if near else '.'}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the list of commands without importing any."""
        for title, commands in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, words) for name, (_, words) in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands without importing any."""
        found = [
            CompletionItem(name, help=words)
            for commands in self._sections.values()
            for name, (_, words) in commands.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; that nobody reads the end of its output is no error worth a sentence."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            quiet_stdout()
            raise click.exceptions.Exit(PIPE_CLOSED) from None
        return result

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run a command line to its end, and leave with its exit code."""
        state = State(program=self.name or "indextables")
        extra["obj"] = state
        extra["standalone_mode"] = False
        write_anything()
        with logging_to_stderr(state.program):
            try:
                result = super().main(args, *rest, **extra)
                code = result if isinstance(result, int) else 0
            except Exception as error:  # noqa: BLE001 - the end of every command, whatever came
                code = ending_of(error, state)
        raise SystemExit(code)
