"""S13, S18: names and values that would end a statement, open a comment or blow up a matcher.

How Lakekeeper writes partition values into names is tested in tests/hive/test_parts.py, and our own statements in
tests/unit/spark_sql/test_statements.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from indextables import IndexTablesError, Table
from indextables.errors import PredicateError
from indextables.hive import names as hive
from indextables.predicate import bind, parse
from indextables.spark.statements import parse_statement
from indextables.storage.paths import canonical, parse_partition_path, unescape_partition_value
from tests.fuzz.corpus import PREDICATES, VALUES
from tests.support.cpu import least_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = [
    "a`b",
    "``",
    "a'b",
    'a"b',
    "a;b",
    "a--b",
    "a/*b",
    "a\\b",
    "${hiveconf:x}",
    "${env:HOME}",
    "a b",
    "a.b",
    "select",
    "a\u202eb",
    "é",
    "1a",
    "a=b",
    "a%2Fb",
    "DROP TABLE x",
    "x' OR '1'='1",
]
SCHEMA = pa.schema([(name, pa.string()) for name in NAMES])


def test_a_column_of_any_name_is_found_by_its_name_alone(record_property: Any) -> None:
    batch = pa.RecordBatch.from_pydict({name: [f"value of {name}", None] for name in NAMES}, schema=SCHEMA)
    for name in NAMES:
        quoted = "`" + name.replace("`", "``") + "`"
        predicate = bind(f"{quoted} = 'value of {quote(name)}'", SCHEMA)
        assert predicate.columns == (name,)
        assert predicate.evaluate(batch).to_pylist() == [True, None]
        assert bind(predicate.sql(), SCHEMA) == predicate
    record_property("security payloads", len(NAMES))


def quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def test_a_value_of_any_text_is_only_that_text(tmp_path: Path, record_property: Any) -> None:
    values = [*VALUES, *NAMES, "' OR TRUE --", "'; DROP TABLE x; --", "\\' OR 1=1 --", "\\", "\\\\'", "%' OR '%'='"]
    table = Table(str(tmp_path / "t"))
    table.append(pa.table({"id": range(len(values)), "text": values}))
    for number, value in enumerate(values):
        found = table.to_arrow(where=f"text = '{quote(value)}'")["text"].to_pylist()
        assert found == [other for other in values if other == value], number
    record_property("security payloads", len(values))


def test_conditions_that_are_no_conditions_on_columns_are_refused(tmp_path: Path, record_property: Any) -> None:
    table = Table(str(tmp_path / "t"))
    table.append(pa.table({"c0": [True], "c1": [1], "c11": ["a"]}))
    refused = 0
    for text in PREDICATES:
        try:
            table.to_arrow(where=text)
        except IndexTablesError as error:
            refused += isinstance(error, PredicateError)
    assert refused > 30
    for text in ("c1 = (SELECT 1)", "reflect('java.lang.Runtime','getRuntime')", "c1 = 1; DROP TABLE x", "exec('x')"):
        with pytest.raises(PredicateError):
            table.delete(text)
    assert table.count() == 1
    record_property("security payloads", len(PREDICATES))


@pytest.mark.parametrize("name", NAMES)
def test_a_path_in_a_statement_of_ours_is_a_path_and_nothing_else(name: str, record_property: Any) -> None:
    statement = parse_statement(f"CHECKPOINT INDEXTABLES '/data/{quote(name)}'")
    assert repr(f"/data/{name}") in repr(statement)
    with pytest.raises(PredicateError):
        parse_statement(f"CHECKPOINT INDEXTABLES '/data/x'; DROP TABLE {name}")
    record_property("security payloads", 2)


def test_names_of_partitions_of_hive_come_back_whatever_they_are(record_property: Any) -> None:
    values = [value for value in VALUES if value and value != hive.DEFAULT_PARTITION and "\0" not in value]
    for value in values:
        name = hive.partition_name(["p"], [value])
        assert name.count("/") == 0
        assert hive.parse_partition(name) == (("p", value),)
    record_property("security payloads", len(values))


PUMPED: dict[str, Callable[[int], object]] = {
    "percent signs": lambda n: unescape_partition_value("%" * n),
    "encoded percent signs": lambda n: _refused(lambda: canonical("%25" * n)),
    "encoded percent signs in segments": lambda n: _refused(lambda: canonical("/".join(["%2525"] * n))),
    "dots": lambda n: _refused(lambda: canonical("." * n)),
    "slashes": lambda n: _refused(lambda: canonical("/" * n)),
    "equals signs": lambda n: parse_partition_path("=" * n),
    "partitions": lambda n: parse_partition_path("a=b/" * n),
    "blanks": lambda n: _refused(lambda: parse(" " * n)),
    "quotes": lambda n: _refused(lambda: parse("'" * n)),
    "open comments": lambda n: _refused(lambda: parse("/*" * n)),
    "minus signs": lambda n: _refused(lambda: parse("a = " + "- " * min(n, 300) + "1")),
    "statement blanks": lambda n: parse_statement("CHECKPOINT" + " " * n),
    "statement words": lambda n: parse_statement("MERGE " * n),
    "statement quotes": lambda n: _refused(lambda: parse_statement("PURGE INDEXTABLE '" + "\\'" * n)),
    "hive percent signs": lambda n: hive.unescape("%4" * n),
    "hive staging names": lambda n: hive.is_staging("a__old_" * n),
}


def _refused(work: Callable[[], object]) -> None:
    try:
        work()
    except IndexTablesError:
        return


@pytest.mark.parametrize("name", PUMPED)
def test_no_matcher_takes_more_than_a_blink_for_a_text_made_to_confuse_it(name: str, record_property: Any) -> None:
    PUMPED[name](10)
    assert least_seconds(lambda: PUMPED[name](4000)) < 0.25  # 50 ms on a machine that does nothing else
    record_property("security payloads", 1)


LIKES = ["%" * 50 + "b", "%a" * 30, "_" * 200 + "%", "(a+)+$", "(a|a)*b", "[a-z]*" * 20 + "!", "\\%" * 100, "%_" * 60]


def test_like_is_no_regular_expression_and_takes_no_time(record_property: Any) -> None:
    batch = pa.RecordBatch.from_pydict({"text": ["a" * 5000] * 4, "id": [1, 2, 3, 4]})
    for pattern in LIKES:
        predicate = bind(f"text LIKE '{quote(pattern)}'", batch.schema)
        assert least_seconds(lambda: predicate.evaluate(batch)) < 0.5, pattern  # noqa: B023 - called at once
    record_property("security payloads", len(LIKES))
