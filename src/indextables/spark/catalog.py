"""What Spark's catalog knows about a table: where it is, of what it consists, how it is partitioned."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException

from indextables.errors import TableNotFoundError
from indextables.spark.tokens import END, tokenize

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def describe_table(spark: SparkSession, name: str) -> dict[str, Any]:
    """Return what the catalog says of a table, under the names that Spark's JSON has for it.

    Args:
        spark: The session.
        name: Of the table, as SQL takes it.

    Raises:
        TableNotFoundError: The catalog has no such table.
    """
    if any(token.kind not in {"word", "quoted", END} and token.text != "." for token in tokenize(name)):
        raise TableNotFoundError(name, detail="this is neither a path nor the name of a table")
    try:
        text = spark.sql(f"DESCRIBE TABLE EXTENDED {name} AS JSON").collect()[0][0]
    except AnalysisException as error:
        raise TableNotFoundError(name, detail="the catalog has no such table, and it is no path") from error
    described: dict[str, Any] = json.loads(text)
    return described


def location_of(spark: SparkSession, name: str) -> str:
    """Return where a table of the catalog is.

    Raises:
        TableNotFoundError: The catalog has no such table, or it has no place.
    """
    described = describe_table(spark, name)
    options = described.get("storage_properties") or {}
    place = described.get("location") or (options.get("path") if isinstance(options, dict) else None)
    if not place:
        raise TableNotFoundError(name, detail="it has no place of its own")
    return str(place)
