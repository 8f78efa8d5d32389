"""The command that shows every setting: its value here, and where that came from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import click

from indextables.cli.options import TableAddress, examples, output_options, settings_option
from indextables.cli.output import show_json_rows, show_table, wants_json
from indextables.config import PREFIX, Settings
from indextables.config.settings import registry
from indextables.log.open import open_log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.config.settings import Entry

_MASK: Final = "********"
# Where S3 is and who asks is also found under Hadoop's names and in the environment, in this order.
_ELSEWHERE: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "aws.accesskey": ("fs.s3a.access.key", ("AWS_ACCESS_KEY_ID",)),
    "aws.secretkey": ("fs.s3a.secret.key", ("AWS_SECRET_ACCESS_KEY",)),
    "aws.sessiontoken": ("fs.s3a.session.token", ("AWS_SESSION_TOKEN",)),
    "aws.region": ("fs.s3a.endpoint.region", ("AWS_REGION", "AWS_DEFAULT_REGION")),
    "aws.endpoint": ("fs.s3a.endpoint", ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")),
    "aws.pathstyleaccess": ("fs.s3a.path.style.access", ()),
}


@click.command(
    epilog=examples(
        "indextables config", "indextables config events --option spark.indextables.checkpoint.interval=20 --json"
    )
)
@click.argument("path", metavar="[TABLE]", type=TableAddress(), required=False)
@settings_option()
@output_options
def config(path: str | None, options: dict[str, str]) -> None:
    """Show every setting, its value here, and where it came from; with a table, its properties too. Secrets are masked.

    A value comes from --option, or from the environment where credentials and the address of S3 are concerned, or is the
    default. In Spark the session and Hadoop's configuration stand between.
    """
    settings = Settings.resolve(options)
    given = {key.lower().removeprefix("spark.hadoop."): (key, value) for key, value in options.items()}
    rows = [_row(key, entry, settings, given) for key, entry in registry().items()]
    if path is not None:
        properties = open_log(path, options).snapshot().configuration
        rows += [
            {"key": key, "value": value, "source": "table", "default": None, "meaning": "A property of the table."}
            for key, value in properties.items()
        ]
    if wants_json():
        show_json_rows(rows)
        return
    show_table(["key", "value", "source"], [(row["key"], row["value"], row["source"]) for row in rows])


def _row(key: str, entry: Entry, settings: Any, given: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    kind = entry.setting.kind
    secret = kind.name == "secret"
    value = getattr(getattr(settings, entry.group), entry.field)
    text, source = (None if value is None else kind.write(value)), "default"
    if key in given:
        source = "--option"
    elif found := _elsewhere(key, given):
        text, source = found
    return {
        "key": entry.setting.key,
        "value": _MASK if secret and text else text,
        "source": source,
        "default": None if entry.default is None else kind.write(entry.default),
        "meaning": entry.setting.doc,
    }


def _elsewhere(key: str, given: Mapping[str, tuple[str, str]]) -> tuple[str, str] | None:
    hadoop, variables = _ELSEWHERE.get(key.removeprefix(PREFIX), ("", ()))
    if hadoop in given:
        name, value = given[hadoop]
        return value, f"--option {name}"
    there = [(os.environ[name], f"environment {name}") for name in variables if os.environ.get(name)]
    return there[0] if there else None
