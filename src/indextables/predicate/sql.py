"""Predicates from SQL text, in Spark's dialect.

sqlglot does the grammar; here its tree becomes ours, and whatever ours cannot say is an error that points at the place rather than
a predicate that means something else.
"""

from __future__ import annotations

from typing import Final

import sqlglot.errors
from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark

from indextables.errors import PredicateError
from indextables.predicate.expression import (
    MIRRORED,
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
    Operator,
    Or,
    Place,
    Reference,
    StartsWith,
)
from indextables.predicate.literals import LiteralReader
from indextables.predicate.temporal import is_zone

_SUPPORTED: Final = (
    "A predicate compares columns with values: = <=> != < <= > >=, IN, BETWEEN, LIKE, startswith, IS NULL, AND, OR, NOT"
)
_ARGUMENTS: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Between: frozenset(("this", "low", "high")),
    exp.In: frozenset(("this", "expressions", "query")),
    exp.Like: frozenset(("this", "expression", "negate")),
    exp.Column: frozenset(("this", "table", "db", "catalog")),
    exp.Not: frozenset(("this",)),
    exp.Paren: frozenset(("this",)),
}
_OPERATORS: Final[dict[type[exp.Expr], Operator]] = {
    exp.EQ: "=",
    exp.NullSafeEQ: "<=>",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


def parse(text: str, *, timezone: str = "UTC") -> Expression:
    """Return the predicate that a SQL text says.

    Args:
        text: A condition as it would stand behind WHERE in Spark SQL.
        timezone: The zone of `TIMESTAMP` literals that name none, as `spark.sql.session.timeZone`.

    Raises:
        PredicateError: The text is no condition, or one that is not supported; it points at the place.
    """
    if not is_zone(timezone):
        raise PredicateError(f"{timezone!r} is not a time zone", way_out="Use a name such as Europe/Berlin, or +02:00")
    return _Parser(text, timezone).parse()


class _Parser:
    def __init__(self, text: str, timezone: str) -> None:
        self.text = text
        self.timezone = timezone

    def parse(self) -> Expression:
        if not self.text.strip():
            raise PredicateError("The predicate is empty", text=self.text, position=0, way_out=_SUPPORTED)
        dialect = Spark()
        try:
            tokens = dialect.tokenize(self.text)
            trees = dialect.parser().parse_into(exp.Condition, tokens, self.text)
            self.literals = LiteralReader(self.text, tokens, timezone=self.timezone)
            if len(trees) != 1 or trees[0] is None:
                raise self.refusal(_first(tokens, TokenType.SEMICOLON), "More than one statement is not a predicate")
            return self.condition(trees[0])
        except sqlglot.errors.ParseError as error:
            raise self.syntax_error(error) from error
        except sqlglot.errors.SqlglotError as error:
            opened = _unclosed(self.text)
            problem = "The predicate is not SQL" if opened is None else "A quote is opened and never closed"
            raise self.refusal(opened or 0, problem) from error
        except RecursionError as error:
            raise self.refusal(0, "The predicate is nested too deeply") from error

    def syntax_error(self, error: sqlglot.errors.ParseError) -> PredicateError:
        if not error.errors:
            return PredicateError("The predicate is not SQL", text=self.text, position=0, way_out=_SUPPORTED)
        found = error.errors[0]
        lines = self.text.split("\n")
        end = sum(len(line) + 1 for line in lines[: found["line"] - 1]) + found["col"]
        highlight = found["highlight"] or ""
        return PredicateError(
            f"The predicate is not SQL: {_plain(found['description'])} near {highlight!r}",
            text=self.text,
            position=min(max(0, end - max(1, len(highlight))), len(self.text)),
            way_out=_SUPPORTED,
        )

    def refusal(self, node: exp.Expr | int, problem: str, *, way_out: str = _SUPPORTED) -> PredicateError:
        position = node if isinstance(node, int) else _start(node)
        return PredicateError(problem, text=self.text, position=position, way_out=way_out)

    def condition(self, node: exp.Expr) -> Expression:  # noqa: C901 - one case for each kind of condition
        self.check(node)
        match node:
            case exp.Paren():
                return self.condition(node.this)
            case exp.And():
                return self.joined(node, And)
            case exp.Or():
                return self.joined(node, Or)
            case exp.Not():
                return Not(self.condition(node.this))
            case exp.Column() | exp.Dot():
                return Flag(self.reference(node))
            case exp.Boolean():
                return Constant(bool(node.this))
            case exp.Null():
                return Constant(None)
            case exp.Is():
                return self.is_outcome(node)
            case exp.In():
                return self.membership(node)
            case exp.Between():
                return self.between(node)
            case exp.Like() | exp.Escape():
                return self.like(node)
            case exp.StartsWith():
                return StartsWith(self.reference(node.this), self.literals.text_of(node.expression, "a prefix"))
            case _ if type(node) in _OPERATORS:
                return self.comparison(node, _OPERATORS[type(node)])
            case _:
                raise self.refusal(node, f"{_name(node)} is not a condition that is supported")

    def check(self, node: exp.Expr) -> None:
        """Refuse what a node says beyond what is understood: sqlglot keeps NOT, and more, as flags on some nodes."""
        known = _ARGUMENTS.get(type(node), frozenset(("this", "expression")))
        if any(value for name, value in node.args.items() if name not in known):
            raise self.refusal(node, f"{_name(node)} is not a condition that is supported")

    def joined(self, node: exp.And | exp.Or, kind: type[And | Or]) -> Expression:
        # Chains are as deep as they are long in sqlglot's tree, so they are flattened without recursion.
        flat: list[Expression] = []
        for child in node.flatten():
            condition = self.condition(child)
            flat.extend(condition.children if isinstance(condition, kind) else [condition])
        return kind(tuple(flat))

    def is_outcome(self, node: exp.Is) -> Expression:
        outcome = node.expression
        if isinstance(outcome, exp.Null):
            inner = node.this.unnest()
            if isinstance(inner, exp.Column | exp.Dot):
                return IsNull(self.reference(inner))
            return Is(self.condition(inner), None)
        if isinstance(outcome, exp.Boolean):
            return Is(self.condition(node.this), bool(outcome.this))
        raise self.refusal(node, f"IS {outcome.sql('spark')} is not supported")

    def membership(self, node: exp.In) -> Expression:
        if not node.expressions:
            raise self.refusal(node, "IN takes a list of values here, not a query")
        return In(self.reference(node.this), tuple(self.literals.read(value) for value in node.expressions))

    def between(self, node: exp.Between) -> Expression:
        reference = self.reference(node.this)
        low, high = (self.operand(node.args[name]) for name in ("low", "high"))
        return And((Comparison(">=", reference, low), Comparison("<=", reference, high)))

    def like(self, node: exp.Like | exp.Escape) -> Expression:
        like, escape = node, "\\"
        if isinstance(node, exp.Escape):
            like, escape = node.this, self.literals.text_of(node.expression, "an escape")
        self.check(like)
        if type(like) is not exp.Like or isinstance(like.expression, exp.Any | exp.All):
            raise self.refusal(node, f"{_name(like)} is not a condition that is supported")
        pattern = self.literals.text_of(like.expression, "a pattern")
        found = Like(self.reference(like.this), pattern, escape, self.place(like.expression))
        return Not(found) if like.args.get("negate") else found

    def comparison(self, node: exp.Expr, operator: Operator) -> Expression:
        left, right = self.operand(node.this), self.operand(node.expression)
        if isinstance(left, Reference):
            return Comparison(operator, left, right)
        if isinstance(right, Reference):
            return Comparison(MIRRORED[operator], right, left)
        raise self.refusal(node, "Two values are compared, and no column")

    def operand(self, node: exp.Expr) -> Reference | Literal:
        inner = node.unnest()
        if isinstance(inner, exp.Column | exp.Dot):
            return self.reference(inner)
        return self.literals.read(inner)

    def reference(self, node: exp.Expr) -> Reference:
        inner = node.unnest()
        parts: list[str] = []
        while isinstance(inner, exp.Dot):
            parts.insert(0, inner.expression.name)
            inner = inner.this
        if not isinstance(inner, exp.Column) or not all(isinstance(part, exp.Identifier) for part in inner.parts):
            raise self.refusal(node, f"{_name(inner)} stands where a column must")
        self.check(inner)
        return Reference((*(part.name for part in inner.parts), *parts), self.place(node))

    def place(self, node: exp.Expr) -> Place:
        return Place(self.text, _start(node))


def _start(node: exp.Expr) -> int:
    """Return where a node begins: the smallest position that anything in it has."""
    return min((part.meta["start"] for part in node.walk() if "start" in part.meta), default=0)


def _name(node: exp.Expr) -> str:
    text = node.sql("spark")
    return f"{text[:40]}…" if len(text) > 40 else text


def _plain(description: str) -> str:
    if description.startswith("Required keyword"):
        return "something is missing"
    words = description.rsplit(" / ", 1)[-1]
    return words[:1].lower() + words[1:]


def _first(tokens: list[Token], kind: TokenType) -> int:
    return next((token.start for token in tokens if token.token_type == kind), 0)


def _unclosed(text: str) -> int | None:
    """Return where the quote stands that nothing closes."""
    opened, start, position = "", 0, 0
    while position < len(text):
        character = text[position]
        if not opened and character in "'\"`":
            opened, start = character, position
        elif opened and character == "\\" and opened != "`":
            position += 1
        elif character == opened:
            opened = ""
        position += 1
    return start if opened else None
