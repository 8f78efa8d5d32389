"""Predicates as SQL text that Spark reads, and that parses back into the same tree."""

from __future__ import annotations

import decimal
import math
import re
from functools import lru_cache, singledispatch
from typing import Final

import numpy as np
from sqlglot import TokenType
from sqlglot.dialects.spark import Spark

from indextables.predicate.expression import (
    And,
    Comparison,
    Constant,
    Expression,
    Flag,
    In,
    Is,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Reference,
    StartsWith,
)
from indextables.predicate.temporal import format_date, format_time, format_timestamp

_SIMPLE: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_ESCAPES: Final = str.maketrans({"'": r"\'", "\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\0": r"\u0000"})
_WORDS: Final = {True: "TRUE", False: "FALSE", None: "NULL"}


def to_sql(expression: Expression) -> str:
    """Return the canonical SQL of a predicate."""
    return _sql(expression.condition())


@singledispatch
def _sql(expression: Expression) -> str:
    raise TypeError(type(expression).__name__)


@_sql.register
def _(expression: Constant) -> str:
    return _WORDS[expression.value]


@_sql.register
def _(expression: Flag) -> str:
    return reference_sql(expression.reference)


@_sql.register
def _(expression: Comparison) -> str:
    right = expression.right
    other = reference_sql(right) if isinstance(right, Reference) else literal_sql(right)
    return f"{reference_sql(expression.left)} {expression.operator} {other}"


@_sql.register
def _(expression: In) -> str:
    if not expression.values:
        return "FALSE"
    return f"{reference_sql(expression.reference)} IN ({', '.join(literal_sql(value) for value in expression.values)})"


@_sql.register
def _(expression: IsNull) -> str:
    return f"{reference_sql(expression.reference)} IS NULL"


@_sql.register
def _(expression: Is) -> str:
    return f"({_sql(expression.child)}) IS {_WORDS[expression.outcome]}"


@_sql.register
def _(expression: Like) -> str:
    escape = "" if expression.escape == "\\" else f" ESCAPE {string_sql(expression.escape)}"
    return f"{reference_sql(expression.reference)} LIKE {string_sql(expression.pattern)}{escape}"


@_sql.register
def _(expression: StartsWith) -> str:
    return f"startswith({reference_sql(expression.reference)}, {string_sql(expression.prefix)})"


@_sql.register
def _(expression: Not) -> str:
    child = expression.child
    if isinstance(child, IsNull):
        return f"{reference_sql(child.reference)} IS NOT NULL"
    return f"NOT ({_sql(child)})"


@_sql.register
def _(expression: And) -> str:
    return " AND ".join(
        f"({_sql(child)})" if isinstance(child, And | Or) else _sql(child) for child in expression.children
    )


@_sql.register
def _(expression: Or) -> str:
    return " OR ".join(
        f"({_sql(child)})" if isinstance(child, And | Or) else _sql(child) for child in expression.children
    )


def reference_sql(reference: Reference) -> str:
    """Return the name of a column, quoted where it must be."""
    return ".".join(_name_sql(part) for part in reference.parts)


@lru_cache(maxsize=1024)
def _name_sql(name: str) -> str:
    if _SIMPLE.fullmatch(name) and [token.token_type for token in Spark().tokenize(name)] == [TokenType.VAR]:
        return name
    return "`" + name.replace("`", "``") + "`"


def string_sql(text: str) -> str:
    """Return a text as a SQL literal."""
    return f"'{text.translate(_ESCAPES)}'"


def literal_sql(literal: Literal) -> str:
    """Return a literal as SQL of its own type."""
    value = literal.value
    match literal.kind, value:
        case "float" | "double", float():
            return _float_sql(value, single=literal.kind == "float")
        case "decimal", decimal.Decimal():
            text = format(value, "f")
            return text if "." in text else f"{text}BD"
        case "string" | "internal", str():
            return string_sql(value)
        case "binary", bytes():
            return f"X'{value.hex().upper()}'"
        case "date", int():
            return f"DATE '{format_date(value)}'"
        case "timestamp", int():
            return f"TIMESTAMP '{format_timestamp(value)}Z'"
        case "timestamp_ntz", int():
            return f"TIMESTAMP_NTZ '{format_timestamp(value)}'"
        case "time", int():
            return f"TIME '{format_time(value)}'"
        case "duration", int():
            return _duration_sql(value)
        case "integer", int():
            return str(value)
        case "boolean", bool():
            return _WORDS[value]
        case _:
            return "NULL"


def _float_sql(value: float, *, single: bool) -> str:
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"CAST('{name}' AS {'FLOAT' if single else 'DOUBLE'})"
    return f"{np.float32(value)!s}F" if single else f"{value!r}D"


def _duration_sql(micros: int) -> str:
    days, clock = divmod(abs(micros), 86_400_000_000)
    return f"INTERVAL '{'-' if micros < 0 else ''}{days} {format_time(clock)}' DAY TO SECOND"
