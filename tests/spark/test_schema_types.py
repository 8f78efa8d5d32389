"""Our schema text beside PySpark's own, for every type of it that a Parquet file can hold. No session is needed."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import types as t

from indextables.errors import SchemaError
from indextables.log.schema import format_schema, parse_schema

SIMPLE: list[t.DataType] = [
    t.StringType(),
    t.BinaryType(),
    t.BooleanType(),
    t.ByteType(),
    t.ShortType(),
    t.IntegerType(),
    t.LongType(),
    t.FloatType(),
    t.DoubleType(),
    t.DateType(),
    t.TimestampType(),
    t.TimestampNTZType(),
    t.DecimalType(),
    t.DecimalType(1, 0),
    t.DecimalType(38, 18),
    t.DecimalType(38, 38),
    t.CharType(3),
    t.VarcharType(100),
    t.VariantType(),
    *(t.DayTimeIntervalType(start, end) for start in range(4) for end in range(start, 4)),
    *(t.YearMonthIntervalType(start, end) for start in range(2) for end in range(start, 2)),
]
NESTED: list[t.DataType] = [
    t.ArrayType(t.LongType(), containsNull=False),
    t.ArrayType(t.ArrayType(t.VarcharType(5))),
    t.MapType(t.StringType(), t.DecimalType(9, 3), valueContainsNull=False),
    t.MapType(t.DateType(), t.MapType(t.IntegerType(), t.BinaryType())),
    t.StructType([t.StructField("x", t.DoubleType(), nullable=False), t.StructField("y", t.StringType())]),
    t.StructType([t.StructField("deep", t.ArrayType(t.StructType([t.StructField("z", t.TimestampNTZType())])))]),
    t.ArrayType(t.MapType(t.StringType(), t.StructType([t.StructField("v", t.DayTimeIntervalType())]))),
]


def schema_of(kind: t.DataType) -> t.StructType:
    return t.StructType(
        [
            t.StructField("required", kind, nullable=False),
            t.StructField("optional", kind, nullable=True, metadata={"comment": "ünï", "n": 5, "list": [1, 2]}),
        ]
    )


@pytest.mark.parametrize("kind", [*SIMPLE, *NESTED], ids=str)
def test_every_type_goes_to_arrow_and_back_as_pyspark_writes_it(kind: t.DataType) -> None:
    schema = schema_of(kind)
    ours = format_schema(parse_schema(schema.json()))
    assert json.loads(ours) == json.loads(schema.json())
    assert t.StructType.fromJson(json.loads(ours)) == schema


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE", "UNICODE_CI", "fr_CI_AI"])
def test_collations_survive(collation: str) -> None:
    schema = t.StructType(
        [
            t.StructField("c", t.StringType(collation)),
            t.StructField("a", t.ArrayType(t.StringType(collation))),
            t.StructField("m", t.MapType(t.StringType(collation), t.StringType())),
        ]
    )
    ours = format_schema(parse_schema(schema.json()))
    assert t.StructType.fromJson(json.loads(ours)) == schema


@pytest.mark.parametrize("precision", [0, 3, 6])
def test_times_of_day_survive(precision: int) -> None:
    schema = schema_of(t.TimeType(precision))
    assert t.StructType.fromJson(json.loads(format_schema(parse_schema(schema.json())))) == schema


@pytest.mark.parametrize("kind", [t.NullType(), t.CalendarIntervalType(), t.DecimalType(10, -2)], ids=str)
def test_types_that_no_parquet_file_holds_are_refused(kind: t.DataType) -> None:
    with pytest.raises(SchemaError):
        parse_schema(schema_of(kind).json())


def test_no_type_of_pyspark_was_forgotten() -> None:
    abstract = {"DataType", "AtomicType", "NumericType", "IntegralType", "FractionalType", "DatetimeType"}
    abstract |= {"AnsiIntervalType", "AnyTimeType", "SpatialType", "UserDefinedType"}
    # Neither Parquet in Spark nor a split holds these.
    refused = {"NullType", "CalendarIntervalType", "GeometryType", "GeographyType"}
    tried = {type(kind).__name__ for kind in (*SIMPLE, *NESTED)} | {"TimeType"}
    known = {name for name in vars(t) if name.endswith("Type") and isinstance(getattr(t, name), type)}
    assert known - abstract - refused <= tried
