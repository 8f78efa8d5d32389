"""Spark, for the commands that are asked to use it."""

# ruff: noqa: PLC0415 - without --spark nothing waits for Spark

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from indextables.cli.java import OLDEST, find_java
from indextables.config import PREFIX
from indextables.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession


@contextmanager
def spark_session(options: Mapping[str, str], *, wanted: bool) -> Iterator[SparkSession | None]:
    """Start Spark with those of the options that are its own, and stop it in the end; nothing at all unless it is wanted.

    Raises:
        EnvironmentSetupError: There is no Java that Spark runs on, or Spark does not start.
    """
    if not wanted:
        yield None
        return
    java = find_java()
    if java is None or java.version < OLDEST:
        found = f"only Java {java.version}" if java else "no Java"
        raise EnvironmentSetupError(
            f"Spark needs Java {OLDEST} or newer, and there is {found}", "Install one, or set JAVA_HOME"
        )
    os.environ["JAVA_HOME"] = str(java.home)
    session = _started(options)
    try:
        yield session
    finally:
        session.stop()


def own_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that are ours or open a store, without those that are Spark's alone."""
    ours = (PREFIX, "spark.hadoop.")
    return {
        key: value
        for key, value in options.items()
        if not key.lower().startswith("spark.") or key.lower().startswith(ours)
    }


def _started(options: Mapping[str, str]) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    ours = own_options(options)
    builder = SparkSession.builder.appName("indextables")
    builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    builder = builder.config("spark.log.level", "ERROR")
    for key, value in options.items():
        if key not in ours or key.lower().startswith("spark.hadoop."):
            builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        java = getattr(error, "java_exception", None)
        detail = str(java.getMessage() if java is not None else error).partition("\n")[0]
        raise EnvironmentSetupError(
            f"Spark does not start: {detail}", "Check the settings of Spark that were given, and its log above"
        ) from error
