"""Partition values between Spark's directory names and the log, without loss.

Spark writes a null, an empty text and the text `__HIVE_DEFAULT_PARTITION__` into one directory, and a moment in the time zone of
the session. So texts that would be lost get a mark before they are written, moments are written in UTC, and what the directories
say is turned into the log's own form here.
"""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from indextables.errors import SchemaError
from indextables.storage.paths import HIVE_DEFAULT_PARTITION, parse_partition_path
from indextables.values import format_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column

MARK: Final = "\x01"
_WIDE: Final = decimal.Context(prec=76)


def marked(column: Column) -> Column:
    """Return a text column in which no value is empty, or looks like null in a directory's name."""
    from pyspark.sql import functions as sf  # noqa: PLC0415 - the rest of this module needs no Spark

    lost = column.isin("", HIVE_DEFAULT_PARTITION) | column.startswith(MARK)
    return sf.when(lost, sf.concat(sf.lit(MARK), column)).otherwise(column)


def values_of(directory: str, types: Mapping[str, pa.DataType]) -> dict[str, str | None]:
    """Return the partition that a directory of Spark's stands for, each value in the log's form.

    Raises:
        SchemaError: A directory is not what Spark makes of these columns.
    """
    found = dict(parse_partition_path(directory))
    if found.keys() != types.keys():
        raise SchemaError(f"The directory {directory} names other partition columns than {', '.join(types)}")
    return {name: None if (text := found[name]) is None else _in_log(text, kind) for name, kind in types.items()}


def _in_log(text: str, kind: pa.DataType) -> str | None:
    if pa.types.is_string(kind):
        return text.removeprefix(MARK)
    return format_value(_value(text, kind), kind)


def _value(text: str, kind: pa.DataType) -> Any:
    if pa.types.is_boolean(kind):
        return text == "true"
    if pa.types.is_integer(kind):
        return int(text)
    if pa.types.is_floating(kind):
        return float(text)
    if pa.types.is_decimal(kind):
        return _WIDE.quantize(decimal.Decimal(text), decimal.Decimal(1).scaleb(-kind.scale))
    if pa.types.is_date(kind):
        return dt.date.fromisoformat(text)
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def types_of(schema: pa.Schema, columns: Sequence[str]) -> dict[str, pa.DataType]:
    """Return the types of partition columns, in their order."""
    return {name: schema.field(name).type for name in columns}
