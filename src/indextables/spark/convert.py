"""Making a table of what is there: a directory of Parquet files, or a table of the catalog that consists of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from indextables.errors import EnvironmentSetupError, SchemaError, TableNotFoundError
from indextables.log.schema import parse_schema
from indextables.runtime import SYSTEM, Runtime
from indextables.spark.addresses import hadoop_root, scheme_of
from indextables.spark.catalog import describe_table
from indextables.spark.maintained import has_context, open_maintained
from indextables.table.converting import ConvertResult, Declared, convert_directory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession


def convert(
    spark: SparkSession | None,
    source: str,
    *,
    partition_by: Sequence[str] | Mapping[str, str] | None = None,
    options: Mapping[str, object] | None = None,
    runtime: Runtime = SYSTEM,
) -> ConvertResult:
    """Make a directory of Parquet files, or a Hive table that consists of one, a table, without copying data.

    A log is written into the directory. From then on the table changes through the log alone: whoever goes on reading or writing
    the directory itself sees files that are no part of the table any more, or writes ones that never become part of it.

    Args:
        spark: The session; it may be None for a directory.
        source: The directory, or the name of a table in the catalog.
        partition_by: The columns that directories are named after, if they are to be checked, or with their types (`{"day": "date"}`)
            if those that the names suggest are not meant. The catalog knows them of its tables.
        options: Settings under their full names, and credentials.
        runtime: Clock.

    Raises:
        TableExistsError: It is a table already, of this or of another format.
        TableNotFoundError: There is neither such a table in the catalog nor such a directory.
        SchemaError: The files do not fit together, or are not Parquet; all differences are in its text.
    """
    declared: Declared | None = None
    path = source
    if not _is_path(source):
        if spark is None:
            raise EnvironmentSetupError(f"{source} is no path, and tables are found through Spark", "Pass a session")
        path, declared = _from_catalog(spark, source)
    opened = open_maintained(spark, path, options)
    return convert_directory(
        opened.store,
        opened.log,
        settings=opened.settings,
        runtime=runtime,
        partition_by=partition_by,
        declared=declared,
    )


def _is_path(source: str) -> bool:
    return "/" in source or bool(scheme_of(source)) or Path(source).is_dir()


def _from_catalog(spark: SparkSession, name: str) -> tuple[str, Declared]:
    described = describe_table(spark, name)
    forms = f"{described.get('provider', '')} {described.get('serde_library', '')}".lower()
    if "view" in str(described.get("type", "")).lower() or "location" not in described:
        raise TableNotFoundError(name, detail="it is a view, or has no place of its own")
    if "parquet" not in forms:
        raise SchemaError(
            f"{name} consists of {described.get('provider')} files, not of Parquet",
            way_out="Write its rows to a new table",
        )
    location = str(described["location"])
    names = tuple(described.get("partition_columns") or ())
    directories = _partition_directories(spark, name, location) if names else None
    return location, Declared(
        schema=parse_schema(spark.table(name).schema.json()), partition_columns=names, directories=directories
    )


def _partition_directories(spark: SparkSession, name: str, location: str) -> frozenset[str]:
    """Return the directories of the partitions that the catalog knows.

    Raises:
        SchemaError: A partition lies outside the table.
    """
    if not has_context(spark):
        raise EnvironmentSetupError(
            "The partitions of a table are not known through Spark Connect", "Pass the directory"
        )
    state: Any = spark._jsparkSession.sessionState()  # noqa: SLF001 - pyspark has no public way to partitions' places
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    partitions = state.catalog().listPartitions(state.sqlParser().parseTableIdentifier(name), jvm.scala.Option.empty())
    root = hadoop_root(location).rstrip("/") + "/"
    found: list[str] = []
    outside: list[str] = []
    iterator = partitions.iterator()
    while iterator.hasNext():
        place = hadoop_root(_decoded(jvm, iterator.next().location()))
        (found if place.startswith(root) else outside).append(place)
    if outside:
        raise SchemaError(
            f"Partitions of {name} lie outside {location}, {', '.join(sorted(outside)[:3])} among them",
            way_out="Move them into the table, or convert them as tables of their own",
        )
    return frozenset(place.removeprefix(root) for place in found)


def _decoded(jvm: Any, uri: Any) -> str:
    """Return an address of Hadoop's as the store lists it, with nothing encoded."""
    return str(jvm.org.apache.hadoop.fs.Path(uri).toString())
