"""Tables as maintenance finds them: through a Spark session with its settings and credentials, or without Spark at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.config import Settings
from indextables.log import TransactionLog
from indextables.spark.opened import Opened, open_table, opened_tables
from indextables.storage.open import open_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


def open_maintained(spark: SparkSession | None, path: str, options: Mapping[str, object] | None = None) -> Opened:
    """Open a table's log and store.

    Args:
        spark: Its configuration supplies settings and credentials; None leaves that to `options` and the environment.
        path: Where the table is.
        options: Settings under their full names, and credentials.
    """
    if spark is not None:
        return open_table(spark, path, options)
    settings = Settings.resolve(options)
    properties = {key: str(value) for key, value in (options or {}).items() if value is not None}
    store = open_store(path, settings=settings, properties=properties)
    return Opened(path, store, TransactionLog(store, settings=settings), settings, properties)


def has_context(spark: Any) -> bool:
    """Tell whether a session runs in this process' JVM; with Spark Connect it does not."""
    return hasattr(spark, "_jsparkSession")


def zone_of(spark: SparkSession | None) -> str:
    """Return the time zone in which a session reads moments that name none."""
    return "UTC" if spark is None else str(spark.conf.get("spark.sql.session.timeZone") or "UTC")


def forget_logs(spark: SparkSession, path: str | None) -> int:
    """Have the logs that are open for a table forget what they read, those of all tables if no path is given.

    Returns:
        How many logs there were.
    """
    every = opened_tables()
    url = None if path is None else open_table(spark, path).url
    chosen = [opened for opened in every if url is None or opened.url == url]
    for opened in chosen:
        opened.log.invalidate_all()
    return len(chosen)
