"""Stores on the running Spark's Hadoop file systems: viewfs, and whatever else a cluster is set up for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.storage.hadoop import HadoopStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from indextables.storage.base import Store


def hadoop_store(spark: SparkSession, url: str) -> Store:
    """Return a store at any address that Spark's Hadoop knows, with the session's own Hadoop configuration."""
    # Public PySpark has no way to the JVM; these two members are what all of its own code uses.
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - see above
    configuration = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - see above
    return HadoopStore(url, jvm=jvm, configuration=configuration)
