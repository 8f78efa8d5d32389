"""What commands have in common: the table, at which moment, settings, and the form of the output."""

from __future__ import annotations

import difflib
import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from indextables.cli.endings import State
from indextables.config import PREFIX
from indextables.config.settings import registry

if TYPE_CHECKING:
    from collections.abc import Callable

_F = TypeVar("_F", bound="Callable[..., Any]")

_STORES: Final = ("fs.", "dfs.", "hadoop.", "google.cloud.", "spark.hadoop.")
"""How the names of Hadoop's properties begin that open a store."""


class TableAddress(click.ParamType):  # type: ignore[type-arg] # older versions of click have no such argument
    """A local path or an address; shells complete directories."""

    name = "table"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the address, which must not be empty."""
        text = str(value)
        if not text.strip():
            self.fail("the path of the table is empty", param, ctx)
        if "\0" in text:
            self.fail("a path cannot hold the character NUL", param, ctx)
        return text

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Let the shell complete directories."""
        return [CompletionItem(incomplete, type="dir")]


class KeyValue(click.ParamType):  # type: ignore[type-arg] # as above
    """A setting as `key=value`, whose key is one of ours or opens a store."""

    name = "key=value"

    def __init__(self, *, spark: bool = False) -> None:
        self._spark = spark

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return key and value; a key that nobody reads is a mistake, since it would change nothing."""
        key, equals, text = str(value).partition("=")
        key = key.strip()
        if not equals or not key:
            # What stands there may be a secret, so it is not repeated.
            self.fail(
                "a setting is written key=value, for example spark.indextables.checkpoint.interval=20", param, ctx
            )
        if not self._is_read(key.lower()):
            self.fail(f"there is no setting {key}; the closest one is {_closest(key)}", param, ctx)
        return key, text

    def _is_read(self, key: str) -> bool:
        if key.startswith(PREFIX):
            return key in registry()
        return key.startswith(_STORES) or (self._spark and key.startswith("spark."))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Complete the keys that are ours."""
        keys = [(entry.setting.key, entry.setting.doc) for entry in registry().values()]
        lowered = incomplete.lower()
        return [CompletionItem(f"{key}=", help=doc) for key, doc in keys if key.lower().startswith(lowered)]


def _closest(key: str) -> str:
    names = {known.removeprefix(PREFIX): entry.setting.key for known, entry in registry().items()}
    return names[difflib.get_close_matches(key.lower().removeprefix(PREFIX), names, n=1, cutoff=0.0)[0]]


def examples(*lines: str) -> str:
    """Return the end of a help text: command lines that can be copied."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def _set_json(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.ensure_object(State).as_json |= value


def _set_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(State).debug = True
        logging.getLogger("indextables").setLevel(logging.DEBUG)


def _as_dict(_: click.Context, __: click.Parameter, value: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return dict(value)


debug_option: Final = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_set_debug,
    help="Show the traceback of an error, and what the library logs.",
)


def output_options(command: _F) -> _F:
    """Add what every command takes: `--json` and `--debug`."""
    return click.option(
        "--json", is_flag=True, expose_value=False, callback=_set_json, help="Print JSON, for programs."
    )(debug_option(command))


def settings_option(*, spark: bool = False) -> Callable[[_F], _F]:
    """Add `--option key=value`; a command that can start Spark takes Spark's settings too."""
    return click.option(
        "--option",
        "options",
        multiple=True,
        type=KeyValue(spark=spark),
        callback=_as_dict,
        metavar="KEY=VALUE",
        help="A setting or a property of the store, such as fs.s3a.endpoint=…; repeatable.",
    )


def table_options(command: _F) -> _F:
    """Add the table, settings, and the form of the output."""
    return table_argument(settings_option()(output_options(command)))


table_argument: Final = click.argument("path", metavar="TABLE", type=TableAddress())


def time_travel(command: _F) -> _F:
    """Add `--version` and `--timestamp`, of which at most one can be given."""
    command = click.option(
        "--timestamp",
        metavar="TIME",
        callback=_refuse_both,
        help="As it was at a moment: 2024-01-31, 2024-01-31T12:00:00Z, or milliseconds since 1970.",
    )(command)
    return click.option(
        "--version", type=click.IntRange(min=0), metavar="N", is_eager=True, help="As it was at this version."
    )(command)


def _refuse_both(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    if value is not None and ctx.params.get("version") is not None:
        raise click.UsageError("--version and --timestamp cannot be given together", ctx)
    return value


where_option: Final = click.option(
    "--where",
    metavar="SQL",
    help="Only what may matter to this condition: \"level = 'ERROR' AND day >= '2024-01-01'\".",
)
