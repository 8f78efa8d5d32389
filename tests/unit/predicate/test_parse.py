from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from indextables.errors import PredicateError
from indextables.predicate import bind, parse
from indextables.predicate import expression as tree


def literal_in(text: str, **options: Any) -> tree.Literal:
    expression = parse(f"a = {text}", **options)
    assert isinstance(expression, tree.Comparison)
    assert isinstance(expression.right, tree.Literal)
    return expression.right


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("1", "integer", 1),
        ("-128Y", "integer", -128),
        ("7S", "integer", 7),
        ("9223372036854775807L", "integer", 2**63 - 1),
        ("123456789012345678901234567890", "integer", 123456789012345678901234567890),
        ("1.50", "decimal", Decimal("1.50")),
        (".5", "decimal", Decimal("0.5")),
        ("-1.5BD", "decimal", Decimal("-1.5")),
        ("1e-3BD", "decimal", Decimal("0.001")),
        ("1e5", "double", 1e5),
        ("1.5D", "double", 1.5),
        ("-0.0D", "double", 0.0),
        ("0.1F", "float", 0.10000000149011612),
        ("CAST('Infinity' AS DOUBLE)", "double", math.inf),
        ("CAST('2.345' AS DECIMAL(3,2))", "decimal", Decimal("2.35")),
        ("CAST('7' AS INT)", "integer", 7),
        ("'x'", "string", "x"),
        ('"x"', "string", "x"),
        ("X'1fAB'", "binary", b"\x1f\xab"),
        ("X'F'", "binary", b"\x0f"),
        ("TRUE", "boolean", True),
        ("NULL", "null", None),
        ("CAST(NULL AS INT)", "null", None),
        ("DATE '2024-01-01'", "date", 19723),
        ("DATE '2024'", "date", 19723),
        ("DATE '-0001-01-01'", "date", -719893),
        ("DATE '+12345-01-01'", "date", 3789391),
        ("TIMESTAMP '1970-01-01 00:00:00.000001'", "timestamp", 1),
        ("TIMESTAMP '1970-01-01 01:00:00+01:00'", "timestamp", 0),
        ("TIMESTAMP_LTZ '1970-01-01 00:00:00'", "timestamp", 0),
        ("TIMESTAMP_NTZ '1970-01-02 00:00:00'", "timestamp_ntz", 86_400_000_000),
        ("TIME '00:00:01.5'", "time", 1_500_000),
        ("INTERVAL '1' DAY", "duration", 86_400_000_000),
        ("INTERVAL '-1 00:00:01.5' DAY TO SECOND", "duration", -86_401_500_000),
    ],
)
def test_a_literal_has_the_type_and_value_that_spark_gives_it(text: str, kind: str, value: object) -> None:
    literal = literal_in(text)
    assert (literal.kind, literal.value) == (kind, value)


def test_a_timestamp_without_a_zone_is_of_the_session_that_asks() -> None:
    berlin = literal_in("TIMESTAMP '2024-07-01 00:00:00'", timezone="Europe/Berlin")
    assert berlin == literal_in("TIMESTAMP '2024-06-30 22:00:00Z'")
    assert literal_in("TIMESTAMP '2024-07-01 00:00:00Z'", timezone="Europe/Berlin") == literal_in(
        "TIMESTAMP '2024-07-01'"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'it\'s'", "it's"),
        ("'it''s'", "it's"),
        ("'a' 'b'", "ab"),
        (r"'\\'", "\\"),
        (r"'\n\t\r\0\b\Z'", "\n\t\r\0\b\x1a"),
        (r"'\u00e9\U0001F600'", "é😀"),
        (r"'\uD83D\uDE00'", "😀"),
        (r"'\101'", "A"),
        (r"'\%\_'", r"\%\_"),
        (r"'\d'", "d"),
        (r"r'\n'", r"\n"),
        ("'😀'  'é'", "😀é"),
        (r"'a\\''b'", r"a\'b"),
    ],
)
def test_a_text_is_unescaped_as_spark_does_it(text: str, value: str) -> None:
    assert literal_in(text).value == value


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a == 1", "a = 1"),
        ("a <> 1", "a != 1"),
        ("1 < a", "a > 1"),
        ("1 >= a", "a <= 1"),
        ("(((a = 1)))", "a = 1"),
        ("a BETWEEN 1 AND 2", "a >= 1 AND a <= 2"),
        ("a NOT BETWEEN 1 AND 2", "NOT (a >= 1 AND a <= 2)"),
        ("a NOT IN (1, 2)", "NOT (a IN (1, 2))"),
        ("a NOT LIKE 'x%'", "NOT (a LIKE 'x%')"),
        ("a NOT LIKE 'x!%' ESCAPE '!'", "NOT (a LIKE 'x!%' ESCAPE '!')"),
        ("a IS NOT NULL", "NOT (a IS NULL)"),
        ("a IS NOT DISTINCT FROM 1", "a <=> 1"),
        ("! a", "NOT a"),
        ("a AND (b AND c)", "a AND b AND c"),
        ("a OR b AND c", "a OR (b AND c)"),
        ("a IS UNKNOWN", "a IS NULL"),
        ("`a` = 1 -- and nothing else", "a = 1"),
        ("A.`b.c` = 1", "A.`b.c` = 1"),
    ],
)
def test_two_ways_to_say_it_are_the_same_predicate(text: str, same: str) -> None:
    assert parse(text) == parse(same)


def test_and_binds_more_tightly_than_or_and_not_more_than_both() -> None:
    a, b, c = (tree.Flag(tree.Reference((name,))) for name in "abc")
    assert parse("a OR b AND NOT c") == tree.Or((a, tree.And((b, tree.Not(c)))))


@pytest.mark.parametrize(
    ("text", "position", "part"),
    [
        ("", 0, "empty"),
        ("   ", 0, "empty"),
        ("a = ", 2, "something is missing"),
        ("a = 5 5", 6, "unexpected token"),
        ("a = 1 AND\n  b ^^ 2", 15, "something is missing"),
        ("(a = 5", 5, "expecting )"),
        ("a = 'x", 4, "never closed"),
        ("a = 5; b = 6", 5, "More than one statement"),
        ("a = 5 ORDER BY a", 6, "unexpected token"),
        ("a AS b", 2, "unexpected token"),
        ("b = 1 AND a + 1 > 5", 10, "a + 1 is not a value"),
        ("upper(a) = 'X'", 0, "is not a value"),
        ("a = 1 OR a RLIKE 'x'", 9, "RLIKE"),
        ("a ILIKE 'x'", 0, "ILIKE"),
        ("a NOT ILIKE 'x'", 0, "ILIKE"),
        ("a LIKE ANY ('x', 'y')", 0, "LIKE ANY"),
        ("a BETWEEN SYMMETRIC 2 AND 1", 0, "not a condition"),
        ("a IN (SELECT 1)", 0, "not a query"),
        ("a IN ()", 0, "IN takes a list"),
        ("5 = 5", 0, "no column"),
        ("a = 0x1F", 4, "0x1F"),
        (r"a = '\ud800'", 4, "no character"),
        ("a = TIMESTAMP 'now'", 14, "'now' is not a timestamp"),
        ("a = DATE '2024-13-01'", 9, "is not a date"),
        ("a = CAST('x' AS INT)", 9, "not a number"),
        ("a = CAST('1000' AS DECIMAL(3,0))", 9, "does not fit"),
        ("a = -'5'", 5, "negative"),
        ("a = concat('x', 'y')", 4, "stands where a text must"),
        ("a = 'x' COLLATE UNICODE", 4, "is not a value"),
        ("a LIKE b", 7, "stands where a pattern must"),
        ("a[0] = 1", 0, "is not a value"),
        ("SELECT 1", 0, "unexpected token near 'SELECT'"),
    ],
)
def test_what_is_not_a_predicate_is_refused_with_its_place(text: str, position: int, part: str) -> None:
    with pytest.raises(
        PredicateError, match=part.replace("(", r"\(").replace(")", r"\)").replace("+", r"\+")
    ) as caught:
        parse(text)
    assert caught.value.text == text
    assert caught.value.position == position
    assert f"at character {position + 1}" in str(caught.value)


def test_the_snippet_shows_the_line_and_a_caret_under_the_place() -> None:
    with pytest.raises(PredicateError) as caught:
        parse("level = 'ERROR'\n  AND upper(host) = 'X'\n  AND ts > 5")
    assert caught.value.snippet == "  AND upper(host) = 'X'\n      ^"
    assert caught.value.__notes__ == [caught.value.snippet]


def test_a_long_line_is_shown_around_the_place() -> None:
    with pytest.raises(PredicateError) as caught:
        parse("a = 1 AND " * 100 + "upper(b) = 1")
    assert caught.value.snippet is not None
    line, caret = caught.value.snippet.split("\n")
    assert len(line) <= 120
    assert line[caret.index("^") :].startswith("upper(b)")


@pytest.mark.parametrize("text", ["NOT " * 5000 + "a", "(" * 3000 + "a" + ")" * 3000])
def test_nesting_without_end_is_an_error_and_not_a_crash(text: str) -> None:
    with pytest.raises(PredicateError, match="nested too deeply"):
        parse(text)


def test_a_chain_of_a_thousand_conditions_is_not_deep() -> None:
    text = " OR ".join(f"a = {value}" for value in range(1000))
    predicate = bind(text, pa.schema([("a", pa.int64())]))
    answers = predicate.evaluate(pa.table({"a": [0, 999, 1000]})).to_pylist()
    assert answers == [True, True, False]


def test_an_unknown_session_zone_is_refused() -> None:
    with pytest.raises(PredicateError, match="'Mars/Olympus' is not a time zone"):
        parse("a = 1", timezone="Mars/Olympus")


@pytest.mark.parametrize(
    "name", ["comment", "set", "desc", "date", "timestamp", "end", "start", "type", "user", "key", "value"]
)
def test_a_column_may_have_a_name_that_sql_uses_too(name: str) -> None:
    for text in (f"{name} = 5", f"a > 1 AND {name} IS NOT NULL", f"{name} IN (1)", f"5 < {name}"):
        predicate = bind(text, pa.schema([(name, pa.int32()), ("a", pa.int32())]))
        assert predicate.columns[-1] == name
        assert parse(predicate.sql()) == predicate.expression


def test_a_path_is_as_long_as_it_is() -> None:
    assert parse("a.b.c.d.`e.f`.g") == tree.Flag(tree.Reference(("a", "b", "c", "d", "e.f", "g")))
