"""Logs that this process has open, so that reading a table again costs a look at its newest version and no more."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from indextables.log import TransactionLog
from indextables.spark.addresses import qualified
from indextables.spark.conf import configuration_of
from indextables.spark.storage import hadoop_store
from indextables.storage.open import open_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from indextables.config import Settings
    from indextables.storage.base import Store

_MOST = 64
_OPENED: Final[OrderedDict[tuple[object, ...], Opened]] = OrderedDict()
_LOCK: Final = threading.Lock()


class Opened(NamedTuple):
    """A table's log, with the settings that a session and its options give."""

    url: str
    store: Store
    log: TransactionLog
    settings: Settings
    properties: dict[str, str]


def open_table(spark: SparkSession, path: str, options: Mapping[str, object] | None = None) -> Opened:
    """Open the log of a table as Spark would find it.

    Args:
        spark: Its configuration supplies settings, credentials and the default file system.
        path: Where the table is; without a scheme it is on Spark's default file system.
        options: Settings of this read or write, which stand above the session's.

    Raises:
        ConfigError: A setting has a value that is not allowed.
        UnsupportedStoreError: Nothing serves that address.
    """
    configuration = configuration_of(spark)
    settings = configuration.settings(options)
    properties = configuration.storage_properties(options)
    url = qualified(path, properties)
    # A Hadoop store belongs to the session's JVM; the others belong to nobody.
    key = (url, settings, tuple(sorted(properties.items())), _application(spark))
    with _LOCK:
        opened = _OPENED.get(key)
        if opened is None:
            store = open_store(
                url, settings=settings, properties=properties, hadoop=lambda address: hadoop_store(spark, address)
            )
            opened = Opened(url, store, TransactionLog(store, settings=settings), settings, properties)
            _OPENED[key] = opened
        _OPENED.move_to_end(key)
        if len(_OPENED) > _MOST:
            _OPENED.popitem(last=False)
    return opened


def _application(spark: SparkSession) -> str:
    return str(spark.sparkContext.applicationId) if hasattr(spark, "_jsparkSession") else ""


def opened_tables() -> list[Opened]:
    """Return the tables that are kept open."""
    with _LOCK:
        return list(_OPENED.values())
