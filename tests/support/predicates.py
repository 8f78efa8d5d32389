"""Random tables and predicates, and what they mean, worked out in plain Python.

Nothing here uses the code under test to decide what is true: values are compared with Python's own operators, one at a time.
Dates are days and timestamps are microseconds, because Python's own classes end at the years 1 and 9999.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from indextables.predicate import expression as tree

DAY = 86_400_000_000
LONG = "x" * 1990
TEXTS = [
    "",
    "a",
    "ab",
    "abc",
    "b",
    "A",
    "ä",
    "\0",
    "a\0",
    "a\nb",
    "%",
    "a_b",
    "a%",
    "\\",
    "it's",
    "\ud7ff",
    "\ud7ffz",
    "\ue000",
    "\uffff",
    "\U00010000",
    "😀",
    "😀😀",
    "\U0010ffff",
    "\U0010ffff\U0010ffff",
    LONG + "0123456789",
    LONG + "0123456788",
    LONG + "\U0010ffff" * 10,
    "\U0010ffff" * 60,
    "a\U0010ffff" * 20,
    "\ud7ff" * 40,
]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1.5,
    0.1,
    5e-324,
    1.7976931348623157e308,
    math.inf,
    -math.inf,
    math.nan,
    2.0**53,
    2.0**24 + 1,
    -3.25,
]


def whole(bits: int) -> list[int]:
    top = 2 ** (bits - 1)
    return [0, 1, -1, 2, 5, 7, 100, -100, top - 1, top - 2, -top, 1 - top]


def one_of_these(values: list[Any]) -> st.SearchStrategy[Any]:
    """Draw one of some values; unlike `sampled_from` it is not printed with all of them, and some are long."""
    return st.integers(0, len(values) - 1).map(lambda index: values[index])


@dataclass(frozen=True)
class Sort:
    """One type of column: how values are made, stored and ordered."""

    name: str
    arrow: pa.DataType
    pool: list[Any]
    random: st.SearchStrategy[Any]
    literal: tree.Kind

    def array(self, values: list[Any]) -> pa.Array:
        if pa.types.is_date(self.arrow) or pa.types.is_timestamp(self.arrow):
            width = pa.int32() if pa.types.is_date(self.arrow) else pa.int64()
            return pa.array(values, width).cast(self.arrow)
        return pa.array(values, self.arrow)

    def values(self) -> st.SearchStrategy[Any]:
        return st.one_of(st.none(), one_of_these(self.pool), one_of_these(self.pool), self.random)


def decimals(precision: int, scale: int) -> Sort:
    most = 10**precision - 1
    units = [0, 1, -1, 5, -5, 10**scale if scale < precision else 7, most, -most, most - 1, most // 2]

    def point(number: int) -> Decimal:
        return Decimal((1 if number < 0 else 0, tuple(map(int, str(abs(number)))), -scale))

    random = st.integers(-most, most).map(point)
    return Sort(
        f"decimal({precision},{scale})",
        pa.decimal128(precision, scale),
        [point(unit) for unit in units],
        random,
        "decimal",
    )


def integers(bits: int) -> Sort:
    top = 2 ** (bits - 1)
    kind = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]
    return Sort(f"int{bits}", kind, whole(bits), st.integers(-top, top - 1), "integer")


def single(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))


_TIMES = [
    0,
    1,
    -1,
    DAY,
    -DAY,
    1_704_067_200_000_000,
    1_704_067_200_000_001,
    -62_135_596_800_000_000,
    253_402_300_799_999_999,
]
SORTS = [
    Sort("boolean", pa.bool_(), [True, False], st.booleans(), "boolean"),
    *(integers(bits) for bits in (8, 16, 32, 64)),
    Sort("float", pa.float32(), [single(value) for value in FLOATS], st.floats(width=32), "float"),
    Sort("double", pa.float64(), FLOATS, st.floats(), "double"),
    *(decimals(*digits) for digits in ((5, 2), (18, 4), (38, 0), (38, 38))),
    Sort("string", pa.string(), TEXTS, st.text(st.characters(exclude_categories=["Cs"]), max_size=6), "string"),
    Sort(
        "binary",
        pa.binary(),
        [b"", b"\0", b"a", b"\x7f", b"\x80", b"\xff", b"\xff\xff"],
        st.binary(max_size=4),
        "binary",
    ),
    Sort(
        "date",
        pa.date32(),
        [0, 1, -1, 19_723, 19_722, -719_162, 2_932_896, 2**31 - 1, -(2**31)],
        st.integers(-(2**31), 2**31 - 1),
        "date",
    ),
    Sort(
        "timestamp",
        pa.timestamp("us", "UTC"),
        [*_TIMES, 2**63 - 1, -(2**63)],
        st.integers(-(2**63), 2**63 - 1),
        "timestamp",
    ),
    Sort("timestamp_ntz", pa.timestamp("us"), _TIMES, st.integers(-(2**62), 2**62), "timestamp_ntz"),
]


def rank(value: Any) -> Any:
    """Return something that Python orders as Spark orders values."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value


def sides(sort: Sort, value: Any, literal: tree.Literal) -> int:
    """Return -1, 0 or 1: the value is less than the literal, equal, or more."""
    other: Any = literal.value
    if isinstance(other, float) and not isinstance(value, float):
        value = float(value)
    elif isinstance(value, float) and not isinstance(other, float):
        other = float(other)
    elif isinstance(value, Decimal) or isinstance(other, Decimal):
        value, other = Fraction(value), Fraction(other)
    elif sort.literal == "date" and literal.kind == "timestamp":
        value *= DAY
    elif sort.literal == "timestamp" and literal.kind == "date":
        other *= DAY
    left, right = rank(value), rank(other)
    return int(left > right) - int(left < right)


def holds(operator: str, side: int) -> bool:
    return {
        "=": side == 0,
        "!=": side != 0,
        "<": side < 0,
        "<=": side <= 0,
        ">": side > 0,
        ">=": side >= 0,
        "<=>": side == 0,
    }[operator]


def like(pattern: str, escape: str) -> re.Pattern[str]:
    parts, position = [], 0
    while position < len(pattern):
        character = pattern[position]
        if character == escape:
            position += 1
            parts.append(re.escape(pattern[position]))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
        position += 1
    return re.compile("".join(parts), re.DOTALL)


Row = dict[str, Any]
Columns = dict[str, Sort]


def answer(expression: tree.Expression, row: Row, columns: Columns) -> bool | None:  # noqa: C901 - a case a node
    """Return what a predicate says of one row, in SQL's three-valued logic."""
    match expression:
        case tree.Constant(value=value):
            return value
        case tree.Flag(reference=reference):
            flag: bool | None = row[reference.parts[-1]]
            return flag
        case tree.Comparison(operator=operator, left=left, right=tree.Reference() as right):
            first, second = row[left.parts[-1]], row[right.parts[-1]]
            if first is None or second is None:
                return first is second if operator == "<=>" else None
            return holds(operator, (rank(first) > rank(second)) - (rank(first) < rank(second)))
        case tree.Comparison(operator=operator, left=left, right=tree.Literal() as literal):
            value = row[left.parts[-1]]
            if value is None or literal.value is None:
                return value is literal.value if operator == "<=>" else None
            return holds(operator, sides(columns[left.parts[-1]], value, literal))
        case tree.In(reference=reference, values=values):
            value = row[reference.parts[-1]]
            if value is None:
                return None
            sort = columns[reference.parts[-1]]
            if any(isinstance(literal.value, float) for literal in values):
                # Spark brings a list to one type, and a double makes doubles of all numbers.
                values = tuple(
                    tree.Literal("double", None if one.value is None else float(one.value)) for one in values
                )
            if any(literal.value is not None and sides(sort, value, literal) == 0 for literal in values):
                return True
            return None if any(literal.value is None for literal in values) else False
        case tree.IsNull(reference=reference):
            return row[reference.parts[-1]] is None
        case tree.Like(reference=reference, pattern=pattern, escape=escape):
            value = row[reference.parts[-1]]
            return None if value is None else like(pattern, escape).fullmatch(value) is not None
        case tree.StartsWith(reference=reference, prefix=prefix):
            value = row[reference.parts[-1]]
            return None if value is None else value.startswith(prefix)
        case tree.Is(child=child, outcome=outcome):
            return answer(child, row, columns) is outcome
        case tree.Not(child=child):
            inner = answer(child, row, columns)
            return None if inner is None else not inner
        case tree.And(children=children) | tree.Or(children=children):
            decisive = isinstance(expression, tree.Or)
            answers = [answer(child, row, columns) for child in children]
            return decisive if decisive in answers else None if None in answers else not decisive
    raise TypeError(expression)
