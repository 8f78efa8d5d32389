"""How a command ends: with an exit code, and where something is wrong with one sentence on standard error.

The sentence is the error's own. Only a fault of this program has none; it asks for `--debug`, which shows the traceback.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from indextables.cli.text import one_line, plain
from indextables.errors import IndexTablesError

if TYPE_CHECKING:
    from collections.abc import Iterator

FAILED: Final = 1
"""It cannot be done, for a reason outside this program: a wrong path, a conflict, a store that refuses."""
USAGE: Final = 2
"""The command line is wrong."""
DAMAGE: Final = 3
"""A check found something wrong."""
FAULT: Final = 4
"""A fault of this program."""
INTERRUPTED: Final = 130
"""Ctrl-C, as shells count it."""
PIPE_CLOSED: Final = 141
"""Whoever read the output has closed it, as shells count it."""


@dataclass(slots=True)
class State:
    """What holds for one run of a command.

    Attributes:
        debug: Show the traceback of an error, and what the library logs.
        as_json: Print JSON.
        program: The name of the command, with which each of its sentences begins.
    """

    debug: bool = False
    as_json: bool = False
    program: str = "indextables"


def ending_of(error: Exception, state: State) -> int:
    """Tell a person what went wrong, and return the exit code for it."""
    if isinstance(error, click.Abort):
        say_interrupted(state.program)
        return INTERRUPTED
    if isinstance(error, click.UsageError):
        return _usage(error, state.program)
    if state.debug:
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, IndexTablesError):
        _say(str(error), state.program)
        for note in getattr(error, "__notes__", ()):
            click.echo("\n".join(f"  {plain(line)}" for line in note.splitlines()), err=True)
        return FAILED
    if isinstance(error, click.ClickException):
        _say(error.format_message(), state.program)
        return FAILED
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        _say(f"{place}{error.strerror}.", state.program)
        return FAILED
    detail = f": {error}" if str(error) else ""
    hint = "" if state.debug else " Run it again with --debug, and report what that prints."
    _say(f"this should not have happened: {type(error).__name__}{detail}.{hint}", state.program)
    return FAULT


def say_interrupted(program: str = "indextables") -> None:
    """Tell a person that their Ctrl-C has arrived."""
    _say("interrupted.", program)


def _usage(error: click.UsageError, program: str) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return USAGE
    command = error.ctx.command_path if error.ctx else program
    problem = error.format_message().rstrip(".")
    _say(f"{problem}{'' if problem.endswith('?') else '.'} Try '{command} -h'.", program)
    return USAGE


def _say(text: str, program: str) -> None:
    click.echo(f"{program}: {one_line(text)}", err=True)


class _ToStderr(logging.Handler):
    def __init__(self, program: str) -> None:
        super().__init__()
        self._program = program

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as a sentence."""
        click.echo(f"{self._program}: {record.levelname.lower()}: {one_line(record.getMessage())}", err=True)


@contextlib.contextmanager
def logging_to_stderr(program: str) -> Iterator[None]:
    """Show what the library warns of while a command runs, and more where somebody lowers the level of its logger."""
    logger = logging.getLogger("indextables")
    handler, level = _ToStderr(program), logger.level
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def write_anything() -> None:
    """Have characters that a terminal's encoding lacks written as escapes, not as an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def quiet_stdout() -> None:
    """Let what is still to be written to a closed pipe go nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
