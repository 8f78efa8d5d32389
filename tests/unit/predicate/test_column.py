from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from indextables.errors import PredicateError
from indextables.predicate import Expression, bind, col, lit, parse
from indextables.predicate.render import to_sql


@pytest.mark.parametrize(
    ("expression", "sql"),
    [
        (col("a") == 1, "a = 1"),
        (col("a") != "x", "a != 'x'"),
        (col("a") < 1.5, "a < 1.5D"),
        (col("a") <= Decimal("1.50"), "a <= 1.50"),
        (col("a") > dt.date(2024, 1, 1), "a > DATE '2024-01-01'"),
        (col("a") >= dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "a >= TIMESTAMP '2024-01-01 00:00:00Z'"),
        (col("a") == dt.datetime(2024, 1, 1), "a = TIMESTAMP_NTZ '2024-01-01 00:00:00'"),  # noqa: DTZ001 - no zone is meant
        (col("a") == dt.time(1, 2, 3), "a = TIME '01:02:03'"),
        (col("a") == dt.timedelta(days=-1, microseconds=1), "a = INTERVAL '-0 23:59:59.999999' DAY TO SECOND"),
        (col("a") == b"\xff", "a = X'FF'"),
        (col("a") == None, "a = NULL"),  # noqa: E711 - SQL's null, not Python's
        (col("a").eq_null_safe(None), "a <=> NULL"),
        (col("a") == np.int64(5), "a = 5"),
        (col("a") == np.float32(0.1), "a = 0.1F"),
        (col("a") == pa.scalar(0.1, pa.float32()), "a = 0.1F"),
        (col("a") == pa.scalar("x"), "a = 'x'"),
        (col("a") >= math.inf, "a >= CAST('Infinity' AS DOUBLE)"),
        (col("a").isin([math.nan]), "a IN (CAST('NaN' AS DOUBLE))"),
        (col("a") == col("b"), "a = b"),
        (lit(5) < col("a"), "a > 5"),
        (5 >= col("a"), "a <= 5"),  # noqa: SIM300 - the other way round is what is tried
        (col("a.b") == 1, "a.b = 1"),
        (col("a.`b.c`") == 1, "a.`b.c` = 1"),
        (col("`a``b`") == 1, "`a``b` = 1"),
        (col("a").isin([1, None]), "a IN (1, NULL)"),
        (col("a").between(1, 2), "a >= 1 AND a <= 2"),
        (col("a").is_null(), "a IS NULL"),
        (col("a").is_not_null(), "a IS NOT NULL"),
        (col("a").like("x%"), "a LIKE 'x%'"),
        (col("a").like("x!%", escape="!"), "a LIKE 'x!%' ESCAPE '!'"),
        (col("a").startswith("it's"), r"startswith(a, 'it\'s')"),
        (~col("a"), "NOT (a)"),
        (col("a") & col("b") & (col("c") == 1), "a AND b AND c = 1"),
        ((col("a") | col("b")) & ~(col("c") == 1), "(a OR b) AND NOT (c = 1)"),
    ],
)
def test_conditions_in_python_say_what_their_sql_says(expression: Expression, sql: str) -> None:
    assert to_sql(expression) == sql
    assert parse(sql) == expression.condition()


def test_a_condition_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="use & for and"):
        bool(col("a") == 1)
    with pytest.raises(TypeError, match="use & for and"):
        _ = 1 < col("a") < 5


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "`a", "a`b`", "``"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(PredicateError, match="is not the name of a column"):
        col(name)


@pytest.mark.parametrize("value", [object(), [1], Decimal("NaN"), dt.time(1, tzinfo=dt.UTC), {"a": 1}])
def test_a_value_that_no_column_holds_is_refused(value: object) -> None:
    with pytest.raises(PredicateError, match="is not a value of any column"):
        lit(value)


def test_an_empty_list_holds_nothing_not_even_null() -> None:
    predicate = bind(col("a").isin([]), pa.schema([("a", pa.int32())]))
    assert predicate.evaluate(pa.table({"a": pa.array([1, None], pa.int32())})).to_pylist() == [False, False]
    assert predicate.sql() == "FALSE"
