"""Skipping never loses a row: what a table returns for a predicate is what looking at every row returns.

Everything takes part: statistics and their truncation, the log, pruning by partition, file and row group, and reading.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables.config import Indexing, Settings, Truncation
from indextables.predicate import bind, col
from indextables.table import Table
from indextables.testing.models import S3Model

if TYPE_CHECKING:
    from indextables.predicate import Expression

TABLES = int(os.environ.get("SKIPPING_TABLES", "64"))
PREDICATES = 25
LONGEST = 6  # statistics are cut at this length, so that most texts are cut

TEXTS = [
    "",
    "a",
    "ab",
    "abc" * 30,
    "é",
    "\ud7ff" * 9,
    "\ue000",
    "\uffff" * 7,
    "😀" * 8,
    "\U0010ffff" * 9,
    "x" * 2000,
    "Z [TRUNCATED]",
]
NUMBERS = [0, 1, -1, 9, 10, 127, -128]
DOUBLES = [0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf, 1e300, 5e-324]
MOMENTS = [0, 1, -1, 999_999, 1_000_000, -3_786_825_600_000_000, 253_402_300_799_999_999]
VALUES: dict[pa.DataType, list[Any]] = {
    pa.int8(): NUMBERS,
    pa.int64(): [*NUMBERS, 2**63 - 1, -(2**63)],
    pa.float32(): [0.0, -0.0, 0.5, math.nan, math.inf, -math.inf, 3.4e38],
    pa.float64(): DOUBLES,
    pa.decimal128(38, 2): [Decimal("0.00"), Decimal("-0.01"), Decimal("9" * 36 + ".99"), Decimal("-1" + "0" * 30)],
    pa.string(): TEXTS,
    pa.binary(): [b"", b"\x00", b"\xff" * 9, b"abc", b"abcdefghijkl"],
    pa.bool_(): [True, False],
    pa.date32(): [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(9999, 12, 31)],
    pa.timestamp("us", "UTC"): MOMENTS,
    pa.timestamp("us"): MOMENTS,
}
STRATEGIES: list[Truncation] = [
    Truncation(enabled=False),
    Truncation(max_length=LONGEST),
    Truncation(max_length=13, strategy="truncate"),
    Truncation(max_length=LONGEST, strategy="bounds"),
]


def array(chance: random.Random, kind: pa.DataType, rows: int) -> pa.Array:
    if pa.types.is_struct(kind):
        children = [array(chance, field.type, rows) for field in kind]
        nulls = pa.array([chance.random() < 0.2 for _ in range(rows)])
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=nulls)
    # Few distinct values in one file make files that skip; a share of nulls from none to all.
    few = chance.sample(VALUES[kind], chance.randint(1, min(3, len(VALUES[kind]))))
    share = chance.choice([0.0, 0.0, 0.3, 1.0])
    values = [None if chance.random() < share else chance.choice(few) for _ in range(rows)]
    return pa.array(values, pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else pa.array(values, kind)


def literal(chance: random.Random, kind: pa.DataType) -> Any:
    value = chance.choice(VALUES[kind])
    if pa.types.is_timestamp(kind):
        zone = dt.UTC if kind.tz else None
        return dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(microseconds=value)
    return pa.scalar(value, kind) if pa.types.is_float32(kind) else value


def condition(chance: random.Random, columns: dict[str, pa.DataType], depth: int) -> Expression:
    if depth and chance.random() < 0.6:
        one, other = (condition(chance, columns, depth - 1) for _ in range(2))
        return chance.choice([one & other, one | other, ~one])
    name = chance.choice(sorted(columns))
    kind, column = columns[name], col(name)
    values = [literal(chance, kind) for _ in range(3)]
    choices: list[Expression] = [
        column == values[0],
        column != values[0],
        column < values[0],
        column <= values[0],
        column > values[0],
        column >= values[0],
        column.eq_null_safe(chance.choice([None, values[0]])),
        column.isin(values),
        column.between(values[0], values[1]),
        column.is_null(),
        column.is_not_null(),
    ]
    if pa.types.is_string(kind):
        choices += [column.startswith(values[0][:2]), column.like(values[0][:1] + "%")]
    return chance.choice(choices)


def table(chance: random.Random) -> tuple[Table, dict[str, pa.DataType]]:
    """Make a table of a few small files, each written with another treatment of long statistics."""
    kinds = chance.choices(list(VALUES), k=chance.randint(2, 4))
    columns = {f"c{number}": kind for number, kind in enumerate(kinds)}
    inner = chance.choice(list(VALUES))
    schema = pa.schema([*columns.items(), ("s", pa.struct([("x", inner)]))])
    partitioned = [kind for kind in kinds[:1] if not pa.types.is_binary(kind) and chance.random() < 0.5]
    store = S3Model()
    for _ in range(chance.randint(2, 4)):
        fast = Indexing(fast_fields=("c0", "c1", "s.x") if chance.random() < 0.5 else ())
        settings = Settings(truncation=chance.choice(STRATEGIES), indexing=fast)
        rows = chance.randint(1, 12)
        data = pa.Table.from_arrays([array(chance, field.type, rows) for field in schema], schema=schema)
        if partitioned and pa.types.is_string(kinds[0]):
            data = data.set_column(0, "c0", pc.utf8_slice_codeunits(data["c0"], 0, 50))
        opened = Table.at_store(store, settings=settings)
        opened.append(data, partition_by=["c0"] if partitioned else [])
    return opened, {**columns, "s.x": inner}


@pytest.mark.parametrize("seed", range(8))
def test_skipping_never_loses_a_row(seed: int, record_property: Any) -> None:
    chance = random.Random(seed)
    cases = skipped = 0
    for _ in range(TABLES // 8):
        opened, columns = table(chance)
        everything = opened.to_arrow()
        assert opened.verify_stats().num_rows == 0
        for _ in range(PREDICATES):
            where = condition(chance, columns, 2)
            mask = bind(where, opened.schema).evaluate(everything)
            expected = everything.filter(pc.fill_null(mask, fill_value=False))
            found = opened.to_arrow(where=where)
            assert repr(found.to_pylist()) == repr(expected.to_pylist()), str(where)
            assert opened.count(where=where) == expected.num_rows, str(where)
            cases += 1
            skipped += opened.snapshot().num_files - opened.files(where=where).num_rows
    assert skipped > cases // 4
    record_property("end-to-end skipping cases", cases)
