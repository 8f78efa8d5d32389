"""The command that looks at everything outside a table: Python, Java, Spark, packages, credentials, and a store.

Credentials are said to be there or not, and from where; they are never shown.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import click

from indextables.cli.endings import DAMAGE
from indextables.cli.java import OLDEST, find_java
from indextables.cli.opening import open_table_store
from indextables.cli.options import TableAddress, examples, output_options, settings_option
from indextables.cli.output import say, show_json, show_table, wants_json
from indextables.errors import IndexTablesError, TableNotFoundError
from indextables.log.layout import LOG_DIRECTORY
from indextables.log.log import TransactionLog
from indextables.report.words import counted
from indextables.runtime import SYSTEM
from indextables.storage.object_store import OBJECT_STORE_SCHEMES
from indextables.storage.probe import probe_conditional_put
from indextables.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PACKAGES: Final = ("pyarrow", "numpy", "msgspec", "obstore", "hdfs-native", "sqlglot", "click", "rich", "pandas")
_CREDENTIALS: Final = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
    "gs": ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_KEY"),
    "azure": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET"),
    "hdfs": ("HADOOP_CONF_DIR", "HADOOP_HOME", "KRB5CCNAME"),
}
_SECRET: Final = re.compile("key|token|secret|password", re.IGNORECASE)
_SCHEMES: Final = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gs",
    "abfss": "azure",
    "abfs": "azure",
    "az": "azure",
    "hdfs": "hdfs",
}


class Check(NamedTuple):
    """What one look found."""

    name: str
    status: Literal["ok", "problem", "not set"]
    detail: str


@click.command(
    epilog=examples(
        "indextables doctor", "indextables doctor s3://lake/events --option fs.s3a.endpoint=http://localhost:9000"
    )
)
@click.argument("path", metavar="[TABLE]", type=TableAddress(), required=False)
@settings_option()
@output_options
@click.pass_context
def doctor(ctx: click.Context, path: str | None, options: dict[str, str]) -> None:
    """Look whether this machine has what is needed: Python, packages, Java and Spark, credentials.

    With TABLE also whether its store answers, and whether it refuses to create what exists, without which two writers could both
    believe that they won. For that a small file is written there and deleted again.

    Exit code 0 means that nothing is missing, 3 that something is.
    """
    checks = [*_machine(), *_spark(), *_credentials(path)]
    if path is not None:
        checks += _store(path, options)
    problems = [check for check in checks if check.status == "problem"]
    if wants_json():
        show_json({"healthy": not problems, "checks": [check._asdict() for check in checks]})
    else:
        show_table(["check", "status", "detail"], checks)
        say(f"{counted(len(problems), 'problem')}." if problems else "Nothing is missing.")
    if problems:
        ctx.exit(DAMAGE)


def _machine() -> Iterator[Check]:
    yield Check("indextables", "ok", VERSION)
    yield Check("python", "ok", f"{platform.python_version()} at {sys.executable}")
    for package in _PACKAGES:
        yield _package(package)


def _package(name: str) -> Check:
    try:
        return Check(name, "ok", version(name))
    except PackageNotFoundError:
        return Check(name, "problem", f"it is not installed: pip install {name}")


def _spark() -> Iterator[Check]:
    yield _package("pyspark")
    java = find_java()
    if java is None:
        yield Check(
            "java", "problem", f"there is none; Spark needs Java {OLDEST} or newer: install one, or set JAVA_HOME"
        )
    elif java.version < OLDEST:
        yield Check("java", "problem", f"{java.version} at {java.home}; Spark needs {OLDEST} or newer")
    else:
        yield Check("java", "ok", f"{java.version} at {java.home}")


def _credentials(path: str | None) -> Iterator[Check]:
    for kind, variables in _CREDENTIALS.items():
        if path is not None and _SCHEMES.get(_scheme(path)) != kind:
            continue
        there = [name for name in variables if os.environ.get(name)]
        if there:
            yield Check(f"{kind} credentials", "ok", f"the environment has {', '.join(there)}")
        else:
            yield Check(f"{kind} credentials", "not set", f"the environment has none of {', '.join(variables)}")


def _scheme(path: str) -> str:
    return path.partition("://")[0].lower() if "://" in path else ""


def _store(path: str, options: Mapping[str, str]) -> Iterator[Check]:
    if secrets := [key for key in options if _SECRET.search(key)]:
        yield Check("given credentials", "ok", f"--option has {', '.join(sorted(secrets))}")
    if not _scheme(path) and not Path(path).is_dir():
        yield Check("store", "problem", f"there is no directory {path}")
        return
    try:
        store, settings = open_table_store(path, options)
        next(iter(store.list_from("")), None)
        yield Check("store", "ok", f"{store.url} answers")
    except IndexTablesError as error:
        yield Check("store", "problem", str(error))
        return
    try:
        newest = TransactionLog(store, settings=settings).latest_version()
        yield Check("table", "ok", f"version {newest}")
    except TableNotFoundError:
        yield Check("table", "not set", "there is none yet")
        if _scheme(path) not in OBJECT_STORE_SCHEMES:
            return  # the probe would leave a directory behind
    except IndexTablesError as error:
        yield Check("table", "problem", str(error))
    try:
        probe_conditional_put(store, directory=LOG_DIRECTORY, runtime=SYSTEM)
        yield Check("writes", "ok", "a small file could be created once and not twice")
    except IndexTablesError as error:
        yield Check("writes", "problem", str(error))
