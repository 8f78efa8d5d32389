from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from indextables.errors import SchemaError
from indextables.log.schema import SPARK_TYPE, format_schema, parse_schema, validate_schema

UTC_MICROS = pa.timestamp("us", "UTC")
VARIANT = pa.struct([pa.field("value", pa.binary(), nullable=False), pa.field("metadata", pa.binary(), nullable=False)])

# Every simple type of Spark that a Parquet file can hold, and its Arrow form.
SIMPLE: dict[str, pa.DataType] = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": UTC_MICROS,
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(1,0)": pa.decimal128(1, 0),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(38,38)": pa.decimal128(38, 38),
    "char(3)": pa.string(),
    "varchar(100)": pa.string(),
    "string collate UNICODE_CI": pa.string(),
    "interval day": pa.duration("us"),
    "interval day to hour": pa.duration("us"),
    "interval hour to second": pa.duration("us"),
    "interval day to second": pa.duration("us"),
    "interval year": pa.int32(),
    "interval month": pa.int32(),
    "interval year to month": pa.int32(),
    "time(0)": pa.time64("us"),
    "time(6)": pa.time64("us"),
    "variant": VARIANT,
}


def spark(kind: Any, *, nullable: bool = True, metadata: dict[str, Any] | None = None) -> str:
    """Return the text of a schema with one column."""
    field = {"name": "c", "type": kind, "nullable": nullable, "metadata": metadata or {}}
    return json.dumps({"type": "struct", "fields": [field]})


def comes_back(text: str) -> None:
    assert json.loads(format_schema(parse_schema(text))) == json.loads(text)


class TestTypesOfSpark:
    @pytest.mark.parametrize("name", SIMPLE)
    def test_that_are_simple_have_an_arrow_form_and_come_back(self, name: str) -> None:
        assert parse_schema(spark(name)).field("c").type == SIMPLE[name]
        comes_back(spark(name))
        comes_back(spark(name, nullable=False))

    @pytest.mark.parametrize("name", SIMPLE)
    def test_come_back_from_inside_arrays_maps_and_structs(self, name: str) -> None:
        comes_back(spark({"type": "array", "elementType": name, "containsNull": False}))
        comes_back(spark({"type": "array", "elementType": name, "containsNull": True}))
        field = {"name": "inner", "type": name, "nullable": False, "metadata": {"comment": "hello"}}
        comes_back(spark({"type": "struct", "fields": [field]}))
        for nullable in (True, False):
            value = {"type": "map", "keyType": "string", "valueType": name, "valueContainsNull": nullable}
            comes_back(spark(value))
        comes_back(spark({"type": "map", "keyType": name, "valueType": "long", "valueContainsNull": True}))

    def test_come_back_from_any_depth(self) -> None:
        kind: Any = "varchar(7)"
        for depth in range(8):
            kind = {"type": "array", "elementType": kind, "containsNull": depth % 2 == 0}
            kind = {"type": "map", "keyType": "string", "valueType": kind, "valueContainsNull": depth % 3 == 0}
            kind = {
                "type": "struct",
                "fields": [{"name": f"s{depth}", "type": kind, "nullable": depth % 2 == 1, "metadata": {}}],
            }
        comes_back(spark(kind))

    def test_nested_ones_become_nested_arrow_types(self) -> None:
        array = parse_schema(spark({"type": "array", "elementType": "long", "containsNull": False})).field("c").type
        assert array == pa.list_(pa.field("element", pa.int64(), nullable=False))
        value = {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True}
        assert parse_schema(spark(value)).field("c").type == pa.map_(pa.string(), pa.float64())

    def test_metadata_of_columns_comes_back(self) -> None:
        comes_back(
            spark("string", metadata={"comment": "é", "n": 1, "deep": {"a": [1, 2]}, "__COLLATIONS": {"c": "icu"}})
        )

    def test_user_defined_ones_are_what_they_are_stored_as(self) -> None:
        udt = {
            "type": "udt",
            "class": "Point",
            "sqlType": {"type": "array", "elementType": "double", "containsNull": False},
        }
        assert pa.types.is_list(parse_schema(spark(udt)).field("c").type)

    def test_fields_may_leave_out_what_has_a_default(self) -> None:
        schema = parse_schema('{"type":"struct","fields":[{"name":"c","type":"long"}]}')
        assert schema.field("c").nullable
        array = parse_schema(spark({"type": "array", "elementType": "long"})).field("c").type
        assert array.value_field.nullable

    def test_a_decimal_may_be_written_with_a_blank(self) -> None:
        assert parse_schema(spark("decimal(10, 2)")).field("c").type == pa.decimal128(10, 2)

    @pytest.mark.parametrize(
        "kind",
        [
            "void",
            "interval",
            "geometry(OGC:CRS84)",
            "decimal",
            "decimal(39,0)",
            "decimal(0,0)",
            "decimal(5,6)",
            "decimal(10,-2)",
            "varchar",
            "time(7)",
            "interval second to day",
            "object",
            "STRING",
            " long",
            "",
            5,
            None,
            [],
            {},
            {"type": "array"},
            {"type": "map", "keyType": "string"},
            {"type": "set", "elementType": "long"},
            {"type": "udt", "class": "Point"},
        ],
        ids=str,
    )
    def test_that_a_table_cannot_hold_are_refused_by_column(self, kind: Any) -> None:
        with pytest.raises(SchemaError, match=r"Column c has type|decimal\(\d+,-?\d+\) is outside"):
            parse_schema(spark(kind))

    def test_that_a_table_cannot_hold_are_refused_deep_inside_by_their_place(self) -> None:
        inner = {"type": "struct", "fields": [{"name": "x", "type": "void"}]}
        with pytest.raises(
            SchemaError, match=r"Column c\.element\.x has type void, which a table cannot hold"
        ) as caught:
            parse_schema(spark({"type": "array", "elementType": inner, "containsNull": True}))
        assert caught.value.columns == ("c.element.x",)


class TestTextThatIsNoSchema:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "[]",
            "null",
            '"struct"',
            "{}",
            '{"type":"array"}',
            '{"type":"struct"}',
            '{"type":"struct","fields":{}}',
            '{"type":"struct","fields":[1]}',
            '{"type":"struct","fields":[{}]}',
            '{"type":"struct","fields":[{"name":"c"}]}',
            '{"type":"struct","fields":[{"name":5,"type":"long"}]}',
            '{"type":"struct","fields":[{"type":"long"}]}',
            "\ud800",
        ],
        ids=ascii,
    )
    def test_is_refused(self, text: str) -> None:
        with pytest.raises(SchemaError, match="The schema text is not"):
            parse_schema(text)

    def test_that_is_nested_without_end_is_refused(self) -> None:
        text = '{"type":"array","elementType":' * 5000 + '"long"' + "}" * 5000
        with pytest.raises(SchemaError):
            parse_schema('{"type":"struct","fields":[{"name":"c","type":' + text + "}]}")


class TestTypesOfArrow:
    """Arrow has types that Spark does not; each becomes the Spark type that holds all of its values, or is refused."""

    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            (pa.uint8(), "short"),
            (pa.uint16(), "integer"),
            (pa.uint32(), "long"),
            (pa.uint64(), "decimal(20,0)"),
            (pa.float16(), "float"),
            (pa.large_string(), "string"),
            (pa.string_view(), "string"),
            (pa.large_binary(), "binary"),
            (pa.binary(16), "binary"),
            (pa.dictionary(pa.int32(), pa.string()), "string"),
            (pa.dictionary(pa.int8(), pa.int64()), "long"),
            (pa.date64(), "date"),
            (pa.timestamp("ms", "UTC"), "timestamp"),
            (pa.timestamp("ns", "Europe/Paris"), "timestamp"),
            (pa.timestamp("s"), "timestamp_ntz"),
            (pa.time32("ms"), "time(6)"),
            (pa.duration("ns"), "interval day to second"),
            (pa.decimal32(5, 2), "decimal(5,2)"),
            (pa.decimal64(15, 2), "decimal(15,2)"),
        ],
        ids=str,
    )
    def test_become_the_type_that_holds_them(self, kind: pa.DataType, name: str) -> None:
        text = format_schema(pa.schema([("c", kind)]))
        assert json.loads(text)["fields"][0]["type"] == name
        assert parse_schema(text).names == ["c"]

    @pytest.mark.parametrize(
        "kind",
        [
            pa.list_(pa.int64()),
            pa.large_list(pa.int64()),
            pa.list_(pa.int64(), 3),
            pa.list_(pa.field("x", pa.int64())),
        ],
        ids=str,
    )
    def test_lists_of_every_kind_are_arrays(self, kind: pa.DataType) -> None:
        text = format_schema(pa.schema([("c", kind)]))
        assert json.loads(text)["fields"][0]["type"] == {"type": "array", "elementType": "long", "containsNull": True}

    @pytest.mark.parametrize(
        "kind",
        [
            pa.null(),
            pa.decimal256(50, 2),
            pa.decimal128(10, -2),
            pa.month_day_nano_interval(),
            pa.dense_union([pa.field("a", pa.int64())]),
            pa.list_(pa.null()),
            pa.struct([("x", pa.map_(pa.string(), pa.null()))]),
            pa.dictionary(pa.int8(), pa.null()),
        ],
        ids=str,
    )
    def test_that_spark_cannot_hold_are_refused_by_column(self, kind: pa.DataType) -> None:
        with pytest.raises(SchemaError, match=r"Column c.* has type .*, which Spark does not have") as caught:
            format_schema(pa.schema([("c", kind)]))
        assert caught.value.columns[0].startswith("c")

    def test_the_names_of_spark_types_travel_in_the_fields_metadata(self) -> None:
        field = pa.field("c", pa.string(), metadata={SPARK_TYPE: b"varchar(5)"})
        assert json.loads(format_schema(pa.schema([field])))["fields"][0]["type"] == "varchar(5)"


class TestValidation:
    def refused(self, schema: pa.Schema, partition_columns: list[str], problem: str) -> SchemaError:
        with pytest.raises(SchemaError) as caught:
            validate_schema(schema, partition_columns)
        assert problem in str(caught.value)
        return caught.value

    def test_passes_what_is_fine(self) -> None:
        validate_schema(pa.schema([("a", pa.int64()), ("b", pa.date32())]), ["b"])
        validate_schema(pa.schema([("a", pa.struct([("a", pa.int64())]))]))

    def test_names_all_missing_partition_columns_at_once(self) -> None:
        error = self.refused(
            pa.schema([("a", pa.int64()), ("b", pa.int64())]),
            ["x", "a", "y"],
            "Partition columns x, y not found in schema",
        )
        assert error.columns == ("x", "y")
        assert str(error).endswith("Its columns are a, b.")

    def test_names_of_partition_columns_are_compared_with_their_case(self) -> None:
        self.refused(pa.schema([("Day", pa.int64()), ("b", pa.int64())]), ["day"], "Partition columns day not found")

    def test_refuses_columns_that_differ_in_case_only(self) -> None:
        error = self.refused(
            pa.schema([("id", pa.int64()), ("ID", pa.int64())]), [], "Columns id and ID differ in nothing but case"
        )
        assert error.columns == ("id", "ID")
        self.refused(pa.schema([("straße", pa.int64()), ("STRASSE", pa.int64())]), [], "differ in nothing but case")

    def test_refuses_the_same_name_twice(self) -> None:
        self.refused(pa.schema([("id", pa.int64()), ("id", pa.int64())]), [], "Columns id and id have the same name")

    @pytest.mark.parametrize(
        "wrap",
        [
            lambda inner: inner,
            pa.list_,
            pa.large_list,
            lambda inner: pa.list_(inner, 2),
            lambda inner: pa.map_(pa.string(), inner),
            lambda inner: pa.map_(inner, pa.string()),
            lambda inner: pa.struct([("deep", pa.list_(inner))]),
        ],
    )
    def test_refuses_such_clashes_at_any_depth(self, wrap: Any) -> None:
        inner = pa.struct([("x", pa.int64()), ("X", pa.int64())])
        self.refused(pa.schema([("c", wrap(inner))]), [], "differ in nothing but case")

    def test_refuses_columns_without_a_name(self) -> None:
        self.refused(pa.schema([("", pa.int64())]), [], "A column has no name")
        self.refused(pa.schema([("s", pa.struct([("", pa.int64())]))]), [], "A column in s. has no name")

    def test_refuses_a_schema_without_columns_or_with_partition_columns_only(self) -> None:
        self.refused(pa.schema([]), [], "The schema has no columns")
        error = self.refused(pa.schema([("a", pa.int64())]), ["a"], "Every column is a partition column")
        assert "Leave at least one column for the data" in str(error)

    def test_refuses_partition_columns_that_repeat_or_are_nested(self) -> None:
        schema = pa.schema([("a", pa.int64()), ("b", pa.list_(pa.int64())), ("c", pa.int64())])
        self.refused(schema, ["a", "a"], "Partition columns a are given more than once")
        self.refused(schema, ["b"], "Partition columns b are not of a simple type")
