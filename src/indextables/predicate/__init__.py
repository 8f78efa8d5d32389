"""Conditions on rows: from SQL text, from Spark's filters, or built in Python; for skipping files and for filtering rows."""

from indextables.predicate.column import Column, col, lit
from indextables.predicate.explain import Effect
from indextables.predicate.expression import Expression
from indextables.predicate.predicate import Predicate, bind
from indextables.predicate.sql import parse
from indextables.predicate.statistics import FileStatistics
from indextables.predicate.v2 import parse_v2

__all__ = ["Column", "Effect", "Expression", "FileStatistics", "Predicate", "bind", "col", "lit", "parse", "parse_v2"]
