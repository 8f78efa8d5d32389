"""Filters as Spark hands them to a Python data source, in the words of our predicates.

Spark checks every filter again on the rows that it gets, so what has no counterpart here is left out and costs time, not truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import datasource as ds

from indextables.errors import PredicateError
from indextables.predicate.column import lit
from indextables.predicate.expression import (
    And,
    Comparison,
    Expression,
    In,
    IsNull,
    Not,
    Operator,
    Reference,
    StartsWith,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_OPERATORS: Final[dict[type[ds.Filter], Operator]] = {
    ds.EqualTo: "=",
    ds.EqualNullSafe: "<=>",
    ds.GreaterThan: ">",
    ds.GreaterThanOrEqual: ">=",
    ds.LessThan: "<",
    ds.LessThanOrEqual: "<=",
}


def expression_of(filters: Iterable[ds.Filter]) -> Expression | None:
    """Return a condition that every row satisfies which satisfies all filters; None where nothing can be said."""
    known = tuple(condition for condition in map(_condition, filters) if condition is not None)
    return And(known) if len(known) > 1 else next(iter(known), None)


def _condition(item: ds.Filter) -> Expression | None:
    try:
        return _translated(item)
    except PredicateError:  # a value of a type that predicates do not have
        return None


def _translated(item: ds.Filter) -> Expression | None:
    if isinstance(item, ds.Not):
        child = _translated(item.child)
        return None if child is None else Not(child)
    operator = _OPERATORS.get(type(item))
    if operator is not None:
        return Comparison(operator, Reference(item.attribute), lit(item.value))  # type: ignore[attr-defined]
    match item:
        case ds.In():
            return In(Reference(item.attribute), tuple(lit(value) for value in item.value))
        case ds.IsNull():
            return IsNull(Reference(item.attribute))
        case ds.IsNotNull():
            return Not(IsNull(Reference(item.attribute)))
        case ds.StringStartsWith():
            return StartsWith(Reference(item.attribute), item.value)
    return None
