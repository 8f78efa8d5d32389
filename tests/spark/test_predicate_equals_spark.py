"""What a predicate says of a row is what Spark says of it: true, false or unknown, for every type, operator and odd value.

Spark reads the same Parquet file and answers hundreds of predicates in a few jobs, each predicate a column of one projection.
"""

from __future__ import annotations

import itertools
import json
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812 - everybody calls it so

from indextables.predicate import Predicate, bind, parse_v2
from indextables.predicate import expression as tree
from tests.support.predicates import SORTS, Sort

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

OPERATORS: list[tree.Operator] = ["=", "<=>", "!=", "<", "<=", ">", ">="]
# Spark shows and reads years of up to seven digits, and its own arithmetic on days ends where microseconds do not fit.
FAR = 10_000_000

BY_HAND = """
tiny = 300 | tiny <=> 300 | tiny < 300 | tiny > 300 | tiny >= -129 | tiny != 300 | tiny IN (300, 1) | tiny IN (1, NULL)
tiny NOT IN (5, NULL) | tiny NOT IN (1, 127) | tiny = 1.0 | tiny > 1.5 | tiny <= 1.5 | tiny = 1.5 | tiny < 1.5D | tiny < CAST('NaN' AS DOUBLE)
tiny = CAST('Infinity' AS DOUBLE) | tiny > CAST('-Infinity' AS FLOAT) | tiny BETWEEN -1 AND 5 | tiny NOT BETWEEN -1 AND 5 | NOT tiny BETWEEN 1 AND NULL
tiny IN (1, 1.5, 100D) | tiny <=> NULL | tiny = NULL | NOT (tiny = NULL) | tiny IN (NULL) | tiny < 1e2BD
big = 9007199254740992.0D | big > 9007199254740992.0D | big <= 9007199254740993.0D | big = 9223372036854775807.0D | big >= 9223372036854775808.0D
big = 9223372036854775807 | big < -9223372036854775808 | big = 9223372036854775808 | big < 1.5F | big > 0.1BD | big IN (9007199254740992D, 5)
big > 0.00000000000000000000000000000000000001 | big > -0.50000000000000000000000000000000000000 | big = 1.0000000000000000000000000000000000004
single = 0.1 | single = 0.1F | single = 0.1D | single > 0.1 | single >= 0.1D | single < 0.1D | single = 16777217 | single = 16777217L | single IN (0.1)
single IN (0.1F, 16777217) | single = 1.5 | single = CAST('NaN' AS FLOAT) | single > 1e300D | single < -1e300D | single >= CAST('Infinity' AS FLOAT)
num = 0 | num = -0.0D | num IN (0) | num IN (-0.0D) | num <=> -0.0D | num > 5 | num >= CAST('NaN' AS DOUBLE) | num < CAST('NaN' AS DOUBLE)
num > CAST('NaN' AS DOUBLE) | num IN (CAST('NaN' AS DOUBLE), 1) | num NOT IN (CAST('NaN' AS DOUBLE)) | num <=> CAST('NaN' AS DOUBLE) | num != CAST('NaN' AS DOUBLE)
NOT (num > 1) | NOT (num <= 1) | num = 0.1 | num = 0.1BD | num = 9007199254740993L | num < 123456789012345678901234567890 | num BETWEEN -1 AND 1.5
small = 1.1 | small > 1.105 | small = 1.1D | small = 5 | small < 999.995 | small >= 1000 | small IN (0.05, -0.01, 7) | small = 0.05F | small > 1e-10BD
wide > 0.5 | wide < 0.5 | wide = 0.5 | wide > 0.4 | wide = 1e37D | wide = 1e38D | wide = 99999999999999999999999999999999999999 | wide > -0.5 | wide < 1e-20BD
wide IN (0.4, 1) | wide >= 99999999999999999999999999999999999998.5D | fine = 0 | fine > 0.5 | fine < 1 | fine > 12345 | fine = 1 | fine >= 0.99999999999999999999999999999999999999
fine < 0.00000000000000000000000000000000000001 | fine = 5e-38D | fine IN (0, 100) | fine > -1.5
mid = 1 | mid > 0.00005 | mid < 0.00005 | mid = 99999999999999.9999 | mid = 99999999999999.9999D | mid > 123456789012345678901234567890.12345678 | mid = 49999999999999.99990
txt = '' | txt > '' | txt >= 'a' | txt < 'b' | txt LIKE 'a%' | txt LIKE '%' | txt LIKE '' | txt LIKE '_' | txt LIKE '%_' | txt LIKE 'a_b' | txt LIKE '%b%' | txt LIKE 'a%b'
txt LIKE 'a\\\\_b' | txt LIKE 'a!_b' ESCAPE '!' | txt LIKE '!%%' ESCAPE '!' | txt LIKE '\\\\\\\\' | txt NOT LIKE 'a%' | txt LIKE '😀%' | txt LIKE '_😀' | txt LIKE 'it\\'s' | txt = 'it''s'
txt LIKE 'a%' ESCAPE '/' | startswith(txt, 'ab') | startswith(txt, '') | startswith(txt, '%') | NOT startswith(txt, 'a') | txt = 'a\\nb' | txt LIKE 'a_b' | txt = r'\\' | txt < '\\uE000'
txt > '\\uD7FF' | txt >= '\\U00010000' | txt < '\\uFFFF' | txt IN ('', 'a', '😀') | txt NOT IN ('', 'a') | txt IN ('a', NULL) | txt BETWEEN 'a' AND 'b' | txt = 'a' 'b' | txt LIKE '%\\\\%'
raw = X'' | raw > X'' | raw >= X'80' | raw < X'7F' | raw IN (X'61', X'FF') | raw = X'A' | raw <=> NULL | raw != X'00'
dt = DATE '2024-01-01' | dt > '2024-01-01' | dt = '2024' | dt < '2024-1' | dt >= '2024-01-01 10:00:00' | dt < TIMESTAMP '2024-01-01 12:00:00' | dt = TIMESTAMP '2024-01-01 00:00:00'
dt >= TIMESTAMP '2023-12-31 00:00:00.000001' | dt > TIMESTAMP_NTZ '2023-12-31 23:59:59' | dt IN ('2024-01-01', DATE '1970-01-01') | dt < DATE '0001-01-01' | dt > DATE '9999-12-30'
dt > DATE '+12345-01-01' | dt < DATE '-0044-03-15' | dt BETWEEN '1970-01-01' AND '2024-01-01' | dt != '1970-01-02' | dt IN (DATE '1970-01-01', NULL) | dt <= '1582-10-15'
at = TIMESTAMP '2024-01-01 00:00:00.000001' | at >= '2024-01-01' | at > DATE '2024-01-01' | at = '2024-01-01T00:00:00Z' | at = '2024-01-01 01:00:00+01:00' | at = '2024-01-01 1:0:0 Europe/Berlin'
at < '0001-01-01' | at < TIMESTAMP '1850-01-01 00:00:00 Europe/Stockholm' | at > '2024-01-01 00:00:00.0000009' | at > '9999-12-31 23:59:59.999998' | at = TIMESTAMP_NTZ '2024-01-01 00:00:00'
at BETWEEN '1969-12-31 23:59:59.999999' AND '1970-01-01 00:00:00.000001' | at IN ('2024', '1970') | at = TIMESTAMP '1970-01-01 00:00:00 UTC+1' | at <=> '1970-01-01' | at != DATE '1970-01-01'
wall = TIMESTAMP_NTZ '2024-01-01 00:00:00' | wall > TIMESTAMP '2024-01-01 00:00:00' | wall = '2024-01-01 01:00:00+01:00' | wall = '2024-01-01 00:00:00Z' | wall > DATE '1969-12-31' | wall < '1970'
wall = TIMESTAMP '2024-01-01 01:00:00+01:00' | wall IN ('2024-01-01', '1970-01-02') | wall != '2024-01-01'
yes | NOT yes | yes = TRUE | yes > FALSE | yes <=> FALSE | yes IS TRUE | yes IS NOT TRUE | yes IS FALSE | yes IN (TRUE, NULL) | yes IS NULL | yes != TRUE | yes < TRUE | yes >= FALSE
st IS NULL | st IS NOT NULL | st.x = 1 | st.x IS NULL | st.`y.z` = 'q' | st.`y.z` LIKE 'q%' | NOT (st.x > 0) | st.x <=> NULL | ST.X = 1 | st.x IN (1, NULL)
tiny > 0 AND yes | tiny > 0 OR yes | NOT (tiny > 0 AND yes) | NOT (tiny > 0 OR yes) | tiny > 0 AND NULL | tiny > 0 OR NULL | (tiny > 0) IS NULL | (tiny > 0 AND yes) IS TRUE | (num > 1 OR yes) IS NOT FALSE
tiny = 1 AND big > 5 OR txt = 'a' AND NOT yes | NOT NOT yes | TRUE AND yes | FALSE OR yes | tiny = small_int | small_int < regular | regular >= big | single <= num | txt = txt | dt < dt | num = num
tiny <=> small_int | num <=> single | tiny > num | big = num | at <= at | yes = yes | raw = raw | small = small
"""

NAMES = {
    "boolean": "yes",
    "int8": "tiny",
    "int16": "small_int",
    "int32": "regular",
    "int64": "big",
    "float": "single",
    "double": "num",
    "decimal(5,2)": "small",
    "decimal(18,4)": "mid",
    "decimal(38,0)": "wide",
    "decimal(38,38)": "fine",
    "string": "txt",
    "binary": "raw",
    "date": "dt",
    "timestamp": "at",
    "timestamp_ntz": "wall",
}


def readable(sort: Sort) -> list[Any]:
    """Return the values that Spark can be asked about in SQL text."""
    if sort.literal == "date":
        return [value for value in sort.pool if abs(value) < FAR]
    if sort.literal in ("timestamp", "timestamp_ntz"):
        return [value for value in sort.pool if abs(value) < FAR * 86_400_000_000]
    return sort.pool


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Every odd value of every type, in columns of one length, in an order that mixes them."""
    shuffle = random.Random(7)
    columns: dict[str, pa.Array] = {}
    for sort in SORTS:
        values = [*readable(sort), None, *readable(sort), None, None] * 3
        values = values[:60] if len(values) > 60 else [*values, *itertools.repeat(None, 60 - len(values))]
        shuffle.shuffle(values)
        columns[NAMES[sort.name]] = sort.array(values)
    inner = [None, {"x": 1, "y.z": "q"}, {"x": None, "y.z": None}, {"x": -1, "y.z": "q%"}] * 15
    columns["st"] = pa.array(inner, pa.struct([("x", pa.int32()), ("y.z", pa.string())]))
    return pa.table({**columns, "row": pa.array(range(60))})


@pytest.fixture(scope="module")
def frame(spark: SparkSession, table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataFrame]:
    path: Path = tmp_path_factory.mktemp("predicates") / "all.parquet"
    pq.write_table(table, path)
    # Sixty rows are answered long before a compiler has seen hundreds of expressions.
    wanted = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    before = {key: spark.conf.get(key) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    yield spark.read.parquet(str(path))
    for key, old in before.items():
        spark.conf.set(key, str(old))


def answers_of_spark(frame: DataFrame, texts: list[str], *, at_once: int = 150) -> dict[str, list[bool | None]]:
    found: dict[str, list[bool | None]] = {}
    for start in range(0, len(texts), at_once):
        part = texts[start : start + at_once]
        rows = (
            frame.orderBy("row").select(*(F.expr(text).alias(f"p{index}") for index, text in enumerate(part))).collect()
        )
        for index, text in enumerate(part):
            found[text] = [row[index] for row in rows]
    return found


def differing(table: pa.Table, spark_says: dict[str, list[bool | None]], timezone: str = "UTC") -> list[str]:
    wrong = []
    for text, expected in spark_says.items():
        ours = bind(text, table.schema, timezone=timezone).evaluate(table).to_pylist()
        rows = [row for row, pair in enumerate(zip(ours, expected, strict=True)) if pair[0] is not pair[1]]
        if rows:
            wrong.append(
                f"{text}: row {rows[0]} {table.slice(rows[0], 1).to_pylist()}: {ours[rows[0]]}, Spark {expected[rows[0]]}"
            )
    return wrong


@pytest.fixture(scope="module")
def by_hand(frame: DataFrame) -> dict[str, list[bool | None]]:
    """What Spark says to the predicates above."""
    return answers_of_spark(
        frame, [text.strip() for line in BY_HAND.strip().splitlines() for text in line.split(" | ")]
    )


def test_predicates_written_by_hand_mean_what_they_mean_in_spark(
    by_hand: dict[str, list[bool | None]], table: pa.Table, record_property: Callable[[str, object], None]
) -> None:
    assert differing(table, by_hand) == []
    record_property("predicates answered by Spark", len(by_hand))


def every_comparison() -> list[str]:
    """Every operator on every type with some of its odd values, and lists of them."""
    shuffle = random.Random(11)
    texts = []
    schema = pa.schema([(NAMES[sort.name], sort.arrow) for sort in SORTS])
    for sort in SORTS:
        reference = tree.Reference((NAMES[sort.name],))
        literals = [
            tree.Literal(sort.literal, value)
            for value in readable(sort)
            if not isinstance(value, str) or len(value) < 50
        ]
        chosen = shuffle.sample(literals, min(4, len(literals)))
        expressions: list[tree.Expression] = [
            tree.Comparison(operator, reference, literal) for operator in OPERATORS for literal in chosen
        ]
        expressions.append(tree.In(reference, tuple(chosen)))
        expressions.append(tree.Not(tree.In(reference, (*chosen, tree.Literal("null", None)))))
        expressions.append(tree.IsNull(reference))
        texts += [bind(expression, schema).sql() for expression in expressions]
    return texts


def test_every_operator_on_every_type_answers_as_spark_does(
    frame: DataFrame, table: pa.Table, record_property: Callable[[str, object], None]
) -> None:
    texts = list(dict.fromkeys(every_comparison()))
    assert differing(table, answers_of_spark(frame, texts)) == []
    record_property("predicates answered by Spark", len(texts))


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia"])
def test_a_session_in_another_zone_gets_the_same_answers(
    spark: SparkSession, frame: DataFrame, table: pa.Table, zone: str
) -> None:
    texts = [
        "at >= TIMESTAMP '2024-01-01 00:00:00'",
        "at = '2024-01-01 01:00:00'",
        "at > DATE '2024-01-01'",
        "at < '1850-06-01'",
        "at BETWEEN '1969-12-31 12:00:00' AND '1970-01-01 12:00:00'",
        "dt < TIMESTAMP '2024-01-01 00:00:00'",
        "dt >= TIMESTAMP '2024-01-01 00:00:00Z'",
        "dt = TIMESTAMP '1970-01-01 00:00:00'",
        "wall = TIMESTAMP '2024-01-01 00:00:00'",
        "wall >= TIMESTAMP '2024-01-01 00:00:00Z'",
        "wall < '1970-01-02'",
        "at = TIMESTAMP_NTZ '1970-01-01 00:00:00'",
    ]
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        assert differing(table, answers_of_spark(frame, texts), zone) == []
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def v2_texts(frame: DataFrame, condition: str) -> list[str]:
    """Return what Spark would hand to a data source for a condition, one text for each part that it pushes down."""
    session: Any = frame.sparkSession
    strategy = getattr(
        getattr(session._jvm.org.apache.spark.sql.execution.datasources, "DataSourceStrategy$"), "MODULE$"
    )
    plan = frame.filter(condition)._jdf.queryExecution().optimizedPlan()
    if plan.nodeName() != "Filter":
        return []
    translated = strategy.translateFilter(plan.condition(), True)
    return [translated.get().toV2().toString()] if translated.isDefined() else []


def test_filters_that_spark_pushes_down_keep_every_row_that_spark_keeps(
    by_hand: dict[str, list[bool | None]], frame: DataFrame, table: pa.Table
) -> None:
    understood = 0
    for text, answers in itertools.islice(by_hand.items(), 0, None, 2):
        for pushed in v2_texts(frame, text):
            expression = parse_v2(pushed)
            if expression is None:
                continue
            understood += 1
            kept = bind(expression, table.schema).evaluate(table).to_pylist()
            lost = [row for row, wanted in enumerate(answers) if wanted and not kept[row]]
            assert not lost, f"{text} was pushed as {json.dumps(pushed)} and lost {table.slice(lost[0], 1).to_pylist()}"
    assert understood > 70


def test_a_text_that_spark_escapes_halfway_is_not_misread(frame: DataFrame) -> None:
    values = ["a", "it's", "a\\", "a%", "a_b", "\\", "%", "a\\%", "\n", "'", "''", "a' ESCAPE '\\' OR 1"]
    rows = pa.table({"txt": [*values, *(value + "x" for value in values), *("x" + value for value in values), None]})
    for value in values:
        literal = tree.Literal("string", value)
        wanted = tree.Reference(("txt",))
        conditions: list[tree.Expression] = [
            tree.StartsWith(wanted, value),
            tree.Not(tree.StartsWith(wanted, value)),
            tree.Comparison("=", wanted, literal),
            tree.Comparison("!=", wanted, literal),
        ]
        for condition in conditions:
            ours: Predicate = bind(condition, rows.schema)
            for pushed in v2_texts(frame, ours.sql()):
                if (expression := parse_v2(pushed)) is not None:
                    kept = bind(expression, rows.schema).evaluate(rows).to_pylist()
                    assert not [
                        row for row, want in enumerate(ours.evaluate(rows).to_pylist()) if want and not kept[row]
                    ], pushed
