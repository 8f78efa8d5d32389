"""Which partitions a person means: by name, whole or in part, or by a condition on the keys.

A condition is SQL, read by sqlglot and answered here for one partition at a time, from the values in its name: no data is read
and no engine is asked. Numbers compare as numbers, everything else as text, which for dates in their usual form is the same.
"""

from __future__ import annotations

import operator
import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp

from indextables.errors import ConfigError
from indextables.hive.names import DEFAULT_PARTITION, parse_partition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from indextables.hive.model import Column

_NUMBERS = frozenset({"tinyint", "smallint", "int", "integer", "bigint", "float", "double", "decimal"})
_COMPARE: dict[Any, Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}


class PartitionFilter:
    """Says which partitions were asked for.

    Args:
        keys: The partition keys.
        partitions: Names, whole or in part; a partition is accepted if it agrees with one of them.
        where: A condition that it must fulfil as well.

    Raises:
        ConfigError: A name or the condition cannot be understood, or names a column that is no key.
    """

    def __init__(self, keys: Sequence[Column], *, partitions: Sequence[str] = (), where: str | None = None) -> None:
        self._kinds = {key.name.lower(): key.type.lower().partition("(")[0] for key in keys}
        self._wanted = [dict(self._parse(text)) for text in partitions]
        self._where = self._read(where) if where else None

    def accepts(self, pairs: Sequence[tuple[str, str]]) -> bool:
        """Tell whether the partition with these keys and values was asked for."""
        values = dict(pairs)
        if self._wanted and not any(wanted.items() <= values.items() for wanted in self._wanted):
            return False
        return self._where is None or self._holds(self._where, values) is True

    def _parse(self, text: str) -> tuple[tuple[str, str], ...]:
        try:
            pairs = parse_partition(text)
        except ValueError as error:
            raise ConfigError("--partition", text, "key=value, or key=value/key=value as Hive names it") from error
        for key, _ in pairs:
            if key not in self._kinds:
                raise ConfigError("--partition", text, f"the table's partition keys: {', '.join(self._kinds)}")
        return pairs

    def _read(self, text: str) -> Any:
        try:
            tree: Any = sqlglot.parse_one(text, dialect="hive")
        except sqlglot.errors.SqlglotError as error:
            raise ConfigError(
                "--where", text, "a condition such as date >= '2026-02-01' AND ref IN ('A', 'B')"
            ) from error
        for column in tree.find_all(exp.Column):
            if column.name.lower() not in self._kinds:
                raise ConfigError("--where", text, f"a condition on the partition keys: {', '.join(self._kinds)}")
        self._holds(
            tree, dict.fromkeys(self._kinds, DEFAULT_PARTITION)
        )  # refuses what it cannot answer, before any work
        return tree

    def _holds(self, node: Any, values: dict[str, str]) -> bool | None:
        """Return the condition's answer, None being SQL's unknown."""
        match node:
            case exp.Paren():
                return self._holds(node.this, values)
            case exp.Not():
                answer = self._holds(node.this, values)
                return None if answer is None else not answer
            case exp.And() | exp.Or():
                decisive = isinstance(node, exp.Or)
                answers = [self._holds(node.left, values), self._holds(node.right, values)]
                if decisive in answers:
                    return decisive
                return None if None in answers else not decisive
            case exp.Is():
                return self._value(node.this, values) is None
        operands = self._operands(node, values)
        if operands[0] is None or None in operands[1:]:
            return None
        return self._compare(node, operands)

    def _operands(self, node: Any, values: dict[str, str]) -> list[Any]:
        parts: list[Any]
        match node:
            case exp.In():
                parts = [node.this, *node.expressions]
            case exp.Between():
                parts = [node.this, node.args["low"], node.args["high"]]
            case exp.Like():
                return [self._value(node.this, values), str(node.expression.this)]
            case _ if type(node) in _COMPARE:
                parts = [node.left, node.right]
            case _:
                raise ConfigError("--where", node.sql(), "comparisons, IN, BETWEEN, LIKE, IS NULL, AND, OR and NOT")
        return [self._typed(self._value(part, values), parts) for part in parts]

    @staticmethod
    def _compare(node: Any, operands: list[Any]) -> bool:
        first, *rest = operands
        match node:
            case exp.In():
                return first in rest
            case exp.Between():
                return bool(rest[0] <= first <= rest[1])
            case exp.Like():
                pattern = re.escape(rest[0]).replace("%", ".*").replace("_", ".")
                return re.fullmatch(pattern, str(first), re.DOTALL) is not None
        return _COMPARE[type(node)](first, rest[0])

    def _value(self, node: Any, values: dict[str, str]) -> str | None:
        match node:
            case exp.Column():
                value = values[node.name.lower()]
                return None if value == DEFAULT_PARTITION else value
            case exp.Literal():
                return str(node.this)
            case exp.Neg():
                inner = self._value(node.this, values)
                return None if inner is None else f"-{inner}"
            case exp.Cast():
                return self._value(node.this, values)
            case exp.Null():
                return None
        raise ConfigError("--where", node.sql(), "comparisons of partition keys with plain values")

    def _typed(self, value: str | None, parts: Sequence[Any]) -> Any:
        names = {part.name.lower() for part in parts if isinstance(part, exp.Column)}
        if value is None or not any(self._kinds[name] in _NUMBERS for name in names):
            return value
        try:
            return Decimal(value)
        except InvalidOperation as error:
            raise ConfigError("--where", value, "a number, like the key it is compared with") from error
