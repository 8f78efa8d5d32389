"""The text that Spark prints for filters; each of these was printed by Spark 4."""

from __future__ import annotations

import pyarrow as pa
import pytest

from indextables.predicate import bind, parse_v2

SCHEMA = pa.schema(
    [
        ("i", pa.int8()),
        ("big", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("dec", pa.decimal128(10, 2)),
        ("s", pa.string()),
        ("b", pa.binary()),
        ("dt", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("ntz", pa.timestamp("us")),
        ("yes", pa.bool_()),
        ("st", pa.struct([("x", pa.int32()), ("y.z", pa.string())])),
        ("true", pa.bool_()),
        ("1a", pa.int32()),
        ("odd `name`", pa.int32()),
    ]
)


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("(i IS NOT NULL) AND (i = 5)", "i IS NOT NULL AND i = 5"),
        ("(f IS NOT NULL) AND (f >= 0.1)", "f IS NOT NULL AND f >= 0.1F"),
        ("d = NaN", "d = CAST('NaN' AS DOUBLE)"),
        ("d > -Infinity", "d > CAST('-Infinity' AS DOUBLE)"),
        ("d = -0.0", "d = -0.0D"),
        ("d = 1.0E300", "d = 1e+300D"),
        ("dec IN (1.10, 2E+2)", "`dec` IN (1.10, 200BD)"),
        (r"s = 'it''s \ x'", r"s = 'it\'s \\ x'"),
        ("s = 'a\nb'", r"s = 'a\nb'"),
        ("s >= ''", "s >= ''"),
        ("s = 'x) OR (i = 5'", "s = 'x) OR (i = 5'"),
        ("s IN ('a', 'b', '')", "s IN ('a', 'b', '')"),
        ("NOT (s IN ('a', 'b'))", "NOT (s IN ('a', 'b'))"),
        ("b = 0x1FAB", "b = X'1FAB'"),
        ("b > 0x", "b > X''"),
        ("dt = 19723", "dt = DATE '2024-01-01'"),
        ("dt IN (19723, -171664)", "dt IN (DATE '2024-01-01', DATE '1500-01-01')"),
        ("ts >= 1704067200000001", "ts >= TIMESTAMP '2024-01-01 00:00:00.000001Z'"),
        ("ntz < 0", "ntz < TIMESTAMP_NTZ '1970-01-01 00:00:00'"),
        ("(yes IS NOT NULL) AND (NOT (yes = true))", "yes IS NOT NULL AND NOT (yes = TRUE)"),
        ("yes IS NULL", "yes IS NULL"),
        ("(NOT (i = 5)) OR (big <= 3)", "NOT (i = 5) OR big <= 3"),
        ("(i = 5) OR ((s = 'x') AND (yes = true))", "i = 5 OR (s = 'x' AND yes = TRUE)"),
        ("(st.x IS NOT NULL) AND (st.x = 5)", "st.x IS NOT NULL AND st.x = 5"),
        ("st.`y.z` = 'q'", "st.`y.z` = 'q'"),
        ("i IN (NULL, 1, 2)", "i IN (NULL, 1, 2)"),
        ("((i IS NOT NULL AND 5 IS NOT NULL AND i = 5) OR (i IS NULL AND 5 IS NULL))", "i <=> 5"),
        (
            "(big = 1) AND (((yes IS NOT NULL AND false IS NOT NULL AND yes = false) OR (yes IS NULL AND false IS NULL)))",
            "big = 1 AND yes <=> FALSE",
        ),
        ("(s IS NOT NULL) AND (s LIKE 'a%' ESCAPE '\\')", "s IS NOT NULL AND startswith(s, 'a')"),
        (r"s LIKE 'a\_\%%' ESCAPE '\'", "startswith(s, 'a_%')"),
        ("1a = 5", "`1a` = 5"),
        ("`odd ``name``` = 5", "`odd ``name``` = 5"),
    ],
)
def test_filters_of_spark_are_read_with_the_types_of_the_columns(text: str, sql: str) -> None:
    expression = parse_v2(text)
    assert expression is not None
    assert bind(expression, SCHEMA).sql() == sql


@pytest.mark.parametrize(
    "text",
    [
        "",
        "i",
        "i = ",
        "i = 5 5",
        "(i = 5",
        "i = other",
        "i + 1 = 5",
        "i = 5 AND",
        "s LIKE '%a%' ESCAPE '\\'",
        "s LIKE '%a' ESCAPE '\\'",
        r"s LIKE 'a\b%' ESCAPE '\'",
        r"s LIKE 'a\\%%' ESCAPE '\'",
        r"s LIKE 'a\%' ESCAPE '\'",
        r"s LIKE 'it\'\'s%' ESCAPE '\'",
        "s LIKE 'a_%' ESCAPE '\\'",
        "true IS NULL",
        "true = true",
        "NaN = 1.0",
        "CAST(i AS string) = 'x'",
        "i IN ()",
        "ALWAYS_FALSE",
        "s = 'open",
        "((i IS NOT NULL AND 5 IS NOT NULL AND i = 6) OR (i IS NULL AND 5 IS NULL))",
        "NOT (s LIKE '%a%' ESCAPE '\\')",
        "(" * 5000 + "i = 5" + ")" * 5000,
    ],
)
def test_what_could_mean_something_else_is_not_understood(text: str) -> None:
    assert parse_v2(text) is None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("(i = 5) AND (s LIKE '%a%' ESCAPE '\\')", "i = 5"),
        ("(s LIKE '%a' ESCAPE '\\') AND (i = 5) AND (s LIKE 'a%' ESCAPE '\\')", "i = 5 AND startswith(s, 'a')"),
        ("(i = 5) OR (s LIKE '%a%' ESCAPE '\\')", None),
        ("NOT ((i = 5) AND (s LIKE '%a%' ESCAPE '\\'))", None),
        ("(big = 1) AND (NOT (s LIKE '%a%' ESCAPE '\\'))", "big = 1"),
        (
            "(big = 1) AND ((i = 5) OR ((yes = true) AND (s LIKE '%a' ESCAPE '\\')))",
            "big = 1 AND (i = 5 OR yes = TRUE)",
        ),
        ("NOT ((i = 5) AND (s LIKE 'a%' ESCAPE '\\'))", "NOT (i = 5 AND startswith(s, 'a'))"),
    ],
)
def test_a_part_that_is_not_understood_keeps_more_and_never_less(text: str, left: str | None) -> None:
    expression = parse_v2(text)
    assert (None if expression is None else bind(expression, SCHEMA).sql()) == left


def test_a_list_of_a_thousand_values_is_read() -> None:
    expression = parse_v2(f"big IN ({', '.join(str(value) for value in range(1000))})")
    assert expression is not None
    assert bind(expression, SCHEMA).evaluate(pa.table({"big": [999, 1000]})).to_pylist() == [True, False]
