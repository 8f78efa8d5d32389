from __future__ import annotations

import datetime as dt
import pickle

import pyarrow as pa
import pytest

from indextables.errors import PredicateError, SchemaError
from indextables.predicate import bind, col, parse

SCHEMA = pa.schema(
    [
        ("level", pa.string()),
        ("Host", pa.string()),
        ("tiny", pa.int8()),
        ("count", pa.int64()),
        ("price", pa.decimal128(10, 2)),
        ("score", pa.float64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("flag", pa.bool_()),
        ("raw", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("geo", pa.struct([("lat", pa.float64()), ("name.long", pa.string())])),
        ("dotted.name", pa.int32()),
        pa.field("collated", pa.string(), metadata={b"spark.type": b"string collate UNICODE_CI"}),
        pa.field("months", pa.int32(), metadata={b"spark.type": b"interval year to month"}),
        pa.field("code", pa.string(), metadata={b"spark.type": b"varchar(10)"}),
    ]
)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("LEVEL = 'x' AND host = 'y' AND level = 'z'", ("level", "Host")),
        ("geo.lat > 1 AND GEO.`name.long` = 'x'", ("geo.lat", "geo.name.long")),
        ("dotted.name = 1", ("dotted.name",)),
        ("`dotted.name` = 1", ("dotted.name",)),
        ("TRUE", ()),
    ],
)
def test_columns_are_named_as_the_table_spells_them(text: str, columns: tuple[str, ...]) -> None:
    assert bind(text, SCHEMA).columns == columns


@pytest.mark.parametrize(
    ("text", "problem", "way_out"),
    [
        ("levl = 'x'", "There is no column levl, at character 1 of the predicate", "Perhaps you mean level"),
        ("flag AND hots = 1", "There is no column hots, at character 10", "Perhaps you mean Host"),
        ("geo.lon = 1", "There is no column geo.lon", "There are lat, name.long in geo"),
        ("geo.lta = 1", "There is no column geo.lta", "Perhaps you mean lat"),
        ("level.x = 1", "There is no column level.x", "without fields inside"),
        ("logs.level = 'x'", "There is no column logs, at", "There are level"),
    ],
)
def test_an_unknown_column_is_named_with_those_that_are_close(text: str, problem: str, way_out: str) -> None:
    with pytest.raises(SchemaError) as caught:
        bind(text, SCHEMA)
    assert problem in str(caught.value)
    assert way_out in str(caught.value)


def test_case_matters_if_asked_to() -> None:
    with pytest.raises(SchemaError, match=r"no column HOST.*Perhaps you mean Host"):
        bind("HOST = 'x'", SCHEMA, case_sensitive=True)
    assert bind("Host = 'x'", SCHEMA, case_sensitive=True).columns == ("Host",)


def test_a_name_that_two_columns_share_but_for_case_has_to_be_spelled_out() -> None:
    schema = pa.schema([("a", pa.int32()), ("A", pa.int32()), ("b", pa.int32())])
    assert bind("a = 1", schema).columns == ("a",)
    two = pa.schema([("Ab", pa.int32()), ("aB", pa.int32())])
    with pytest.raises(SchemaError, match="any of the columns Ab, aB"):
        bind("ab = 1", two)


@pytest.mark.parametrize(
    ("text", "position", "part"),
    [
        ("flag AND count = 'x'", 17, "Column count is of type int64 and cannot be compared with the string 'x'"),
        ("level = 5", 8, "cannot be compared with the integer '5'"),
        ("level = DATE '2024-01-01'", 13, "date"),
        ("flag = 1", 7, "boolean"),
        ("raw = 'x'", 6, "binary"),
        ("day = 5", 6, "Compare it with a value of type date"),
        ("day = 'yesterday'", 6, "'yesterday'"),
        ("at > 'noon'", 5, "'noon'"),
        ("price = TRUE", 0, "boolean"),
        ("tags = 'x'", 7, "Only IS NULL and IS NOT NULL"),
        ("geo = 5", 6, "Only IS NULL"),
        ("collated = 'x'", 11, "string collate UNICODE_CI"),
        ("months = 5", 9, "interval year to month"),
        ("level", 0, "is not a condition"),
        ("count LIKE '5%'", 0, "is not a text"),
        (r"level LIKE 'a\\b'", 11, "stands before 'b'"),
        (r"level LIKE 'a\\'", 11, "ends with its escape"),
        ("level LIKE 'a' ESCAPE '!!'", 11, "not one character"),
        ("flag OR level < count", 16, "cannot be compared with column count"),
        ("count IN (1, 'x')", 13, "string 'x'"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_its_place(text: str, position: int, part: str) -> None:
    with pytest.raises(PredicateError) as caught:
        bind(text, SCHEMA)
    assert part in str(caught.value)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "text", ["tags IS NULL", "geo IS NOT NULL", "collated IS NULL", "months IS NOT NULL", "code = 'x'"]
)
def test_whether_there_is_a_value_can_be_asked_of_every_column(text: str) -> None:
    assert bind(text, SCHEMA).sql() == text


def test_a_predicate_that_is_built_in_python_is_refused_too_without_a_place() -> None:
    with pytest.raises(PredicateError, match="cannot be compared") as caught:
        bind(col("count") == "x", SCHEMA)
    assert caught.value.position is None
    with pytest.raises(PredicateError, match="is not a condition"):
        bind(5, SCHEMA)  # type: ignore[arg-type]


def test_texts_beside_dates_become_dates_so_that_the_canonical_text_needs_no_session() -> None:
    predicate = bind("day >= '2024-1-1' AND at < '2024-07-01 00:00:00'", SCHEMA, timezone="Europe/Berlin")
    assert predicate.sql() == "day >= DATE '2024-01-01' AND at < TIMESTAMP '2024-06-30 22:00:00Z'"
    assert bind(predicate.sql(), SCHEMA, timezone="Asia/Tokyo") == predicate


def test_python_values_find_their_type() -> None:
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    predicate = bind((col("at") >= moment) & (col("day") < dt.date(2024, 2, 1)) & col("flag"), SCHEMA)
    assert predicate.sql() == "at >= TIMESTAMP '2024-01-01 00:00:00Z' AND day < DATE '2024-02-01' AND flag"


def test_a_predicate_travels_to_workers() -> None:
    predicate = bind("tiny IN (1, 300) AND geo.lat > 0.5 AND level LIKE 'a%b'", SCHEMA)
    copy = pickle.loads(pickle.dumps(predicate))
    assert copy == predicate
    batch = pa.RecordBatch.from_pylist([{"tiny": 1, "geo": {"lat": 1.0}, "level": "axb"}], schema=SCHEMA)
    assert copy.evaluate(batch).to_pylist() == [True]


def test_a_column_that_the_data_lacks_is_null_because_it_came_later() -> None:
    batch = pa.RecordBatch.from_pydict({"level": ["x"]})
    assert bind("count IS NULL AND geo.lat IS NULL", SCHEMA).evaluate(batch).to_pylist() == [True]
    assert bind("count = 1 OR level = 'y'", SCHEMA).evaluate(batch).to_pylist() == [None]


def test_data_of_a_narrower_type_is_widened_and_of_another_refused() -> None:
    predicate = bind("count = 5", SCHEMA)
    assert predicate.evaluate(pa.table({"count": pa.array([5, 6], pa.int16())})).to_pylist() == [True, False]
    with pytest.raises(SchemaError, match="Column count is of type string in the data and int64 in the table"):
        predicate.evaluate(pa.table({"count": ["five"]}))


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int32(), pa.string()), pa.large_string(), pa.string_view()])
def test_texts_compare_in_whatever_form_arrow_holds_them(kind: pa.DataType) -> None:
    schema = pa.schema([("a", kind)])
    data = pa.table({"a": pa.array(["x", "y", None]).cast(kind)})
    assert bind("a >= 'y' OR a LIKE 'z%'", schema).evaluate(data).to_pylist() == [False, True, None]
    assert bind("a IN ('x', 'q')", schema).evaluate(data).to_pylist() == [True, False, None]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.timestamp("ns", "UTC"), 1_000_000_001, "a > TIMESTAMP '1970-01-01 00:00:01Z'"),
        (pa.timestamp("s", "UTC"), 2, "a > TIMESTAMP '1970-01-01 00:00:01.999999Z'"),
        (pa.timestamp("ms"), 1001, "a > '1970-01-01 00:00:01.000001'"),
        (pa.date64(), 86_400_000, "a = DATE '1970-01-02'"),
        (pa.time64("us"), 1_500_000, "a = TIME '00:00:01.5'"),
        (pa.duration("us"), 86_400_000_001, "a > INTERVAL '1' DAY"),
        (pa.uint8(), 255, "a > 254.5 AND a < 256"),
        (pa.float16(), 1, "a = 1"),
        (pa.binary(2), b"ab", "a = X'6162'"),
    ],
)
def test_types_that_spark_would_widen_compare_exactly(kind: pa.DataType, value: object, text: str) -> None:
    plain = pa.float32() if kind == pa.float16() else pa.int64() if isinstance(value, int) else kind
    data = pa.table({"a": pa.array([value], plain).cast(kind)})
    assert bind(text, pa.schema([("a", kind)])).evaluate(data).to_pylist() == [True]


def test_the_same_text_is_the_same_predicate() -> None:
    assert bind(parse("level = 'x'"), SCHEMA) == bind("LEVEL == 'x'", SCHEMA)
