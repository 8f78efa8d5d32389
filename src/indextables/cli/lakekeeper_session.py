"""What the `lakekeeper` commands share: a lake that is opened when it is needed, and where output goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.cli.lakekeeper_output import Output
from indextables.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from indextables.hive import Lake


class Session:
    """One call of the command.

    Attributes:
        metastore: The address of the Metastore that was given, if one was.
        spark: The session of Spark, once it was needed.
        quiet: Whether no progress is shown.
    """

    def __init__(self, metastore: str | None, *, use_spark: bool, quiet: bool) -> None:
        self.metastore = metastore
        self._use_spark = use_spark
        self._lake: Lake | None = None
        self.spark: SparkSession | None = None
        self.quiet = quiet

    @property
    def lake(self) -> Lake:
        """The lake; a Metastore is connected to, and Spark started where it was asked for, when this is first used."""
        if self._lake is None:
            from indextables.hive import connect  # noqa: PLC0415 - a wrong call is answered before anything is loaded

            if self._use_spark:
                self.spark = _start_spark(self.metastore)
            try:
                self._lake = connect(self.metastore, spark=self.spark)
            except EnvironmentSetupError as error:
                raise EnvironmentSetupError(
                    error.problem, f"{error.way_out}; --spark uses the Metastore of a Spark session"
                ) from error
        return self._lake

    def output(self, *, as_json: bool) -> Output:
        """Return where results go."""
        return Output(as_json=as_json, quiet=self.quiet)

    def close(self) -> None:
        """Close what was opened."""
        if self._lake is not None:
            self._lake.close()
        if self.spark is not None:
            self.spark.stop()


def _start_spark(metastore: str | None) -> SparkSession:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - most commands need no Spark, and starting it takes seconds

    builder = SparkSession.builder.appName("lakekeeper").enableHiveSupport()
    if metastore:
        builder = builder.config("spark.hadoop.hive.metastore.uris", metastore)
    return builder.getOrCreate()
