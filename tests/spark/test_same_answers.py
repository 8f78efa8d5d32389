"""The same question, asked of a table natively, through the data source, and of the same rows as plain Parquet.

The queries are generated from a fixed seed. `INDEXTABLES_QUERIES` sets how many; the default keeps the suite quick.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from indextables.spark import read, register, write
from indextables.spark.source import PUSHDOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(3600)]

QUERIES = int(os.environ.get("INDEXTABLES_QUERIES", "36"))
SOURCE_EVERY = 6 if QUERIES <= 36 else 1  # each of its queries starts several Python workers
ZONES = ["UTC", "Europe/Stockholm", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Apia"]
RATIOS = ["0", "-0.0D", "12.25D", "double('nan')", "-24.75D", "float(3.1)"]
REGIONS = ["'north'", "''", "'so/uth'", "'west'"]
ROWS = """
    SELECT id, IF(id % 11 = 0, NULL, id * 37 % 1000) AS number,
      CASE WHEN id % 13 = 0 THEN NULL WHEN id % 17 = 0 THEN '' ELSE concat(char(97 + id % 26), 'é', CAST(id % 90 AS string)) END AS name,
      CASE WHEN id % 19 = 0 THEN double('nan') WHEN id % 23 = 0 THEN NULL WHEN id % 29 = 0 THEN -0.0D ELSE (id % 200 - 100) / 4.0D END AS ratio,
      CAST(IF(id % 7 = 0, NULL, (id % 500 - 250) / 100) AS decimal(12,2)) AS amount,
      date_add(DATE'2023-12-25', CAST(id % 20 AS int)) AS day,
      IF(id % 31 = 0, NULL, timestamp_micros(1704067200000000 + id * 3600000001)) AS moment,
      named_struct('code', id % 50, 'tags', array(id % 3, id % 5), 'deep', named_struct('flag', id % 2 = 0)) AS inner,
      CASE id DIV 150 WHEN 0 THEN 'north' WHEN 1 THEN NULL WHEN 2 THEN '' ELSE 'so/uth' END AS region
"""


class Answers(NamedTuple):
    native: DataFrame
    plain: DataFrame
    source: Callable[[bool], DataFrame]


@pytest.fixture(scope="module")
def answers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    base = tmp_path_factory.mktemp("same")
    path = str(base / "table")
    parts = [spark.sql(f"{ROWS} FROM range({start}, {start + 150}, 1, 2)") for start in range(0, 600, 150)]
    for rows in parts[:3]:
        write(rows, path, mode="append" if rows is not parts[0] else "error", partition_by=["region"])
    register(spark)
    parts[3].coalesce(1).write.format("indextables").mode("append").save(path)
    spark.sql(f"{ROWS} FROM range(600)").coalesce(1).write.parquet(str(base / "plain"))

    def source(pushed: bool) -> DataFrame:
        return spark.read.format("indextables").option("pushFilters", str(pushed)).load(path)

    yield Answers(read(spark, path), spark.read.parquet(str(base / "plain")), source)
    spark.conf.unset(PUSHDOWN)
    spark.conf.unset("spark.sql.session.timeZone")


def atom(chance: random.Random) -> str:
    operator = chance.choice(["=", "<=>", "!=", "<", "<=", ">", ">="])
    number = chance.randrange(-5, 1005)
    day = (
        f"DATE'2023-12-{chance.randrange(20, 32)}'"
        if chance.random() < 0.5
        else f"DATE'2024-01-{chance.randrange(1, 20):02d}'"
    )
    text = chance.choice(["''", "'aé'", "'k'", "'zé89'", "'dé3'", "'é'"])
    moment = f"TIMESTAMP'2024-01-{chance.randrange(1, 28):02d} {chance.randrange(24):02d}:00:00'"
    return chance.choice(
        [
            f"id {operator} {number}",
            f"number {operator} {number}",
            f"name {operator} {text}",
            f"name LIKE {chance.choice(['aé%', '%9', 'k%', '_é1%', ''])!r}",
            f"ratio {operator} {chance.choice(RATIOS)}",
            f"amount {operator} {chance.randrange(-250, 250) / 100}",
            f"day {operator} {day}",
            f"moment {operator} {moment}",
            f"moment {operator} CAST({day} AS timestamp)",
            f"inner.code {operator} {number % 60}",
            f"inner.deep.flag {operator} true",
            f"region {operator} {chance.choice(REGIONS)}",
            f"{chance.choice(['number', 'name', 'ratio', 'moment', 'region', 'amount'])} IS {chance.choice(['', 'NOT '])}NULL",
            f"id IN ({number}, {number + 7}, 3)",
            f"name IN ({text}, NULL, 'bé1')",
            f"id BETWEEN {number} AND {number + 40}",
            f"number % 7 = {chance.randrange(7)}",
            f"array_contains(inner.tags, {chance.randrange(5)}L)",
            f"hour(moment) = {chance.randrange(24)}",
            f"lower(region) = 'north' AND length(name) > {chance.randrange(4)}",
        ]
    )


def condition(chance: random.Random, depth: int = 2) -> str:
    if depth == 0 or chance.random() < 0.4:
        return atom(chance)
    if chance.random() < 0.2:
        return f"NOT ({condition(chance, depth - 1)})"
    return f"({condition(chance, depth - 1)}) {chance.choice(['AND', 'OR'])} ({condition(chance, depth - 1)})"


SHAPES = [
    "SELECT * FROM {{t}} WHERE {c}",
    "SELECT count(*), min(name), max(ratio), sum(number), max(moment) FROM {{t}} WHERE {c}",
    "SELECT region, day, count(*), sum(amount), min(inner.code) FROM {{t}} WHERE {c} GROUP BY region, day",
    "SELECT a.id, b.name FROM {{t}} a JOIN {{t}} b ON a.number = b.id WHERE a.id < 200 AND (SELECT count(*) FROM {{t}} WHERE {c}) > 3",
    "SELECT id, row_number() OVER (PARTITION BY region ORDER BY id) AS place FROM {{t}} WHERE {c}",
    "SELECT id, name, inner.deep.flag FROM {{t}} WHERE {c} ORDER BY id DESC LIMIT 7",
    "SELECT DISTINCT region, inner.code FROM {{t}} WHERE {c}",
    "SELECT d.name, count(t.id) FROM {{t}} t RIGHT JOIN (SELECT DISTINCT name FROM {{t}} WHERE {c}) d ON t.name = d.name GROUP BY d.name",
    "SELECT id FROM {{t}} WHERE region IN (SELECT region FROM {{t}} WHERE {c})",
    "SELECT region, grouping(region), count(*) FROM {{t}} WHERE {c} GROUP BY ROLLUP (region)",
    "SELECT explode(inner.tags) AS tag, date_format(moment, 'yyyy-MM-dd HH') AS hour FROM {{t}} WHERE {c}",
]


def rows(spark: SparkSession, query: str, frame: DataFrame) -> list[str]:
    return sorted(map(repr, spark.sql(query, t=frame).collect()))


@pytest.mark.slow
def test_every_way_to_ask_gives_the_same_answer(
    spark: SparkSession, answers: Answers, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(20240101)
    found = 0
    for number in range(QUERIES):
        if number % 12 == 0:
            spark.conf.set("spark.sql.session.timeZone", ZONES[number // 12 % len(ZONES)])
        query = chance.choice(SHAPES).format(c=condition(chance))
        expected = rows(spark, query, answers.plain)
        found += bool(expected)
        assert rows(spark, query, answers.native) == expected, query
        if number % SOURCE_EVERY == 0:
            assert rows(spark, query, answers.source(query.count("{t}") == 1)) == expected, query
    assert found > QUERIES // 2
    record_property("queries with the same answer natively, through the data source and from plain Parquet", QUERIES)
